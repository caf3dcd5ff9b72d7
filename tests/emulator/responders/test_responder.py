"""The built-in mind, as it is seen through every wire."""

import msgspec
import pytest
from tests.emulator.talking import MODELS, WEATHER, results, said, talk

from pondero.canon import Message, OutputFormat, Text, Thinking, Tool, ToolChoice
from pondero.emulator import Emulator

pytestmark = pytest.mark.parametrize("model", MODELS)
LADDER = ("low", "medium", "high")


def both(model, *messages, thinking="low", **more):
    """Yield the answer streamed and at once: nothing may depend on it."""
    for stream in (True, False):
        yield talk(Emulator(), model, thinking, *messages, stream=stream, **more)


def test_it_does_sums(model):
    for got in both(model, "What is 17 * 23?"):
        assert got.text == "17 * 23 = 391"
        assert got.end.finish == "stop"


def test_it_says_the_same_every_time(model):
    first, second = (talk(Emulator(), model, "high", "Tell me about owls.") for _ in range(2))
    assert first == second


def test_usage_adds_up(model):
    for got in both(model, "What is 17 * 23?", thinking="medium"):
        usage = got.end.usage
        assert usage.total == usage.known_total
        assert usage.thinking > 0
        assert usage.output > 0
        assert usage.input > 0


def test_more_thinking_with_every_level(model):
    counts = [
        talk(Emulator(), model, level, "What is 2 + 2?").end.usage.thinking for level in LADDER
    ]
    assert counts == sorted(set(counts))


def test_thinking_is_shown_only_where_the_wire_shows_it_and_it_was_asked_for(model):
    for got in both(model, "What is 2 + 2?"):
        shown = "openai-chat" not in model
        assert bool(got.message.thinking) is shown


def test_a_cap_too_small_for_its_thinking_leaves_no_answer(model):
    """Hazard 41: all output spent on thinking is no success, and is told apart."""
    for got in both(model, "What is 2 + 2?", thinking="high", max_tokens=64):
        assert got.end.finish == "exhausted"
        assert got.text == ""
        assert got.end.usage.thinking == 64


def test_a_cap_too_small_for_its_answer_cuts_it(model):
    for got in both(model, "Tell me all about owls. " * 10, max_tokens=84):
        assert got.end.finish == "length"
        assert got.text.startswith("You asked")
        assert got.end.usage.output + got.end.usage.thinking == 84


def test_it_calls_the_tool_that_fits_and_answers_from_its_result(model):
    question = said("What is the weather in Paris?")
    for first in both(model, question, tools=(WEATHER,)):
        assert first.end.finish == "tool_calls"
        (call,) = first.message.tool_calls
        assert (call.name, call.arguments) == ("get_weather", {"city": "Paris"})
        back = results(first.message, "18 degrees")
        for second in both(model, question, first.message, back, tools=(WEATHER,)):
            assert second.text == "get_weather (Paris) says: 18 degrees"


def test_it_makes_parallel_calls_where_several_are_named(model):
    question = said("Compare the weather in Paris, London and New York.")
    for got in both(model, question, tools=(WEATHER,)):
        cities = [call.arguments["city"] for call in got.message.tool_calls]
        assert cities == ["Paris", "London", "New York"]
        assert len({call.id for call in got.message.tool_calls}) == 3
        back = results(got.message, "18", "15", "21")
        second = talk(Emulator(), model, "low", question, got.message, back, tools=(WEATHER,))
        assert second.text.count("says") == 3


def test_one_after_the_other_where_it_is_told_so(model):
    clock = Tool("get_time", "Tells the time.", WEATHER.parameters)
    thread = [said("First get the weather in Paris, then the time in Paris.")]
    called = []
    for _ in range(2):
        got = talk(Emulator(), model, "low", *thread, tools=(WEATHER, clock))
        called += [call.name for call in got.message.tool_calls]
        thread += [got.message, results(got.message, "fine")]
    assert called == ["get_weather", "get_time"]
    assert talk(Emulator(), model, "low", *thread, tools=(WEATHER, clock)).end.finish == "stop"


def test_a_tool_that_does_not_fit_is_left_alone(model):
    for got in both(model, "What is 17 * 23?", tools=(WEATHER,)):
        assert got.text == "17 * 23 = 391"


def test_no_tool_is_called_where_none_may_be(model):
    none = ToolChoice("none")
    question = "What is the weather in Paris?"
    assert talk(Emulator(), model, "low", question, tools=(WEATHER,), tool_choice=none).text


def test_a_failed_tool_is_told(model):
    question = said("What is the weather in Paris?")
    first = talk(Emulator(), model, "low", question, tools=(WEATHER,))
    back = results(first.message, "no network", error=True)
    second = talk(Emulator(), model, "low", question, first.message, back, tools=(WEATHER,))
    assert "no network" in second.text


def test_it_gives_json_of_the_shape_that_was_asked_for(model):
    schema = {
        "type": "object",
        "properties": {"result": {"type": "integer"}, "words": {"type": "string"}},
        "required": ["result", "words"],
        "additionalProperties": False,
    }
    for got in both(model, "What is 17 * 23?", output=OutputFormat(schema)):
        answer = msgspec.json.decode(got.text)
        assert answer == {"result": 391, "words": "17 * 23 = 391"}


def test_it_remembers_what_it_was_told(model):
    told = said("My name is Ada.")
    first = talk(Emulator(), model, "low", told)
    second = talk(Emulator(), model, "low", told, first.message, said("What is my name?"))
    assert second.text == "name is Ada."


def test_a_conversation_of_ten_turns_with_changing_levels_is_accepted_throughout(model):
    emulator, thread = Emulator(), []
    for turn in range(10):
        level = ("low", "high", "off", "medium")[turn % 4]
        thread.append(said(f"What is the weather in Paris and London? And {turn} + 1?"))
        for _ in range(2):
            got = talk(emulator, model, level, *thread, tools=(WEATHER,))
            thread.append(got.message)
            if got.message.tool_calls:
                thread.append(results(got.message, "18", "15"))
    assert got.end.finish == "stop"
    assert {entry.status for entry in emulator.log.entries} == {200}


def test_a_refusal_can_be_asked_for(model):
    got = talk(Emulator(), model, "low", "[emulator: refuse] Tell me.", stream=False)
    assert got.end.finish in ("refusal", "content_filter")


def test_what_is_in_brackets_is_not_part_of_the_question(model):
    got = talk(Emulator(), model, "low", "What is 2 + 2? [emulator: signature-only]")
    assert got.text == "2 + 2 = 4"
    assert not got.message.thinking


def test_thinking_comes_first(model):
    got = talk(Emulator(), model, "low", "What is 2 + 2?")
    kinds = [type(part) for part in got.message.parts if part != Text("", part.signature)]
    assert kinds in ([Thinking, Text], [Text])
    assert isinstance(got.message, Message)
