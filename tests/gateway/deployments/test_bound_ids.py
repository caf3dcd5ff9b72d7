"""Files, caches, containers and stores: only the account that has them is sent their ids."""

import json
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.four_accounts import Account, Clock, FourAccounts, deploy, make_gateway

from pondero.canon import HttpRequest, ResponseHead

_USAGE = {"input_tokens": 5, "output_tokens": 5}
_TEXT = {"type": "output_text", "text": "Fine.", "annotations": []}
_SAID = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
ANSWERS: dict[str, dict[str, Any]] = {
    "/v1/messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Fine."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": _USAGE,
    },
    "/v1/responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [{**_SAID, "content": [_TEXT]}],
        "usage": {**_USAGE, "total_tokens": 10},
    },
    "/v1/chat/completions": {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Fine."},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    },
    "generateContent": {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "Fine."}]},
                "index": 0,
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10},
    },
}


class Canned:
    """A service that gives each request the answer of its API."""

    def __init__(self) -> None:
        self.answers = {path: dict(answer) for path, answer in ANSWERS.items()}

    async def send(self, request, _timeouts):
        path = request.url.partition("?")[0]
        answer = next(each for end, each in self.answers.items() if path.endswith(end))
        return _Answer(json.dumps(answer).encode())


class _Answer:
    def __init__(self, body: bytes) -> None:
        self.head = ResponseHead(200, {"content-type": "application/json"})
        self._body = body

    async def __aiter__(self):
        yield self._body

    async def aclose(self) -> None:
        """Nothing is open."""


def say(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


MESSAGES = {"model": "pool", "max_tokens": 2000, "messages": [say("Hi")]}
RESPONSES = {"model": "pool", "store": False, "input": [say("Hi")]}
CHAT = {"model": "pool", "messages": [say("Hi")]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
_EXECUTE = [{"type": "code_execution_20250825", "name": "code_execution"}]
PATHS = {
    "anthropic": ("/v1/messages", "claude-opus-5"),
    "openai": ("/v1/responses", "gpt-5.5"),
    "openai-chat": ("/v1/chat/completions", "gpt-5.5"),
    "google": ("/v1beta/models/pool:generateContent", "gemini-3-flash-preview"),
}
_FILE_URI = "https://generativelanguage.googleapis.com/v1beta/files/BOUND"
# The requests that name something which only one account has, and need it.
NEEDED = {
    "cache": ("google", {**GEMINI, "cachedContent": "cachedContents/BOUND"}),
    "file of Gemini": (
        "google",
        {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": _FILE_URI}}]}]},
    ),
    "file": (
        "openai",
        {**RESPONSES, "input": [say([{"type": "input_file", "file_id": "file-BOUND"}])]},
    ),
    "picture": (
        "openai",
        {**RESPONSES, "input": [say([{"type": "input_image", "file_id": "file-BOUND"}])]},
    ),
    "vector store": (
        "openai",
        {**RESPONSES, "tools": [{"type": "file_search", "vector_store_ids": ["vs_BOUND"]}]},
    ),
    "file in a new container": (
        "openai",
        {
            **RESPONSES,
            "tools": [
                {
                    "type": "code_interpreter",
                    "container": {"type": "auto", "file_ids": ["file-BOUND"]},
                }
            ],
        },
    ),
    "prompt": ("openai", {**RESPONSES, "prompt": {"id": "pmpt_BOUND"}}),
    "file of Chat": (
        "openai-chat",
        {**CHAT, "messages": [say([{"type": "file", "file": {"file_id": "file-BOUND"}}])]},
    ),
    "file of Messages": (
        "anthropic",
        {
            **MESSAGES,
            "messages": [
                say([{"type": "document", "source": {"type": "file", "file_id": "file_BOUND"}}])
            ],
        },
    ),
    "upload to a container": (
        "anthropic",
        {
            **MESSAGES,
            "tools": _EXECUTE,
            "messages": [say([{"type": "container_upload", "file_id": "file_BOUND"}])],
        },
    ),
}
# Those that can do without it.
OPTIONAL = {
    "container": (
        "openai",
        {**RESPONSES, "tools": [{"type": "code_interpreter", "container": "cntr_BOUND"}]},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
    ),
    "container of a shell": (
        "openai",
        {
            **RESPONSES,
            "tools": [
                {
                    "type": "shell",
                    "environment": {"type": "container_reference", "container_id": "cntr_BOUND"},
                }
            ],
        },
        {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
    ),
    "container of Messages": (
        "anthropic",
        {**MESSAGES, "container": "container_BOUND", "tools": _EXECUTE},
        {"container": None},
    ),
    "container with skills": (
        "anthropic",
        {
            **MESSAGES,
            "tools": _EXECUTE,
            "container": {
                "id": "container_BOUND",
                "skills": [{"type": "anthropic", "skill_id": "pdf"}],
            },
        },
        {"container": {"skills": [{"type": "anthropic", "skill_id": "pdf"}]}},
    ),
}


def begin(monkeypatch, provider: str):
    clock, canned = Clock(), Canned()
    accounts = (Account("north"), Account("south"))
    service = FourAccounts(clock, *accounts, emulator=canned)  # type: ignore[arg-type]  # it sends
    path, model = PATHS[provider]
    app, gateway = make_gateway(
        service, deploy(provider, accounts), model, monkeypatch=monkeypatch, balance="spread"
    )

    async def ask(body: dict[str, Any], **fields: Any) -> Came:
        http = HttpRequest(
            "POST",
            f"http://gateway{path}",
            {"content-type": "application/json"},
            json.dumps({**body, **fields}).encode(),
        )
        return await came(app, http)

    return ask, gateway, service, canned


@pytest.mark.parametrize("name", NEEDED)
def test_what_a_client_names_is_asked_of_the_account_that_had_it_and_of_no_other(monkeypatch, name):
    provider, body = NEEDED[name]

    async def run() -> None:
        ask, _, service, _ = begin(monkeypatch, provider)
        first = await ask(body)
        assert first.status == 200, first.body
        home = first.headers["x-pondero-deployment"]
        for _ in range(5):  # the route spreads requests over all accounts
            assert (await ask(body)).headers["x-pondero-deployment"] == home
        service.accounts[home].is_dead = True
        (other,) = {"north", "south"} - {home}
        failed = await ask(body)
        assert failed.status == 502
        assert service.accounts[other].bodies == []

    anyio.run(run)


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_container_of_a_dead_account_is_left_out_of_a_move_and_told(monkeypatch, name):
    provider, body, expected = OPTIONAL[name]

    async def run() -> None:
        ask, gateway, service, _ = begin(monkeypatch, provider)
        route = replace(gateway.config.routes[0], balance="sticky")
        gateway.reconfigure(replace(gateway.config, routes=(route,)))
        first = await ask(body)
        home = first.headers["x-pondero-deployment"]
        assert b"BOUND" in service.accounts[home].bodies[-1]
        assert (await ask(body)).headers["x-pondero-deployment"] == home
        service.accounts[home].is_dead = True
        for _ in range(2):
            moved = await ask(body)
            assert moved.status == 200, moved.body
            other = moved.headers["x-pondero-deployment"]
            assert other != home
            sent = json.loads(service.accounts[other].bodies[-1])
            assert {field: sent.get(field) for field in expected} == expected
            assert "account_moved:stored things" in moved.headers["x-pondero-adjustments"]

    anyio.run(run)


def test_files_that_code_wrote_stay_with_their_account_and_the_answer_goes_along(monkeypatch):
    made = [{"type": "bash_code_execution_output", "file_id": "file_BOUND"}]
    result = {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "bash_code_execution_result",
            "stdout": "written",
            "stderr": "",
            "return_code": 0,
            "content": made,
        },
    }
    use = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "bash_code_execution",
        "input": {"command": "ls"},
    }
    content = [use, result, {"type": "text", "text": "Fine."}]

    async def run() -> None:
        ask, gateway, service, canned = begin(monkeypatch, "anthropic")
        route = replace(gateway.config.routes[0], balance="sticky")
        gateway.reconfigure(replace(gateway.config, routes=(route,)))
        canned.answers["/v1/messages"]["content"] = content
        first = await ask(MESSAGES, tools=_EXECUTE)
        home = first.headers["x-pondero-deployment"]
        past = [say("Hi"), {"role": "assistant", "content": content}, say("Go on.")]
        service.accounts[home].is_dead = True
        moved = await ask(MESSAGES, tools=_EXECUTE, messages=past)
        assert moved.status == 200, moved.body
        sent = service.accounts[moved.headers["x-pondero-deployment"]].bodies[-1]
        assert b"BOUND" not in sent
        assert b"written" in sent
        used = [*past[:2], say([{"type": "container_upload", "file_id": "file_BOUND"}])]
        failed = await ask(MESSAGES, tools=_EXECUTE, messages=used)
        assert failed.status == 502  # only the dead account has the file
        others = [each for name, each in service.accounts.items() if name != home]
        assert not any(b"BOUND" in sent for each in others for sent in each.bodies)

    anyio.run(run)


def test_a_thing_of_an_account_that_is_gone_is_rejected_and_sent_to_nobody(monkeypatch):
    async def run() -> None:
        ask, gateway, service, _ = begin(monkeypatch, "openai")
        body = NEEDED["file"][1]
        home = (await ask(body)).headers["x-pondero-deployment"]
        config = gateway.config
        left = tuple(each for each in config.deployments if each.name != home)
        extra = replace(left[0], name="third", key="env:KEY_THIRD")
        monkeypatch.setenv("KEY_THIRD", "key-of-third")
        service.accounts["third"] = Account("third")
        to = (f"{left[0].name}:gpt-5.5", "third:gpt-5.5")
        route = replace(config.routes[0], to=to)
        gateway.reconfigure(replace(config, deployments=(*left, extra), routes=(route,)))
        answer = await ask(body)
        assert answer.status in (400, 404)
        assert b"file-BOUND" in answer.body
        assert [len(service.accounts[each].bodies) for each in (left[0].name, "third")] == [0, 0]

    anyio.run(run)
