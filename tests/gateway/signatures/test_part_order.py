"""Parts one after another, however a back mixes them."""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.answer_strategies import answers, tellings

from pondero.canon import (
    Event,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
)
from pondero.gateway.signatures.part_order import PartOrder


def fed(events: list[Event]) -> list[Event]:
    sequence = PartOrder()
    return [event for each in events for event in sequence.feed([each])]


@settings(max_examples=50)
@given(answers(), st.data())
def test_no_part_begins_before_the_one_before_it_has_ended(message, data):
    batches = data.draw(tellings(message))
    sequence = PartOrder()
    open_, told = None, defaultdict(list)
    for event in (event for batch in batches for event in sequence.feed(batch)):
        match event:
            case PartStart():
                assert open_ is None
                open_ = event.index
            case TextDelta() | ThinkingDelta() | ToolDelta():
                assert event.index == open_
                told[event.index].append(getattr(event, "text", None) or event.json)
            case PartEnd() if event.index == open_:
                open_ = None
    assert open_ is None
    for index, part in enumerate(message.parts):
        if isinstance(part, Text | Thinking):
            assert "".join(told[index]) == part.text


@settings(max_examples=50)
@given(answers(), st.data())
def test_every_part_ends_as_its_maker_ended_it(message, data):
    batches = data.draw(tellings(message))
    sequence = PartOrder()
    ends = [e for b in batches for e in sequence.feed(b) if isinstance(e, PartEnd)]
    last = {end.index: end.part for end in ends}
    for index, part in enumerate(message.parts):
        several = sum(end.index == index for end in ends) > 1
        if several and isinstance(part, Text | Thinking):
            assert last[index].signature == part.signature
        else:
            assert last[index] == part


def test_words_that_stay_open_end_where_the_next_part_begins():
    """DeepSeek: thinking, text and calls all end with the answer. Nothing waits for that."""
    sequence = PartOrder()
    sequence.feed([PartStart(0, "thinking"), ThinkingDelta(0, "hm")])
    assert sequence.feed([PartStart(1, "text")]) == [
        PartEnd(0, Thinking("hm")),
        PartStart(1, "text"),
    ]
    sequence.feed([TextDelta(1, "I "), TextDelta(1, "look")])
    assert sequence.feed([PartStart(2, "tool_call", "1", "ls")]) == [
        PartEnd(1, Text("I look")),
        PartStart(2, "tool_call", "1", "ls"),
    ]
    ends = [PartEnd(0, Thinking("hm")), PartEnd(1, Text("I look")), PartEnd(2, CALL)]
    assert sequence.feed(ends) == ends


CALL = ToolCall("1", "f", {"a": "}"})


def test_arguments_that_come_in_turns_wait_for_the_call_before():
    sequence = PartOrder()
    sequence.feed([PartStart(0, "tool_call", "1", "f"), ToolDelta(0, '{"a": "}')])
    other = [PartStart(1, "tool_call", "2", "g"), ToolDelta(1, '{"b": 2')]
    assert sequence.feed(other) == []
    assert sequence.feed([ToolDelta(0, '"}')]) == [
        ToolDelta(0, '"}'),
        PartEnd(0, CALL),
        *other,
    ]
    rest = [ToolDelta(1, "}"), PartEnd(0, CALL), PartEnd(1, ToolCall("2", "g", {"b": 2}))]
    assert sequence.feed(rest) == rest


def test_a_call_that_is_complete_does_not_hold_the_next_one_back():
    """Most backs end all calls with the answer; the next must not wait for that."""
    sequence = PartOrder()
    sequence.feed([Started(), PartStart(0, "tool_call", "1", "f"), ToolDelta(0, '{"a": "}"}')])
    begun = sequence.feed([PartStart(1, "tool_call", "2", "g")])
    assert begun == [
        PartEnd(0, ToolCall("1", "f", {"a": "}"})),
        PartStart(1, "tool_call", "2", "g"),
    ]


def test_text_that_turns_out_to_be_thinking_ends_as_it_was_told():
    events = fed([PartStart(0, "text"), TextDelta(0, "hm"), PartEnd(0, Thinking("hm"))])
    assert events[-1] == PartEnd(0, Text("hm"))


def test_a_text_without_a_word_is_not_ended_for_another():
    sequence = PartOrder()
    sequence.feed([PartStart(0, "text")])
    assert sequence.feed([PartStart(1, "thinking")]) == []
    whole = PartEnd(0, Text("all at once"))
    assert sequence.feed([whole]) == [whole, PartStart(1, "thinking")]
