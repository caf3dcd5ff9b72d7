"""The service's own fields for thinking win: in extras, or as the wish of one provider alone."""

import json

import pytest
from tests.hazards.test_first_use import model_of

import pondero
from pondero.canon import merge_json
from pondero.client.apply_dial import set_level
from pondero.dialects import NAMES
from pondero.emulator import Emulator
from pondero.errors import BadThinking, PonderoWarning, Unsupported
from pondero.thinking import Policy

SUM = "What is 17 * 23?"
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai_responses": "gpt-5",
    "openai_chat": "groq:openai/gpt-oss-120b",
    "gemini": "gemini-2.5-pro",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "ollama": "ollama:gpt-oss:20b",
    "bedrock": "bedrock:claude-opus-4",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
WISHES = {"anthropic": {"thinking": {"type": "disabled"}}, "openai_responses": "high", "*": "low"}


def client(**options):
    return pondero.Client(transport=Emulator(), **options)


def sent(prepared):
    return json.loads(prepared.request.body)


@pytest.mark.parametrize("dialect", NAMES)
def test_native_fields_in_extras_win_over_the_level_and_the_plan_says_so(dialect):
    model = MODELS.get(dialect) or model_of(dialect)
    native = pondero.plan(model, "high", max_tokens=20_000).fields
    assert native != pondero.plan(model, "minimal", max_tokens=20_000).fields
    prepared = client().prepare(model, SUM, "minimal", extras=native)
    body = sent(prepared)
    assert merge_json(body, native) == body
    (note,) = prepared.plan.adjustments
    assert (note.code, note.asked, note.got) == ("native_wins", "minimal", "native")
    assert prepared.plan.asked == "minimal"
    assert "your own fields" in str(prepared.plan)
    assert client().ask(model, SUM, "minimal", extras=native).text


def test_of_our_own_fields_none_is_left_beside_native_ones():
    made = client().prepare(
        "claude-sonnet-4-5", SUM, "high", extras={"thinking": {"type": "disabled"}}
    )
    assert sent(made)["thinking"] == {"type": "disabled"}
    snake = {"generation_config": {"thinking_config": {"thinking_budget": 256}}}
    body = sent(client().prepare("gemini-2.5-pro", SUM, "high", extras=snake))
    assert body["generation_config"] == snake["generation_config"]
    assert "generationConfig" not in body


@pytest.mark.parametrize("thinking", [None, "low"])
def test_native_fields_that_agree_with_the_level_or_stand_alone_need_no_word(thinking):
    extras = {"reasoning": {"effort": "low"}}
    made = client().prepare("gpt-5", SUM, thinking, extras=extras)
    assert sent(made)["reasoning"]["effort"] == "low"
    assert made.plan.adjustments == ()


def test_what_is_shown_natively_goes_with_the_level():
    made = client().prepare("gpt-5", SUM, "low", extras={"reasoning": {"summary": "detailed"}})
    assert sent(made)["reasoning"] == {"effort": "low", "summary": "detailed"}


def test_policies_decide_about_native_fields_as_about_every_adjustment():
    extras = {"reasoning": {"effort": "high"}}
    with pytest.raises(Unsupported, match="native_wins"):
        client(policy={"unsupported": "strict"}).prepare("gpt-5", SUM, "low", extras=extras)
    with pytest.warns(PonderoWarning, match="native_wins"):
        client(policy={"unsupported": "warn"}).prepare("gpt-5", SUM, "low", extras=extras)


@pytest.mark.parametrize(
    ("model", "asked", "fields"),
    [
        ("claude-sonnet-4-5", "native", {"thinking": {"type": "disabled"}}),
        ("gpt-5", "high", {"reasoning": {"effort": "high", "summary": "auto"}}),
        ("openai-chat:gpt-5", "low", {"reasoning_effort": "low"}),
    ],
)
def test_a_wish_may_be_by_provider_or_dialect_with_one_for_the_rest(model, asked, fields):
    made = pondero.plan(model, WISHES)
    assert made.asked == asked
    assert merge_json(made.fields, fields) == made.fields


def test_a_provider_comes_before_its_dialect_and_who_is_not_named_gets_the_models_suffix():
    assert pondero.plan("claude-opus-5", {"*": "low", "anthropic": "high"}).level == "high"
    assert pondero.plan("gpt-5/high", {"anthropic": "low"}).level == "high"
    assert pondero.plan("gpt-5", {"anthropic": "low"}).asked is None
    assert (
        pondero.plan("openai-chat:gpt-5", {"openai-chat": "high", "openai_chat": "low"}).level
        == "high"
    )


def test_a_wish_for_nobody_is_an_error():
    with pytest.raises(BadThinking, match="anthropc"):
        pondero.plan("gpt-5", {"anthropc": "low", "*": "high"})


def test_a_chat_takes_each_providers_wish_as_its_model_changes():
    chat = pondero.Chat("gpt-5", WISHES, client=client())
    assert chat.send(SUM).plan.level == "high"
    chat.model = "claude-sonnet-4-5"
    assert chat.send(SUM).plan.asked == "native"
    assert pondero.Chat.from_json(chat.to_json(), client=client()).thinking == WISHES


def test_other_sdks_get_each_providers_wish_too():
    request = client().prepare("gpt-5", SUM).request
    _, plan = set_level(request, WISHES, Policy())
    assert plan.level == "high"
