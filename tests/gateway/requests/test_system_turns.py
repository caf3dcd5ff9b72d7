"""System turns of clients reach every model where it takes them, in pass-through and translation."""

import json

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

from .test_portability import ask

MODELS = {
    "old-claude": "anthropic:claude-sonnet-4-5",
    "ignores": "anthropic:claude-sonnet-5",
    "obeys": "anthropic:claude-opus-5",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-6",
    "gemini": "google:gemini-3-flash-preview",
    "gpt": "openai:gpt-5.5",
    "chat": "openai-chat:gpt-5",
    "deepseek": "deepseek:deepseek-v4-flash",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
PATHS = {
    "messages": ("/v1/messages", "messages", {"max_tokens": 4000}),
    "chat": ("/v1/chat/completions", "messages", {}),
    "responses": ("/v1/responses", "input", {}),
}
RUNS = {
    "codex": ["developer", "developer", "user"],
    "two": ["system", "system", "user"],
    "note": ["user", "assistant", "system", "user"],
    "amid": ["user", "system", "user"],
    "last": ["user", "assistant", "user", "system"],
    "after_answer": ["user", "assistant", "system"],
    "several": ["system", "user", "system", "system", "assistant", "system", "user"],
}


def _ask(api: str, name: str, roles: list[str]) -> tuple[int, bytes, dict]:
    path, slot, fields = PATHS[api]
    if api == "messages":
        roles = ["system" if role == "developer" else role for role in roles]
    said = [{"role": role, "content": f"{role} {n}"} for n, role in enumerate(roles)]
    emulator = Emulator()
    routes = tuple(GatewayRoute(match=each, to=(model,)) for each, model in MODELS.items())
    app = App(GatewayContext(GatewayConfig(routes=routes), emulator))
    body = json.dumps({"model": name, slot: said, **fields}).encode()
    headers = {"content-type": "application/json", "x-api-key": "k"}
    answer = anyio.run(came, app, HttpRequest("POST", f"http://gate{path}", headers, body))
    return answer.status, answer.body, emulator.log.entries[-1].body or {}


@pytest.mark.parametrize("roles", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("api", PATHS)
def test_a_system_turn_of_any_client_is_accepted_by_any_model_and_loses_no_word(api, name, roles):
    status, answer, sent = _ask(api, name, roles)
    assert status == 200, answer
    everything = json.dumps(sent)
    for number, role in enumerate(roles):
        said = "system" if api == "messages" and role == "developer" else role
        assert f"{said} {number}" in everything


@pytest.mark.parametrize("name", ["old-claude", "ignores"])
def test_claude_gets_no_system_turn_that_it_rejects_or_ignores(name):
    for roles in RUNS.values():
        _, _, sent = _ask("messages", name, roles)
        assert {turn["role"] for turn in sent["messages"]} <= {"user", "assistant"}


# -- a system prompt alone ------------------------------------------------------------------------

ALONE = {"messages": [{"role": "system", "content": "Write a haiku."}]}


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("back", ["deepseek", "groq", "ollama", "cohere"])
def test_a_system_prompt_alone_goes_as_it_is_where_the_service_takes_it(back, api):
    body = ALONE if api == "chat" else {"instructions": "Write a haiku.", "input": []}
    status, answer, sent, notes = ask(api, back, body)
    assert status == 200, answer
    assert [turn["role"] for turn in sent["messages"]] == ["system"]
    assert "turn_added" not in notes
    assert "system_turn_folded" not in notes


@pytest.mark.parametrize("back", ["claude", "gemini", "mistral", "converse", "gpt"])
@pytest.mark.parametrize("empty", [[], [{"role": "user", "content": ""}]], ids=["alone", "empty"])
def test_a_system_prompt_alone_is_the_question_where_the_service_needs_one(back, empty):
    body = {"messages": [*ALONE["messages"], *empty]}
    status, answer, sent, notes = ask("chat", back, body)
    assert status == 200, answer
    assert "has not written" not in json.dumps(sent)
    assert "Write a haiku." in json.dumps(sent)
    assert "system_turn_folded" in notes


@pytest.mark.parametrize("back", ["claude", "gemini", "mistral", "converse", "deepseek"])
def test_a_turn_that_is_added_to_an_empty_conversation_is_reported(back):
    body = {"messages": [{"role": "user", "content": ""}]}
    status, answer, sent, notes = ask("chat", back, body)
    assert status == 200, answer
    assert "has not written" in json.dumps(sent)
    assert "turn_added:messages" in notes


def test_a_turn_before_an_answer_that_comes_first_is_added_where_needed_and_reported():
    turns = [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi."}]
    _, _, sent, notes = ask("chat", "gemini", {"messages": turns})
    assert "begins with the answer" in json.dumps(sent)
    assert "turn_added:messages" in notes
    _, _, sent, notes = ask("chat", "converse", {"messages": turns})
    assert sent["messages"][0]["role"] == "assistant"
    assert "turn_added" not in notes
