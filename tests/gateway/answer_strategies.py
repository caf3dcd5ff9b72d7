"""Answers of any maker, and the events of their making, for the laws of the gateway."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace
from tests.grammar import KINDS

from pondero.canon import (
    Event,
    Finished,
    Message,
    Origin,
    Part,
    PartEnd,
    PartStart,
    Request,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
)
from pondero.dialects import NAMES, get_dialect
from pondero.exchange import finish_steps
from pondero.gateway.signatures.envelope import ClientEnvelopes, EnvelopeCipher
from pondero.gateway.signatures.restore import restore_in_steps

ENVELOPES = ClientEnvelopes(EnvelopeCipher(["a secret of these tests, and of nobody else"]), "c")


def restore_history(request: Request, client_dialect: str, **named: Any) -> Request:
    """Return a request with its answers restored, in one go."""
    steps = restore_in_steps(request, client_dialect, open_envelope=ENVELOPES.open, **named)
    return finish_steps(steps)


SLOTS = {repr(get_dialect(name).service().slots): name for name in reversed(NAMES)}
FRONTS = sorted(SLOTS.values())
"""One wire of each kind: those with the same slots are carried alike."""

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(st.sampled_from(["a", "b", "path"]), values, max_size=2)
seals = st.none() | st.builds(
    Signature,
    st.sampled_from(NAMES),
    words | st.dictionaries(st.sampled_from(["item", "after", "id"]), values, min_size=1),
    st.sampled_from([None, "m1"]),
    st.sampled_from([None, "north"]),
)
origins = st.builds(
    Origin,
    st.sampled_from(["north", "south"]),
    st.sampled_from(["m1", "m2"]),
    st.sampled_from([None, "high"]),
    st.sampled_from([None, 1763164800.25]),
)
texts = st.builds(Text, words, seals)
thoughts = st.builds(Thinking, words | st.just(""), seals) | st.builds(
    Thinking, st.just(""), seals, st.just(value=True)
)
calls = st.builds(
    ToolCall, st.just(""), st.sampled_from(["ls", "cat"]), objects, seals, st.booleans()
)
others = st.builds(UnknownPart, st.sampled_from(NAMES), objects, seals)


def numbered(parts: Sequence[Part], stem: str) -> tuple[Part, ...]:
    """Return the parts with an id on each call."""
    return tuple(
        replace(part, id=f"{stem}{at}") if isinstance(part, ToolCall) else part
        for at, part in enumerate(parts)
    )


def answers(
    parts: st.SearchStrategy[Part] = texts | thoughts | calls | others, stem: str = "own_"
) -> st.SearchStrategy[Message]:
    """Answers of any maker: the parts in any order and number."""
    several = st.lists(parts, min_size=1, max_size=6)
    return st.builds(
        lambda several, origin: Message("assistant", numbered(several, stem), origin),
        several,
        origins,
    )


def kept_by(front: str, message: Message) -> Message:
    """Return an answer as envelopes alone bring it back, from a client that keeps parts in order.

    Where nothing may stand behind the last part, nor before mere words, the seal of a text and a
    part that is not shown go with thinking just before them, or with the next thinking or call; a
    part that is not shown then stands before that.
    """
    slots = get_dialect(front).service().slots
    if slots.trailing_thinking or not slots.thinking:
        return message
    parts: list[Part] = []
    waiting: list[Part] = []
    shown: Part | None = None
    for at, part in enumerate(message.parts):
        if isinstance(part, Thinking | ToolCall):
            parts += (*waiting, part)
            waiting = []
        elif isinstance(part, UnknownPart):
            (parts if isinstance(shown, Thinking) else waiting).append(part)
            continue
        else:
            after = any(isinstance(each, Thinking | ToolCall) for each in message.parts[at + 1 :])
            carried = after or isinstance(shown, Thinking)
            parts.append(part if carried else replace(part, signature=None))
        shown = part
    return replace(message, parts=tuple(parts))


def deltas(index: int, part: Part) -> list[Event]:
    """Return the pieces of one part."""
    match part:
        case Text():
            return [TextDelta(index, piece) for piece in _halves(part.text)]
        case Thinking():
            return [ThinkingDelta(index, piece) for piece in _halves(part.text)]
        case ToolCall():
            return [ToolDelta(index, piece) for piece in _halves(json.dumps(part.arguments))]
    return []


def _halves(text: str) -> list[str]:
    return [half for half in (text[: len(text) // 2], text[len(text) // 2 :]) if half]


@st.composite
def tellings(draw: st.DrawFn, message: Message, *, early: bool | None = None) -> list[list[Event]]:
    """The events of an answer, in batches as they arrive.

    Where ``early`` is None, a part may say its seal when it begins or not, and may go on after the
    next has begun; where it is True, seals are said early and parts come one after another. No
    back has two texts, or two thoughts, open at once.
    """
    queues = [_events(index, part, draw, early=early) for index, part in enumerate(message.parts)]
    events: list[Event] = [Started("m")]
    started = 0
    while any(queues):
        open_ = [number for number, queue in enumerate(queues[:started]) if queue]
        alike = [n for n in open_ if isinstance(message.parts[n], Text | Thinking)]
        if early:
            number = next(n for n, queue in enumerate(queues) if queue)
        elif (
            started < len(queues)
            and any(type(message.parts[n]) is type(message.parts[started]) for n in alike)
        ) or (open_ and (started == len(queues) or draw(st.integers(0, 3)))):
            number = draw(st.sampled_from(open_))
        else:
            number = started
        events.append(queues[number].pop(0))
        started = max(started, number + 1)
    events.append(Finished("stop"))
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    if early:
        cuts = [cut for cut in cuts if not _is_inside_minted(message, events[:cut])]
    return [events[a:b] for a, b in zip([0, *cuts], [*cuts, len(events)], strict=True)]


def _is_inside_minted(message: Message, told: Sequence[Event]) -> bool:
    """Return whether a call without an id has begun and not ended: such calls come whole."""
    last = next((e for e in reversed(told) if isinstance(e, PartStart | PartEnd)), None)
    part = message.parts[last.index] if isinstance(last, PartStart) else None
    return isinstance(part, ToolCall) and part.minted


def _events(index: int, part: Part, draw: st.DrawFn, *, early: bool | None) -> list[Event]:
    kind: Any = KINDS[type(part)]
    seal = part.signature if early or (early is None and draw(st.booleans())) else None  # type: ignore[union-attr]  # no results
    start = PartStart(index, kind, signature=seal)
    if isinstance(part, ToolCall):
        start = replace(start, id=part.id, name=part.name)
    return [start, *deltas(index, part), PartEnd(index, part)]
