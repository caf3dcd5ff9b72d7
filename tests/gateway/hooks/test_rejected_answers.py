"""An answer that a hook rejected is not to be had in any other way."""

import asyncio
import json
import re

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.gateway.hooks.gates import Gate

from pondero.canon import Event, HttpRequest, Reply
from pondero.gateway import Hook, HookCall, Reject
from pondero.gateway.config.model import GatewayKey, HookConfig
from pondero.gateway.config.secrets import hash_key

HERE = __name__


class Guard(Hook):
    def on_event(self, call: HookCall, event: Event, /) -> Reject | None:
        return Reject("that is secret") if "391" in repr(event) else None


class Judge(Hook):
    def on_reply(self, call: HookCall, reply: Reply, /) -> Reject:
        return Reject("that is secret")


class Watcher(Hook):
    def on_event(self, call: HookCall, event: Event, /) -> None:
        return None


def _send(gate: Gate, path: str, body: object = None, *, leave_at: bytes | None = None):
    headers = {"content-type": "application/json", "authorization": "Bearer the-key"}
    data = b"" if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    http = HttpRequest(method, f"http://127.0.0.1{path}", headers, data)
    return asyncio.run(came(gate.app, http, leave_at=leave_at))


KEYS: dict[str, tuple[GatewayKey, ...]] = {
    "a key": (GatewayKey("one", hash_key("the-key")),),
    "a key with account_state": (GatewayKey("one", hash_key("the-key"), account_state=True),),
    "no keys": (),
}


def _make_gate(name: str, to: str, keys: str = "a key") -> Gate:
    gate = Gate(HookConfig(use=f"{HERE}:{name}", name=name.lower()), to=to)
    gate.context.reconfigure(replace(gate.context.config, keys=KEYS[keys]))
    return gate


RESPONSES = ("/v1/responses", "openai:gpt-5.5", r'"id": ?"(resp_[^"]+)"')
INTERACTIONS = (
    "/v1beta/interactions",
    "google-interactions:gemini-3-flash-preview",
    r'"id": ?"([^"]{9,})"',
)


@pytest.mark.parametrize("hook", ["Guard", "Judge"])
@pytest.mark.parametrize("api", [RESPONSES, INTERACTIONS], ids=["responses", "interactions"])
def test_a_rejected_answer_cannot_be_fetched(hook, api):
    path, model, id = api
    gate = _make_gate(hook, model)
    asked = {"model": model.partition(":")[2], "input": "What is 17 * 23?", "stream": True}
    answer = _send(gate, path, asked)
    assert b"that is secret" in answer.body
    assert (b"= 391" in answer.body) == (hook == "Judge")  # it sees the answer when it is whole
    count = len(gate.upstream.requests)
    for found in set(re.findall(id, answer.body.decode())):
        fetched = _send(gate, f"{path}/{found}")
        assert fetched.status == 404
        assert b"= 391" not in fetched.body
    assert len(gate.upstream.requests) == count


def _continue(gate: Gate, stream: str) -> None:
    """Continue the answer of a stream, and name what is in it; nothing of that is sent."""
    path, _, id = RESPONSES
    found = re.findall(id, stream)[0]
    items = set(re.findall(r'"id": ?"((?:msg|rs)_[^"]+)"', stream))
    assert items
    count = len(gate.upstream.requests)
    fields = {"model": "gpt-5.5", "input": "Hi"}
    answer = _send(gate, path, {**fields, "previous_response_id": found})
    assert answer.status == 400
    assert b"previous_response_not_found" in answer.body
    for item in items:
        turns = [{"type": "item_reference", "id": item}, {"role": "user", "content": "Hi"}]
        assert _send(gate, path, {**fields, "input": turns}).status == 404
    assert len(gate.upstream.requests) == count


@pytest.mark.parametrize("keys", KEYS)
def test_a_rejected_answer_cannot_be_continued(keys):
    path, model, _ = RESPONSES
    gate = _make_gate("Guard", model, keys)
    asked = {"model": "gpt-5.5", "input": "What is 17 * 23?", "stream": True}
    _continue(gate, _send(gate, path, asked).body.decode())


@pytest.mark.parametrize("keys", KEYS)
def test_an_answer_whose_end_no_hook_has_seen_cannot_be_continued(keys):
    path, model, _ = RESPONSES
    gate = _make_gate("Judge", model, keys)
    asked = {"model": "gpt-5.5", "input": "What is 17 * 23?", "stream": True}
    seen = _send(gate, path, asked, leave_at=b'"msg_').body.decode()
    assert "that is secret" not in seen
    _continue(gate, seen)


def test_an_answer_that_its_hooks_let_pass_is_fetched():
    path, model, id = RESPONSES
    gate = _make_gate("Watcher", model)
    answer = _send(gate, path, {"model": "gpt-5.5", "input": "What is 17 * 23?", "stream": True})
    assert b"391" in answer.body
    found = re.findall(id, answer.body.decode())[0]
    fetched = _send(gate, f"{path}/{found}")
    assert fetched.status == 200
    assert b"391" in fetched.body
