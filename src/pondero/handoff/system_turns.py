"""System turns inside a conversation: kept, moved, or folded into a user turn.

Where each API takes them: docs/wires/system-messages.md. A folded turn keeps its place, so that
the prefix a service has cached stays whole.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from ..canon import Message, SystemTurns, Text, ToolResult

MOVED = "this model takes system turns only between a user turn and its answer"
FOLDED = "this model takes no system turn here; a user turn has its text, marked as such"
_UPDATE = "level_update"
_INTRO = "A note from the application, to be followed like the system prompt:"
_CLOSING = re.compile(r"<(?=/system\b)", re.IGNORECASE)


class PlacedTurns(NamedTuple):
    """A conversation, and which of its system turns, counted from 0, have another place."""

    messages: tuple[Message, ...]
    moved: tuple[int, ...] = ()
    folded: tuple[int, ...] = ()


def count_lead(messages: Sequence[Message]) -> int:
    """Return how many system turns a conversation begins with: they are the system prompt."""
    first = (n for n, message in enumerate(messages) if message.role != "system")
    return next(first, len(messages))


def texts_of(turns: Iterable[Message]) -> tuple[Text, ...]:
    """Return the texts of system turns, which have no other parts."""
    parts = (part for turn in turns for part in turn.parts)
    return tuple(part for part in parts if isinstance(part, Text))


def allows_system_turns(messages: Sequence[Message], rule: SystemTurns) -> bool:
    """Return whether every system turn is where the rule takes it.

    A system turn without text sets the level; where ``after_user`` holds it may stand anywhere.
    """
    if rule == "anywhere" or not any(message.role == "system" for message in messages):
        return True
    said = [message for message in messages if message.role != "system" or message.parts]
    if rule == "lead" or count_lead(said):
        return False
    placed = place(said, rule)
    return not placed.moved and not placed.folded


def place(messages: Sequence[Message], rule: SystemTurns) -> PlacedTurns:
    """Return the conversation with each system turn where the rule takes it.

    Adjacent system turns count as one. There must be none at the beginning.

    >>> from pondero.canon import Message, Text
    >>> turns = [Message("user", (Text("hi"),)), Message("system", (Text("Be brief."),))]
    >>> [message.role for message in place(turns, "lead").messages]
    ['user']
    """
    if rule == "anywhere" or not _have_system_turns(messages):
        return PlacedTurns(tuple(messages))
    runs = [(kind, list(run)) for kind, run in groupby(messages, key=_kind)]
    placed: list[Message] = []
    waiting: list[Message] = []  # system turns that go behind the user turns that follow
    seen, moved, folded = 0, list[int](), list[int]()
    for number, (kind, run) in enumerate(runs):
        if kind == _UPDATE:
            placed += run
            continue
        if kind != "system":
            placed += [*run, *waiting]
            waiting = []
            continue
        here = range(seen, seen + len(run))
        seen += len(run)
        before, _ = _find_turn(runs[:number][::-1])
        after, following = _find_turn(runs[number + 1 :])
        if rule == "after_user" and after == "user":
            waiting += run
            moved += here
        elif rule == "after_user" and before == "user":
            placed += run
        else:
            _fold_into(placed, run, following if after == "user" else None)
            folded += here
    return PlacedTurns(tuple(placed), tuple(moved), tuple(folded))


def _have_system_turns(messages: Iterable[Message]) -> bool:
    for message in messages:  # noqa: SIM110 - a generator for any() costs more than the look
        if message.role == "system":
            return True
    return False


def _kind(message: Message) -> str:
    """Return a message's role; a change of level stays where it is, and parts no turns."""
    return message.role if message.level_update is None else _UPDATE


def _find_turn(runs: Iterable[tuple[str, list[Message]]]) -> tuple[str | None, list[Message]]:
    """Return the first run of user or assistant turns, and whose it is."""
    turns = ((kind, run) for kind, run in runs if kind in ("user", "assistant"))
    return next(turns, (None, []))


def _fold_into(placed: list[Message], run: list[Message], following: list[Message] | None) -> None:
    """Add system turns to the user turn before them, else to the one behind, else to a new one."""
    texts = [_mark(text) for text in texts_of(run)]
    if placed and placed[-1].role == "user":
        placed[-1] = replace(placed[-1], parts=(*placed[-1].parts, *texts))
    elif following:
        first = following[0]
        # Results come first in a turn: a text before them is rejected, or parts them from the call.
        at = sum(isinstance(part, ToolResult) for part in first.parts)
        following[0] = replace(first, parts=(*first.parts[:at], *texts, *first.parts[at:]))
    else:
        placed.append(Message("user", tuple(texts)))


def _mark(text: Text) -> Text:
    """Return a text for a user turn; nothing in it can end its mark early."""
    inside = _CLOSING.sub("&lt;", text.text)
    return replace(text, text=f"\n{_INTRO}\n<system>\n{inside}\n</system>\n")
