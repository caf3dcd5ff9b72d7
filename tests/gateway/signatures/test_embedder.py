"""An answer on its way to the client: parts in order, ids of the front, envelopes and no seals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.answer_strategies import ENVELOPES, FRONTS, answers, tellings
from tests.grammar import grammar

from pondero.canon import (
    Assembler,
    Event,
    Finished,
    Message,
    Origin,
    PartEnd,
    PartStart,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    TokenLogprob,
    ToolCall,
)
from pondero.dialects import get_dialect
from pondero.gateway.signatures.embedder import SignatureEmbedder, embed_nothing, read_envelope
from pondero.gateway.signatures.envelope import (
    EnvelopeCall,
    EnvelopeText,
    EnvelopeThinking,
)

ORIGIN = Origin("google", "gemini-3-flash-preview")
WEIGHED = (TokenLogprob("yes", -0.5),)
SIGNED = Signature("gemini", "sig", "gemini-3-flash-preview", "google")


def carrier(front: str, *, text_inside: bool = False, seed: bytes = b"seed") -> SignatureEmbedder:
    service = get_dialect(front).service()
    return SignatureEmbedder(
        service.slots,
        ORIGIN,
        pack=ENVELOPES.pack,
        seed=seed,
        call_id=service.call_id,
        text_inside=text_inside,
    )


def told(front: str, events: list[Event]) -> list[Event]:
    """Feed events one by one."""
    one = carrier(front)
    return [event for each in events for event in one.feed([each])]


def ends(events: list[Event]) -> list:
    return [event.part for event in events if isinstance(event, PartEnd)]


def entries(part) -> tuple:
    envelope = ENVELOPES.open(part.signature.value)
    assert envelope is not None
    assert envelope.origin == ORIGIN
    return envelope.entries


@pytest.mark.parametrize("front", FRONTS)
@settings(max_examples=25)
@given(answers(), st.data())
def test_the_client_sees_the_same_words_and_calls_one_part_after_another(front, message, data):
    one = carrier(front)
    events = [e for batch in data.draw(tellings(message)) for e in one.feed(batch)]
    assert grammar(events) is None
    assembler = Assembler()
    assembler.extend(events)
    shown = assembler.message()
    assert shown.text == message.text == one.record.text
    assert "".join(part.text for part in shown.thinking_parts) == "".join(
        part.text for part in message.thinking_parts
    )
    assert [(c.name, c.arguments) for c in shown.tool_calls] == [
        (c.name, c.arguments) for c in message.tool_calls
    ]
    open_ = None
    for event in events:
        if isinstance(event, PartStart):
            assert open_ is None
            open_ = event.index
        elif isinstance(event, PartEnd):
            assert event.index == open_
            open_ = None


@pytest.mark.parametrize("front", FRONTS)
@settings(max_examples=25)
@given(answers(), st.data())
def test_nothing_of_the_back_is_left_but_words(front, message, data):
    """Not a seal, not an id, not a part that only the back can read."""
    one = carrier(front)
    events = [e for batch in data.draw(tellings(message)) for e in one.feed(batch)]
    for event in events:
        if isinstance(event, PartStart | PartEnd):
            part = event.part if isinstance(event, PartEnd) else event
            assert part.signature is None or part.signature.dialect == "pondero"
            assert not isinstance(event, PartStart) or event.kind != "other"
    ids = [part.id for part in ends(events) if isinstance(part, ToolCall)]
    assert len(set(ids)) == len(ids)
    assert not {call.id for call in message.tool_calls} & set(ids)
    assert sorted(one.record.calls) == sorted(ids)
    assert one.record.message == Message("assistant", message.parts, ORIGIN)


WITH_SLOTS = [name for name in FRONTS if get_dialect(name).service().slots.thinking]


@pytest.mark.parametrize("front", WITH_SLOTS)
@settings(max_examples=25)
@given(answers(), st.data())
def test_every_thinking_part_gets_an_envelope_sealed_or_not(front, message, data):
    one = carrier(front)
    events = [e for batch in data.draw(tellings(message)) for e in one.feed(batch)]
    for part in ends(events):
        if isinstance(part, Thinking):
            assert entries(part)


@pytest.mark.parametrize("front", ["anthropic", "bedrock", "gemini"])
@settings(max_examples=25)
@given(answers(), st.data())
def test_no_carrier_stands_behind_the_last_part(front, message, data):
    """`claude -p` prints nothing where an empty block ends the answer."""
    one = carrier(front)
    events = [e for batch in data.draw(tellings(message)) for e in one.feed(batch)]
    last = ends(events)[-1:]
    if last and isinstance(last[0], Thinking) and not last[0].text:
        kept = [part for part in message.parts if not isinstance(part, Text) or part.text]
        assert any(isinstance(part, Thinking) and not part.text for part in kept)


@pytest.mark.parametrize("front", ["anthropic", "openai_responses", "bedrock"])
def test_thinking_takes_the_seal_of_the_part_after_it_along(front):
    thought, call = Thinking("hm"), ToolCall("own", "ls", {}, SIGNED)
    start = PartStart(1, "tool_call", "own", "ls", SIGNED)
    one = carrier(front)
    held = one.feed([Started(), PartStart(0, "thinking"), PartEnd(0, thought)])
    assert ends(held) == []
    released = one.feed([start])
    (shown,) = ends(released)
    id = next(event.id for event in released if isinstance(event, PartStart))
    assert entries(shown) == (EnvelopeThinking(0), EnvelopeCall(1, id, "own", "ls", SIGNED))
    (shown_call,) = ends(one.feed([PartEnd(1, call), Finished("tool_calls")]))
    assert shown_call == ToolCall(id, "ls", {})


@pytest.mark.parametrize("front", ["anthropic", "openai_responses", "bedrock"])
def test_a_sealed_call_without_thinking_has_an_empty_thinking_part_before_it(front):
    events = told(
        front,
        [
            PartStart(0, "text"),
            TextDelta(0, "I look"),
            PartEnd(0, Text("I look")),
            PartStart(1, "tool_call", "own", "ls", SIGNED),
            PartEnd(1, ToolCall("own", "ls", {}, SIGNED)),
            Finished("tool_calls"),
        ],
    )
    words, ahead, call = ends(events)
    assert (words, ahead.text, call.signature) == (Text("I look"), "", None)
    assert entries(ahead)[0].signature == SIGNED


def test_words_with_a_seal_and_no_thinking_before_them_are_only_words_on_messages():
    """Every answer of a Responses back has one: it has the id of its item."""
    message = Message("assistant", (Text("yes", SIGNED),))
    for front in ("anthropic", "bedrock"):
        assert carrier(front).whole(message).parts == (Text("yes"),)
    for front in ("openai_responses", "openai_chat"):
        ahead, words = carrier(front).whole(message).parts
        assert (ahead.text, words) == ("", Text("yes"))
        assert entries(ahead) == (EnvelopeText(0, 0, SIGNED),)
    calling = Message("assistant", (Text("yes", SIGNED), ToolCall("own", "ls", {}, SIGNED)))
    words, ahead, _ = carrier("anthropic").whole(calling).parts
    assert words == Text("yes")
    assert [entry.signature for entry in entries(ahead)] == [SIGNED, SIGNED]


def test_calls_without_thinking_or_seals_are_told_as_they_are():
    """No envelope where there is nothing to keep but an id."""
    message = Message("assistant", (Text("a"), ToolCall("1", "f", {}), ToolCall("2", "f", {})))
    for front in FRONTS:
        shown = carrier(front).whole(message)
        assert [type(part) for part in shown.parts] == [Text, ToolCall, ToolCall]
        assert all(part.signature is None for part in shown.parts)


def test_gemini_folds_thinking_on_the_first_part_after_it():
    events = told(
        "gemini",
        [
            PartStart(0, "thinking"),
            PartEnd(0, Thinking("hm", SIGNED)),
            PartStart(1, "text", signature=SIGNED),
            TextDelta(1, "yes"),
            PartEnd(1, Text("yes", SIGNED)),
            Finished("stop"),
        ],
    )
    thought, text = ends(events)
    start = next(e for e in events if isinstance(e, PartStart) and e.kind == "text")
    assert thought == Thinking("hm")
    assert start.signature == text.signature
    assert entries(text) == (EnvelopeThinking(0, SIGNED, text="hm"), EnvelopeText(1, 0, SIGNED))


def test_chat_has_an_envelope_with_each_part_and_late_ones_behind():
    events = told(
        "openai_chat",
        [
            PartStart(0, "thinking"),
            PartEnd(0, Thinking("hm", SIGNED)),
            PartStart(1, "tool_call", "own", "ls", SIGNED),
            PartEnd(1, ToolCall("own", "ls", {}, SIGNED)),
            PartStart(2, "text"),
            TextDelta(2, "yes"),
            PartEnd(2, Text("yes", SIGNED)),
            Finished("stop"),
        ],
    )
    thought, call, text, late = ends(events)
    start = next(e for e in events if isinstance(e, PartStart) and e.kind == "tool_call")
    assert entries(thought) == (EnvelopeThinking(0, SIGNED, text="hm"),)
    assert start.signature == call.signature
    assert entries(call) == (EnvelopeCall(1, call.id, "own", "ls", SIGNED),)
    assert text == Text("yes")
    assert (late.text, entries(late)) == ("", (EnvelopeText(2, 0, SIGNED),))


@pytest.mark.parametrize("front", ["anthropic", "gemini", "bedrock", "ollama", "cohere"])
def test_the_seal_of_closing_words_that_comes_late_is_left_to_the_memory(front):
    one = carrier(front)
    events = [PartStart(0, "text"), TextDelta(0, "yes"), PartEnd(0, Text("yes", SIGNED))]
    shown = [event for each in [*events, Finished("stop")] for event in one.feed([each])]
    assert ends(shown) == [Text("yes")]
    assert one.record.message.parts == (Text("yes", SIGNED),)


@pytest.mark.parametrize("front", FRONTS)
def test_an_empty_text_that_has_only_a_seal_is_no_part_of_the_answer(front):
    message = Message("assistant", (Text("yes"), Text("", SIGNED)))
    shown = carrier(front).whole(message)
    assert [part.text for part in shown.parts if isinstance(part, Text)] == ["yes"]


def test_the_text_of_thinking_goes_inside_where_the_client_may_not_have_it():
    message = Message("assistant", (Thinking("hm"), Text("yes")))
    shown = carrier("anthropic", text_inside=True).whole(message)
    assert entries(shown.parts[0]) == (EnvelopeThinking(0, text="hm"),)
    assert entries(carrier("anthropic").whole(message).parts[0]) == (EnvelopeThinking(0),)


def test_the_same_answer_gives_the_same_envelopes_and_another_seed_other_ids():
    message = Message("assistant", (Thinking("hm", SIGNED), ToolCall("own", "ls", {}, SIGNED)))
    one, same, other = (
        carrier("anthropic", seed=seed).whole(message) for seed in (b"1", b"1", b"2")
    )
    assert one == same
    assert one.tool_calls[0].id != other.tool_calls[0].id


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(
    "text", [Text("yes"), Text(" "), Text("yes", citations=({"url": "u"},), tokens=WEIGHED)]
)
def test_a_text_without_a_seal_needs_no_embedder(front, text):
    message = Message("assistant", (text,))
    one = carrier(front)
    assert embed_nothing(message, ORIGIN, b"seed") == (one.whole(message), one.record)


@pytest.mark.parametrize(
    "parts",
    [(), (Text(""),), (Text("yes", SIGNED),), (Thinking("hm"),), (Text("a"), Text("b"))],
    ids=repr,
)
def test_any_other_answer_needs_an_embedder(parts):
    assert embed_nothing(Message("assistant", parts), ORIGIN, b"seed") is None


@settings(max_examples=50)
@given(st.sampled_from(FRONTS), answers())
def test_an_answer_without_need_of_an_embedder_is_the_same_with_one(front, message):
    one = carrier(front)
    known = embed_nothing(message, ORIGIN, b"seed")
    assert known in (None, (one.whole(message), one.record))


def test_the_sealer_gives_envelopes_and_no_seal_of_a_maker():
    assert read_envelope(Text("x", Signature("pondero", "an envelope")), "", ()) == "an envelope"
    assert read_envelope(Text("x", SIGNED), "", ()) is None
    assert read_envelope(Text("x"), "", ()) is None
