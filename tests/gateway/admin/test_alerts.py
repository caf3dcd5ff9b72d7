"""Alerts: what the console shows before anything else."""

import asyncio
from collections.abc import Iterable

from tests.gateway.ledger_rows import make_ledger

from pondero.emulator import Emulator
from pondero.gateway.admin.alerts import Alert, find_alerts
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.ledger_database import LedgerDatabase
from pondero.gateway.observability.level_test import ENOUGH
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import BILLION, QuotaUse, find_quotas
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.breakers import FAILURES

MODEL = "anthropic:claude-opus-5"
KEY = GatewayKey(
    "ci",
    hash_key("ci"),
    budget=SpendBudget(cost=10, thinking_tokens=1_000),
    limit=RateLimitRule(requests=1),
)
ROUTE = GatewayRoute(match="opus", to=(MODEL,), budget=SpendBudget(tokens=1_000, per="day"))


def make_gateway(ledger: LedgerDatabase | None = None) -> GatewayContext:
    config = GatewayConfig(ServerConfig(), (ROUTE,), keys=(KEY,))
    return GatewayContext(config, Emulator(any_model=True), ledger=ledger)


def alerts(gateway: GatewayContext) -> list[Alert]:
    return asyncio.run(find_alerts(gateway))


def use(gateway: GatewayContext, amounts: dict[str, int]) -> None:
    quotas = [*find_quotas(KEY, ROUTE)]
    uses = [QuotaUse(quota, amounts.get(quota.unit, 0)) for quota in quotas]
    assert asyncio.run(gateway.state.reserve("1", uses)) is None


def test_a_quiet_gateway_has_no_alerts():
    assert alerts(make_gateway()) == []


def test_a_budget_is_an_alert_from_four_fifths_on():
    below, above = make_gateway(), make_gateway()
    use(below, {"money": 8 * BILLION - 1, "thinking_tokens": 799, "tokens": 799, "requests": 1})
    use(above, {"money": 8 * BILLION, "thinking_tokens": 1_000, "tokens": 800})

    assert alerts(below) == []  # a rate limit is not a budget
    assert [(each.key, each.route, each.text) for each in alerts(above)] == [
        ("ci", None, "80% of $10.00 per month is used"),
        ("ci", None, "100% of 1,000 thinking tokens per month is used"),
        (None, "opus", "80% of 1,000 tokens per day is used"),
    ]


def test_a_budget_is_used_to_the_full_only_at_its_end():
    gateway = make_gateway()
    use(gateway, {"thinking_tokens": 999})

    (alert,) = alerts(gateway)
    assert (alert.kind, alert.text) == (
        "budget_nearly_used",
        "99% of 1,000 thinking tokens per month is used",
    )


def test_a_budget_of_nearly_nothing_hides_no_other_alert():
    key = GatewayKey("ci", hash_key("ci"), budget=SpendBudget(cost=1e-12, tokens=10))
    config = GatewayConfig(ServerConfig(), (ROUTE,), keys=(key,))
    gateway = GatewayContext(config, Emulator(any_model=True))
    (tokens,) = [quota for quota in find_quotas(key) if quota.unit == "tokens"]
    assert asyncio.run(gateway.state.reserve("1", [QuotaUse(tokens, 9)])) is None

    assert [each.text for each in alerts(gateway)] == ["90% of 10 tokens per month is used"]


def test_a_paused_model_is_an_alert_until_it_answers():
    gateway = make_gateway()

    async def fails() -> None:
        for _ in range(FAILURES):
            await gateway.breakers.record_failure(MODEL)

    asyncio.run(fails())
    (alert,) = alerts(gateway)
    assert (alert.kind, alert.model) == ("breaker_open", MODEL)

    asyncio.run(gateway.breakers.record_success(MODEL))
    assert alerts(gateway) == []


def test_a_model_of_which_many_requests_fail_is_an_alert(tmp_path):
    gateway = make_gateway()
    path = tmp_path / "gateway.db"
    gateway.ledger = make_ledger(path, 1_000, until=gateway.now(), offline=True)
    ended = "UPDATE pondero_receipts SET ended = ? WHERE model = ?"
    gateway.ledger.write(ended, [("done", "model-0")])
    assert alerts(gateway) == []

    gateway.ledger.write(ended, [("failed", "model-3")])

    (alert,) = alerts(gateway)
    assert (alert.kind, alert.model) == ("upstream_failing", "openai:model-3")
    assert alert.text.startswith("100% of ")
    gateway.ledger.close()


def test_what_the_watch_suspects_is_an_alert():
    gateway = make_gateway()
    for receipt in thoughts(ENOUGH):
        gateway.dial_watch.note(receipt)

    (alert,) = alerts(gateway)
    assert (alert.kind, alert.route, alert.model) == ("thinks_though_off", "opus", MODEL)


def thoughts(count: int) -> Iterable[Receipt]:
    provider, _, model = MODEL.partition(":")
    for number in range(count):
        yield Receipt(
            id=f"{number}",
            at=number,
            key="ci",
            front="x",
            provider=provider,
            model=model,
            sent="off",
            route="opus",
            verdict="thought_though_off",
        )
