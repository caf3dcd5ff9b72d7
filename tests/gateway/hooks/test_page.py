"""The hook that docs/hooks.md shows, as it is written there."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.gateway.hooks.gates import Gate

from pondero.gateway.config.model import HookConfig

PAGE = Path(__file__).parents[3] / "docs" / "hooks.md"


@pytest.fixture
def gate(monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = ModuleType("my_hooks")
    exec(code, module.__dict__)
    monkeypatch.setitem(sys.modules, "my_hooks", module)
    return Gate(HookConfig(use="my_hooks:NoSecrets", name="a", settings={"word": "Bluebird"}))


REQUESTS = {
    "a question": ("/v1/messages", {"messages": [{"role": "user", "content": "%s"}]}),
    "a system prompt alone": (
        "/v1/chat/completions",
        {"messages": [{"role": "system", "content": "%s"}]},
    ),
    "instructions without input": ("/v1/responses", {"input": [], "instructions": "%s"}),
    "an earlier question": (
        "/v1/messages",
        {
            "messages": [
                {"role": "user", "content": "%s"},
                {"role": "assistant", "content": "Yes."},
                {"role": "user", "content": [{"type": "text", "text": "And?"}]},
            ]
        },
    ),
    "a tool result": (
        "/v1/messages",
        {
            "messages": [
                {"role": "user", "content": "Read it."},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "%s"}],
                },
            ],
            "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        },
    ),
    "a document": (
        "/v1/messages",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "document",
                            "source": {"type": "text", "media_type": "text/plain", "data": "%s"},
                        },
                        {"type": "text", "text": "Read it."},
                    ],
                },
            ]
        },
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_hook_of_the_page_sees_all_kinds_of_requests(gate, name):
    path, body = REQUESTS[name]

    def ask(word: str):
        fields = {"model": "m", "max_tokens": 9_000, **_fill(body, word)}
        if path == "/v1/responses":
            fields.pop("max_tokens")
        return gate.post(path, fields)

    assert ask("Hello").status == 200
    assert ask("Bluebird").status == 403
    assert len(gate.upstream.requests) == 1


def _fill(value, word: str):
    if isinstance(value, dict):
        return {name: _fill(each, word) for name, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, word) for each in value]
    return value.replace("%s", word)
