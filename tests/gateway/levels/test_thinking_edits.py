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


# -- a field of thinking that only one type takes ------------------------------------------------

BOUND = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def _name(model: str, thinking: object):
    emulator = Emulator()
    body = {
        "model": model,
        "max_tokens": 8000,
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": thinking,
    }
    headers = {**HEADERS, "anthropic-beta": "thinking-binding-controls-2026-08-01"}
    http = HttpRequest("POST", "http://gate/v1/messages", headers, json.dumps(body).encode())
    route = GatewayRoute(
        match=model.partition("/")[0], to=("anthropic:" + model.partition("/")[0],)
    )
    app = App(GatewayContext(GatewayConfig(routes=(route,)), emulator))
    answer = anyio.run(came, app, http)
    return answer, emulator.log.entries[-1].body


@pytest.mark.parametrize(
    ("model", "kind"), [("claude-haiku-4-5", "enabled"), ("claude-opus-5/off", "disabled")]
)
def test_the_binding_of_blocks_goes_with_adaptive_thinking_and_is_reported(model, kind):
    answer, sent = _name(model, BOUND)
    assert answer.status == 200, answer.body
    assert (sent["thinking"]["type"], "block_binding" in sent["thinking"]) == (kind, False)
    assert "dropped_parameter:thinking.block_binding" in answer.headers["x-pondero-adjustments"]


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-opus-5/high"])
def test_the_binding_of_blocks_stays_with_adaptive_thinking(model):
    answer, sent = _name(model, BOUND)
    assert answer.status == 200, answer.body
    assert sent["thinking"]["block_binding"] == BOUND["block_binding"]


def test_a_binding_that_the_client_wrote_into_another_type_is_its_own_affair():
    wrong = {**BOUND, "type": "enabled", "budget_tokens": 2000}
    answer, sent = _name("claude-haiku-4-5", wrong)
    assert (answer.status, sent["thinking"]) == (400, wrong)
