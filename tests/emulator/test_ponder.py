"""The built-in mind by itself, without a wire."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.talking import WEATHER, talk

import pondero
from pondero.canon import (
    Blob,
    HttpRequest,
    Image,
    Message,
    OutputFormat,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import AcceptedRequest
from pondero.emulator import Emulator, ponder
from pondero.emulator.tokens import count_tokens
from pondero.thinking import LEVELS, Intent

SUM = "What is 17 * 23?"
ONLY_LEVELS, ONLY_NUMBERS = "meta:muse-spark-1.3", "claude-sonnet-4-5"
CALCULATOR = Tool(
    "calculator",
    "Works out an arithmetic expression.",
    {"type": "object", "properties": {"expression": {"type": "string"}}},
)


def ask(question, *, kind="unset", level=None, budget=None, thinks=False, **more):
    parts = (Text(question),) if isinstance(question, str) else question
    messages = more.pop("messages", (Message("user", parts),))
    return ponder(
        AcceptedRequest(
            request=Request("m", messages, **more),
            intent=Intent(kind, level, budget),
            thinks=thinks,
            context=None,
        )
    )


def thought(**more):
    return ask(SUM, thinks=True, **more).usage.thinking


def test_thinking_grows_with_every_level_from_nothing():
    counts = [thought(kind="level", level=level) for level in LEVELS[1:]]
    assert ask(SUM).usage.thinking == 0
    assert counts == sorted(set(counts))


def test_a_word_above_all_of_ours_is_above_them():
    assert thought(kind="level", level="ultra") > thought(kind="level", level="max")


@given(st.integers(1, 200_000), st.integers(1, 200_000))
def test_a_budget_is_kept_and_a_bigger_one_is_not_less(one, other):
    smaller, bigger = sorted((one, other))
    assert thought(kind="budget", budget=smaller) <= smaller
    assert thought(kind="budget", budget=smaller) <= thought(kind="budget", budget=bigger)


@given(st.integers(1, 10_000_000))
def test_a_number_of_tokens_is_the_level_it_is_on_a_model_that_has_only_levels(tokens):
    level = pondero.plan(ONLY_LEVELS, tokens).level
    assert thought(kind="budget", budget=tokens) == min(tokens, thought(kind="level", level=level))


@given(st.integers(1_024, 59_904))
def test_a_model_with_levels_and_one_with_numbers_think_alike_at_a_number(tokens):
    both = [talk(Emulator(), each, tokens, SUM) for each in (ONLY_LEVELS, ONLY_NUMBERS)]
    assert len({each.end.usage.thinking for each in both}) == 1


@given(st.integers(1, 400), st.sampled_from(LEVELS[1:]), st.text(max_size=300))
def test_a_cap_is_never_exceeded(cap, level, question):
    reply = ask(question, thinks=True, kind="level", level=level, max_tokens=cap)
    assert reply.usage.output + reply.usage.thinking <= cap
    assert reply.usage.total == reply.usage.known_total
    assert count_tokens(reply.text) <= cap
    if not reply.text:
        assert reply.finish in ("exhausted", "length")


def test_a_calculator_is_used_for_a_sum():
    (call,) = ask(SUM, tools=(CALCULATOR,)).tool_calls
    assert (call.name, call.arguments) == ("calculator", {"expression": "17 * 23"})


def test_numbers_fill_numbers():
    number = {"type": "integer"}
    add = Tool("multiply", "", {"type": "object", "properties": {"a": number, "b": number}})
    (call,) = ask(SUM, tools=(add,)).tool_calls
    assert call.arguments == {"a": 17, "b": 23}


@pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("tool", "get_weather")])
def test_a_forced_tool_is_called_once_whatever_was_asked(choice):
    first = ask("Hello.", tools=(WEATHER,), tool_choice=choice)
    (call,) = first.tool_calls
    assert call.name == "get_weather"
    called = ToolCall("c", call.name, call.arguments)
    messages = (
        Message("user", (Text("Hello."),)),
        Message("assistant", (called,)),
        Message("user", (ToolResult("c", (Text("fine"),)),)),
    )
    assert ask("", messages=messages, tools=(WEATHER,), tool_choice=choice).finish == "stop"


def test_one_call_at_a_time_where_several_are_not_wanted():
    cities = "The weather in Paris and London?"
    one = ToolChoice(parallel=False)
    assert len(ask(cities, tools=(WEATHER,), tool_choice=one).tool_calls) == 1


def test_a_tool_of_the_services_own_is_not_ours_to_call():
    assert not ask(
        "The weather in Paris?", tools=(Tool("weather", raw={"type": "weather"}),)
    ).tool_calls


def test_a_call_that_does_not_fit_is_not_made():
    reply = ask("The weather in Paris?", tools=(WEATHER,), max_tokens=3)
    assert (reply.finish, reply.tool_calls) == ("length", ())


def test_it_stops_where_it_is_told_to():
    reply = ask(SUM, stop=("=", "91"))
    assert (reply.text, reply.finish) == ("17 * 23 ", "stop")
    assert reply.extras == {"stop_sequence": "="}


def test_any_json_will_do_where_no_shape_is_given():
    assert msgspec.json.decode(ask(SUM, output=OutputFormat()).text) == {"answer": "17 * 23 = 391"}


def test_it_repeats_and_notes_what_it_is_told():
    assert ask('Say exactly: "hoo"').text == "hoo"
    assert ask("The password is swordfish.").text == "Noted: password is swordfish."
    assert "no value" in ask("What is 1 / 0?").text


def test_results_of_every_kind_are_told():
    content = (
        Text("words "),
        UnknownPart("x", {"a": 1}),
        Image("image/png", b"x"),
        Blob("a/b", b""),
    )
    messages = (
        Message("user", (Text("Go."),)),
        Message("assistant", (ToolCall("c", "look", {"n": 1}),)),
        Message("user", (ToolResult("c", content),)),
    )
    assert ask("", messages=messages).text == 'look says: words {"a":1}[image/png][a/b]'


def test_everything_that_was_sent_is_counted():
    plain = ask((Text("hello"),)).usage.input
    media = ask((Text("hello"), Image("image/png", b"x"), UnknownPart("x", {"a": 1}))).usage.input
    assert media > plain
    assert ask("hello", tools=(WEATHER,)).usage.input > plain
    assert ask("hello", system=(Text("Be kind."),)).usage.input > plain


def test_redacted_thinking_has_no_words():
    (thinking, _) = ask("[emulator: redacted] hello", thinks=True).message.parts
    assert thinking == Thinking("", redacted=True)


def test_a_blocked_question_gets_nothing():
    reply = ask("[emulator: block] hello")
    assert (reply.finish, reply.message.parts) == ("content_filter", ())


def test_nothing_to_answer_is_answered_all_the_same():
    assert ask("", messages=()).finish == "stop"
    assert ask((Image("image/png", b"x"),)).finish == "stop"


def test_no_tokens_fill_the_cache_and_think_nothing():
    body = {
        "model": "claude-opus-5",
        "max_tokens": 0,
        "messages": [{"role": "user", "content": "What is 17 * 23?"}],
    }
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    url = "https://api.anthropic.com/v1/messages"
    sent = HttpRequest("POST", url, headers, msgspec.json.encode(body))
    said = msgspec.json.decode(b"".join(Emulator().send(sent)))
    assert (said["content"], said["stop_reason"]) == ([], "max_tokens")
    assert said["usage"]["output_tokens"] == 0
