"""Requests and answers of every shape a wire has words for."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from hypothesis import strategies as st
from msgspec.structs import replace
from tests.grammar import KINDS

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Event,
    Finish,
    Finished,
    Image,
    Message,
    OutputFormat,
    Part,
    PartEnd,
    PartStart,
    Reply,
    Request,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolChoice,
    ToolDelta,
    ToolResult,
    Usage,
)

from .wire import Json, Wire

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
names = st.text("abcdefgh_", min_size=1, max_size=8)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False, width=32)
values = st.recursive(
    st.none()
    | st.booleans()
    | numbers
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(names, values, max_size=3)
PNG = b"\x89PNG\r\n\x1a\n"
ids = st.text("abcXYZ019_", min_size=1, max_size=20).map("call_{}".format)


@cache
def spoken(wire: Wire) -> st.SearchStrategy[str]:
    """Return words that a client may send: where blanks alone are rejected, never those."""
    return words if wire.says("blank_texts") else words.filter(lambda text: text.strip())


@cache
def caches(wire: Wire) -> st.SearchStrategy[CacheBreakpoint | None]:
    marks = st.sampled_from(
        [None, None, None, CacheBreakpoint(), CacheBreakpoint("5m"), CacheBreakpoint("1h")]
    )
    return marks if wire.says("cache") else st.none()


@cache
def texts(wire: Wire, *, marked: bool = True) -> st.SearchStrategy[Text]:
    return st.builds(Text, spoken(wire), cache=caches(wire) if marked else st.none())


@cache
def pictures(wire: Wire, *, marked: bool = True) -> st.SearchStrategy[Part]:
    marks = caches(wire) if marked else st.none()
    here = st.builds(
        Image,
        st.just("image/png"),
        data=st.binary(max_size=20).map(lambda data: PNG + data),
        cache=marks,
    )
    there = st.builds(Image, url=names.map("https://example.com/{}.png".format), cache=marks)
    return here | there if wire.says("image_urls") else here


@cache
def blobs(wire: Wire, *, marked: bool = True) -> st.SearchStrategy[Part]:
    data = st.binary(max_size=20).map(lambda data: b"%PDF-1.7\n" + data)
    marks = caches(wire) if marked else st.none()
    return st.builds(Blob, st.just("application/pdf"), data=data, cache=marks)


@cache
def questions(wire: Wire, *, marked: bool = True) -> st.SearchStrategy[Message]:
    """A user's message without tool results."""
    kinds: list[st.SearchStrategy[Part]] = [texts(wire, marked=marked), texts(wire, marked=marked)]
    if wire.says("images"):
        kinds.append(pictures(wire, marked=marked))
    if wire.says("blobs"):
        kinds.append(blobs(wire, marked=marked))
    many = st.lists(st.one_of(kinds), min_size=1, max_size=3)
    if not wire.says("media_order"):
        many = many.map(lambda parts: sorted(parts, key=lambda part: not isinstance(part, Text)))
    return many.map(lambda parts: Message("user", apart(parts, wire)))


def apart(parts: Sequence[Part], wire: Wire) -> tuple[Part, ...]:
    """Return the parts; texts side by side become one where the wire has no gap between them."""
    if wire.says("adjacent_texts"):
        return tuple(parts)
    kept: list[Part] = []
    for part in parts:
        last = kept[-1] if kept else None
        if isinstance(part, Text) and isinstance(last, Text):
            kept[-1] = Text(last.text + part.text)
        else:
            kept.append(part)
    return tuple(kept)


@cache
@st.composite
def tools(draw: st.DrawFn, wire: Wire, *, strict: bool = True) -> tuple[Tool, ...]:
    chosen = draw(st.lists(names, unique=True, max_size=3))
    schema = st.dictionaries(names, st.just({"type": "string"}), max_size=2).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )
    return tuple(
        Tool(
            name,
            draw(words | st.just("")),
            draw(schema),
            strict=draw(st.sampled_from([None, True])) if strict and wire.says("strict") else None,
            cache=draw(caches(wire)) if wire.says("tool_cache") else None,
        )
        for name in chosen
    )


@st.composite
def choices(
    draw: st.DrawFn, wire: Wire, offered: Sequence[Tool], *, thinks: bool
) -> ToolChoice | None:
    if not offered:
        return None
    modes = ["auto"] if wire.says("auto_choice") else []
    if wire.says("no_tools"):
        modes.append("none")
    if wire.says("forced_tools") and not thinks:
        modes += ["required", "tool"] if wire.says("named_tool") else ["required"]
    if not modes:
        return None
    mode: Any = draw(st.sampled_from(modes))
    name = draw(st.sampled_from([tool.name for tool in offered])) if mode == "tool" else None
    told = wire.says("parallel") and mode != "none"
    parallel = draw(st.sampled_from([None, True, False])) if told else None
    return draw(st.sampled_from([None, ToolChoice(mode, name, parallel)]))


@cache
@st.composite
def outputs(draw: st.DrawFn, wire: Wire) -> OutputFormat | None:
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    kinds: list[OutputFormat | None] = [None, None]
    if wire.says("output"):
        named = wire.says("output_names")
        kinds.append(OutputFormat(schema, strict=True if wire.says("strict") and named else None))
        if wire.says("schemaless_output"):
            kinds.append(OutputFormat())
    return draw(st.sampled_from(kinds))


@cache
def sampling(wire: Wire) -> st.SearchStrategy[dict[str, Json]]:
    some: dict[str, st.SearchStrategy[Json]] = {}
    if wire.says("temperature"):
        some["temperature"] = st.sampled_from([0.0, 0.25, 1.0])
    if wire.says("top_p"):
        some["top_p"] = st.sampled_from([0.5, 1.0])
    if wire.says("top_k"):
        some["top_k"] = st.integers(1, 40)
    many = st.fixed_dictionaries({}, optional=some)
    if wire.says("both_samplings"):
        return many
    return many.map(
        lambda d: {k: v for k, v in d.items() if k != "top_p" or "temperature" not in d}
    )


@cache
@st.composite
def requests(draw: st.DrawFn, wire: Wire, *, thinks: bool | None = None) -> Request:
    """A first question. Thinking models take no sampling and no forced tools here."""
    thinks = draw(st.booleans()) if thinks is None else thinks
    offered = draw(tools(wire, strict=thinks or wire.strict_plain))
    shaped = wire.says("output_beside_tools")
    systems = 2 if wire.says("several_systems") else 1
    caps: st.SearchStrategy[int | None] = st.integers(wire.least_tokens, 4096)
    if wire.says("max_tokens_absent"):
        caps |= st.none()
    request = Request(
        model=wire.model if thinks else wire.plain,
        messages=(draw(questions(wire)),),
        system=tuple(draw(st.lists(texts(wire), max_size=systems))),
        tools=offered,
        tool_choice=draw(choices(wire, offered, thinks=thinks)),
        output=draw(outputs(wire)) if thinks and (not offered or shaped) else None,
        max_tokens=draw(caps),
        stop=tuple(draw(st.lists(spoken(wire), max_size=2, unique=True)))
        if wire.says("stop")
        else (),
        stream=draw(st.booleans()),
        extras=draw(st.sampled_from([None, dict(wire.extras)])) if wire.says("extras") else None,
        **({} if thinks else draw(sampling(wire))),
    )
    return request if wire.says("many_marks") else fewer_marks(request)


def fewer_marks(request: Request, most: int = 2) -> Request:
    """Return the request with its first cache breakpoints alone, all for the same time."""
    left, ttl = most, None

    def limit(part: Any) -> Any:
        nonlocal left, ttl
        if getattr(part, "cache", None) is None:
            return part
        ttl = part.cache if left == most else ttl
        left -= 1
        return replace(part, cache=ttl if left >= 0 else None)

    tools = tuple(map(limit, request.tools))
    system = tuple(map(limit, request.system))
    messages = tuple(Message(each.role, tuple(map(limit, each.parts))) for each in request.messages)
    return replace(request, tools=tools, system=system, messages=messages)


def calls(wire: Wire, offered: Sequence[Tool]) -> st.SearchStrategy[ToolCall]:
    names = st.sampled_from([tool.name for tool in offered])
    return st.builds(ToolCall, ids, names, objects)


@st.composite
def answers(draw: st.DrawFn, wire: Wire, offered: Sequence[Tool], *, thinks: bool) -> Reply:
    """An answer as a mind gives it: thinking is not sealed yet."""
    kinds: list[st.SearchStrategy[Part]] = [st.builds(Text, words)]
    if offered:
        kinds.append(calls(wire, offered))
    if thinks:
        kinds.append(st.builds(Thinking, words))
        if wire.says("redacted"):
            kinds.append(st.just(Thinking("", redacted=True)))
    drawn = draw(st.lists(st.one_of(kinds), min_size=1, max_size=5, unique_by=_call_id))
    parts = arranged(drawn, wire)
    finish = draw(ends(wire, parts))
    return Reply(Message("assistant", parts), finish, draw(usages(wire, thinks=thinks)))


def _call_id(part: Part) -> object:
    return part.id if isinstance(part, ToolCall) else object()


def arranged(parts: Sequence[Part], wire: Wire) -> tuple[Part, ...]:
    """Return the parts in an order and a number the wire has words for."""
    parts = list(parts)
    if not wire.says("order"):
        rank = {Thinking: 0, Text: 1, ToolCall: 2}
        parts.sort(key=lambda part: rank[type(part)])
    if not wire.says("several_thoughts"):
        first = next((p for p in parts if isinstance(p, Thinking)), None)
        parts = [p for p in parts if not isinstance(p, Thinking) or p is first]
    if wire.thinks_first and any(isinstance(part, Thinking) for part in parts):
        parts.sort(key=lambda part: not isinstance(part, Thinking))
    return apart(parts if wire.says("adjacent_alike") else _joined(parts), wire)


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Return the parts; two texts or two thoughts side by side become one."""
    kept: list[Part] = []
    for part in parts:
        last = kept[-1] if kept else None
        if isinstance(last, Text) and isinstance(part, Text):
            kept[-1] = Text(last.text + part.text)
        elif isinstance(last, Thinking) and isinstance(part, Thinking):
            kept[-1] = Thinking(last.text + part.text)
        else:
            kept.append(part)
    return kept


@st.composite
def ends(draw: st.DrawFn, wire: Wire, parts: Sequence[Part]) -> Finish:
    if any(isinstance(part, ToolCall) for part in parts):
        return "tool_calls"
    finish = draw(st.sampled_from(wire.finishes))
    spoke = any(isinstance(part, Text) and part.text.strip() for part in parts)
    thought = any(isinstance(part, Thinking) for part in parts)
    return "exhausted" if finish == "length" and thought and not spoke else finish


@cache
@st.composite
def usages(draw: st.DrawFn, wire: Wire, *, thinks: bool) -> Usage:
    told: dict[str, Any] = {name: draw(st.integers(0, 10**6)) for name in sorted(wire.buckets)}
    if "thinking" in told and not thinks:
        told["thinking"] = 0
    return Usage(**told, total=sum(told.values()))


@st.composite
def followups(draw: st.DrawFn, wire: Wire, message: Message) -> Message:
    """What a user sends after an answer: results for its calls, or words."""
    many = wire.says("many_marks")
    if not message.tool_calls:
        return draw(questions(wire, marked=many))
    marked = many and wire.says("result_cache")
    content: st.SearchStrategy[Any] = texts(wire, marked=marked)
    if wire.says("result_images"):
        content |= pictures(wire, marked=marked)
    contents = [
        cast("Any", apart(draw(st.lists(content, min_size=1, max_size=2)), wire))
        for _ in message.tool_calls
    ]
    results: list[Part] = [
        ToolResult(
            call.id,
            inner,
            # An error holds text alone: the handoff moves its media out for Claude.
            error=wire.says("result_errors")
            and all(isinstance(each, Text) for each in inner)
            and draw(st.booleans()),
            name=call.name if wire.says("result_names") else None,
            cache=draw(caches(wire)) if many else None,
        )
        for call, inner in zip(message.tool_calls, contents, strict=True)
    ]
    if wire.says("results_and_text") and draw(st.booleans()):
        results.append(draw(texts(wire, marked=many)))
    return Message("user", tuple(results))


def told(reply: Reply, pieces: int = 3) -> list[Event]:
    """Return an answer as the events of its making, its words in so many pieces."""
    events: list[Event] = [Started(reply.model)]
    for index, part in enumerate(reply.message.parts):
        kind: Any = KINDS[type(part)]
        called = (part.id, part.name) if isinstance(part, ToolCall) else ()
        events.append(PartStart(index, kind, *called))
        events += _deltas(index, part, pieces)
        events.append(PartEnd(index, part))
    return [*events, Finished(reply.finish, reply.usage, model=reply.model)]


def _deltas(index: int, part: Part, pieces: int) -> list[Event]:
    match part:
        case Text():
            return [TextDelta(index, piece) for piece in _pieces(part.text, pieces)]
        case Thinking():
            return [ThinkingDelta(index, piece) for piece in _pieces(part.text, pieces)]
        case ToolCall():
            return [
                ToolDelta(index, piece) for piece in _pieces(json.dumps(part.arguments), pieces)
            ]
    return []


def _pieces(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[at : at + size] for at in range(0, len(text), size)]
