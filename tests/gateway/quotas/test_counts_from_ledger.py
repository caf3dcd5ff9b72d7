"""Law: what is taken after a restart is what the ledger says of each open window, never less."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest, Usage
from pondero.emulator import Emulator
from pondero.gateway.config.model import (
    Deployment,
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import PostgresDatabase, SqliteDatabase
from pondero.gateway.observability.receipt import Receipt, make_id
from pondero.gateway.observability.refusal_watch import RefusalWatch
from pondero.gateway.quotas import counts_from_ledger
from pondero.gateway.quotas.admission import make_quota_error
from pondero.gateway.quotas.counts_from_ledger import EarlierRows, restore_counts
from pondero.gateway.quotas.quota import BILLION, Quota, find_quotas
from pondero.gateway.quotas.usage_counter import QuotaShortfall
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MUCH = SpendBudget(cost=100, tokens=10_000_000, thinking_tokens=10_000_000, per="month")
DAILY = RateLimitRule(requests=1000, tokens=10_000_000, per="day")
KEY = GatewayKey("ci", hash_key("the-key"), budget=MUCH, limit=DAILY, group="team")
GROUP = GatewayGroup("team", budget=SpendBudget(cost=200, per="week"))
ROUTE = GatewayRoute("opus", ("anthropic:claude-opus-5",), budget=SpendBudget(tokens=9_000_000))
CONFIG = GatewayConfig(server=ServerConfig(), routes=(ROUTE,), keys=(KEY,), groups=(GROUP,))
QUOTAS = find_quotas(KEY, GROUP, ROUTE)
ASKED = HttpRequest(
    "POST",
    "http://gateway/v1/messages",
    {"x-api-key": "the-key", "content-type": "application/json"},
    json.dumps(
        {
            "model": "opus",
            "max_tokens": 2000,
            "messages": [{"role": "user", "content": "What is 17 * 23? Think about it."}],
        }
    ).encode(),
)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        made = SqliteDatabase(tmp_path / "gateway.db")
    else:
        made = PostgresDatabase(request.getfixturevalue("postgres").make())
    yield made
    made.close()


def serve(ledger: Ledger) -> GatewayContext:
    return GatewayContext(
        CONFIG,
        Emulator(),
        observers=[ledger.note],
        ledger=ledger.database,
        save_begun=ledger.save_begun,
    )


async def used(gateway: GatewayContext) -> dict[str, int]:
    counts = await gateway.state.current_use(QUOTAS)
    return {quota.name: count for quota, count in zip(QUOTAS, counts, strict=True)}


def test_a_new_process_continues_where_the_last_one_ended(database, tmp_path):
    async def first() -> dict[str, int]:
        ledger = Ledger(database, tmp_path / "aside")
        gateway = serve(ledger)
        statuses = [(await came(App(gateway), ASKED)).status for _ in range(3)]
        assert statuses == [200] * 3
        ledger.close()
        return await used(gateway)

    async def second() -> dict[str, int]:
        ledger = Ledger(database, tmp_path / "aside")
        gateway = serve(ledger)
        assert await restore_counts(gateway, ledger) is None
        ledger.close()
        return await used(gateway)

    before, after = asyncio.run(first()), asyncio.run(second())
    assert all(before.values())
    for name, count in before.items():  # a row has half a billionth more or less than a count
        assert abs(after[name] - count) <= (3 if "money" in name else 0), name


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_rows_say_which_budgets_had_no_room_in_the_windows_that_are_open(database, tmp_path):
    now = at("2026-11-18T10:30")
    hour, day = (Quota("key ci", "tokens", 5, per, rolling=False) for per in ("hour", "day"))
    month = Quota("group team", "money", 5 * BILLION, "month", rolling=False)
    ledger = Ledger(database, tmp_path / "aside")
    for quota, when, facts in (
        (hour, "2026-11-18T09:59:59", {}),
        (day, "2026-11-18T00:00", {}),
        (month, "2026-11-01T00:00", {"offline": True}),
        (month, "2026-11-02T00:00", {"end": "failed"}),
    ):
        full = QuotaShortfall(quota, 4, 2, 60.0)
        reason = str(make_quota_error(full, at(when)))
        row = {"id": make_id(at(when)), "at": at(when), "key": "ci", "front": "anthropic"}
        rejected = {"status": 429, "end": "refused", "reason": reason}
        ledger.note(Receipt(**{**row, **rejected, **facts}))
    ledger.close()

    for offline, full_budgets in ((False, [day]), (True, [month])):
        watch = RefusalWatch()
        watch.read(database, now, offline=offline)
        found = [each for each in (hour, day, month) if watch.has_refused(each, now)]
        assert found == full_budgets


def test_rows_count_in_the_windows_that_are_open(database, tmp_path):
    """Wednesday, 18 November 2026, half past ten."""
    now = at("2026-11-18T10:30")
    ledger = Ledger(database, tmp_path / "aside")
    for tokens, when, facts in (
        (1, "2026-11-18T10:29:59", {}),
        (10, "2026-11-18T10:00", {}),
        (100, "2026-11-18T00:00", {}),
        (1_000, "2026-11-16T00:00", {}),  # a Monday
        (10_000, "2026-11-01T00:00", {}),
        (100_000, "2026-10-31T23:59:59", {}),
        (1_000_000, "2026-11-18T10:30", {}),  # of this process
        (1_000_000, "2026-11-18T10:05", {"offline": True}),
        (1_000_000, "2026-11-18T10:05", {"key": "other"}),
    ):
        row = {"id": make_id(at(when)), "at": at(when), "key": "ci", "front": "anthropic"}
        used = {"usage": Usage(tokens), "cost": Decimal(tokens), "tries": 2}
        ledger.note(Receipt(**{**row, **used, **facts}))
    ledger.close()

    rows = EarlierRows(database, int(now * 1000), now, offline=False)
    taken = {}
    for per in ("hour", "day", "week", "month"):
        budget = SpendBudget(cost=1, tokens=1, per=per)
        for use in rows.find_use(find_quotas(GatewayKey("ci", "", budget=budget))):
            name = f"{use.quota.unit} per {per}"
            taken[name] = taken.get(name, 0) + use.amount
    tokens = {"hour": 11, "day": 111, "week": 1_111, "month": 11_111}
    assert taken == {f"tokens per {per}": count for per, count in tokens.items()} | {
        f"money per {per}": count * BILLION for per, count in tokens.items()
    }
    daily = find_quotas(GatewayKey("ci", "", limit=RateLimitRule(requests=9, per="day")))
    assert [use.amount for use in rows.find_use(daily)] == [1, 1, 1]


@pytest.mark.parametrize("per", ["minute", "hour", "day"])
def test_the_limit_of_an_account_goes_on_after_a_restart(database, tmp_path, per):
    """Its service does not begin again: accounts got their limit twice."""
    now = at("2026-11-18T10:30:20")
    length = {"minute": 60, "hour": 3600, "day": 86400}[per]
    ledger = Ledger(database, tmp_path / "aside")
    for tokens, ago, facts in (
        (1, 0.5, {"last_try": 0.25}),
        (10, length - 5, {"last_try": 0.25}),
        (100, length + 2, {"last_try": 30.0}),  # it waited before it was sent
        (1_000, length + 65, {"last_try": 2.0}),
        (1_000, 0.5, {"deployment": "other"}),
        (1_000, 0.5, {"deployment": None}),
        (1_000, 0.5, {"tries": 0}),
        (1_000, -0.5, {}),  # of this process
    ):
        row = {"id": make_id(now - ago), "at": now - ago, "key": "ci", "front": "anthropic"}
        used = {"usage": Usage(tokens), "tries": 2, "deployment": "eu"}
        ledger.note(Receipt(**{**row, **used, **facts}))
    ledger.close()

    limit = RateLimitRule(requests=9, tokens=9, per=per)
    config = GatewayConfig(
        server=ServerConfig(), deployments=(Deployment("eu", "anthropic", limit=limit),)
    )
    quotas = GatewayContext(config, Emulator()).accounts.quotas("eu")
    rows = EarlierRows(database, int(now * 1000), now, offline=False)
    taken = dict.fromkeys(("requests", "tokens"), 0)
    for use in rows.find_use(quotas):
        assert use.at <= now * 1000
        taken[use.quota.unit] += use.amount
    assert taken == {"requests": 6, "tokens": 111}


def test_an_account_that_was_full_is_full_after_a_restart(tmp_path, monkeypatch):
    monkeypatch.setenv("KEY_EU", "a-key")
    limit = RateLimitRule(requests=2, per="day")
    eu = Deployment("eu", "anthropic", key="env:KEY_EU", limit=limit)
    route = GatewayRoute("opus", ("eu:claude-opus-5",))
    config = GatewayConfig(
        server=ServerConfig(), routes=(route,), keys=(KEY,), groups=(GROUP,), deployments=(eu,)
    )
    database = SqliteDatabase(tmp_path / "gateway.db")

    async def start(requests: int) -> list[int]:
        ledger = Ledger(database, tmp_path / "aside")
        gateway = GatewayContext(
            config, Emulator(), observers=[ledger.note], ledger=ledger.database
        )
        await restore_counts(gateway, ledger)
        statuses = [(await came(App(gateway), ASKED)).status for _ in range(requests)]
        ledger.close()
        return statuses

    assert asyncio.run(start(1)) == [200]
    assert asyncio.run(start(2)) == [200, 429]
    database.close()


def test_a_slow_ledger_delays_the_start_a_little_and_is_counted_when_it_answers(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(counts_from_ledger, "PATIENCE", 0.01)
    database = SqliteDatabase(tmp_path / "gateway.db")

    async def walk() -> None:
        ledger = Ledger(database, tmp_path / "aside")
        await came(App(serve(ledger)), ASKED)
        ledger.close()
        late = Ledger(database, tmp_path / "aside")
        gateway = serve(late)
        late.recovered.clear()
        restoring = await restore_counts(gateway, late)
        assert restoring is not None
        assert "they count without it so far" in caplog.text
        await restoring
        assert all((await used(gateway)).values())
        late.close()

    asyncio.run(walk())


def test_the_row_of_a_request_that_was_killed_says_that_it_was_emulated():
    """Its cost counted as one of real providers before."""
    begun: list[Receipt] = []
    gateway = GatewayContext(CONFIG, Emulator(), save_begun=begun.append)
    assert asyncio.run(came(App(gateway), ASKED)).status == 200
    assert [each.offline for each in begun] == [True]


MAIN = "from pondero.cli import main; main()"
FILE = f"""
[[route]]
match = "opus"
to = "anthropic:claude-opus-5"

[[key]]
name = "ci"
hash = "{hash_key("the-key")}"
budget = {{ cost = 0.06, per = "month" }}
"""


@contextmanager
def running(folder: Path) -> Iterator[tuple[httpx2.Client, subprocess.Popen[str]]]:
    (folder / "gateway.toml").write_text(FILE)
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0", "--offline", "--config"]
    with subprocess.Popen(
        [*command, str(folder / "gateway.toml")],
        env={**os.environ, "PONDERO_DATA_DIR": str(folder / "data")},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[2]
        with httpx2.Client(base_url=address, timeout=60) as client:
            try:
                yield client, process
            finally:
                process.kill()


def ask(client: httpx2.Client) -> int:
    sent = client.post("/v1/messages", headers=dict(ASKED.headers), content=ASKED.body)
    return int(sent.status_code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_spent_budget_is_spent_after_the_process_ended_in_any_way(tmp_path, number):
    with running(tmp_path) as (client, process):
        statuses = [ask(client)]
        while statuses[-1] == 200 and len(statuses) < 40:
            statuses.append(ask(client))
        assert (statuses[0], statuses[-1]) == (200, 429)
        process.send_signal(number)
        process.wait(timeout=60)
    with running(tmp_path) as (client, _):
        alerts = client.get("/admin/alerts").json()["alerts"]
        assert "budget_without_room" in {each["kind"] for each in alerts}
        assert ask(client) == 429
