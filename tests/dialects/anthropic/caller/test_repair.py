"""What else must change in a request whose thinking the service rejected."""

import json

import pytest
from tests.repairs import repair

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import BadRequest
from pondero.exchange import Timeouts

CLEAR = {"type": "clear_thinking_20251015", "keep": "all"}
TOOLS = {"type": "clear_tool_uses_20250919"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
BAD = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrk"}
REJECTED = "messages.1.content.0: Invalid `signature` in `thinking` block"


def _request(edits: list, after: list) -> HttpRequest:
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 8000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "context_management": {"edits": edits},
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [BAD, CALL]},
            {"role": "user", "content": [RESULT]},
            *after,
        ],
    }
    headers = {
        "content-type": "application/json",
        "x-api-key": "k",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "context-management-2025-06-27,interleaved-thinking-2025-05-14",
    }
    url = "https://api.anthropic.com/v1/messages"
    return HttpRequest("POST", url, headers, json.dumps(body).encode())


def _repair(request: HttpRequest) -> HttpRequest:
    made = repair("anthropic", request, BadRequest(REJECTED, status=400))
    assert made is not None
    return made.request


@pytest.mark.parametrize(
    ("edits", "left"),
    [([CLEAR, TOOLS], {"edits": [TOOLS]}), ([CLEAR], None), ([TOOLS], {"edits": [TOOLS]})],
)
def test_edits_of_thinking_go_with_the_thinking(edits, left):
    repaired = _repair(_request(edits, []))
    body = json.loads(repaired.body)
    assert body["thinking"] == {"type": "disabled"}
    assert body.get("context_management") == left
    answer = Emulator().send(repaired, Timeouts())
    assert answer.head.status == 200, b"".join(answer)


def test_edits_of_thinking_stay_while_the_model_thinks():
    after = [{"role": "assistant", "content": "done"}, {"role": "user", "content": "and now?"}]
    body = json.loads(_repair(_request([CLEAR], after)).body)
    assert body["thinking"]["type"] == "enabled"
    assert body["context_management"] == {"edits": [CLEAR]}
