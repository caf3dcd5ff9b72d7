"""An account that a service rejects in words of its own: the other one answers."""

import json

import anyio
import pytest
from tests.gateway.deployments.test_accounts import ask, start
from tests.gateway.four_accounts import Account

_MODELS = {
    "anthropic": "claude-opus-5",
    "openai": "gpt-5.5",
    "openai-chat": "gpt-5.5",
    "google": "gemini-3-flash-preview",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "dashscope": "qwen3-max",
    "fireworks": "accounts/fireworks/models/glm-5p2",
    "vertex-anthropic": "claude-opus-5",
}
_INVALID = {"type": "invalid_request_error"}
# Provider, status, error, and whether the account is paused: its key or its credit is rejected.
DEATHS = {
    "organisation disabled": (
        "anthropic",
        {**_INVALID, "message": "This organization has been disabled."},
        True,
    ),
    "spend limit": (
        "anthropic",
        {
            **_INVALID,
            "message": "You have reached your specified API usage limits. You will regain access "
            "on 2026-12-01 at 00:00 UTC.",
        },
        True,
    ),
    "workspace limit": (
        "anthropic",
        {**_INVALID, "message": "You have reached your specified workspace API usage limits."},
        True,
    ),
    "no credit": (
        "anthropic",
        {**_INVALID, "message": "Your credit balance is too low to access the Anthropic API."},
        True,
    ),
    "deactivated": (
        "openai",
        {
            **_INVALID,
            "message": "This key is associated with a deactivated account.",
            "code": "account_deactivated",
        },
        True,
    ),
    "deactivated, without a code": (
        "openai-chat",
        {**_INVALID, "message": "Your OpenAI account has been deactivated, please check."},
        True,
    ),
    "no billing": (
        "openai-chat",
        {"type": "billing_not_active", "code": "billing_not_active", "message": "Not active."},
        True,
    ),
    "restricted": (
        "openai-chat",
        {**_INVALID, "message": "Organization has been restricted. Please reach out to support."},
        True,
    ),
    "not verified": (
        "openai",
        {**_INVALID, "message": "Your organization must be verified to stream this model."},
        False,
    ),
    "region": (
        "google",
        {
            "code": 400,
            "message": "User location is not supported for the API use.",
            "status": "FAILED_PRECONDITION",
        },
        False,
    ),
    "no extra usage": (
        "anthropic",
        {**_INVALID, "message": "You're out of extra usage. Add more at claude.ai/settings/usage."},
        True,
    ),
    "arrears": (
        "dashscope",
        {
            "message": "Access denied, please make sure your account is in good standing.",
            "type": "Arrearage",
            "code": "Arrearage",
        },
        True,
    ),
    "suspended": (
        "fireworks",
        {
            "message": "Account acme is suspended, possibly due to reaching the monthly spending "
            "limit or failure to pay past invoices.",
            "type": "error",
            "code": "PRECONDITION_FAILED",
        },
        True,
    ),
    "publisher model": (
        "vertex-anthropic",
        {
            "code": 400,
            "message": "Project `acme` is not allowed to use Publisher Model `projects/acme/m`",
            "status": "FAILED_PRECONDITION",
        },
        False,
    ),
    "operation": ("bedrock", "Operation not allowed", False),
    "not authorized": (
        "bedrock",
        "Your account is not authorized to invoke this API operation.",
        False,
    ),
}
_STATUSES = {"fireworks": 412}


@pytest.mark.parametrize("death", DEATHS)
def test_a_dead_account_that_answers_400_is_left_and_no_client_sees_it(monkeypatch, death):
    provider, error, is_paused = DEATHS[death]
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "acme")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-east5")
    app, gateway, service = start(
        monkeypatch,
        *(Account("north"), Account("south")),
        provider=provider,
        model=_MODELS[provider],
        balance="order",
    )
    north = service.accounts["north"]
    north.status = _STATUSES.get(provider, 400)
    said = {"message": error} if provider == "bedrock" else {"type": "error", "error": error}
    north.error = json.dumps(said).encode()

    async def run():
        return [await ask(app, f"question {number}") for number in range(3)]

    answers = anyio.run(run)
    assert [each.status for each in answers] == [200, 200, 200], answers[0].body
    assert {each.headers["x-pondero-deployment"] for each in answers} == {"south"}
    assert len(north.bodies) == (1 if is_paused else 3)
    assert (gateway.breakers.find_pause("north") > 0) is is_paused


@pytest.mark.parametrize("provider", [*_MODELS, "ollama", "cohere"])
def test_an_account_behind_a_page_for_signing_in_is_left(monkeypatch, provider):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "acme")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-east5")
    models = {**_MODELS, "ollama": "qwen3", "cohere": "command-a-03-2025"}
    app, _, service = start(
        monkeypatch,
        *(Account("north"), Account("south")),
        provider=provider,
        model=models[provider],
        balance="order",
    )
    north = service.accounts["north"]
    north.status, north.error = 302, b"<html>Please sign in</html>"
    north.more = {"location": "https://127.0.0.1/login"}
    answer = anyio.run(ask, app, "Hi")
    assert (answer.status, len(north.bodies)) == (200, 1), answer.body
    assert answer.headers["x-pondero-deployment"] == "south"


def test_a_request_that_is_wrong_for_every_account_is_sent_to_one(monkeypatch):
    app, _, service = start(monkeypatch, Account("north"), Account("south"), balance="order")
    north = service.accounts["north"]
    error = {**_INVALID, "message": "Invalid value: 'account'. The key 'x' is not supported."}
    north.status, north.error = 400, json.dumps({"error": error}).encode()
    assert anyio.run(ask, app, "Hi").status == 400
    assert service.accounts["south"].bodies == []
