"""What a turn with tools used and cost: all its requests, not the last alone."""

import asyncio

import pytest

from pondero import AsyncChat, AsyncClient, Chat, Client, Usage
from pondero.emulator import Emulator

PROMPT = "What is the forecast for Bern?"


def forecast(city: str) -> str:
    """Return the weather forecast for a city."""
    return f"{city}: rain"


def _ask_in_parts() -> tuple:
    with Chat("gpt-5.5/low", tools=[forecast], client=Client(transport=Emulator())) as chat:
        turn = chat.stream(PROMPT)
        for _ in turn:
            pass
    assert len(turn.replies) == 2
    return turn.reply, turn.replies


def _send():
    with Chat("gpt-5.5/low", tools=[forecast], client=Client(transport=Emulator())) as chat:
        return chat.send(PROMPT)


def _ask():
    client = Client(transport=Emulator())
    return client.ask("gpt-5.5/low", PROMPT, tools=[forecast], max_steps=5)


def _send_async():
    async def run():
        client = AsyncClient(transport=Emulator())
        async with AsyncChat("gpt-5.5/low", tools=[forecast], client=client) as chat:
            return await chat.send(PROMPT)

    return asyncio.run(run())


@pytest.mark.parametrize("ask", [_send, _ask, _send_async])
def test_the_reply_of_a_turn_counts_all_its_requests(ask):
    whole, parts = _ask_in_parts()
    assert whole.usage == sum((part.usage for part in parts), Usage())
    assert whole.list_price.usd == sum(part.list_price.usd for part in parts)
    assert whole.text == parts[-1].text
    reply = ask()
    assert (reply.usage, reply.list_price) == (whole.usage, whole.list_price)


def test_the_requests_of_a_turn_keep_their_own_counts():
    whole, parts = _ask_in_parts()
    assert all(0 < part.usage.input < whole.usage.input for part in parts)
