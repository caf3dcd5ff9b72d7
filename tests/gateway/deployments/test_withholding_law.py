"""No part that is bound to one account reaches another, for every API and any conversation."""

import re

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.four_accounts import Account, Clock, FourAccounts, deploy, make_gateway
from tests.gateway.test_laws import CALLS, FRONTS, LOOK, WORDS, Through

from pondero import AsyncClient, Retry
from pondero.canon import Message, Text, ToolResult
from pondero.emulator import Emulator, ScriptedTurn
from pondero.store import load_catalog

NAMES = ("north", "south", "east")
BOUND = {
    "openai": "gpt-5.5",
    "azure": "gpt-5.5",
    "xai-responses": "grok-4.3",
    "google": "gemini-3-flash-preview",
    "google-interactions": "gemini-3-flash-preview",
}
FREE = {
    "anthropic": "claude-opus-5",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "deepseek": "deepseek-v4-flash",
}
_SIGNED = re.compile(
    rb'"(?:encrypted_content|signature|thoughtSignature|thought_signature)"\s*:\s*"([^"]{24,})"'
)
_ITEM = re.compile(rb'"id"\s*:\s*"((?:rs|msg|fc)_[^"]{16,})"')


@st.composite
def conversations(draw):
    """Return turns of a conversation: the account that answers, and what it thinks and says."""
    turns = []
    for number in range(draw(st.integers(2, 5))):
        calls = draw(CALLS)
        text = draw(WORDS if not calls else st.one_of(st.none(), WORDS))
        turn = ScriptedTurn(
            thinking=(f"Thought {number}: {draw(WORDS)}",),
            text=text if text is None else f"{number}. {text}",
            tool_calls=calls,
        )
        turns.append((draw(st.sampled_from(NAMES)), turn))
    return turns


def find_signed(answer: bytes) -> set[bytes]:
    """Return the opaque values and the ids of items in an answer."""
    return {*_SIGNED.findall(answer), *_ITEM.findall(answer)}


async def hold(
    front: str, provider: str, model: str, turns, *, stream: bool, patch
) -> FourAccounts:
    """Hold a conversation in which all accounts but one are dead in each turn."""
    clock = Clock()
    accounts = tuple(map(Account, NAMES))
    emulator = Emulator(service=provider, clock=clock)
    service = FourAccounts(clock, *accounts, emulator=emulator)
    deployments = deploy(provider, accounts)
    if provider == "azure":  # an account is known by its address there
        deployments = tuple(
            replace(each, url=f"http://{each.name}.test:9100") for each in deployments
        )
    app, _ = make_gateway(service, deployments, model, monkeypatch=patch, match="*")
    client = AsyncClient(transport=Through(app), retry=Retry(attempts=1))
    messages = [Message("user", (Text("Begin."),))]
    for name, turn in turns:
        for each in accounts:
            each.is_dead = each.name != name
        emulator.expect(turn)
        clock.now += 100  # breakers are closed again
        reply = await client.ask(FRONTS[front], messages, "low", tools=[LOOK], stream=stream)
        assert [entry.refusal for entry in emulator.log.entries if entry.refusal] == []
        assert service.exchanges[-1].account == name
        messages.append(reply.message)
        results = [
            ToolResult(call.id, (Text("seen"),), name=call.name) for call in reply.tool_calls
        ]
        messages.append(Message("user", tuple(results) or (Text("Go on."),)))
    return service


@pytest.mark.parametrize("front", FRONTS)
@given(turns=conversations(), provider=st.sampled_from(list(BOUND)), stream=st.booleans())
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_what_is_bound_to_one_account_never_reaches_another(
    monkeypatch, front, turns, provider, stream
):
    async def run() -> None:
        service = await hold(
            front, provider, BOUND[provider], turns, stream=stream, patch=monkeypatch
        )
        for at, asked in enumerate(service.exchanges):
            for before in service.exchanges[:at]:
                if before.account != asked.account:
                    for text in find_signed(before.answer) - find_signed(asked.answer):
                        assert text not in asked.request

    anyio.run(run)


@pytest.mark.parametrize("front", FRONTS)
@given(turns=conversations(), provider=st.sampled_from(list(FREE)), stream=st.booleans())
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_what_is_bound_to_no_account_goes_along(monkeypatch, front, turns, provider, stream):
    async def run() -> None:
        service = await hold(
            front, provider, FREE[provider], turns, stream=stream, patch=monkeypatch
        )
        for before, asked in zip(service.exchanges, service.exchanges[1:], strict=False):
            if b"seen" in asked.request.rpartition(b"Go on.")[2]:  # a tool loop goes on
                for text in _SIGNED.findall(before.answer):
                    assert text in asked.request

    anyio.run(run)


def test_every_provider_says_what_its_signatures_are_bound_to_and_why():
    providers = load_catalog().catalog.providers.values()
    assert [each.name for each in providers if not each.signatures.source] == []
    bound = {
        each.name for each in providers if each.signatures.bound_to in ("organisation", "region")
    }
    assert {*BOUND} <= bound
    assert bound.isdisjoint(FREE)
