"""Levels, caps, parameters and counts that broke elsewhere (rows 21 to 41), asked for real."""

import json

import pytest
from tests.emulator.talking import MODELS
from tests.hazards.talking import PLAIN, SEALING, get_weather, last_body, refusals
from tests.repairs import repair

import pondero
from pondero.canon import HttpRequest, Usage
from pondero.emulator import Emulator, ScriptedTurn
from pondero.errors import BadRequest, PonderoWarning, Unsupported
from pondero.thinking import LEVELS

ALL = (*SEALING, *PLAIN)
UNCOUNTED = {"mistral:magistral-medium-latest"}  # thinking has no count of its own
FAMILY = ("gpt-5", "gpt-5.1", "gpt-5.2", "gpt-5.5", "gpt-5-pro", "gpt-6-sol", "o3", "gpt-4.1")
CLAUDES = (
    *("claude-3-7-sonnet", "claude-sonnet-4-5", "claude-opus-4-5", "claude-opus-4-6"),
    *("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5-5"),
)


def asked(model, thinking=None, *turns, **options):
    """Return the reply to a question and the emulator that gave it; nothing was refused."""
    emulator = Emulator(script=turns)
    reply = pondero.Client(transport=emulator).ask(model, "What is 2 + 2?", thinking, **options)
    assert refusals(emulator) == []
    return reply, emulator


@pytest.mark.parametrize("model", CLAUDES)
@pytest.mark.parametrize("level", LEVELS)
def test_hazards_21_and_22_every_claude_takes_what_it_is_sent_at_every_level(model, level):
    reply, _ = asked(model, level)
    assert "4" in reply.text


def test_hazard_21_a_refusal_that_names_the_levels_is_understood_and_told():
    body = json.dumps({"output_config": {"effort": "xhigh"}, "messages": []}).encode()
    said = "This model does not support effort level 'xhigh'. Supported levels: high, low, medium."
    request = HttpRequest("POST", "https://host", {}, body)
    cured = repair("anthropic", request, BadRequest(said, status=400))
    assert json.loads(cured.request.body)["output_config"] == {"effort": "high"}
    assert cured.adjustment.code == "unsupported_level"


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize("level", LEVELS)
def test_hazards_23_and_24_every_level_is_a_word_that_this_very_model_takes(model, level):
    reply, emulator = asked(model, level)
    effort = last_body(emulator).get("reasoning", {}).get("effort")
    said = {"off": "none"}.get(level, level)
    silent = level == "off" and not reply.plan.will_think  # it never thinks: nothing is to be said
    assert effort == said or silent or reply.plan.adjustments


def test_hazard_23_the_emulated_service_refuses_the_words_that_the_real_one_refuses():
    for model, word in (("gpt-5.1", "minimal"), ("gpt-5", "none"), ("gpt-5-pro", "low")):
        client = pondero.Client(transport=Emulator(), policy={"unsupported": "strict"})
        with pytest.raises(BadRequest, match=f"'{word}'"):
            client.ask(model, "hello", {"reasoning": {"effort": word}})


@pytest.mark.parametrize("model", ["openai:gpt-7-quasar", "claude-opus-9", "gemini-9-pro"])
@pytest.mark.parametrize("level", LEVELS)
def test_hazards_25_and_27_a_model_of_tomorrow_is_asked_at_the_level_that_was_said(model, level):
    made = pondero.plan(model, level)
    assert made.facts.inferred
    assert made.fields
    assert made.level == level or made.adjustments


@pytest.mark.parametrize("model", ["gpt-4.1", "claude-3-5-haiku-latest"])
def test_hazard_26_strict_raises_warn_warns_and_the_rest_records(model):
    codes = [note.code for note in pondero.plan(model, "high").adjustments]
    assert codes == ["no_thinking"]
    with pytest.warns(PonderoWarning):
        pondero.plan(model, "high", policy={"unsupported": "warn"})
    with pytest.raises(Unsupported):
        pondero.plan(model, "high", policy={"unsupported": "strict"})


@pytest.mark.parametrize("model", ALL)
def test_hazard_28_off_is_off_or_the_least_and_said(model):
    reply, _ = asked(model, "off")
    assert reply.plan.adjustments or not reply.usage.thinking


@pytest.mark.parametrize("model", [*ALL, "openrouter:qwen/qwen3-32b", "groq:qwen/qwen3-32b"])
def test_hazard_29_another_level_is_another_body_or_the_plan_says_why(model):
    sent = {}
    for level in ("low", "medium", "high"):
        reply, emulator = asked(model, level)
        body, told = json.dumps(last_body(emulator)), bool(reply.plan.adjustments)
        assert body not in sent or told or sent[body], level
        sent[body] = told


@pytest.mark.parametrize("model", MODELS)
def test_hazard_30_thinking_that_was_asked_for_and_did_not_come_is_noticed(model):
    reply, _ = asked(model, "high", ScriptedTurn(text="4", usage=Usage(9, 0, None, 2, 0, 11)))
    assert reply.plan.will_think
    assert reply.verdict == "did_not_think"


@pytest.mark.parametrize("model", [*ALL, *CLAUDES])
@pytest.mark.parametrize("choice", ["required", "get_weather"])
def test_hazard_34_a_forced_tool_and_thinking_are_settled_before_they_are_sent(model, choice):
    reply, emulator = asked(model, "high", tools=[get_weather], tool_choice=choice)
    forced = "tool_choice" in last_body(emulator) or "toolConfig" in last_body(emulator)
    codes = {note.code for note in reply.plan.adjustments}
    assert forced or codes
    if reply.plan.will_think is False:
        assert codes


@pytest.mark.parametrize("model", [*ALL, *CLAUDES])
@pytest.mark.parametrize("level", ["off", "low", "high"])
def test_hazard_35_sampling_goes_along_or_is_dropped_with_a_note(model, level):
    options = {"temperature": 0.2, "top_p": 0.9}
    reply, emulator = asked(model, level, **options)
    body = last_body(emulator)
    sent = {**body, **body.get("generationConfig", {})}
    for name in options:
        there = name in sent or "topP" in sent
        noted = any(note.what == name for note in reply.plan.adjustments)
        assert there or (name in reply.plan.dropped and noted), name


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("budget", [1, 2000, 10_000])
def test_hazard_36_a_number_of_tokens_is_taken_by_everyone(model, budget):
    reply, _ = asked(model, budget)
    assert reply.plan.asked == budget
    assert reply.plan.budget == budget or reply.plan.adjustments


@pytest.mark.parametrize("room", [512, 4096, 12_000])
def test_hazard_37_the_room_for_the_answer_is_the_policys(room):
    policy = {"answer_room": room}
    made = pondero.plan("claude-sonnet-4-5", "high", max_tokens=30_000, policy=policy)
    assert made.fields["max_tokens"] - made.budget >= room
    reply, _ = asked("claude-sonnet-4-5", "high", max_tokens=30_000, policy=policy)
    assert "4" in reply.text


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("stream", [True, False])
def test_hazard_39_no_token_is_counted_twice_or_not_at_all(model, stream):
    usage = Usage(input=40, cache_read=0, output=7, thinking=98, total=145)
    reply, _ = asked(
        model, "high", ScriptedTurn(thinking="hm", text="4", usage=usage), stream=stream
    )
    got = reply.usage
    split = (105, None) if model in UNCOUNTED else (7, 98)
    assert (got.input, got.output, got.thinking, got.total) == (40, *split, 145)
    assert got.known_total == got.total


def test_hazard_40_thoughts_are_added_to_what_gemini_calls_its_candidates():
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 1, "thoughtsTokenCount": 98}
    candidate = {"content": {"parts": [{"text": "4"}]}, "finishReason": "STOP"}
    body = {"candidates": [candidate], "usageMetadata": {**counts, "totalTokenCount": 109}}
    usage = pondero.decode(json.dumps(body).encode()).usage
    assert (usage.output, usage.thinking, usage.known_total) == (1, 98, 109)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stream", [True, False])
def test_hazard_41_an_answer_lost_to_thinking_says_which_cap_would_do(model, stream):
    reply, _ = asked(model, "high", max_tokens=64, stream=stream)
    assert (reply.finish, reply.text) == ("exhausted", "")
    again, _ = asked(model, "high", max_tokens=reply.cap, stream=stream)
    assert (again.finish, "4" in again.text) == ("stop", True)
