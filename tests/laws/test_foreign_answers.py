"""Law: an answer of any wire, written on this one, is read by its own caller as what it was.

What a gateway writes came on another wire: its parts, its finish and its counts are in words that
this one may not have. Nothing breaks, nothing of the other wire's own gets through, and what this
one can say is said.
"""

import json
from base64 import b64encode
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.framing.pieces import splits
from tests.grammar import KINDS, grammar
from tests.plans import plan

from pondero.canon import (
    Assembler,
    Blob,
    Event,
    Finish,
    Finished,
    HttpResponse,
    Image,
    Json,
    Message,
    Part,
    PartEnd,
    PartStart,
    Reply,
    Request,
    ResponseHead,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolDelta,
    UnknownPart,
    Usage,
    dump_json,
)
from pondero.dialects import NAMES, AnswerContext, get_dialect
from pondero.dialects.dialect import ReplyContext
from pondero.errors import ContextTooLong, ServiceError

from .strategies import ids, objects, values, words
from .wire import wire

pytestmark = pytest.mark.parametrize("name", NAMES)


def id_of(part: Part) -> object:
    return part.id if isinstance(part, ToolCall) else object()


LEAK = "only-the-other-wire-says-this"
SEALS = st.sampled_from(
    [
        None,
        Signature("pondero", "cG5kRXYxAAAA"),
        Signature("elsewhere", {"signature": LEAK}, "m", "r"),
    ]
)
CITED = ({"type": "cited_elsewhere", "document": LEAK},)
counts = st.none() | st.integers(0, 10**6)
spoken = st.builds(Text, words, SEALS, st.sampled_from([(), CITED]))
thought = st.builds(Thinking, words | st.just(""), SEALS)
hidden = st.builds(Thinking, st.just(""), SEALS, st.just(True))
given_to = objects | words | values.filter(lambda value: value is not None)
called = st.builds(ToolCall, ids, st.just("look"), given_to, SEALS)
shown = st.sampled_from([Image("image/png", b"1"), Image(url="https://x"), Blob("audio/wav", b"1")])
odd = st.just(UnknownPart("elsewhere", {"type": "secret", "said": LEAK}))
parts = st.lists(
    st.one_of(spoken, thought, hidden, called, shown, odd), max_size=5, unique_by=id_of
).map(tuple)
finishes: st.SearchStrategy[Finish] = st.sampled_from(
    ["stop", "length", "tool_calls", "content_filter", "refusal", "paused", "context_full",
     "exhausted", "other"]
)  # fmt: skip
usages = st.builds(Usage, counts, counts, counts, counts, counts)
cuts = st.lists(st.integers(0, 4000), max_size=5)


def carried(part: Part, _shown: str, _before: object, /) -> Json | None:
    """Return the envelope on a part, as the gateway's own sealer does."""
    seal = getattr(part, "signature", None)
    return seal.value if seal is not None and seal.dialect == "pondero" else None


def asked(name: str) -> ReplyContext[Json]:
    """Return how an answer is to be written to a client that streams and offers a tool."""
    row, sides = wire(name), get_dialect(name)
    look = Tool("look", "Looks.", {"type": "object", "properties": {}})
    request = Request(row.model, (Message("user", (Text("hi"),)),), tools=(look,), max_tokens=9)
    http = sides.caller().encode(request, plan(name, dict(row.thinking)), row.target)
    read = sides.service().parse(http)
    return ReplyContext(
        request=read.request, context=read.context, sign=carried, seed=b"1", shown=True
    )


def told(said: tuple[Part, ...], finish: Finish, usage: Usage, *, pieces: bool) -> list[Event]:
    """Return an answer as events; without ``pieces`` every part comes whole."""
    events: list[Event] = [Started("m")]
    for index, part in enumerate(said):
        kind: Any = KINDS[type(part)]
        start = PartStart(
            index, kind, signature=None if pieces else getattr(part, "signature", None)
        )
        if isinstance(part, ToolCall):
            start = replace(start, id=part.id, name=part.name)
        events.append(start)
        events += deltas(index, part) if pieces else ()
        events.append(PartEnd(index, part))
    own = {"leak": LEAK}
    return [*events, Finished(finish, usage, model="m", grounding=own, safety=own, extras=own)]


def deltas(index: int, part: Part) -> list[Event]:
    match part:
        case Text():
            return [TextDelta(index, piece) for piece in halves(part.text)]
        case Thinking():
            return [ThinkingDelta(index, piece) for piece in halves(part.text)]
        case ToolCall(arguments=str() as text):
            return [ToolDelta(index, piece) for piece in halves(text)]
        case ToolCall():
            return [ToolDelta(index, piece) for piece in halves(dump_json(part.arguments))]
    return []


def halves(text: str) -> list[str]:
    at = (0, len(text) // 2, len(text))
    return [text[begin:end] for begin, end in pairwise(at) if end > begin]


def streamed(name: str, events: list[Event]) -> bytes:
    writer = get_dialect(name).service().stream(asked(name))
    return b"".join(writer.feed(event) for event in events) + writer.eof()


def read(name: str, pieces: list[bytes]) -> tuple[Message, Finished]:
    stream = (
        get_dialect(name)
        .caller()
        .stream(ResponseHead(200), AnswerContext("m", "r", wire(name).target.quirks))
    )
    return assembled([event for piece in pieces for event in stream.feed(piece)] + stream.eof())


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    assert grammar(events) is None, grammar(events)
    assembler = Assembler()
    assembler.extend(events)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def is_said(message: Message, finished: Finished, parts: tuple[Part, ...], usage: Usage) -> None:
    """Compare what was read with what was meant."""
    meant = Message("assistant", parts)
    assert message.text == meant.text
    assert message.thinking.replace("\n\n", "") == meant.thinking.replace("\n\n", "")
    assert [call.name for call in message.tool_calls] == [call.name for call in meant.tool_calls]
    for got, made in zip(message.tool_calls, meant.tool_calls, strict=True):
        if isinstance(made.arguments, dict):
            assert got.arguments == made.arguments
        elif isinstance(made.arguments, str):
            assert dump_json(made.arguments.strip())[1:-1] in dump_json(got.arguments)
    if finished.usage != Usage():
        assert tokens(finished.usage) == tokens(usage)


def tokens(usage: Usage) -> tuple[int, int]:
    """Return how many were read and how many were made; what is not known counts as none."""
    given = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    return given, (usage.output or 0) + (usage.thinking or 0)


@settings(max_examples=30)
@given(parts, finishes, usages, st.booleans(), cuts)
def test_a_streamed_answer_of_any_wire_is_what_it_was(name, parts, finish, usage, pieces, cuts):
    sent = streamed(name, told(parts, finish, usage, pieces=pieces))
    assert LEAK.encode() not in sent
    message, finished = read(name, splits(sent, cuts))
    is_said(message, finished, parts, usage)


@settings(max_examples=30)
@given(parts, finishes, usages)
def test_a_whole_answer_of_any_wire_is_what_it_was(name, parts, finish, usage):
    own = {"leak": LEAK}
    reply = Reply(Message("assistant", parts), finish, usage, grounding=own, safety=own, extras=own)
    sent = get_dialect(name).service().reply(asked(name), reply)
    assert LEAK.encode() not in sent.body
    where = AnswerContext("m", "r", wire(name).target.quirks)
    events = get_dialect(name).caller().decode(ResponseHead(200, sent.headers), sent.body, where)
    is_said(*assembled(events), parts, usage)


PAGE = "https://example.com/a"
CITATIONS = (
    {"type": "url_citation", "url": PAGE, "title": "A", "start_index": 0, "end_index": 1},
    {"type": "url_citation", "url_citation": {"url": PAGE, "title": "A"}},
    {"type": "web_search_result_location", "url": PAGE, "title": "A", "encrypted_index": "x"},
    {"title": "A", "location": {"web": {"url": PAGE}}},
)


@pytest.mark.parametrize("citation", CITATIONS)
def test_a_page_that_is_cited_on_any_wire_is_cited_on_this_one(name, citation):
    cited = (Text("So", citations=(citation,)),)
    sent = streamed(name, told(cited, "stop", Usage(), pieces=True))
    reply = Reply(Message("assistant", cited), "stop")
    body = get_dialect(name).service().reply(asked(name), reply).body
    says_pages = name != "ollama"
    assert (PAGE.encode() in sent) is says_pages
    assert (PAGE.encode() in body) is says_pages


@settings(max_examples=30)
@given(parts)
def test_every_piece_of_words_is_sent_when_it_comes(name, parts):
    writer = get_dialect(name).service().stream(asked(name))
    for event in told(parts, "stop", Usage(), pieces=True):
        sent = writer.feed(event)
        if isinstance(event, TextDelta | ThinkingDelta) or (
            isinstance(event, ToolDelta) and name not in ("gemini", "ollama")
        ):
            assert sent


@given(st.binary(min_size=1, max_size=60), st.booleans())
def test_an_envelope_on_thinking_comes_back_byte_for_byte(name, inside, redacted):
    if name not in ("anthropic", "bedrock", "openai_responses"):
        return  # no slot on thinking itself
    envelope = b64encode(inside).decode()
    thinking = Thinking("" if redacted else "hm", Signature("pondero", envelope), redacted=redacted)
    sent = streamed(name, told((thinking, Text("so")), "stop", Usage(), pieces=True))
    message, _ = read(name, [sent])
    seals = [part.signature for part in message.parts if isinstance(part, Thinking)]
    assert [envelope in dump_json(seal) for seal in seals] == [True]


def test_an_error_in_mid_stream_is_an_error_of_the_wire(name):
    sides = get_dialect(name)
    writer = sides.service().stream(asked(name))
    begun = told((Text("So"),), "stop", Usage(), pieces=True)[:-2]
    error: HttpResponse = sides.service().error(503, "It rests.", code=None, retry_after=2)
    sent = b"".join(writer.feed(event) for event in begun) + writer.fail(error)
    with pytest.raises(ServiceError, match="It rests"):
        read(name, [sent])


def test_a_prompt_that_is_too_long_is_read_as_one(name):
    sides = get_dialect(name)
    words = "prompt is too long: 208310 tokens > 200000 maximum"
    sent = sides.service().error(400, words, code="context_length_exceeded", retry_after=None)
    error = sides.caller().error(ResponseHead(sent.status, sent.headers), sent.body)
    assert isinstance(error, ContextTooLong)
    assert "208310" in json.dumps(error.message)
