"""Streams: events in order, deltas that add up, and the same answer as in one piece."""

import re
from collections.abc import Sequence
from typing import Any

from ...canon import Event, Message, PartEnd, ResponseHead, TextDelta, ThinkingDelta, ToolDelta
from ...dialects import AnswerContext
from ...emulator import ScriptedTurn
from ...errors import WireError
from ..bench import ObservedExchange, Testbed
from ..scenario import Checks, note_unchecked, optional, same, true
from ..wire import objects
from .shared_checks import (
    ANSWER,
    CALLED,
    QUESTION,
    SPOKEN,
    THOUGHT,
    THOUGHT_OF,
    TOOL,
    WEATHER,
    WIDE,
    bare,
    check_answer,
    check_thinking,
    deltas,
    grammar,
    once,
)
from .tools import check_tool_call, check_tool_declared

_ONE_PIECE = "that they are the answer in one piece, because two answers of a service can differ"
_WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliett",
    "kilo",
    "lima",
]


def streaming_text(bench: Testbed) -> Checks:
    """The words of a stream add up to the answer. They are the answer in one piece."""
    bench.stage(SPOKEN)
    seen = bench.ask(QUESTION, stream=True)
    yield once(seen)
    yield from _check_stream_flag(seen)
    yield from grammar(seen.events)
    yield from check_answer(bench, seen, ANSWER)
    yield same("deltas", seen.answer.text, deltas(seen.events, TextDelta))
    yield from _check_same_in_one_piece(bench, seen, SPOKEN)


def streaming_words(bench: Testbed) -> Checks:
    """Words that are asked for come once each and in order, in one piece and in a stream."""
    for stream in (False, True):
        seen = bench.ask(f"Repeat exactly: {' '.join(_WORDS)}", "off", stream=stream)
        yield once(seen)
        yield same("words", _WORDS, re.findall(r"\w+", seen.answer.text.lower()))
        yield same("words in the deltas", seen.answer.text, deltas(seen.events, TextDelta))


def streaming_thinking(bench: Testbed) -> Checks:
    """The thinking of a stream adds up. It is the thinking of the answer in one piece."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=True)
    yield once(seen)
    yield from grammar(seen.events)
    yield from check_thinking(bench, seen, THOUGHT)
    yield same(
        "deltas",
        "".join(part.text for part in seen.answer.thinking_parts),
        deltas(seen.events, ThinkingDelta),
    )
    yield from check_answer(bench, seen, ANSWER)
    yield from _check_same_in_one_piece(bench, seen, THOUGHT_OF, thinking="medium")


def streaming_tool_call(bench: Testbed) -> Checks:
    """The arguments of a streamed call add up. They are those of the call in one piece."""
    bench.stage(CALLED)
    seen = bench.ask(WEATHER, "off", tools=[TOOL], stream=True)
    yield once(seen)
    yield from grammar(seen.events)
    yield from check_tool_declared(seen)
    yield from check_tool_call(seen)
    arguments = deltas(seen.events, ToolDelta)
    yield true("deltas", "the arguments", arguments, holds=not arguments or "Paris" in arguments)
    yield from _check_same_in_one_piece(
        bench, seen, CALLED, prompt=WEATHER, thinking="off", tools=[TOOL]
    )


def thinking_streaming(bench: Testbed) -> Checks:
    """Thinking comes before the words it leads to, delta by delta, and stays apart from them."""
    bench.stage(THOUGHT_OF)
    seen = bench.ask(QUESTION, "medium", stream=True)
    yield once(seen)
    order = [type(e) for e in seen.events if isinstance(e, TextDelta | ThinkingDelta)]
    found = _count_deltas(order)
    yield true("deltas", "some thinking", found, holds=ThinkingDelta in order)
    yield true("deltas", "some words", found, holds=TextDelta in order)
    first = order.index(TextDelta)
    yield same(
        "thinking before the words", [], [k.__name__ for k in order[:first] if k is TextDelta]
    )
    late = [kind.__name__ for kind in order[first:] if kind is ThinkingDelta]
    yield same("thinking after the words", [], late)
    several = order.count(ThinkingDelta)
    yield optional("thinking deltas", "more than one", several, holds=several > 1)
    yield from check_thinking(bench, seen)
    yield from grammar(seen.events)


def _count_deltas(kinds: Sequence[type]) -> str:
    counts = (kinds.count(TextDelta), kinds.count(ThinkingDelta))
    text, thinking = (str(count or "none") for count in counts)
    return f"{text} of text, {thinking} of thinking"


def framing(bench: Testbed) -> Checks:
    """A stream is read the same however its bytes are cut, and another framing never wrongly."""
    bench.stage(ScriptedTurn(text=WIDE))
    seen = bench.ask(QUESTION, stream=True)
    yield once(seen)
    yield from check_answer(bench, seen, WIDE)
    body = seen.body
    whole = bare(seen.answer.message)
    one_by_one = [body[at : at + 1] for at in range(len(body))]
    yield same("read byte by byte", whole, _parts(bench, seen, one_by_one))
    middle = len(body) // 2
    yield same("read in two halves", whole, _parts(bench, seen, [body[:middle], body[middle:]]))
    for frames in _reframe(body):
        read = _parts(bench, seen, [frames])
        yield true(
            "read in another framing", f"rejected, or {whole}", read, holds=read in (None, whole)
        )


def _check_same_in_one_piece(
    bench: Testbed,
    seen: ObservedExchange,
    turn: ScriptedTurn,
    *,
    prompt: str = QUESTION,
    **options: Any,
) -> Checks:
    if not bench.stages:
        yield note_unchecked(_ONE_PIECE)
        return
    bench.stage(turn)
    whole = bench.ask(prompt, stream=False, **options)
    yield same("the answer in one piece", bare(whole.answer.message), bare(seen.answer.message))
    yield same("its finish", whole.answer.finish, seen.answer.finish)
    yield same("its counts", whole.answer.usage, seen.answer.usage)


def _check_stream_flag(seen: ObservedExchange) -> Checks:
    if seen.accepted is not None:
        yield same(
            "stream as the service reads it", expected=True, actual=seen.accepted.request.stream
        )


def _parts(bench: Testbed, seen: ObservedExchange, pieces: list[bytes]) -> list[object] | None:
    """Return the parts of a stream cut like this, or None if it is malformed."""
    entry, head = bench.entry, seen.exchange.head or ResponseHead(200)
    where = AnswerContext(entry.model, entry.provider.name, entry.quirks)
    stream = bench.wire.caller().stream(head, where)
    events: list[Event] = []
    try:
        for piece in pieces:
            events += stream.feed(piece)
        events += stream.eof()
    except WireError:
        return None
    ended = sorted((e for e in events if isinstance(e, PartEnd)), key=lambda e: e.index)
    return bare(Message("assistant", tuple(event.part for event in ended)))


def _reframe(body: bytes) -> list[bytes]:
    from json import dumps  # noqa: PLC0415 - writes JSON like the services

    lines = [dumps(each, ensure_ascii=False) for each in objects(body)]
    return ["\n".join([*lines, ""]).encode(), f"[{','.join(lines)}]".encode()]
