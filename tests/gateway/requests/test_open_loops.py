"""Another model's open tool loop, handed to a Claude that must begin its turn by thinking."""

import json

import anyio
import pytest
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

HEADERS = {
    "content-type": "application/json",
    "x-api-key": "k",
    "anthropic-beta": "interleaved-thinking-2025-05-14,context-management-2025-06-27",
}
QUESTION = {"role": "user", "content": "What is the weather in Rome?"}
TOOL = {
    "name": "weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
THINKING = {"type": "enabled", "budget_tokens": 2000}
EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
MODELS = {
    "llama": "groq:llama-3.3-70b-versatile",
    "mistral": "mistral:mistral-small-latest",
    "claude-haiku-4-5": "anthropic:claude-haiku-4-5",
    "claude-sonnet-4-5": "anthropic:claude-sonnet-4-5",
}


class Conversation:
    """A client of the Messages API that asks one model after the other."""

    def __init__(self) -> None:
        self.emulator = Emulator()
        routes = tuple(GatewayRoute(name, (to,), retries=0) for name, to in MODELS.items())
        self._app = App(GatewayContext(GatewayConfig(routes=routes), self.emulator))

    def ask(self, model: str, messages: list, **fields: object) -> Came:
        body = {"model": model, "max_tokens": 8000, "messages": messages, "tools": [TOOL], **fields}
        http = HttpRequest("POST", "http://gate/v1/messages", HEADERS, json.dumps(body).encode())
        return anyio.run(came, self._app, http)

    def begin_loop(self, model: str) -> list:
        """Return a conversation in which a model called a tool without thinking."""
        answer = self.ask(model, [QUESTION], tool_choice={"type": "any"})
        content = json.loads(answer.body)["content"]
        assert {block["type"] for block in content} <= {"text", "tool_use"}
        return answer_calls(content)


def answer_calls(content: list) -> list:
    ids = [block["id"] for block in content if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": id, "content": "sunny"} for id in ids]
    said = {"role": "assistant", "content": content}
    return [QUESTION, said, {"role": "user", "content": results}]


@pytest.mark.parametrize(
    ("first", "to"),
    [
        ("llama", "claude-haiku-4-5"),
        ("llama", "claude-sonnet-4-5"),
        ("mistral", "claude-haiku-4-5"),
        ("claude-sonnet-4-5", "claude-haiku-4-5"),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"context_management": EDITS}])
def test_a_loop_begun_without_thinking_is_told_in_words(first, fields, to):
    client = Conversation()
    history = client.begin_loop(first)
    answer = client.ask(to, history, thinking=THINKING, **fields)
    assert answer.status == 200, answer.body
    assert "tool_loop_retold" in answer.headers["x-pondero-adjustments"]
    assert client.emulator.log.entries[-1].body["thinking"] == THINKING


def test_the_loop_goes_on_with_the_thinking_of_the_model_that_took_it_over():
    client = Conversation()
    history = client.begin_loop("llama")
    forced = {"thinking": THINKING, "tool_choice": {"type": "auto"}}
    content = json.loads(client.ask("claude-haiku-4-5", history, **forced).body)["content"]
    assert content[0]["type"] == "thinking"
    call = {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Bari"}}
    longer = [*history, *answer_calls([content[0], call])[1:]]
    answer = client.ask("claude-haiku-4-5", longer, **forced)
    assert answer.status == 200, answer.body
    assert "tool_loop_retold" in answer.headers["x-pondero-adjustments"]
    sent = client.emulator.log.entries[-1].body["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"][0]["type"] == "thinking"


def test_a_text_after_the_results_leaves_the_loop_open():
    client = Conversation()
    history = [*client.begin_loop("llama"), {"role": "user", "content": "Hurry!"}]
    answer = client.ask("claude-haiku-4-5", history, thinking=THINKING)
    assert answer.status == 200, answer.body
    assert "tool_loop_retold" in answer.headers["x-pondero-adjustments"]


def test_a_model_that_need_not_begin_by_thinking_gets_the_loop_as_it_is():
    client = Conversation()
    history = client.begin_loop("llama")
    answer = client.ask("claude-sonnet-4-5", history)
    assert answer.status == 200, answer.body
    assert "x-pondero-adjustments" not in answer.headers
    assert client.emulator.log.entries[-1].body["messages"] == history


def test_a_loop_that_the_client_wrote_itself_keeps_its_bytes():
    client = Conversation()
    call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}}
    answer = client.ask("claude-haiku-4-5", answer_calls([call]), thinking=THINKING)
    assert answer.status == 400
    assert b"Expected `thinking`" in answer.body
    assert client.emulator.log.entries[-1].body["messages"] == answer_calls([call])
