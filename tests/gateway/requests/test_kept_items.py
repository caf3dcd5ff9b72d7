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
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BACKS = {
    "anthropic": "anthropic:claude-opus-5",
    "older": "anthropic:claude-sonnet-4-5",
    "gemini": "google:gemini-3-flash-preview",
    "deepseek": "deepseek:deepseek-v4-flash",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "chat": "openai-chat:gpt-5.5",
    "openai": "openai:gpt-5.5",
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
        answer = self.ask([ASK], **more)
        assert answer.status == 200, answer.body
        if not more.get("stream"):
            return json.loads(answer.body)["output"]
        data = [line[5:] for line in answer.body.splitlines() if line.startswith(b"data:")]
        return json.loads(data[-1])["response"]["output"]


def referred(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the next request's input, with references in place of all items of the answer."""
    call = next(item for item in items if item["type"] == "function_call")
    named = [{"type": "item_reference", "id": item["id"]} for item in items]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": WORDS}
    return [ASK, *named, result]


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
    assert gateway.ask(referred(items), key=KEYS["other"]).status == 400
    assert gateway.ask(referred(items), key=KEYS["mine"]).status == 200


def test_an_answer_that_is_not_to_be_stored_cannot_be_referred_to():
    gateway = Gateway(BACKS["anthropic"])
    answer = gateway.ask(referred(gateway.call(store=False)), store=False)
    assert answer.status == 400
    assert "send the conversation itself" in answer.body.decode()


def test_an_unknown_reference_is_rejected():
    gateway = Gateway(BACKS["anthropic"])
    unknown = {"type": "item_reference", "id": "rs_0123456789abcdef"}
    answer = gateway.ask([ASK, unknown])
    assert answer.status == 400
    assert unknown["id"] in answer.body.decode()
