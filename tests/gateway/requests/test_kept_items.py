"""References to items of earlier answers, which some clients send by default in place of the items.

The AI SDK does so unless it is told ``store: false``: its requests have the shapes of these.
"""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, ResponsesConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BACKS = {
    "anthropic": "anthropic:claude-opus-5",
    "older": "anthropic:claude-sonnet-4-5",
    "gemini": "google:gemini-3-flash-preview",
    "deepseek": "deepseek:deepseek-v4-flash",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "claude 4.6": "anthropic:claude-sonnet-4-6",
    "converse 4.6": "bedrock:us.anthropic.claude-sonnet-4-6",
    "chat": "openai-chat:gpt-5.5",
    "openai": "openai:gpt-5.5",
}
KEPT = {  # the field in which each API wants thinking or its signature back
    "claude 4.6": "signature",
    "converse 4.6": "signature",
    "gemini": "thoughtSignature",
    "deepseek": "reasoning_content",
}
TOOL = {
    "type": "function",
    "name": "read_note",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
}
ASK = {"role": "user", "content": 'What is in it? [emulator: call read_note {"name": "owl"}]'}
WORDS = "The grey owl sleeps at noon."
KEYS = {"mine": "pnd_mine-0123456789", "other": "pnd_other-0123456789"}


class Gateway:
    """A gateway with one model behind it."""

    def __init__(self, model: str, **more: Any) -> None:
        self.emulator = Emulator()
        names = {"m": model, "other": "anthropic:claude-opus-5"}
        routes = tuple(GatewayRoute(match=name, to=(to,), retries=0) for name, to in names.items())
        self.app = App(GatewayContext(GatewayConfig(routes=routes, **more), self.emulator))

    def ask(self, given: list[Any], key: str = "any", **more: Any) -> Came:
        body = {"model": "m", "tools": [TOOL], "input": given, "reasoning": {"effort": "high"}}
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        sent = json.dumps({**body, **more}).encode()
        return anyio.run(
            came, self.app, HttpRequest("POST", "http://127.0.0.1/v1/responses", headers, sent)
        )

    def call(self, **more: Any) -> list[dict[str, Any]]:
        """Return the items of an answer that calls the tool."""
        return output_of(self.ask([ASK], **more))


def output_of(answer: Came) -> list[dict[str, Any]]:
    """Return the items of an answer, whole or streamed."""
    assert answer.status == 200, answer.body
    if answer.body.startswith(b"{"):
        return json.loads(answer.body)["output"]
    data = [line[5:] for line in answer.body.splitlines() if line.startswith(b"data: {")]
    return json.loads(data[-1])["response"]["output"]


def references(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "item_reference", "id": item["id"]} for item in items]


def referred(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the next request's input, with references in place of all items of the answer."""
    call = next(item for item in items if item["type"] == "function_call")
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": WORDS}
    return [ASK, *references(items), result]


def written(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same input with the items themselves."""
    given = referred(items)
    return [given[0], *items, given[-1]]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("back", BACKS)
def test_a_reference_is_as_good_as_its_item(back, stream):
    gateway = Gateway(BACKS[back])
    items = gateway.call(stream=stream)
    answer = gateway.ask(referred(items))
    assert answer.status == 200, answer.body
    assert WORDS in answer.body.decode()
    by_reference = gateway.emulator.log.entries[-1].body
    assert gateway.ask(written(items)).status == 200
    whole = gateway.emulator.log.entries[-1].body
    if back != "openai":  # there the service has the items
        assert by_reference == whole


@pytest.mark.parametrize("back", BACKS)
def test_calls_may_be_sent_without_their_id_beside_a_reference_to_their_thinking(back):
    """The AI SDK sends calls of functions so, since vercel/ai#15795."""
    gateway = Gateway(BACKS[back])
    items = gateway.call()
    call = next(item for item in items if item["type"] == "function_call")
    inline = {name: call[name] for name in ("type", "call_id", "name", "arguments")}
    given = [inline if item.get("id") == call["id"] else item for item in referred(items)]
    answer = gateway.ask(given)
    assert answer.status == 200, answer.body
    assert WORDS in answer.body.decode()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("back", KEPT)
def test_references_of_several_turns_bring_back_calls_thinking_and_words(back, stream):
    gateway = Gateway(BACKS[back])
    low: dict[str, Any] = {"stream": stream, "reasoning": {"effort": "low"}}
    items = gateway.call(**low)
    turns = referred(items)
    more = output_of(gateway.ask(turns, **low))
    sent = json.dumps(gateway.emulator.log.entries[-1].body)
    assert TOOL["name"] in sent
    assert WORDS in sent
    assert KEPT[back] in sent
    said = next(part["text"] for item in more for part in item.get("content") or ())
    thanks = {"role": "user", "content": "Thanks."}
    output_of(gateway.ask([*turns, *references(more), thanks], **low))
    assert json.dumps(said) in json.dumps(gateway.emulator.log.entries[-1].body)


def test_thinking_goes_back_with_its_signature():
    gateway = Gateway(BACKS["anthropic"])
    gateway.ask(referred(gateway.call()))
    first, last = (entry for entry in gateway.emulator.log.entries)
    assert first.status == last.status == 200
    kinds = [part["type"] for part in last.body["messages"][1]["content"]]
    assert kinds == ["thinking", "tool_use"]
    assert last.body["messages"][1]["content"][0]["signature"]


def test_a_conversation_can_be_moved_from_the_service_that_stores_it():
    gateway = Gateway(BACKS["openai"])
    answer = gateway.ask(referred(gateway.call()), model="other")
    assert answer.status == 200, answer.body
    assert WORDS in json.dumps(gateway.emulator.log.entries[-1].body)


def test_the_items_of_another_key_are_not_found():
    keys = tuple(GatewayKey(name, hash_key(key)) for name, key in KEYS.items())
    gateway = Gateway(BACKS["anthropic"], keys=keys)
    items = gateway.call(key=KEYS["mine"])
    asked = len(gateway.emulator.log.entries)
    assert gateway.ask(referred(items), key=KEYS["other"]).status == 404
    assert len(gateway.emulator.log.entries) == asked
    assert gateway.ask(referred(items), key=KEYS["mine"]).status == 200


@pytest.mark.parametrize("store", [False, True])
def test_an_answer_that_is_not_to_be_stored_cannot_be_referred_to(store):
    gateway = Gateway(BACKS["anthropic"])
    items = gateway.call(store=False)
    asked = len(gateway.emulator.log.entries)
    answer = gateway.ask(referred(items), store=store)
    assert answer.status == 404
    assert items[0]["id"] in json.loads(answer.body)["error"]["message"]
    last = [ASK, {"type": "item_reference", "id": items[-1]["id"]}]
    answer = gateway.ask(last, store=store)
    assert answer.status == 404
    assert items[-1]["id"] in json.loads(answer.body)["error"]["message"]
    assert len(gateway.emulator.log.entries) == asked


@pytest.mark.parametrize("id", ["rs_0123456789abcdef", "msg_unknown"])
def test_an_unknown_reference_is_rejected_and_never_left_out(id):
    gateway = Gateway(BACKS["anthropic"])
    answer = gateway.ask([ASK, {"type": "item_reference", "id": id}])
    assert answer.status == 404
    assert id in json.loads(answer.body)["error"]["message"]
    assert not gateway.emulator.log.entries


def test_without_a_store_references_are_resolved_from_the_answer_cache_or_rejected_by_name():
    gateway = Gateway(BACKS["anthropic"], responses=ResponsesConfig(store="off"))
    items = gateway.call()
    assert gateway.ask(referred(items)).status == 200
    answer = gateway.ask([ASK, {"type": "item_reference", "id": "msg_unknown"}])
    assert answer.status == 400
    assert "send the conversation itself" in json.loads(answer.body)["error"]["message"]
