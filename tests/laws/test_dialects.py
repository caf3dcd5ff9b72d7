"""Laws of every dialect of the registry: the two sides agree, and nothing breaks them."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.framing.pieces import splits
from tests.grammar import grammar
from tests.plans import plan
from tests.registry import WITH_SKELETON, dialect

from pondero.canon import (
    Assembler,
    Event,
    Finished,
    HttpRequest,
    Message,
    Origin,
    Part,
    Reply,
    Request,
    ResponseHead,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from pondero.dialects import AcceptedRequest, AnswerContext, Dialect, Rejected
from pondero.errors import BadParameter, PonderoError, ServiceError, Truncated
from pondero.exchange import decode
from pondero.handoff import Destination, handoff

from .mutate import wrong_body, wrong_stream
from .strategies import answers, followups, requests, told
from .wire import Wire, wire

Json = Any

pytestmark = pytest.mark.parametrize("name", WITH_SKELETON)


# -- the caller and the service, wired together ----------------------------------------------


class Pair:
    """One dialect, both sides of it, and its row."""

    def __init__(self, name: str) -> None:
        self.dialect: Dialect = dialect(name)
        self.wire: Wire = wire(name)

    def encoded(self, request: Request) -> HttpRequest:
        thinks = request.model == self.wire.model
        fields = dict(self.wire.thinking) if thinks else {}
        return self.dialect.caller().encode(
            request, plan(self.dialect.name, fields), self.wire.target
        )

    def accepted(self, request: Request) -> AcceptedRequest:
        return self.dialect.service().accept(self.encoded(request), self.wire.service)

    def streamed(self, accepted: AcceptedRequest, reply: Reply) -> bytes:
        stream = self.dialect.service().stream(accepted)
        return b"".join(stream.feed(event) for event in told(reply)) + stream.eof()

    def decoded(self, pieces: list[bytes], model: str) -> list[Event]:
        stream = self.dialect.caller().stream(
            ResponseHead(200), AnswerContext(model, self.wire.target.route, self.wire.target.quirks)
        )
        return [event for piece in pieces for event in stream.feed(piece)] + stream.eof()

    def whole(self, accepted: AcceptedRequest, reply: Reply) -> list[Event]:
        sent = self.dialect.service().reply(accepted, reply)
        assert sent.status == 200
        return self.dialect.caller().decode(
            ResponseHead(sent.status, sent.headers),
            sent.body,
            AnswerContext(accepted.request.model, self.wire.target.route, self.wire.target.quirks),
        )


class Exchange:
    """A first question, accepted, and an answer to it."""

    def __init__(self, pair: Pair, draw: st.DrawFn) -> None:
        self.request = draw(requests(pair.wire))
        self.thinks = self.request.model == pair.wire.model
        self.accepted = pair.accepted(self.request)
        offered = self.request.tools
        self.reply = replace(
            draw(answers(pair.wire, offered, thinks=self.thinks)), model=self.request.model
        )


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    assert grammar(events) is None, grammar(events)
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def folded(message: Message) -> Message:
    """Return the message with a seal that came behind a text, in an empty one, on that text."""
    parts: list[Part] = []
    for part in message.parts:
        last = parts[-1] if parts else None
        if (
            isinstance(part, Text)
            and not part.text
            and isinstance(last, Text)
            and last.signature is None
        ):
            parts[-1] = replace(last, signature=part.signature)
        else:
            parts.append(part)
    return replace(message, parts=tuple(parts))


def bare_part(part: Part, *, seals: bool, ids: bool = True) -> Part:
    """Return the part as a wire can say it: a seal's model and route are ours alone."""
    if isinstance(part, Text | Thinking | ToolCall) and part.signature is not None:
        kept = Signature(part.signature.dialect, part.signature.value) if seals else None
        part = replace(part, signature=kept)
    if isinstance(part, ToolCall) and (part.minted or not ids):
        part = replace(part, id="", minted=False)
    if isinstance(part, ToolResult) and not ids:
        part = replace(part, call_id="")
    return part


def bare(message: Message, *, seals: bool, ids: bool = True) -> Message:
    parts = tuple(bare_part(part, seals=seals, ids=ids) for part in message.parts)
    return Message(message.role, parts)


def bare_request(request: Request, *, ids: bool) -> Request:
    messages = tuple(bare(message, seals=True, ids=ids) for message in request.messages)
    return replace(request, messages=messages)


_KEYS = st.sampled_from(
    [
        "type",
        "object",
        "error",
        "message",
        "choices",
        "output",
        "content",
        "candidates",
        "response",
        "done",
        "model",
        "event",
        "finish_reason",
        "id",
        "stopReason",
        "usageMetadata",
        "promptFeedback",
        "contentBlockIndex",
        "detail",
        "code",
    ]
)

# -- laws ------------------------------------------------------------------------------------


@given(st.data())
def test_what_is_encoded_is_accepted_as_it_was_meant(name, data):
    pair = Pair(name)
    request = data.draw(requests(pair.wire))
    assert pair.accepted(request).request == request


@given(st.data())
def test_what_is_replied_is_decoded_as_it_was_said(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    ids = pair.wire.says("call_ids")
    said = bare(exchange.reply.message, seals=False, ids=ids)
    for events in (
        pair.whole(exchange.accepted, exchange.reply),
        pair.decoded([pair.streamed(exchange.accepted, exchange.reply)], exchange.request.model),
    ):
        message, finished = assembled(events)
        assert bare(folded(message), seals=False, ids=ids) == said
        assert finished.finish == exchange.reply.finish
        assert finished.usage == exchange.reply.usage


@given(st.data())
def test_a_whole_answer_and_its_stream_are_one(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    whole, end = assembled(pair.whole(exchange.accepted, exchange.reply))
    stream = pair.streamed(exchange.accepted, exchange.reply)
    streamed, last = assembled(pair.decoded([stream], exchange.request.model))
    assert folded(streamed) == folded(whole)
    assert (last.finish, last.usage, last.raw_finish) == (end.finish, end.usage, end.raw_finish)


@given(st.data(), st.lists(st.integers(0, 3000)))
def test_any_split_gives_the_same_events(name, data, cuts):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    stream = pair.streamed(exchange.accepted, exchange.reply)
    whole = pair.decoded([stream], exchange.request.model)
    assert pair.decoded(splits(stream, cuts), exchange.request.model) == whole
    bytewise = [stream[at : at + 1] for at in range(len(stream))]
    assert pair.decoded(bytewise, exchange.request.model) == whole


@given(st.data())
def test_a_stream_cut_anywhere_is_truncated_or_was_complete(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    stream = pair.streamed(exchange.accepted, exchange.reply)
    whole = pair.decoded([stream], exchange.request.model)
    cut = data.draw(st.integers(0, len(stream) - 1))
    try:
        events = pair.decoded([stream[:cut]], exchange.request.model)
    except Truncated:
        return
    if pair.wire.early_end:
        assert assembled(events)[0] == assembled(whole)[0]
        assert assembled(events)[1].finish == assembled(whole)[1].finish
    else:
        assert events == whole


def taken_back(message: Message, spoken: Wire) -> Message:
    """Return an answer as its service takes it back: some reject a text of blanks."""
    kept = tuple(p for p in message.parts if not isinstance(p, Text) or p.text.strip())
    if spoken.says("blank_texts") or (kept and spoken.says("blanks_beside")):
        return message
    return replace(message, parts=kept)


@given(st.data())
def test_the_second_turn_is_accepted_and_carries_every_seal(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    stream = pair.streamed(exchange.accepted, exchange.reply)
    message, _ = assembled(pair.decoded([stream], exchange.request.model))
    taken = taken_back(message, pair.wire)
    assume(taken.parts)
    assume(pair.wire.says("last_thought") or not isinstance(taken.parts[-1], Thinking))
    follow = data.draw(followups(pair.wire, message))
    before = exchange.request.messages
    second = replace(exchange.request, messages=(*before, message, follow))
    expected = replace(exchange.request, messages=(*before, taken, follow))
    ids = pair.wire.says("call_ids")
    assert bare_request(pair.accepted(second).request, ids=ids) == bare_request(expected, ids=ids)
    sent = set(_strings(json.loads(pair.encoded(second).body)))
    for seal in _seals(message):
        assert set(_strings(seal.value)) <= sent


@given(st.data())
def test_thinking_that_a_handoff_keeps_is_sent(name, data):
    """Whatever seals a past lost, what the view holds goes out: only a manifest leaves out."""
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    stream = pair.streamed(exchange.accepted, exchange.reply)
    message, _ = assembled(pair.decoded([stream], exchange.request.model))
    parts = [
        replace(part, signature=None)
        if hasattr(part, "signature") and data.draw(st.booleans())
        else part
        for part in message.parts
    ]
    target, model = pair.wire.target, exchange.request.model
    to = Destination(
        dialect=name,
        model=model,
        provider=target.route,
        route=target.route,
        takes=pair.dialect.caller().replay_rules(target.quirks),
    )
    past = Message("assistant", tuple(parts), Origin(target.route, model))
    follow = data.draw(followups(pair.wire, message))
    view = handoff((*exchange.request.messages, past, follow), to)
    second = replace(exchange.request, messages=view.messages)
    sent = set(_strings(json.loads(pair.encoded(second).body)))
    for each in view.messages:
        for part in each.parts:
            if isinstance(part, Thinking) and part.signature is not None:
                assert set(_strings(part.signature.value)) <= sent


@given(st.data())
def test_a_foreign_seal_never_leaves(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    stream = pair.streamed(exchange.accepted, exchange.reply)
    message, _ = assembled(pair.decoded([stream], exchange.request.model))
    foreign = Signature("another", "a-seal-of-another-make")
    parts = tuple(
        replace(part, signature=foreign) if isinstance(part, Text | Thinking | ToolCall) else part
        for part in message.parts
    )
    follow = data.draw(followups(pair.wire, message))
    second = replace(
        exchange.request,
        messages=(*exchange.request.messages, Message("assistant", parts), follow),
    )
    assert b"a-seal-of-another-make" not in pair.encoded(second).body


@given(st.data())
def test_a_broken_stream_raises_only_our_errors(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    stream = data.draw(wrong_stream(pair.streamed(exchange.accepted, exchange.reply)))
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    assert _outcome(pair, splits(stream, cuts)) == _outcome(pair, [stream])


@given(st.data())
def test_a_broken_answer_raises_only_our_errors(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    sent = pair.dialect.service().reply(exchange.accepted, exchange.reply)
    body = data.draw(wrong_body(sent.body))
    try:
        events = pair.dialect.caller().decode(ResponseHead(200), body, AnswerContext("m"))
    except PonderoError:
        return
    assert grammar(events) is None, grammar(events)


_LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=2)
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=4), st.booleans())
def test_any_json_is_recognised_or_not_and_breaks_nothing(name, raw, streamed):
    assert 0 <= dialect(name).caller().match_score(raw, stream=streamed) <= 100
    with suppress(BadParameter):
        decode(json.dumps(raw).encode(), stream=streamed)


@given(st.binary(), st.lists(st.integers(0, 50)))
def test_random_bytes_raise_only_our_errors(name, data, cuts):
    pair = Pair(name)
    for stream in (data, b"data: " + data + b"\n\n", b"[" + data):
        assert _outcome(pair, splits(stream, cuts)) == _outcome(pair, [stream])
    with suppress(PonderoError):
        pair.dialect.caller().decode(ResponseHead(200), data, AnswerContext())


@given(
    st.binary() | st.text().map(lambda text: text.encode("utf-8", "replace")), st.integers(400, 599)
)
def test_any_error_body_is_survived(name, body, status):
    for each in (body, b"<html><body>" + body + b"</body></html>", b""):
        error = dialect(name).caller().error(ResponseHead(status), each)
        assert isinstance(error, ServiceError)
        assert error.status == status
        assert error.message


@given(st.data(), st.integers(400, 599))
def test_an_error_of_any_shape_is_survived(name, data, status):
    pair = Pair(name)
    sent = pair.dialect.service().error(429, "slow down", code=None, retry_after=3.0)
    error = pair.dialect.caller().error(ResponseHead(status), data.draw(wrong_body(sent.body)))
    assert isinstance(error, ServiceError)
    assert error.status == status


@given(st.data())
def test_a_broken_request_is_refused_in_the_services_own_way(name, data):
    pair = Pair(name)
    exchange = Exchange(pair, data.draw)
    message, _ = assembled(pair.whole(exchange.accepted, exchange.reply))
    follow = data.draw(followups(pair.wire, message))
    second = replace(exchange.request, messages=(*exchange.request.messages, message, follow))
    sent = pair.encoded(second)
    body = data.draw(wrong_body(sent.body))
    try:
        pair.dialect.service().accept(replace(sent, body=body), pair.wire.service)
    except Rejected as refused:
        answer = refused.response
        error = pair.dialect.caller().error(
            ResponseHead(answer.status, answer.headers), answer.body
        )
        assert 400 <= answer.status < 500
        assert error.message


def test_the_services_errors_come_out_as_they_went_in(name):
    pair = Pair(name)
    for status in (400, 401, 403, 404, 429, 500, 503):
        sent = pair.dialect.service().error(status, "some words", code=None, retry_after=2.0)
        error = pair.dialect.caller().error(ResponseHead(sent.status, sent.headers), sent.body)
        assert sent.status == status
        assert error.message == "some words"
        assert error.status == status
        if status == 429:
            assert error.retry_after == 2.0


def test_a_request_without_a_key_is_refused(name):
    pair = Pair(name)
    sent = pair.encoded(Request(pair.wire.plain, (Message("user", (Text("hi"),)),), max_tokens=9))
    with pytest.raises(Rejected) as refused:
        pair.dialect.service().accept(replace(sent, headers={}), pair.wire.service)
    assert refused.value.response.status in (400, 401, 403)


# -- what a stream did -----------------------------------------------------------------------


def _outcome(pair: Pair, pieces: list[bytes]) -> tuple[list[Event], str | None]:
    """Return the events that came before it ended, and how it failed, if it did."""
    stream = pair.dialect.caller().stream(ResponseHead(200), AnswerContext("m"))
    events: list[Event] = []
    try:
        for piece in pieces:
            events += stream.feed(piece)
        events += stream.eof()
    except PonderoError as error:
        return events, f"{type(error).__name__}: {error}"
    return events, None


def _seals(message: Message) -> list[Signature]:
    parts = (p for p in message.parts if isinstance(p, Text | Thinking | ToolCall))
    return [part.signature for part in parts if part.signature is not None]


def _strings(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [each for item in value for each in _strings(item)]
    return []


@pytest.mark.parametrize(
    "hostile",
    ["9" * 20_000, "-" + "9" * 20_000, "1." * 10_000, "1m" * 10_000, "1 " * 10_000, "1s " * 7_000],
    ids=lambda text: text[:3],
)
def test_an_error_whose_numbers_are_absurd_is_read_at_once(name, hostile):
    """A reset header of 20,000 digits once cost 8 seconds."""
    said = f"Rate limit reached. Please try again in {hostile}"
    bodies = (b"", json.dumps({"error": {"message": said}}), json.dumps({"message": hostile}))
    limits = ("retry-after", "retry-after-ms", "x-ratelimit-reset-requests", "date")
    begun = time.process_time()
    for body in bodies:
        head = ResponseHead(429, dict.fromkeys((*limits, "x-ratelimit-reset-tokens"), hostile))
        dialect(name).caller().error(head, body if isinstance(body, bytes) else body.encode())
    assert time.process_time() - begun < 1
