"""Tool calls told in words: another model's open loop, or all, to a model without tools."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import Image, Message, Text, Thinking, ToolCall, ToolResult, UnknownPart
from pondero.handoff import retell_calls, retell_open_loop

ASKED = Message("user", (Text("What is the weather in Paris?"),))
CALL = ToolCall("c1", "get_weather", {"city": "Paris"})
CALLED = Message("assistant", (Text("I look."), CALL))
PICTURE = Image("image/png", b"png")
RESULT = Message(
    "user", (ToolResult("c1", (Text("24 degrees"), PICTURE, UnknownPart("wire", {}))),)
)
OWN = Message("assistant", (Thinking("Hm."), ToolCall("c2", "get_weather", {"city": "Rome"})))
OWN_RESULT = Message("user", (ToolResult("c2", (Text("no such city"),), error=True),))


def _words(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text)]


def test_calls_and_results_become_a_note_behind_the_question():
    (told,) = retell_open_loop([ASKED, CALLED, RESULT])
    assert told.role == "user"
    assert _words(told) == [
        "What is the weather in Paris?",
        "[A note: what another model did so far about the question above]",
        "I look.",
        '[It called get_weather with {"city":"Paris"}]',
        "[The result:]",
        "24 degrees",
    ]
    assert PICTURE in told.parts


def test_what_follows_the_first_answer_that_thinks_stays_as_it_is():
    told, *rest = retell_open_loop([ASKED, CALLED, RESULT, OWN, OWN_RESULT])
    assert rest == [OWN, OWN_RESULT]
    assert "24 degrees" in _words(told)


def test_a_failed_call_is_told_as_one():
    failed = Message("user", (ToolResult("c1", (Text("no network"),), error=True),))
    (told,) = retell_open_loop([ASKED, CALLED, failed])
    assert _words(told)[-2:] == ["[The call failed:]", "no network"]


def test_a_loop_with_no_question_before_it_is_a_note_alone():
    (told,) = retell_open_loop([CALLED, RESULT])
    assert told.role == "user"
    assert not told.tool_calls


def test_earlier_loops_that_were_answered_are_left_alone():
    answered = Message("assistant", (Text("It is 24 degrees."),))
    before = [ASKED, CALLED, RESULT, answered]
    told = retell_open_loop([*before, ASKED, CALLED, RESULT])
    assert list(told[:4]) == before
    assert len(told) == 5


@given(st.lists(st.sampled_from([(CALLED, RESULT), (OWN, OWN_RESULT)]), min_size=1, max_size=5))
def test_an_open_loop_begins_with_thinking_or_is_none(steps):
    told = retell_open_loop([ASKED, *(message for step in steps for message in step)])
    first = next((message for message in told if message.role == "assistant"), None)
    assert first is None or isinstance(first.parts[0], Thinking)
    assert told[0].role == "user"


def test_a_model_without_tools_reads_each_call_beside_its_result():
    answered = Message("assistant", (Thinking("Warm."), Text("It is 24 degrees.")))
    told = retell_calls([ASKED, CALLED, RESULT, answered, ASKED, OWN, OWN_RESULT])
    assert [message.role for message in told] == [*["user", "assistant"] * 2, "user", "user"]
    assert told[0] == ASKED
    assert _words(told[1]) == ["I look."]
    assert _words(told[2]) == [
        '[The answer above called get_weather with {"city":"Paris"}]',
        "[The result:]",
        "24 degrees",
    ]
    assert told[3] == answered
    assert "[The call failed:]" in _words(told[5])


@given(st.lists(st.sampled_from([(CALLED, RESULT), (OWN, OWN_RESULT)]), max_size=5))
def test_calls_told_in_words_leave_none_and_lose_no_result(steps):
    told = retell_calls([ASKED, *(message for step in steps for message in step)])
    assert not any(isinstance(p, ToolCall | ToolResult) for each in told for p in each.parts)
    assert sum(PICTURE in each.parts for each in told) == steps.count((CALLED, RESULT))
