"""Counts that are taken as the service reported them are those that a longer look leaves alone."""

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from operator import eq
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import came

from pondero.canon import HttpRequest, Json, Message, Part, Reply, Text, Thinking, ToolCall, Usage
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.quotas import usage_meter
from pondero.gateway.quotas.usage_meter import ServiceCall, UsageMeter
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext


@cache
def find_call(model: str, level: str) -> ServiceCall:
    """Return the call of a service that a real request had."""
    calls: list[ServiceCall] = []
    begin = UsageMeter.begin

    async def keep(self: UsageMeter, *target: Any) -> ServiceCall:
        calls.append(await begin(self, *target))
        return calls[-1]

    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(model,)),))
    body = {"model": "any", "messages": [{"role": "user", "content": "Is it so?"}]}
    headers = {"content-type": "application/json", "x-pondero-thinking": level}
    http = HttpRequest("POST", "http://x/v1/chat/completions", headers, json.dumps(body).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UsageMeter, "begin", keep)
        app = App(GatewayContext(config, Emulator()))
        assert asyncio.run(came(app, http)).status == 200
    return calls[0]


COUNTS = (None, 0, 3, 200)
TOTALS = (None, -5, 0, 5)  # more than the sum of the others
PARTS: tuple[tuple[Part, ...], ...] = (
    (),
    (Text("It is."),),
    (Text("It is so. " * 40),),
    (Text("It is so, "), Text("or it is not.")),
    (Thinking("Why?"), Text("It is so.")),
    (Text("Look."), ToolCall("call", "look", {"at": "the sky"})),
)
EXTRAS: tuple[Json, ...] = (
    *(None, [], {"service_tier": "standard"}, {"reported_thinking": 9}),
    {"iterations": [{"type": "compaction", "input_tokens": 5, "output_tokens": 3}]},
)
MODELS = (
    ("anthropic:claude-opus-5", "high"),
    ("openai:gpt-5.5", "off"),
    ("google:gemini-3-flash-preview", "low"),
)


def iter_usages() -> Iterator[Usage]:
    for given, read, wrote, thought in product(COUNTS, (None, 4), COUNTS, COUNTS):
        usage = Usage(given, cache_read=read, output=wrote, thinking=thought)
        for more in TOTALS:
            yield usage if more is None else replace(usage, total=usage.known_total + more)


def count_all(call: ServiceCall) -> list[Any]:
    """Return what is counted of answers of every kind."""
    counted, reply = [], call.reply
    assert isinstance(reply, Reply)
    for parts, extras, usage in product(PARTS, EXTRAS, iter_usages()):
        message = Message("assistant", parts)
        call.reply = replace(reply, usage=usage, message=message, extras=extras)
        counted.append((parts, extras, usage, call.find_usages()))
    call.reply = reply
    return counted


@pytest.mark.parametrize("model", MODELS)
def test_a_short_look_at_counts_finds_what_a_longer_one_does(model, monkeypatch):
    call = find_call(*model)
    short = count_all(call)
    monkeypatch.setattr(usage_meter, "_is_plain", lambda _: False)
    assert all(map(eq, short, count_all(call)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("thinking", [None, 0, 4])
def test_a_short_look_is_enough_for_a_usual_answer(model, thinking, monkeypatch):
    call = find_call(*model)
    total = 16 + (thinking or 0)
    usage = Usage(9, output=7, thinking=thinking, total=total)
    message = Message("assistant", (Text("Sunny, 21 degrees."),))
    assert call.reply is not None
    call.reply = replace(call.reply, usage=usage, message=message, extras={"speed": "fast"})
    monkeypatch.setattr(usage_meter, "_split_thinking", None)  # the longer look
    assert call.find_usages() == ([(call.entry, usage)], False)
