"""What answers cost that a hook withheld from the client."""

import asyncio
from contextlib import suppress

import pytest
from tests.gateway.hooks.gates import FRONTS, Gate, Through

import pondero
from pondero.canon import Reply, Usage
from pondero.gateway import Hook, HookCall, Reject
from pondero.gateway.config.model import HookConfig


def _hook(name: str) -> HookConfig:
    return HookConfig(use=f"{__name__}:{name}", name=name.lower())


async def _stream(gate: Gate, front: str) -> None:
    retry = pondero.Retry(attempts=1)
    async with (
        pondero.AsyncClient(transport=Through(gate.app), retry=retry) as client,
        client.stream(FRONTS[front], "What is 17 * 23?") as turn,
    ):
        async for _ in turn:
            pass


class Late(Hook):
    """Rejects an answer at its end."""

    def on_reply(self, call: HookCall, reply: Reply, /) -> Reject:
        return Reject("not this one")


class Failing(Hook):
    def on_reply(self, call: HookCall, reply: Reply, /) -> None:
        raise IndexError


@pytest.mark.parametrize("front", ["anthropic", "openai_responses", "openai_chat"])
@pytest.mark.parametrize("hook", ["Late", "Failing"])
@pytest.mark.parametrize("to", ["anthropic:claude-opus-5", "openai:gpt-5.5"])
def test_a_stream_that_is_rejected_at_its_end_costs_what_the_service_reported(hook, front, to):
    plain, gate = Gate(to=to), Gate(_hook(hook), to=to)
    for each in (plain, gate):
        with suppress(pondero.PonderoError):
            asyncio.run(_stream(each, front))

    (served,), (rejected,) = plain.receipts, gate.receipts
    assert rejected.end == "failed"
    assert rejected.usage != Usage()
    assert (rejected.usage, rejected.cost) == (served.usage, served.cost)
    assert not rejected.estimated
