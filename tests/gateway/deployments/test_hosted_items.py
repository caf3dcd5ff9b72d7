"""An answer with hosted items: its signatures stay with their account, and go back to it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.deployments.test_bound_ids import Canned, say
from tests.gateway.four_accounts import Account, Clock, FourAccounts, deploy, make_gateway

from pondero.canon import HttpRequest

SIGNED = "c2lnbmVkIGJ5IGl0cyBhY2NvdW50IGFsb25l" * 3
_ID = "0" * 40
_USAGE = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}
_REASONING = {
    "id": f"rs_{_ID}",
    "type": "reasoning",
    "summary": [],
    "encrypted_content": SIGNED,
}
_SAID = {
    "id": f"msg_{_ID}",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Fine.", "annotations": [], "logprobs": []}],
}
# Items of section 10 of the Responses sheet, each as the service gives it.
ITEMS: dict[str, dict[str, Any]] = {
    "web_search_call": {"action": {"type": "search", "query": "q", "sources": None}},
    "code_interpreter_call": {
        "code": "print(1)",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "1"}],
    },
    "file_search_call": {"queries": ["q"], "results": None},
    "image_generation_call": {"result": "aGVsbG8="},
    "mcp_list_tools": {"server_label": "s", "tools": [], "error": None},
    "mcp_call": {
        "server_label": "s",
        "name": "t",
        "arguments": "{}",
        "output": "42",
        "error": None,
        "approval_request_id": None,
    },
    "shell_call": {
        "call_id": "call_1",
        "action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
    },
    "compaction": {"encrypted_content": f"compacted {SIGNED}"},
}


def make_items(kind: str) -> list[dict[str, Any]]:
    hosted = {"id": f"x_{_ID}", "type": kind, "status": "completed", **ITEMS[kind]}
    return [_REASONING, hosted, _SAID]


def leave_nulls(value: Any) -> Any:
    """Return JSON as an SDK sends it that leaves out what is null."""
    if isinstance(value, dict):
        return {name: leave_nulls(each) for name, each in value.items() if each is not None}
    return [leave_nulls(each) for each in value] if isinstance(value, list) else value


def leave_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return items as Codex sends them."""
    return [{name: each[name] for name in each if name != "id"} for each in items]


WAYS: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "whole": list,
    "without nulls": leave_nulls,
    "without ids": leave_ids,
}


class Talk:
    """A conversation with two accounts; ``path`` and ``body`` are those of its API."""

    def __init__(self, monkeypatch, provider: str, model: str, **fields: Any) -> None:
        self.canned = Canned()
        accounts = (Account("north"), Account("south"))
        self.service = FourAccounts(Clock(), *accounts, emulator=self.canned)  # type: ignore[arg-type]  # it sends
        deployments = deploy(provider, accounts)
        if provider == "azure":  # an account is known by its address there
            deployments = tuple(
                replace(each, url=f"http://{each.name}.test") for each in deployments
            )
        self._app, self.gateway = make_gateway(
            self.service, deployments, model, monkeypatch=monkeypatch, **fields
        )

    async def ask(self, path: str, body: dict[str, Any]) -> Came:
        headers = {"content-type": "application/json"}
        data = json.dumps(body).encode()
        return await came(self._app, HttpRequest("POST", f"http://gateway{path}", headers, data))

    def list_sent(self, name: str) -> list[bytes]:
        return self.service.accounts[name].bodies


def make_body(history: list[Any]) -> dict[str, Any]:
    include = ["reasoning.encrypted_content"]
    return {"model": "pool", "store": False, "include": include, "input": history}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ITEMS)
@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_reasoning_beside_a_hosted_item_goes_back_to_its_account_alone(
    monkeypatch, provider, kind, way
):
    async def run() -> None:
        talk = Talk(monkeypatch, provider, "gpt-5.5")
        talk.canned.answers["/responses"] = {
            **talk.canned.answers["/v1/responses"],
            "output": make_items(kind),
        }
        del talk.canned.answers["/v1/responses"]
        talk.canned.answers["/responses"]["usage"] = _USAGE
        first = await talk.ask("/v1/responses", make_body([say("Hi")]))
        assert first.status == 200, first.body
        home = first.headers["x-pondero-deployment"]
        history = [say("Hi"), *WAYS[way](json.loads(first.body)["output"]), say("Go on.")]
        second = await talk.ask("/v1/responses", make_body(history))
        assert (second.status, second.headers["x-pondero-deployment"]) == (200, home), second.body
        sent = json.loads(talk.list_sent(home)[-1])["input"]
        kinds = [each.get("type", "message") for each in sent]
        assert kinds == ["message", "reasoning", kind, "message", "message"]
        assert SIGNED.encode() in talk.list_sent(home)[-1]
        assert "x-pondero-adjustments" not in second.headers
        talk.service.accounts[home].is_dead = True
        moved = await talk.ask("/v1/responses", make_body(history))
        (other,) = {"north", "south"} - {home}
        assert not any(SIGNED.encode() in each for each in talk.list_sent(other))
        assert moved.status == (502 if kind == "compaction" else 200), moved.body

    anyio.run(run)


@pytest.mark.parametrize("failure", [500, 529, 503, 429])
@pytest.mark.parametrize("retries", [0, 2])
def test_a_compacted_conversation_is_retried_at_the_account_that_compacted_it(
    monkeypatch, failure, retries
):
    """The other account cannot read it, so the home is asked as if it were alone."""

    async def run() -> None:
        talk = Talk(monkeypatch, "openai", "gpt-5.5", retries=retries)
        talk.canned.answers["/v1/responses"]["output"] = make_items("compaction")
        first = await talk.ask("/v1/responses", make_body([say("Hi")]))
        home = first.headers["x-pondero-deployment"]
        history = [say("Hi"), *json.loads(first.body)["output"], say("Go on.")]
        account = talk.service.accounts[home]
        account.next_rejections = [(failure, {})] * retries or [(failure, {})]
        before = len(account.bodies)
        again = await talk.ask("/v1/responses", make_body(history))
        (other,) = {"north", "south"} - {home}
        assert talk.list_sent(other) == []
        # A 429 of the home is waited for once, whatever the retries of the route are.
        asked = len(account.bodies) - before
        if retries or failure == 429:
            assert (again.status, again.headers["x-pondero-deployment"]) == (200, home), again.body
            assert asked == max(retries, 1) + 1
        else:
            assert (again.status, asked) == (failure, 1), again.body

    anyio.run(run)


def test_a_compacted_conversation_whose_home_rests_is_told_to_wait(monkeypatch):
    async def run() -> None:
        talk = Talk(monkeypatch, "openai", "gpt-5.5")
        talk.canned.answers["/v1/responses"]["output"] = make_items("compaction")
        first = await talk.ask("/v1/responses", make_body([say("Hi")]))
        home = first.headers["x-pondero-deployment"]
        history = [say("Hi"), *json.loads(first.body)["output"], say("Go on.")]
        await talk.gateway.breakers.open(f"{home}:gpt-5.5", 20)
        resting = await talk.ask("/v1/responses", make_body(history))
        assert (resting.status, resting.headers["retry-after"]) == (503, "20"), resting.body
        await talk.gateway.breakers.record_success(f"{home}:gpt-5.5")
        await talk.gateway.breakers.pause(f"{home}:gpt-5.5", 40)
        paused = await talk.ask("/v1/responses", make_body(history))
        assert (paused.status, paused.headers["retry-after"]) == (429, "40"), paused.body
        assert [len(talk.list_sent(name)) for name in ("north", "south")].count(0) == 1

    anyio.run(run)


GEMINI_PARTS = [
    {"text": "Let me see.", "thought": True},
    {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": SIGNED},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    {"text": "Fine.", "thoughtSignature": SIGNED},
]
STEPS = [
    {
        "type": "google_search_call",
        "id": "s1",
        "arguments": {"queries": ["q"]},
        "search_type": "web",
        "signature": SIGNED,
    },
    {"type": "google_search_result", "call_id": "s1", "result": [], "signature": SIGNED},
    {"type": "thought", "signature": SIGNED, "summary": [{"type": "text", "text": "Hm."}]},
    {"type": "model_output", "content": [{"type": "text", "text": "Fine."}]},
]


def iter_gemini(parts: list[Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "parts": [{"text": "Hi"}]}
    if parts:
        yield {"role": "model", "parts": parts}
        yield {"role": "user", "parts": [{"text": "Go on."}]}


def iter_steps(steps: list[Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}
    if steps:
        yield from steps
        yield {"type": "user_input", "content": [{"type": "text", "text": "Go on."}]}


@pytest.mark.parametrize("provider", ["google", "google-interactions"])
def test_signatures_beside_hosted_steps_of_gemini_go_back_to_their_account_alone(
    monkeypatch, provider
):
    async def run() -> None:
        talk = Talk(monkeypatch, provider, "gemini-3-flash-preview")
        usage = {"total_input_tokens": 5, "total_output_tokens": 5, "total_tokens": 10}
        talk.canned.answers["generateContent"]["candidates"][0]["content"]["parts"] = GEMINI_PARTS
        talk.canned.answers["/interactions"] = {
            "object": "interaction",
            "model": "m",
            "status": "completed",
            "steps": STEPS,
            "usage": usage,
        }

        async def ask(*, is_first: bool) -> Came:
            if provider == "google":
                contents = list(iter_gemini([] if is_first else GEMINI_PARTS))
                tools: list[Any] = [{"codeExecution": {}}]
                return await talk.ask(
                    "/v1beta/models/pool:generateContent", {"contents": contents, "tools": tools}
                )
            steps = list(iter_steps([] if is_first else STEPS))
            body = {"model": "pool", "store": False, "input": steps}
            return await talk.ask(
                "/v1beta/interactions", {**body, "tools": [{"type": "google_search"}]}
            )

        first = await ask(is_first=True)
        assert first.status == 200, first.body
        home = first.headers["x-pondero-deployment"]
        second = await ask(is_first=False)
        assert second.headers["x-pondero-deployment"] == home, second.body
        signed = 2 if provider == "google" else 3
        assert talk.list_sent(home)[-1].count(SIGNED.encode()) == signed
        talk.service.accounts[home].is_dead = True
        moved = await ask(is_first=False)
        assert moved.status == 200, moved.body
        sent = talk.list_sent(moved.headers["x-pondero-deployment"])
        assert not any(SIGNED.encode() in each for each in sent)

    anyio.run(run)
