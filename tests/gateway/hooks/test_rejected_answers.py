"""An answer that a hook rejected is not to be had in any other way."""

import json
import re

import pytest
from msgspec.structs import replace
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


def _send(gate: Gate, path: str, body: object = None):
    headers = {"content-type": "application/json", "authorization": "Bearer the-key"}
    data = b"" if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    return gate.ask(HttpRequest(method, f"http://127.0.0.1{path}", headers, data))


def _make_gate(name: str, to: str) -> Gate:
    gate = Gate(HookConfig(use=f"{HERE}:{name}", name=name.lower()), to=to)
    keys = (GatewayKey("one", hash_key("the-key")),)
    gate.context.reconfigure(replace(gate.context.config, keys=keys))
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
    assert (b"391" in answer.body) == (hook == "Judge")  # it sees the answer when it is whole
    count = len(gate.upstream.requests)
    for found in set(re.findall(id, answer.body.decode())):
        fetched = _send(gate, f"{path}/{found}")
        assert fetched.status == 404
        assert b"391" not in fetched.body
    assert len(gate.upstream.requests) == count


def test_a_rejected_answer_cannot_be_continued():
    path, model, id = RESPONSES
    gate = _make_gate("Guard", model)
    asked = {"model": "gpt-5.5", "input": "What is 17 * 23?", "stream": True}
    found = re.findall(id, _send(gate, path, asked).body.decode())[0]
    count = len(gate.upstream.requests)
    answer = _send(gate, path, {"model": "gpt-5.5", "input": "Hi", "previous_response_id": found})
    assert answer.status == 400
    assert b"previous_response_not_found" in answer.body
    assert len(gate.upstream.requests) == count


def test_an_answer_that_its_hooks_let_pass_is_fetched():
    path, model, id = RESPONSES
    gate = _make_gate("Watcher", model)
    answer = _send(gate, path, {"model": "gpt-5.5", "input": "What is 17 * 23?", "stream": True})
    assert b"391" in answer.body
    found = re.findall(id, answer.body.decode())[0]
    fetched = _send(gate, f"{path}/{found}")
    assert fetched.status == 200
    assert b"391" in fetched.body
