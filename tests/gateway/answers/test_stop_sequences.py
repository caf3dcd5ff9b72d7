"""An answer that a stop sequence ended says so to a client whose API has a word for it."""

import json

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BACKS = {
    "cohere": ("cohere:command-a-reasoning-08-2025", "STOP_SEQUENCE"),
    "converse": ("bedrock:us.anthropic.claude-sonnet-4-6", "stop_sequence"),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("stops", [["END"], ["END", "STOP"]])
@pytest.mark.parametrize("back", BACKS)
def test_a_messages_client_reads_stop_sequence(back, stops, stream):
    model, word = BACKS[back]
    emulator = Emulator(script=[ScriptedTurn(text="Hello", raw_finish=word)])
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(model,), retries=0),))
    app = App(GatewayContext(config, emulator))
    body = {
        "model": "any",
        "max_tokens": 2_000,
        "stop_sequences": stops,
        "stream": stream,
        "messages": [{"role": "user", "content": "Hello?"}],
    }
    headers = {"content-type": "application/json", "x-api-key": "k"}
    http = HttpRequest("POST", "http://gate/v1/messages", headers, json.dumps(body).encode())
    answer = anyio.run(came, app, http)
    assert answer.status == 200
    if stream:
        lines = [line[6:] for line in answer.body.decode().splitlines() if line[:6] == "data: "]
        (end,) = [e["delta"] for e in map(json.loads, lines) if e["type"] == "message_delta"]
    else:
        end = json.loads(answer.body)
    assert end["stop_reason"] == "stop_sequence"
    assert end["stop_sequence"] == (stops[0] if len(stops) == 1 else None)
