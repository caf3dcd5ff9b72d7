"""The parts of a client's turn, each with the envelopes of one answer, and split into answers."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...canon import LevelUpdate, Part, Text, ToolResult, UnknownPart
from .envelope import (
    Entry,
    Envelope,
    EnvelopeText,
    EnvelopeThinking,
    has_envelope,
    iter_envelopes,
)

OpenEnvelope = Callable[[str], Envelope | None]
"""Opens a client's envelope; None for any other text."""


class ClientPart(Struct, frozen=True):
    """A part from a client, and the envelopes taken out of it, all of one answer.

    ``withheld``: the other answers whose envelopes it had.
    """

    part: Part
    envelopes: tuple[Envelope, ...] = ()
    withheld: tuple[str, ...] = ()


def open_parts(parts: Sequence[Part], open_envelope: OpenEnvelope) -> list[ClientPart]:
    """Return parts without their envelopes; an envelope that a client sent twice counts once."""
    seen: set[str] = set()
    sent: list[ClientPart] = []
    for part in parts:
        envelopes: tuple[Envelope, ...] = ()
        withheld: tuple[str, ...] = ()
        if isinstance(part, UnknownPart) and has_envelope(part.raw):
            continue
        if not isinstance(part, ToolResult | LevelUpdate) and part.signature is not None:
            found = dict.fromkeys(iter_envelopes(part.signature.value))
            fresh = (open_envelope(text) for text in found if text not in seen)
            opened = [envelope for envelope in fresh if envelope is not None]
            envelopes, withheld = _keep_one_answer(opened)
            seen.update(found)
            part = replace(part, signature=None) if found else part  # noqa: PLW2901 - the same part
        if sent and not envelopes and (longer := _append_text(sent[-1], part)) is not None:
            sent[-1] = longer
        else:
            sent.append(ClientPart(part, envelopes, withheld))
    return sent


def _keep_one_answer(
    envelopes: Sequence[Envelope],
) -> tuple[tuple[Envelope, ...], tuple[str, ...]]:
    """Return the envelopes of one part that belong to its answer, and the other answers.

    A client that joins two answers in one part joins their visible thinking too: what the service
    signed cannot be told apart again, so thinking counts only if the envelope has its text.
    """
    others = tuple(dict.fromkeys(e.answer for e in envelopes if e.answer != envelopes[0].answer))
    if not others:
        return tuple(envelopes), ()
    own = [each for each in envelopes if each.answer not in others]
    return tuple(replace(each, entries=_keep_whole(each.entries)) for each in own), others


def _keep_whole(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries that do not need the visible text."""
    return tuple(
        entry
        for entry in entries
        if not isinstance(entry, EnvelopeThinking) or entry.text is not None
    )


def _append_text(sent: ClientPart, part: Part) -> ClientPart | None:
    """Return a text with its next piece; None if the part is not one.

    After a text with its own envelope, a text without one is its next piece.
    """
    text = sent.part
    if not (isinstance(text, Text) and isinstance(part, Text) and part.signature is None):
        return None
    if not any(
        isinstance(entry, EnvelopeText) for each in sent.envelopes for entry in each.entries
    ):
        return None
    return ClientPart(replace(text, text=text.text + part.text, cache=part.cache), sent.envelopes)


def split_answers(sent: Sequence[ClientPart]) -> list[list[ClientPart]]:
    """Split a turn into answers: another envelope's answer id begins a new one."""
    answers: list[list[ClientPart]] = [[]]
    current = ""
    for each in sent:
        answer_id = each.envelopes[0].answer if each.envelopes else current
        if current and answer_id != current:
            answers.append([])
        current = answer_id
        answers[-1].append(each)
    return answers
