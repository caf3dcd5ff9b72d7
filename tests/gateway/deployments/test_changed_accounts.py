"""A configuration changes between a provider and its deployments: an account stays what it is."""

import json

import anyio
import pytest
from msgspec.structs import replace
from tests.gateway.deployments.test_accounts import ask, start
from tests.gateway.deployments.test_withholding_law import find_signed
from tests.gateway.four_accounts import ADDRESS, Account, Clock, FourAccounts, make_gateway
from tests.gateway.test_laws import FRONTS, Through

from pondero import AsyncClient, Retry
from pondero.canon import Message, Text
from pondero.emulator import Emulator, ScriptedTurn
from pondero.gateway.config.model import Deployment, GatewayConfig, ProviderOverride

_MODELS = {"openai": "gpt-5.5", "google": "gemini-3-flash-preview"}


def deploy_keys(provider: str, **keys: str) -> dict:
    """Return a part of a configuration: deployments with their keys."""
    return {
        "deployments": tuple(
            Deployment(name, provider, key=f"env:KEY_{key}", url=ADDRESS)
            for name, key in keys.items()
        ),
        "to": tuple(f"{name}:{_MODELS[provider]}" for name in keys),
    }


def use_key(provider: str, key: str) -> dict:
    """Return a part of a configuration: the provider itself, with a key."""
    return {
        "providers": {provider: ProviderOverride(ADDRESS, f"env:KEY_{key}")},
        "to": (f"{provider}:{_MODELS[provider]}",),
    }


def configure(config: GatewayConfig, parts: dict) -> GatewayConfig:
    route = replace(config.routes[0], to=parts["to"])
    more = {name: parts.get(name, ()) for name in ("deployments", "providers")}
    return replace(config, routes=(route,), **{**more, "providers": more["providers"] or {}})


# The parts before and after, and whether the same account answers.
CHANGES = {
    "renamed": (
        lambda p: deploy_keys(p, one="NORTH"),
        lambda p: deploy_keys(p, two="NORTH"),
        True,
    ),
    "renamed among others": (
        lambda p: deploy_keys(p, one="NORTH"),
        lambda p: deploy_keys(p, east="EAST", south="SOUTH", two="NORTH"),
        True,
    ),
    "provider to deployments": (
        lambda p: use_key(p, "NORTH"),
        lambda p: deploy_keys(p, east="EAST", one="NORTH", south="SOUTH"),
        True,
    ),
    "provider kept beside deployments": (
        lambda p: use_key(p, "NORTH"),
        lambda p: {
            **deploy_keys(p, east="EAST", one="NORTH", south="SOUTH"),
            "providers": use_key(p, "NORTH")["providers"],
        },
        True,
    ),
    "provider and a new account": (
        lambda p: use_key(p, "NORTH"),
        lambda p: {
            **(more := deploy_keys(p, east="EAST", south="SOUTH")),
            **use_key(p, "NORTH"),
            "to": (*use_key(p, "NORTH")["to"], *more["to"]),
        },
        True,
    ),
    "deployment to provider": (
        lambda p: deploy_keys(p, one="NORTH"),
        lambda p: use_key(p, "NORTH"),
        True,
    ),
    "deployment to another key": (
        lambda p: deploy_keys(p, one="NORTH"),
        lambda p: use_key(p, "SOUTH"),
        False,
    ),
    "the same name for another key": (
        lambda p: deploy_keys(p, one="NORTH"),
        lambda p: deploy_keys(p, one="SOUTH"),
        False,
    ),
}


def begin(monkeypatch, provider: str, parts: dict):
    clock = Clock()
    emulator = Emulator(service=provider, clock=clock)
    names = ("north", "south", "east")
    service = FourAccounts(clock, *map(Account, names), emulator=emulator)
    for name in names:
        monkeypatch.setenv(f"KEY_{name.upper()}", f"key-of-{name}")
    to = (f"{provider}:{_MODELS[provider]}",)
    app, gateway = make_gateway(service, (), "", monkeypatch=monkeypatch, match="*", to=to)
    gateway.reconfigure(configure(gateway.config, parts))
    return app, gateway, service, emulator


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("provider", _MODELS)
@pytest.mark.parametrize("front", ["messages", "responses", "chat", "gemini"])
def test_an_account_reads_what_it_signed_under_any_name_and_nothing_else(
    monkeypatch, front, provider, change
):
    before, after, is_same = CHANGES[change]

    async def run() -> FourAccounts:
        app, gateway, service, emulator = begin(monkeypatch, provider, before(provider))
        client = AsyncClient(transport=Through(app), retry=Retry(attempts=1))
        messages = [Message("user", (Text("Begin."),))]
        for number in range(3):
            emulator.expect(ScriptedTurn(thinking=(f"Thought {number}",), text=f"Said {number}"))
            reply = await client.ask(FRONTS[front], messages, "low", stream=number % 2 == 0)
            messages += [reply.message, Message("user", (Text("Go on."),))]
            if number == 1:
                gateway.reconfigure(configure(gateway.config, after(provider)))
        assert [entry.refusal for entry in emulator.log.entries if entry.refusal] == []
        return service

    service = anyio.run(run)
    *first, last = service.exchanges
    assert {each.account for each in first} == {"north"}
    assert (last.account == "north") is is_same
    signed = [text for each in first for text in find_signed(each.answer) if text[:3] != b"msg"]
    sent = [text for text in signed if text in last.request]
    assert bool(sent) is is_same


@pytest.mark.parametrize("change", CHANGES)
def test_a_stored_answer_is_continued_by_its_id_on_its_account_alone(monkeypatch, change):
    before, after, is_same = CHANGES[change]

    async def run():
        app, gateway, service, _ = begin(monkeypatch, "openai", before("openai"))
        first = await ask(app, "What is 17 * 23?")
        gateway.reconfigure(configure(gateway.config, after("openai")))
        id = json.loads(first.body)["id"]
        return await ask(app, "And plus 1?", previous_response_id=id), service

    answer, service = anyio.run(run)
    assert answer.status == 200, answer.body
    sent = json.loads(service.exchanges[-1].request)
    assert ("previous_response_id" in sent) is is_same
    reported = "account_moved:history" in answer.headers.get("x-pondero-adjustments", "")
    assert reported is not is_same


def test_a_conversation_at_the_provider_itself_stays_there_beside_a_deployment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-south")
    monkeypatch.setenv("OPENAI_BASE_URL", ADDRESS)
    to = ("openai:gpt-5.5", "north:gpt-5.5")
    app, _, service = start(monkeypatch, Account("north"), Account("south"), to=to)

    async def run() -> list[list[str]]:
        found = []
        for number in range(8):
            talk = []
            for _ in range(4):
                await ask(app, f"question {number}")
                talk.append(service.exchanges[-1].account)
            found.append(talk)
        return found

    talks = anyio.run(run)
    assert {each[0] for each in talks} == {"north", "south"}
    assert all(len({*each}) == 1 for each in talks)
