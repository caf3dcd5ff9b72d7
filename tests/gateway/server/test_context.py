"""Which of a route's models is asked first, and what the gateway remembers."""

import asyncio
import json

import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

OPUS, SONNET, GPT = "anthropic:claude-opus-5", "anthropic:claude-sonnet-4-5", "openai:gpt-5.5"


async def asked(app, model, *said):
    """Return the name of the model that answered, and its answer for the history."""
    body = json.dumps({"model": model, "max_tokens": 9_000, "messages": said}).encode()
    answer = await came(app, HttpRequest("POST", "http://gate/v1/messages", {}, body))
    assert answer.status == 200, answer.body
    content = json.loads(answer.body)["content"]
    return answer.headers["x-pondero-model"], {"role": "assistant", "content": content}


@pytest.mark.parametrize("home", [OPUS, SONNET, GPT])
def test_a_thread_stays_with_the_model_that_gave_the_last_answer(home):
    async def run():
        routes = (
            GatewayRoute(match="any", to=(OPUS, SONNET, GPT)),
            GatewayRoute(match="home", to=(home,)),
        )
        app = App(GatewayContext(GatewayConfig(routes=routes), Emulator()))
        first, then = ({"role": "user", "content": text} for text in ("say a", "say b"))
        assert (await asked(app, "any", first))[0] == OPUS
        _, answer = await asked(app, "home", first)
        assert (await asked(app, "any", first, answer, then))[0] == home

    asyncio.run(run())


# -- what a rejection teaches about other conversations ------------------------------------------

BOUND = "claude-opus-5-5"


async def respond(app, *items):
    """Return the adjustments and the items of an answer to a client of the Responses API."""
    body = {
        "model": BOUND,
        "input": items,
        "reasoning": {"effort": "medium"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    }
    http = HttpRequest("POST", "http://gate/v1/responses", {}, json.dumps(body).encode())
    answer = await came(app, http)
    assert answer.status == 200, answer.body
    return answer.headers.get("x-pondero-adjustments"), json.loads(answer.body)["output"]


def test_a_rejection_in_one_conversation_changes_no_other():
    async def run():
        emulator = Emulator()
        config = GatewayConfig(routes=(GatewayRoute(BOUND, (f"anthropic:{BOUND}",)),))
        app = App(GatewayContext(config, emulator))
        first, edited, then, other = (
            {"role": "user", "content": text}
            for text in ("think hard about a", "think hard about b", "go on", "unrelated")
        )
        _, answer = await respond(app, first)
        usual, _ = await respond(app, first, *answer, then)
        told, _ = await respond(app, edited, *answer, then)
        assert "seal_refused" in told
        for good in ((other,), (first, *answer, then)):
            assert (await respond(app, *good))[0] == usual
            assert "block_binding" not in emulator.log.entries[-1].body["thinking"]

    asyncio.run(run())
