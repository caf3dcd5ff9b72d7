"""A key can name only what an answer to it gave, in every API, also after a restart."""

import json

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ProviderOverride,
    ServerConfig,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.shared_state import make_shared_state

BOX, ITEM = "container_0123456789abcdef", "rs_0123456789abcdef"
USER = {"role": "user", "content": "Hello?"}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [{"type": "text", "text": "Hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "container": {"id": BOX, "expires_at": "2026-11-17T00:00:00Z"},
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
TEXT = {"type": "output_text", "text": "Hi", "annotations": []}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.5",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": ITEM, "summary": []},
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "container_id": BOX,
            "code": "1",
            "outputs": [],
            "status": "completed",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [TEXT],
        },
    ],
    "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
}
CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5.5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hi", "audio": {"id": BOX}},
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
GEMINI = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    ],
    "modelVersion": "gemini-3-flash-preview",
}
MESSAGES: tuple = ("/v1/messages", "anthropic:claude-opus-5", MESSAGE, {"max_tokens": 99})
RESPONSES: tuple = ("/v1/responses", "openai:gpt-5.5", RESPONSE, {})
CHATS: tuple = ("/v1/chat/completions", "openai-chat:gpt-5.5", CHAT, {})
GENERATE: tuple = ("/v1beta/models/m:generateContent", "google:gemini-3-flash-preview", GEMINI, {})
INTERPRETER = {
    "type": "code_interpreter_call",
    "id": "ci_9",
    "container_id": BOX,
    "code": "1",
    "outputs": [],
    "status": "completed",
}
SHELL = {
    "type": "shell_call",
    "call_id": "call_1",
    "action": {"commands": ["ls"]},
    "environment": {"type": "container_reference", "container_id": BOX},
}
JUNK = [{"type": "reasoning_text", "text": "x"}]
NAMED = {
    "container": (MESSAGES, {"container": BOX}),
    "container object": (MESSAGES, {"container": {"id": BOX}}),
    "escaped": (MESSAGES, {"container": {"id": BOX}}),
    "interpreter": (RESPONSES, {"input": [INTERPRETER, USER]}),
    "shell": (RESPONSES, {"input": [SHELL, USER]}),
    "junk": (
        RESPONSES,
        {"input": [{"type": "reasoning", "id": ITEM, "summary": [], "content": JUNK}, USER]},
    ),
    "image": (
        RESPONSES,
        {
            "input": [
                {
                    "type": "image_generation_call",
                    "id": ITEM,
                    "status": "completed",
                    "result": "eA==",
                },
                USER,
            ]
        },
    ),
    "audio": (
        CHATS,
        {"messages": [USER, {"role": "assistant", "audio": {"id": BOX}}, USER]},
    ),
}


def _key(name: str, key: str, *, account_state: bool = False) -> GatewayKey:
    return GatewayKey(name, hash_key(key), account_state=account_state)


def _gate(api: tuple, *keys: GatewayKey, saves_owners: bool = False) -> tuple[App, Canned]:
    _, model, answer, _ = api
    service = Canned([json.dumps(answer).encode()], content_type="application/json")
    provider = model.partition(":")[0]
    override = ProviderOverride(url="http://service", key="env:SOMETHING")
    config = GatewayConfig(
        routes=(GatewayRoute(match="*", to=(model,), retries=0),),
        providers={provider: override},
        keys=keys,
    )
    shared = make_shared_state(ServerConfig(), saves_owners=saves_owners)
    return App(GatewayContext(config, service, shared=shared)), service


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SOMETHING", "a-providers-key-0123456789")
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path))


async def _ask(app: App, api: tuple, key: str, fields: dict, *, escaped: bool = False) -> Came:
    path, model, _, more = api
    slot = {"/v1/responses": "input"}.get(path, "messages")
    body = {"model": model.partition(":")[2], slot: [USER], **more, **fields}
    if api is GENERATE:
        body = {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}], **fields}
    data = json.dumps(body)
    if escaped:
        data = data.replace('"container"', '"cont\\u0061iner"')
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    return await came(app, HttpRequest("POST", f"http://gate{path}", headers, data.encode()))


@pytest.mark.parametrize("name", NAMED)
def test_what_an_answer_gave_is_for_its_key_alone(name):
    api, fields = NAMED[name]

    async def run() -> None:
        app, service = _gate(api, _key("one", "key-a"), _key("two", "key-b"))
        first = await _ask(app, api, "key-a", {})
        assert first.status == 200, first.body
        taken = await _ask(app, api, "key-b", fields, escaped=name == "escaped")
        assert taken.status == 404, taken.body
        assert len(service.requests) == 1
        own = await _ask(app, api, "key-a", fields)
        assert own.status == 200, own.body

    anyio.run(run)


def test_a_container_in_a_tool_of_chat_is_not_for_every_key():
    box = {"type": "container_reference", "container_id": BOX}
    tools = {"tools": [{"type": "openrouter:shell", "environment": box}]}
    path, _, answer, more = CHATS
    api = (path, "openrouter:openai/gpt-5.5", answer, more)

    async def run() -> None:
        app, service = _gate(api, _key("one", "key-a"))
        taken = await _ask(app, api, "key-a", tools)
        assert taken.status == 404, taken.body
        assert service.requests == []

    anyio.run(run)


@pytest.mark.parametrize("name", ["cachedContent", "cached_content"])
@pytest.mark.parametrize("keys", ["none", "plain", "allowed"])
def test_cached_content_belongs_to_the_account(name, keys):
    known = {
        "none": (),
        "plain": (_key("one", "key-a"),),
        "allowed": (_key("one", "key-a", account_state=True),),
    }

    async def run() -> None:
        app, service = _gate(GENERATE, *known[keys])
        answer = await _ask(app, GENERATE, "key-a", {name: "cachedContents/abc"})
        assert answer.status == (403 if keys == "plain" else 200), answer.body
        assert len(service.requests) == (keys != "plain")

    anyio.run(run)


def test_a_restart_and_another_worker_know_whose_an_id_is():
    async def run() -> None:
        keys = _key("one", "key-a"), _key("two", "key-b")
        before, _ = _gate(RESPONSES, *keys, saves_owners=True)
        await _ask(before, RESPONSES, "key-a", {})
        after, service = _gate(RESPONSES, *keys, saves_owners=True)
        more = {"previous_response_id": "resp_1"}
        assert (await _ask(after, RESPONSES, "key-a", more)).status == 200
        assert (await _ask(after, RESPONSES, "key-b", more)).status == 400
        assert len(service.requests) == 1

    anyio.run(run)
