"""What the gateway asks a model for a client that speaks another wire."""

import json

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.app import App
from pondero.gateway.config import Config, Route
from pondero.gateway.gate import Gate

LONG = "A rule of the house. " * 2_000
TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {}},
}


def asked(app: App, *items: dict[str, object]) -> dict[str, object]:
    body = {"model": "m", "instructions": LONG, "input": list(items), "tools": [TOOL]}
    url = "http://here/v1/responses"
    answer = anyio.run(came, app, HttpRequest("POST", url, {}, json.dumps(body).encode()))
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@pytest.mark.parametrize("model", ["anthropic:claude-opus-5", "anthropic:claude-sonnet-4-5"])
def test_a_client_that_marks_nothing_reads_from_a_cache_that_wants_marks(model):
    emulator = Emulator()
    app = App(Gate(Config(routes=(Route(match="*", to=(model,)),)), emulator))
    question = {"role": "user", "content": "hi"}
    first = asked(app, question)
    second = asked(app, question, *first["output"], {"role": "user", "content": "go on"})
    assert first["usage"]["input_tokens_details"]["cache_write_tokens"] > 1_000
    assert second["usage"]["input_tokens_details"]["cached_tokens"] > 1_000
    marks = json.dumps(emulator.log.entries[-1].body).count("cache_control")
    assert marks == 3
