"""Answers written beforehand."""

import re

import msgspec
import pytest
from tests.emulator.talking import MODELS, WEATHER, results, said, talk

from pondero.canon import Message, Reply, Text, Thinking, Usage
from pondero.emulator import Emulator, Fault, ScriptedCall, ScriptedTurn, When, ponder
from pondero.emulator.responders.script import parse_turns
from pondero.errors import BadParameter, NotFound, Overloaded, PonderoError, RateLimited


@pytest.mark.parametrize("model", MODELS)
def test_turns_are_used_in_order_and_then_the_mind_answers(model):
    emulator = Emulator(script=["one", ScriptedTurn(text="two")])
    texts = [talk(emulator, model, "low", "What is 2 + 2?").text for _ in range(3)]
    assert texts == ["one", "two", "2 + 2 = 4"]


@pytest.mark.parametrize("model", MODELS)
def test_a_scripted_tool_loop_is_accepted_on_its_second_turn(model):
    calls = (
        ScriptedCall("get_weather", {"city": "Oslo"}),
        ScriptedCall("get_weather", {"city": "Rome"}),
    )
    emulator = Emulator(
        script=[ScriptedTurn(thinking="Two cities.", tool_calls=calls), "Both are fine."]
    )
    question = said("Go on.")
    first = talk(emulator, model, "low", question, tools=(WEATHER,))
    assert [call.arguments["city"] for call in first.message.tool_calls] == ["Oslo", "Rome"]
    back = results(first.message, "9", "25")
    second = talk(emulator, model, "low", question, first.message, back, tools=(WEATHER,))
    assert second.text == "Both are fine."


def test_a_turn_waits_for_the_request_it_is_meant_for():
    emulator = Emulator(
        script=[
            ScriptedTurn(text="for opus", when=When(model="claude-opus-5")),
            ScriptedTurn(text="about owls", when=When(contains="owl")),
        ]
    )
    assert talk(emulator, "gpt-6-sol", "low", "Tell me of owls.").text == "about owls"
    assert talk(emulator, "gpt-6-sol", "low", "What is 1 + 1?").text == "1 + 1 = 2"
    assert talk(emulator, "claude-opus-5", "low", "What is 1 + 1?").text == "for opus"
    assert len(emulator.script) == 0


def test_a_script_takes_replies_and_functions_too():
    whole = Reply(Message("assistant", (Text("as it is"),)), "stop", Usage(1, 0, 0, 2, 0, 3))
    emulator = Emulator(
        script=[whole, lambda accepted: ScriptedTurn(text=accepted.request.model)(accepted)]
    )
    first = talk(emulator, "claude-opus-5", "low", "x")
    assert (first.text, first.end.usage.output) == ("as it is", 2)
    assert talk(emulator, "claude-opus-5", "low", "x").text == "claude-opus-5"


def test_a_script_can_think_though_it_was_told_not_to():
    """Hazard 31: off was asked, and thinking comes all the same."""
    emulator = Emulator(script=[ScriptedTurn(thinking="All the same.", text="Hm.")])
    got = talk(emulator, "claude-opus-5", "off", "x")
    assert any(isinstance(part, Thinking) for part in got.message.parts)
    assert got.end.usage.thinking > 0


def test_a_script_can_overrun_a_budget():
    """Hazard 38: what was asked and what was used are two figures."""
    usage = Usage(10, 0, 0, 5, 9_000, 9_015)
    emulator = Emulator(script=[ScriptedTurn(thinking="On and on.", text="Hm.", usage=usage)])
    assert talk(emulator, "claude-sonnet-4-5", 2_000, "x").end.usage.thinking == 9_000


def test_redacted_and_sealed_only_thinking_go_back_as_they_came():
    for turn in (ScriptedTurn(redacted=True, text="Hm."), ScriptedTurn(thinking="", text="Hm.")):
        emulator = Emulator(script=[turn])
        first = talk(emulator, "claude-opus-5", "low", "x")
        (thinking,) = (part for part in first.message.parts if isinstance(part, Thinking))
        assert thinking.text == ""
        assert thinking.signature is not None
        assert thinking.redacted is turn.redacted
        assert talk(emulator, "claude-opus-5", "low", "x", first.message, "And 2 + 2?").text


def test_grounding_goes_out_as_it_was_written():
    grounding = {"webSearchQueries": ["owls"]}
    emulator = Emulator(script=[ScriptedTurn(text="Owls.", grounding=grounding)])
    got = talk(emulator, "gemini-3-flash-preview", "low", "x")
    assert got.end.grounding == grounding


def test_a_blocked_question_has_no_answer():
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    emulator = Emulator(script=[ScriptedTurn(finish="content_filter", extras=blocked)])
    got = talk(emulator, "gemini-3-flash-preview", "low", "x")
    assert (got.end.finish, got.text) == ("content_filter", "")


def test_a_request_that_is_refused_uses_up_no_turn():
    emulator = Emulator(script=["kept"])
    with pytest.raises(NotFound, match="nobody"):
        talk(emulator, "anthropic:nobody", None, "x", max_tokens=99)
    assert talk(emulator, "claude-opus-5", None, "x").text == "kept"


def test_turns_can_be_written_as_json():
    data = b"""[
      {"text": "hello", "thinking": "hm", "finish": "stop", "usage": {"input": 1, "output": 2},
       "when": {"dialect": "anthropic"}},
      {"fault": {"kind": "status", "status": 429, "retry_after": 2}},
      {"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}
    ]"""
    first, second, third = parse_turns(data)
    assert (first.text, first.usage, first.when.dialect) == (
        "hello",
        Usage(1, output=2),
        "anthropic",
    )
    assert second.fault is not None
    assert not second.says
    assert third.tool_calls == (ScriptedCall("f", {"a": 1}),)
    assert parse_turns(msgspec.json.encode(first)) == (first,)


def test_a_misspelt_field_of_a_turn_is_refused():
    with pytest.raises(BadParameter, match="txet"):
        parse_turns(b'{"txet": "hello"}')


def test_reset_forgets_everything():
    emulator = Emulator(script=["one"], faults=[529])
    emulator.reset()
    assert talk(emulator, "claude-opus-5", None, "What is 1 + 1?").text == "1 + 1 = 2"
    assert len(emulator.log.entries) == 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", [429, "html", "empty", "refused", "hang"])
def test_a_turn_waits_while_a_fault_takes_the_place_of_its_answer(model, fault):
    emulator = Emulator(script=["one", "two"], faults=[fault, None, fault])
    texts = []
    for _ in range(4):
        try:
            texts.append(talk(emulator, model, "low", "x").text)
        except PonderoError:
            texts.append("-")
    assert texts == ["-", "one", "-", "two"]
    assert [entry.scripted for entry in emulator.log.entries] == [False, True, False, True]


def test_a_turn_whose_answer_was_begun_is_used_up():
    for fault in ("cut 120", "broken 120", "no_end", "error_event", "hang 120"):
        emulator = Emulator(script=["one"], faults=[fault])
        with pytest.raises(PonderoError):
            talk(emulator, "claude-opus-5", "low", "x")
        assert not emulator.waiting, fault


def test_a_turn_with_a_fault_of_its_own_is_used_up_by_it():
    emulator = Emulator(script=[ScriptedTurn(fault=529), "one"], faults=[429])
    with pytest.raises(Overloaded):
        talk(emulator, "claude-opus-5", "low", "x")
    with pytest.raises(RateLimited):
        talk(emulator, "claude-opus-5", "low", "x")
    assert talk(emulator, "claude-opus-5", "low", "x").text == "one"


def test_a_turn_that_waits_keeps_its_place():
    emulator = Emulator(
        script=[ScriptedTurn(text="of owls", when=When(contains="owl")), "one"], faults=[529]
    )
    with pytest.raises(Overloaded):
        talk(emulator, "claude-opus-5", "low", "x")
    assert talk(emulator, "claude-opus-5", "low", "an owl").text == "of owls"


def test_turns_that_are_left_over_are_listed():
    whole = Reply(Message("assistant", (Text("as it is"),)), "stop")
    emulator = Emulator(script=["one", ScriptedTurn(fault=529), whole, ponder])
    assert emulator.waiting == (ScriptedTurn(text="one"), ScriptedTurn(fault=529), whole, ponder)
    talk(emulator, "claude-opus-5", "low", "x")
    emulator.expect("more")
    assert emulator.waiting[0] == ScriptedTurn(fault=529)
    assert emulator.waiting[-1] == ScriptedTurn(text="more")
    emulator.reset()
    assert emulator.waiting == ()


@pytest.mark.parametrize(
    ("turn", "instead"),
    [
        ({"fault": "429 2.5"}, "ScriptedTurn(fault='429 2.5')"),
        ({"text": "hi", "thinking": "hm"}, "ScriptedTurn(text='hi', thinking='hm')"),
        ({"txt": "a"}, "a turn has no field 'txt'; did you mean 'text'? its fields are text "),
        ({"text": "a", "nope": 1}, "a turn has no field 'nope'; its fields are text thinking "),
        (
            {"text": "a", "when": {"contains": "owl"}},
            "ScriptedTurn(text='a', when=When(contains='owl'))",
        ),
        (
            {"tool_calls": [{"name": "go", "arguments": {"a": 1}}]},
            "ScriptedTurn(tool_calls=(ScriptedCall(name='go', arguments={'a': 1}),))",
        ),
        (429, "ScriptedTurn(fault=429)"),
        (None, "a text, a ScriptedTurn, a Reply or a function"),
        (["one", "two"], "one after the other"),
        (Fault(kind="html"), "ScriptedTurn(fault="),
        (ScriptedTurn, "a text, a ScriptedTurn, a Reply or a function"),
    ],
)
def test_what_is_no_turn_is_refused_where_it_is_given(turn, instead):
    with pytest.raises(BadParameter, match=re.escape(instead)):
        Emulator(script=[turn])
    emulator = Emulator()
    with pytest.raises(BadParameter, match=re.escape(instead)):
        emulator.expect("fine", turn)
    assert emulator.waiting == ()


@pytest.mark.parametrize(
    ("script", "instead"),
    [
        ("hello", "script=['hello']"),
        (ScriptedTurn(text="hello"), "script=[ScriptedTurn(text='hello')]"),
        ({"text": "hello"}, "script=[ScriptedTurn(text='hello')]"),
        ({"txt": "hello"}, "a turn has no field 'txt'; did you mean 'text'?"),
    ],
)
def test_a_script_is_a_list(script, instead):
    with pytest.raises(BadParameter, match=re.escape(instead)):
        Emulator(script=script)


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (ScriptedTurn, {"finish": "max_tokens"}, "use 'stop', 'length'"),
        (ScriptedTurn, {"usage": {"thinking": 5}}, "use pondero.Usage(thinking=5)"),
        (ScriptedTurn, {"tool_calls": ("search",)}, "'search' is no call; use ScriptedCall("),
        (ScriptedTurn, {"tool_calls": ScriptedCall("search")}, "add a comma"),
        (ScriptedTurn, {"text": 5}, "text=5 is no text"),
        (ScriptedTurn, {"thinking": ["a", 5]}, "thinking=['a', 5] is no text, and no tuple of"),
        (
            ScriptedTurn,
            {"parts": "hello"},
            "parts='hello' is no tuple of parts; use (pondero.Text(",
        ),
        (ScriptedTurn, {"parts": ("hello",)}, "parts=('hello',) is no tuple of parts"),
        (ScriptedTurn, {"when": {"contains": "x"}}, "when={'contains': 'x'} is no When; use When("),
        (When, {"dialect": "opnai"}, "dialect='opnai' is unknown; use "),
        (When, {"model": "claude-opus-5/high"}, "a request has the model's name alone"),
    ],
)
def test_a_wrong_value_is_an_error_where_it_is_written(kind, fields, expected):
    with pytest.raises(BadParameter, match=re.escape(expected)):
        kind(**fields)
