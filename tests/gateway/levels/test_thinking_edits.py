"""An edit of thinking goes with the thinking: Claude Code sends it with every request."""

import json

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, LevelRules
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

CLEAR = {"type": "clear_thinking_20251015", "keep": "all"}
TOOLS = {"type": "clear_tool_uses_20250919"}
HEADERS = {
    "content-type": "application/json",
    "x-api-key": "k",
    "anthropic-beta": "context-management-2025-06-27,interleaved-thinking-2025-05-14",
}


def _ask(rules: LevelRules, edits: list, to: str = "anthropic:claude-opus-5", **fields: object):
    emulator = Emulator()
    route = GatewayRoute(match="mine", to=(to,), thinking=rules)
    app = App(GatewayContext(GatewayConfig(routes=(route,)), emulator))
    body = {
        "model": "mine",
        "max_tokens": 8000,
        "messages": [{"role": "user", "content": "hi"}],
        "context_management": {"edits": edits},
        **fields,
    }
    http = HttpRequest("POST", "http://gate/v1/messages", HEADERS, json.dumps(body).encode())
    answer = anyio.run(came, app, http)
    return answer, emulator.log.entries[-1].body


@pytest.mark.parametrize("to", ["anthropic:claude-opus-5", "anthropic:claude-sonnet-4-5"])
@pytest.mark.parametrize("rules", [LevelRules(force="off"), LevelRules(cap="off")])
def test_off_removes_the_edit_of_thinking_and_reports_it(rules, to):
    adaptive = {"type": "adaptive"}
    answer, sent = _ask(rules, [CLEAR, TOOLS], to, thinking=adaptive)
    assert answer.status == 200, answer.body
    assert sent["context_management"] == {"edits": [TOOLS]}
    assert "dropped_parameter" in answer.headers["x-pondero-adjustments"]


def test_an_edit_that_was_alone_leaves_no_empty_field():
    answer, sent = _ask(LevelRules(force="off"), [CLEAR])
    assert answer.status == 200, answer.body
    assert "context_management" not in sent


def test_a_model_that_thinks_keeps_the_edit():
    answer, sent = _ask(LevelRules(), [CLEAR], thinking={"type": "adaptive"})
    assert answer.status == 200, answer.body
    assert sent["context_management"] == {"edits": [CLEAR]}
