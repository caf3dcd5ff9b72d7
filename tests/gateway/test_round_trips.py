"""An answer goes to a client of another wire and comes back, as real bytes all the way.

The client is the caller's side of the front's dialect: it reads the stream and sends the answer
back in its next request, as a vendor's SDK does. The back is the strict service side of another.
"""

from dataclasses import replace as changed
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.laws.strategies import answers as answers_of
from tests.laws.strategies import told
from tests.laws.wire import wire
from tests.plans import plan

from pondero.canon import (
    Assembler,
    Event,
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
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.dialects import NAMES, AnswerContext, ReplyContext, SignatureSlots, get_dialect
from pondero.gateway.signatures.embedder import SignatureEmbedder, read_envelope
from pondero.gateway.signatures.restore import cache_items, cache_keys
from pondero.handoff import Destination, handoff

from .answer_strategies import (
    ENVELOPES,
    answers,
    calls,
    kept_by,
    others,
    restore_history,
    tellings,
    texts,
    thoughts,
)

QUESTION = Message("user", (Text("what is in here?"),))
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS = (Tool("ls", "lists", SCHEMA), Tool("cat", "prints", SCHEMA))
ANYTHING = texts | thoughts | calls | others
LOOP = (Thinking("hm"), Text("I look."), ToolCall("1", "ls", {"a": 1}), ToolCall("2", "cat", {}))
KEEPING = [name for name in NAMES if get_dialect(name).service().slots != SignatureSlots()]


class Side:
    """One wire: a client of the gateway that speaks it, or a model behind that does."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.row = wire(name)
        self.caller = get_dialect(name).caller()
        self.service = get_dialect(name).service()

    def sends(self, *messages: Message) -> HttpRequest:
        request = Request(self.row.model, messages, tools=TOOLS, max_tokens=4096)
        fields = plan(self.name, dict(self.row.thinking))
        return self.caller.encode(request, fields, self.row.target)

    def reads(self, data: bytes, headers: Any) -> list[Event]:
        target = self.row.target
        reader = self.caller.stream(
            ResponseHead(200, headers), AnswerContext(self.row.model, target.route, target.quirks)
        )
        return [*reader.feed(data), *reader.eof()]

    @property
    def origin(self) -> Origin:
        return Origin(self.row.target.route, self.row.model)

    def assembled(self, events: list[Event]) -> Message:
        assembler = Assembler()
        assembler.extend(events)
        return assembler.message(self.origin)


class Client(Side):
    """A program in front of the gateway; it gives back all that it got."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # The Chat row is of a provider that wants little of its own back.
        self.row = changed(self.row, target=replace(self.row.target, quirks={}))

    def asks(self, *messages: Message) -> Request:
        """Return a request as the gateway reads it."""
        return self.service.parse(self.sends(*messages)).request

    def answering(self, *, shown: bool = True) -> ReplyContext[Any]:
        parsed = self.service.parse(self.sends(QUESTION))
        return ReplyContext(
            request=parsed.request,
            context=parsed.context,
            sign=read_envelope,
            seed=b"s",
            shown=shown,
        )

    def gets(
        self, carrier: SignatureEmbedder, batches: list[list[Event]], *, shown: bool = True
    ) -> Message:
        """Return a streamed answer as the client reads it."""
        writer = self.service.stream(self.answering(shown=shown))
        data = b"".join(writer.feed(e) for batch in batches for e in carrier.feed(batch))
        return self.assembled(self.reads(data + writer.eof(), writer.headers))

    def gets_whole(self, carrier: SignatureEmbedder, message: Message) -> Message:
        """Return an answer in one piece as the client reads it."""
        sent = self.service.reply(self.answering(), Reply(carrier.whole(message), "stop"))
        target = self.row.target
        where = AnswerContext(self.row.model, target.route, target.quirks)
        return self.assembled(self.caller.decode(ResponseHead(200, sent.headers), sent.body, where))

    def carrier(self, message: Message, *, text_inside: bool = False) -> SignatureEmbedder:
        assert message.origin is not None
        return SignatureEmbedder(
            self.service.slots,
            message.origin,
            pack=ENVELOPES.pack,
            seed=b"unique",
            call_id=self.service.call_id,
            text_inside=text_inside,
        )


class Back(Side):
    """A model behind the gateway, as strict as its service."""

    def tells(self, reply: Reply) -> list[list[Event]]:
        """Return the events of an answer, in the batches in which its bytes come."""
        accepted = self.service.accept(self.sends(QUESTION), self.row.service)
        writer = self.service.stream(accepted)
        target = self.row.target
        reader = self.caller.stream(
            ResponseHead(200, writer.headers),
            AnswerContext(self.row.model, target.route, target.quirks),
        )
        batches = [reader.feed(writer.feed(event)) for event in told(reply)]
        return [*batches, [*reader.feed(writer.eof()), *reader.eof()]]

    def fits(self, messages: tuple[Message, ...]) -> HttpRequest:
        """Return a conversation as it goes to this model, after the handoff."""
        target = self.row.target
        view = handoff(
            messages,
            Destination(
                dialect=self.name,
                model=self.row.model,
                provider=target.route,
                route=target.route,
                takes=self.caller.replay_rules(target.quirks),
            ),
        )
        return self.sends(*view.messages)


def results(message: Message) -> Message:
    parts = [ToolResult(call.id, (Text("done"),)) for call in message.tool_calls]
    return Message("user", tuple(parts) or (Text("and then?"),))


def bare(message: Message) -> Message:
    """Return what a client keeps that keeps least: the words, and calls with their ids."""
    kept = [replace(p, signature=None) for p in message.parts if isinstance(p, Text | ToolCall)]
    return Message("assistant", tuple(kept), message.origin)


def answered(request: Request) -> list[str]:
    parts = (part for message in request.messages for part in message.parts)
    return [part.call_id for part in parts if isinstance(part, ToolResult)]


def answer_in(request: Request) -> Message:
    return next(message for message in request.messages if message.role == "assistant")


def in_front_order(front: str, message: Message) -> list[Part]:
    """Return the parts in the order in which a client of this wire can give them back."""
    if front != "openai_chat":
        return list(message.parts)
    # This wire has no order among thinking, words and calls, and one text.
    words = [part for part in message.parts if isinstance(part, Text)]
    parts: list[Part] = [p for p in message.parts if not isinstance(p, Text | ToolCall)]
    return [*parts, replace(words[0], text=message.text), *message.tool_calls]


# -- answers of any maker --------------------------------------------------------------------------


@pytest.mark.parametrize("front", KEEPING)
@pytest.mark.parametrize("way", ["streamed", "whole", "hidden"])
@settings(max_examples=15)
@given(answers(ANYTHING), st.data())
def test_a_client_that_keeps_all_gives_seals_ids_and_origin_back(front, way, message, data):
    """Nothing is remembered: what comes back comes from the client alone."""
    message = replace(message, parts=(Thinking("hm"), *message.parts, Text("that is all")))
    client = Client(front)
    carrier = client.carrier(message, text_inside=way == "hidden")
    if way == "whole":
        got = client.gets_whole(carrier, message)
    else:
        batches = data.draw(tellings(message, early=True))
        got = client.gets(carrier, batches, shown=way == "streamed")
    back = restore_history(client.asks(QUESTION, got, results(got)), front, client="c", found={})
    answer = answer_in(back)
    assert answer.origin == message.origin
    assert list(answer.parts) == in_front_order(front, kept_by(front, message))
    assert answered(back) == [call.id for call in message.tool_calls]


@pytest.mark.parametrize("front", NAMES)
@settings(max_examples=15)
@given(answers(ANYTHING), st.data())
def test_a_client_that_loses_all_but_words_and_calls_is_helped_by_the_memory(front, message, data):
    """However the answer was told. Without the memory the conversation is whole, and unsealed."""
    message = replace(message, parts=(*message.parts, Text("that is all")))
    client = Client(front)
    carrier = client.carrier(message)
    got = client.gets(carrier, data.draw(tellings(message)))
    first = client.asks(QUESTION)
    found = cache_items(first, carrier.record, client="c")
    for kept in (got, bare(got)):
        sent = client.asks(QUESTION, kept, results(kept))
        keys = cache_keys(sent, client="c")
        back = restore_history(
            sent, front, client="c", found={key: found[key] for key in keys if key in found}
        )
        assert answer_in(back) == message
        assert answered(back) == [call.id for call in message.tool_calls]
    lost = restore_history(sent, front, client="c", found={})
    assert lost == sent
    assert answer_in(lost).origin is None
    assert all(
        getattr(part, "signature", None) is None or part.signature.dialect == front
        for part in answer_in(lost).parts
    )


@pytest.mark.parametrize("stand_in", ["skip_thought_signature_validator", None])
def test_gemini_cli_resumes_with_a_stand_in_for_every_signature(stand_in):
    message = Message("assistant", LOOP, Origin("anthropic", "claude-opus-5"))
    client = Client("gemini")
    carrier = client.carrier(message)
    got = client.gets(carrier, [told(Reply(message, "tool_calls"))])
    seal = stand_in and Signature("gemini", stand_in, client.row.model, client.row.target.route)
    parts = [replace(p, signature=seal) for p in got.parts if isinstance(p, Text | ToolCall)]
    resumed = replace(got, parts=tuple(parts))
    sent = client.asks(QUESTION, resumed, results(resumed))
    found = cache_items(client.asks(QUESTION), carrier.record, client="c")
    assert answer_in(restore_history(sent, "gemini", client="c", found=found)) == message
    lost = restore_history(sent, "gemini", client="c", found={})
    assert lost == sent
    assert all(getattr(part, "signature", None) is None for part in answer_in(lost).parts)


# -- answers of real services ----------------------------------------------------------------------

PAIRS = [(front, back) for front in NAMES for back in NAMES]


@pytest.mark.parametrize(("front", "back"), PAIRS)
@settings(max_examples=3)
@given(st.data())
def test_the_back_gets_what_our_own_client_would_have_sent(front, back, data):
    """Byte for byte, whatever the client kept; and its strict service takes it."""
    model, client = Back(back), Client(front)
    batches = model.tells(data.draw(answers_of(model.row, TOOLS, thinks=True)))
    message = model.assembled([event for batch in batches for event in batch])
    assume(message.text or message.tool_calls)  # else nothing of it may come back
    own = model.fits((QUESTION, message, results(message)))
    carrier = client.carrier(message)
    got = client.gets(carrier, batches)
    found = cache_items(client.asks(QUESTION), carrier.record, client="c")
    for kept in (got, bare(got)):
        sent = client.asks(QUESTION, kept, results(kept))
        back_again = restore_history(sent, front, client="c", found=found)
        assert model.fits(back_again.messages) == own
    model.service.accept(own, model.row.service)


@pytest.mark.parametrize(("front", "back"), [pair for pair in PAIRS if pair[0] in KEEPING])
@settings(max_examples=3)
@given(st.data())
def test_the_back_takes_what_envelopes_alone_bring(front, back, data):
    model, client = Back(back), Client(front)
    batches = model.tells(data.draw(answers_of(model.row, TOOLS, thinks=True)))
    message = model.assembled([event for batch in batches for event in batch])
    got = client.gets(client.carrier(message), batches)
    sent = client.asks(QUESTION, got, results(got))
    http = model.fits(restore_history(sent, front, client="c", found={}).messages)
    assert b"cG5kRXYx" not in http.body  # no envelope leaves
    model.service.accept(http, model.row.service)


@pytest.mark.parametrize(("front", "back"), [pair for pair in PAIRS if pair[0] in KEEPING])
def test_a_tool_loop_goes_on_with_envelopes_alone(front, back):
    """What agents do all day: byte for byte, though nothing was remembered."""
    model, client = Back(back), Client(front)
    batches = model.tells(Reply(Message("assistant", LOOP), "tool_calls"))
    message = model.assembled([event for batch in batches for event in batch])
    got = client.gets(client.carrier(message), batches)
    sent = client.asks(QUESTION, got, results(got))
    back_again = restore_history(sent, front, client="c", found={})
    assert answer_in(back_again).parts == message.parts
    own = model.fits((QUESTION, message, results(message)))
    assert model.fits(back_again.messages) == own
    model.service.accept(own, model.row.service)


@pytest.mark.parametrize(("front", "back"), PAIRS)
@settings(max_examples=2)
@given(st.data())
def test_no_other_back_gets_the_seal_of_another_maker(front, back, data):
    """The model is switched in mid-conversation: the answer of every other maker goes over."""
    client, model = Client(front), Back(back)
    for maker in (Back(name) for name in NAMES if name != back):
        batches = maker.tells(data.draw(answers_of(maker.row, TOOLS, thinks=True)))
        message = maker.assembled([event for batch in batches for event in batch])
        carrier = client.carrier(message)
        got = client.gets(carrier, batches)
        found = cache_items(client.asks(QUESTION), carrier.record, client="c")
        sent = client.asks(QUESTION, got, results(got))
        http = model.fits(restore_history(sent, front, client="c", found=found).messages)
        assert b"cG5kRXYx" not in http.body
        model.service.accept(http, model.row.service)
