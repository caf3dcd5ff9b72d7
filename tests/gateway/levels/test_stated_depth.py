"""Depth that a client states elsewhere than in the usual field reaches no service."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.recorder import Recorder

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, LevelRules
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BETA = "mid-conversation-output-config-2026-07-01"
HEADERS = {"content-type": "application/json", "x-api-key": "k", "anthropic-beta": BETA}
PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
    "ollama": "/api/chat",
    "google": "/v1beta/models/{model}:generateContent",
}
USER = {"role": "user", "content": "What is 2 + 2?"}
ADAPTIVE = {"max_tokens": 9_000, "thinking": {"type": "adaptive"}}


def ask(
    target: str, body: dict[str, Any] | str, rules: LevelRules, **headers: str
) -> tuple[Came, Any, Emulator]:
    """Return the answer to a body, the body that the service got, and the service."""
    provider, model = target.split(":", 1)
    emulator = Emulator()
    route = GatewayRoute(match=model, to=(target,), thinking=rules)
    app = App(GatewayContext(GatewayConfig(routes=(route,)), emulator))
    text = body if isinstance(body, str) else json.dumps({"model": model, **body})
    url = f"http://gate{PATHS[provider].format(model=model)}"
    http = HttpRequest("POST", url, {**HEADERS, **headers}, text.encode())
    answer = anyio.run(came, app, http)
    assert answer.status == 200, answer.body
    return answer, emulator.log.entries[-1].body, emulator


def turn(effort: Any) -> dict[str, Any]:
    return {"role": "system", "content": [], "output_config": {"effort": effort}}


def test_a_turn_of_messages_cannot_pass_the_cap():
    body = {**ADAPTIVE, "messages": [USER, turn("max")]}
    answer, got, _ = ask("anthropic:claude-opus-5", body, LevelRules(cap="low"))
    assert got["messages"][1] == turn("low")
    assert got["output_config"]["effort"] == "low"
    assert answer.headers["x-pondero-thinking"] == "asked=max; sent=low; why=cap"


def test_an_item_of_responses_cannot_pass_the_cap():
    update = {"type": "configuration_update", "reasoning": {"effort": "max"}}
    body = {"input": [USER, update], "reasoning": {"effort": "low"}}
    answer, got, _ = ask("openai:gpt-6-sol", body, LevelRules(cap="low"))
    assert got["input"][1]["reasoning"] == {"effort": "low"}
    assert got["reasoning"]["effort"] == "low"
    assert answer.headers["x-pondero-thinking"] == "asked=max; sent=low; why=cap"


@pytest.mark.parametrize(
    ("target", "name", "null"),
    [
        (
            "openai:gpt-6-sol",
            "input",
            {"type": "configuration_update", "reasoning": {"effort": None}},
        ),
        ("anthropic:claude-opus-5", "messages", turn(None)),
    ],
)
def test_a_turn_that_sets_the_level_to_null_does_not_arrive(target, name, null):
    """It may mean the model's own default, which is above this cap."""
    usual = ADAPTIVE if name == "messages" else {}
    _, got, _ = ask(target, {**usual, name: [USER, null]}, LevelRules(cap="low"))
    assert got[name] == [USER]


def test_a_level_stays_if_a_later_turn_names_none():
    high = {"type": "configuration_update", "reasoning": {"effort": "high"}}
    null = {"type": "configuration_update", "reasoning": {"effort": None}}
    answer = {"role": "assistant", "content": "4"}
    body = {"input": [USER, high, answer, USER, null], "reasoning": {"effort": "none"}}
    came, got, _ = ask("openai:gpt-6-sol", body, LevelRules(cap="high"))
    assert came.headers["x-pondero-thinking"] == "asked=high; sent=high; why=body"
    assert got["input"][1] == high


def test_a_turn_that_the_rules_allow_stays_with_its_opening_level():
    """Changing the level inside a conversation keeps the prompt cache: the top must not change."""
    messages = [USER, {"role": "assistant", "content": "4."}, USER, turn("medium")]
    body = {**ADAPTIVE, "output_config": {"effort": "low"}, "messages": messages}
    answer, got, _ = ask("anthropic:claude-opus-5", body, LevelRules(cap="high"))
    assert got["output_config"] == {"effort": "low"}
    assert got["messages"] == messages
    assert answer.headers["x-pondero-thinking"] == "asked=medium; sent=medium; why=body"


def test_a_turn_goes_where_the_cap_is_off_or_a_header_says_the_level():
    body = {**ADAPTIVE, "messages": [USER, turn("max")]}
    _, got, _ = ask("anthropic:claude-opus-5", body, LevelRules(cap="off"))
    assert got["messages"] == [USER]
    assert got["thinking"] == {"type": "disabled"}
    level = {"x-pondero-thinking": "low"}
    answer, got, _ = ask("anthropic:claude-opus-5", body, LevelRules(), **level)
    assert got["messages"] == [USER]
    assert got["output_config"] == {"effort": "low"}
    assert answer.headers["x-pondero-thinking"] == "asked=low; sent=low; why=header"


@pytest.mark.parametrize("rules", [LevelRules(force="medium"), LevelRules(floor="medium")])
def test_force_and_floor_hold_inside_a_conversation(rules):
    body = {**ADAPTIVE, "messages": [USER, turn("low")]}
    _, got, _ = ask("anthropic:claude-opus-5", body, rules)
    assert got["messages"][1] == turn("medium")


@pytest.mark.parametrize(
    "config",
    [
        '"output_config":{"effort":"max"},"output_config":{"effort":"low"}',
        '"output_config":{"effort":"low"},"output_config":{"effort":"max"}',
        '"output_config":{"effort":"max","effort":"low"}',
        '"output_config":{"\\u0065ffort":"max","effort":"low"}',
        '"\\u006futput_config":{"effort":"max"},"output_config":{"effort":"low"}',
    ],
)
@pytest.mark.parametrize("cap", ["low", "high"])
def test_a_name_that_occurs_twice_arrives_once(config, cap):
    text = (
        '{"model":"claude-opus-5","max_tokens":9000,"thinking":{"type":"adaptive"},'
        f'"messages":[{{"role":"user","content":"Hi"}}],{config}}}'
    )
    recorder = Recorder()
    route = GatewayRoute(
        match="*", to=("anthropic:claude-opus-5",), thinking=LevelRules(cap=cap), retries=0
    )
    app = App(GatewayContext(GatewayConfig(routes=(route,)), recorder))
    url = "http://gate/v1/messages"
    anyio.run(came, app, HttpRequest("POST", url, HEADERS, text.encode()))
    assert recorder.bodies[0].count(b'"output_config"') == 1
    assert recorder.bodies[0].count(b"effort") == 1
    assert json.loads(recorder.bodies[0])["output_config"]["effort"] in ("low", cap)


def test_two_levels_of_a_chat_request_arrive_as_one():
    body = {"messages": [USER], "reasoning_effort": "low", "reasoning": {"effort": "high"}}
    answer, got, _ = ask("openai-chat:gpt-5.5", body, LevelRules(cap="low"))
    assert got["reasoning_effort"] == "low"
    assert "reasoning" not in got
    assert "sent=low" in answer.headers["x-pondero-thinking"]


def test_a_name_in_another_case_is_read_by_no_server():
    body = {"messages": [USER], "think": "low", "Think": "high", "thinK": "high"}
    _, got, _ = ask("ollama:gpt-oss:20b", body, LevelRules(cap="low"))
    assert {name: got[name] for name in got if name.casefold() == "think"} == {"think": "low"}


def test_both_spellings_of_a_config_become_one():
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generation_config": {"temperature": 1, "thinking_config": {"thinking_level": "HIGH"}},
    }
    _, got, _ = ask("google:gemini-3-flash-preview", body, LevelRules(cap="low"))
    assert "generation_config" not in got
    config = got["generationConfig"]
    assert config["temperature"] == 1
    assert config["thinkingConfig"]["thinkingLevel"].lower() == "low"


def test_pro_mode_is_above_every_cap():
    body = {"input": [USER], "reasoning": {"effort": "low", "mode": "pro"}}
    _, got, _ = ask("openai:gpt-6-sol", body, LevelRules(cap="high"))
    assert "mode" not in got["reasoning"]
    _, got, _ = ask("openai:gpt-6-sol", body, LevelRules(floor="minimal"))
    assert got["reasoning"]["mode"] == "pro"


def test_a_service_may_not_ask_other_models_instead_of_a_limited_one():
    instead = {"model": "claude-opus-4-8", "output_config": {"effort": "max"}}
    body = {**ADAPTIVE, "messages": [USER], "fallbacks": [instead]}
    recorder = Recorder()
    route = GatewayRoute(match="*", to=("anthropic:claude-opus-5",), thinking=LevelRules(cap="low"))
    app = App(GatewayContext(GatewayConfig(routes=(route,)), recorder))
    data = json.dumps({"model": "claude-opus-5", **body}).encode()
    anyio.run(came, app, HttpRequest("POST", "http://gate/v1/messages", HEADERS, data))
    assert "fallbacks" not in json.loads(recorder.bodies[0])


def test_without_a_rule_no_byte_changes():
    messages = [USER, {"role": "assistant", "content": "4."}, USER]
    body = {"model": "claude-opus-5", **ADAPTIVE, "messages": messages, "metadata": {}}
    text = json.dumps({**body, "output_config": {"effort": "high"}}, separators=(",", ":"))
    emulator = ask("anthropic:claude-opus-5", text, LevelRules())[2]
    assert json.dumps(emulator.log.entries[-1].body, separators=(",", ":")) == text
