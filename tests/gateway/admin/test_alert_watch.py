"""Alerts by webhook: each arrives once when it is raised and once when it is over."""

import asyncio
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.gateway.redis_server import RedisServer, redis_server

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import BadConfig, MissingKey
from pondero.gateway.admin import alert_watch
from pondero.gateway.admin.alert_watch import AlertWatch
from pondero.gateway.admin.alerts import Alert, find_alerts, find_own_alerts, find_spent
from pondero.gateway.config.model import (
    ALERT_KINDS,
    AlertsConfig,
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.reader import load
from pondero.gateway.config.secrets import hash_key, read_webhook_secret
from pondero.gateway.observability.dial_watch import ALARMS, Alarm
from pondero.gateway.observability.error_watch import ENOUGH, RECENT, ErrorWatch
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import SqliteDatabase
from pondero.gateway.observability.observers import Observers
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.webhook import Webhook
from pondero.gateway.quotas.counts_from_ledger import restore_counts, restore_refusals
from pondero.gateway.quotas.quota import Holder, QuotaUse, find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.breakers import FAILURES
from pondero.gateway.state.claims import RedisClaims
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.shared_state import make_shared_state
from pondero.store import load_catalog

MODEL = "anthropic:claude-opus-5"
DAY = SpendBudget(tokens=1_000, per="day")
KEY = GatewayKey("ci", hash_key("ci"), budget=DAY, group="research")
GROUP = GatewayGroup("research", budget=SpendBudget(tokens=10_000, per="day"))
ROUTE = GatewayRoute(match="opus", to=(MODEL,), budget=SpendBudget(tokens=20_000, per="day"))
CONFIG = GatewayConfig(ServerConfig(), (ROUTE,), keys=(KEY,), groups=(GROUP,))
SECRET = "whsec_" + b64encode(b"k" * 32).decode()


class Watched:
    """A gateway whose alerts are collected; its clock stands still until it is moved."""

    def __init__(self, config: GatewayConfig = CONFIG, ledger: Ledger | None = None) -> None:
        self.gateway = GatewayContext(
            config,
            Emulator(any_model=True),
            shared=make_shared_state(config.server),
            observers=[] if ledger is None else [ledger.note],
            ledger=None if ledger is None else ledger.database,
        )
        self.sent: list[Alarm] = []
        self.taken: list[Callable[[], None]] = []  # what to call for each
        self.ledger_away = False
        self.watch = AlertWatch(self.gateway, self._send, is_ledger_away=lambda: self.ledger_away)

    def _send(self, alarm: Alarm, taken: Callable[[], None]) -> None:
        self.sent.append(alarm)
        self.taken.append(taken)

    async def look(self) -> list[tuple[str, str, str]]:
        """Return what is sent by one look: the kind, the state, and whom it is about."""
        self.sent.clear()
        await self.watch.look()
        return [
            (
                each.kind,
                "over" if each.is_over else "raised",
                each.key or each.group or each.route or each.model,
            )
            for each in self.sent
        ]

    async def use(self, holder: Holder, amount: int, id: str = "1") -> None:
        uses = [QuotaUse(quota, amount) for quota in find_quotas(holder)]
        assert await self.gateway.state.reserve(id, uses) is None

    def release(self, holder: Holder, amount: int = 0, id: str = "1") -> None:
        uses = [QuotaUse(quota, amount) for quota in find_quotas(holder)]
        self.gateway.state.settle(id, uses)


@pytest.mark.parametrize(("holder", "name"), [(KEY, "ci"), (GROUP, "research"), (ROUTE, "opus")])
def test_a_budget_is_an_alert_at_its_share_and_when_it_is_used_up(holder, name):
    async def check() -> None:
        watched = Watched()
        most = holder.budget.tokens
        await watched.use(holder, int(0.79 * most))
        assert await watched.look() == []
        await watched.use(holder, int(0.01 * most), "2")
        assert await watched.look() == [("budget_nearly_used", "raised", name)]
        assert await watched.look() == []
        await watched.use(holder, int(0.2 * most), "3")
        assert await watched.look() == [("budget_without_room", "raised", name)]
        watched.release(holder, 0, "3")
        watched.release(holder, 0, "2")
        assert await watched.look() == [
            ("budget_without_room", "over", name)
        ]  # 79 % is still nearly
        watched.release(holder)
        assert await watched.look() == [("budget_nearly_used", "over", name)]

    asyncio.run(check())


SMALL = replace(CONFIG, keys=(replace(KEY, budget=replace(DAY, tokens=5_000)),))


async def fill(gateway: GatewayContext) -> None:
    """Ask until the budget of the key has no room for a request."""
    body = {"model": "opus", "max_tokens": 2_000, "messages": [{"role": "user", "content": "x"}]}
    headers = {"x-api-key": "ci", "content-type": "application/json"}
    http = HttpRequest("POST", "http://g/v1/messages", headers, json.dumps(body).encode())
    app = App(gateway)
    while (await came(app, http)).status == 200:
        pass


def test_a_budget_that_refuses_a_request_is_used_up_though_a_rest_is_left():
    async def check() -> None:
        watched = Watched(SMALL)
        await fill(watched.gateway)
        kinds = {each[0] for each in await watched.look()}
        (spent,) = (
            each for each in await find_spent(watched.gateway) if each.kind == "budget_without_room"
        )
        assert not spent.text.startswith("100%")
        assert " per day is used; the " in spent.text
        assert spent.text.endswith(" left was too little for a request")
        assert "budget_without_room" in kinds

    asyncio.run(check())


@pytest.mark.parametrize("tokens", [1_030, 1], ids=["the answer", "the prompt"])
def test_a_budget_that_is_too_small_for_any_request_is_an_alert(tokens):
    config = replace(CONFIG, keys=(replace(KEY, budget=replace(DAY, tokens=tokens)),))

    async def check() -> None:
        watched = Watched(config)
        await fill(watched.gateway)
        (found,) = await find_spent(watched.gateway)
        assert found.kind == "budget_without_room"
        assert found.text.startswith("0% of ")
        assert found.text.endswith(" left was too little for a request")

    asyncio.run(check())


def test_a_budget_that_refused_a_request_is_used_up_after_a_restart_too(tmp_path):
    async def serve(config: GatewayConfig, *, fills: bool) -> tuple[list[Alert], list[str]]:
        ledger = Ledger(SqliteDatabase(tmp_path / "gateway.db"), tmp_path / "aside")
        watched = Watched(config, ledger)
        await restore_counts(watched.gateway, ledger)
        await restore_refusals(watched.gateway, ledger)
        if fills:
            await fill(watched.gateway)
        sent = [kind for kind, _, name in await watched.look() if name == "ci"]
        alerts = [each for each in await find_alerts(watched.gateway) if each.key == "ci"]
        ledger.close()
        return alerts, sent

    before = asyncio.run(serve(SMALL, fills=True))
    assert [each.kind for each in before[0]] == ["budget_without_room"]
    assert "budget_without_room" in before[1]
    assert asyncio.run(serve(SMALL, fills=False)) == before

    more = replace(CONFIG, keys=(replace(KEY, budget=replace(DAY, tokens=50_000)),))
    assert asyncio.run(serve(more, fills=False)) == ([], [])  # none was rejected by this one


def test_the_console_knows_the_budgets_that_refused_requests_of_other_processes(tmp_path):
    async def check() -> None:
        database = SqliteDatabase(tmp_path / "gateway.db")
        ledger = Ledger(database, tmp_path / "aside")
        one, other = Watched(SMALL, ledger), GatewayContext(SMALL, Emulator(), ledger=database)
        assert await find_alerts(other) == []
        await fill(one.gateway)
        ledger.close()

        other.ledger = SqliteDatabase(tmp_path / "gateway.db")
        found = await find_alerts(other)
        assert [(each.kind, each.key) for each in found] == [("budget_without_room", "ci")]
        other.ledger.close()

    asyncio.run(check())


def test_a_budget_that_refused_a_request_begins_again_with_its_period():
    watched = Watched(SMALL)
    asyncio.run(fill(watched.gateway))
    begun = watched.gateway.now()
    watched.gateway.now = lambda: begun + 86_400

    assert [kind for kind, *_ in asyncio.run(watched.look())] == ["budget_nearly_used"]


def test_a_breaker_is_an_alert_from_opening_to_closing():
    async def check() -> None:
        watched = Watched()
        for _ in range(FAILURES):
            await watched.gateway.breakers.record_failure(MODEL)
        assert await watched.look() == [("breaker_open", "raised", MODEL)]
        await watched.gateway.breakers.record_success(MODEL)
        assert await watched.look() == [("breaker_open", "over", MODEL)]

    asyncio.run(check())


def make_receipt(at: float, *, failed: bool) -> Receipt:
    provider, _, model = MODEL.partition(":")
    end = "failed" if failed else "done"
    return Receipt(id="1", at=at, key="ci", front="x", provider=provider, model=model, end=end)


def test_a_model_of_which_many_requests_fail_is_an_alert_until_fewer_do():
    async def check() -> None:
        watched = Watched()
        now = watched.gateway.now()
        for number in range(ENOUGH):
            watched.gateway.notify_observers([make_receipt(now, failed=number == 0)])
        (found,) = await watched.look()
        assert found == ("upstream_failing", "raised", MODEL)
        assert "10% of 10 requests failed" in watched.sent[0].text
        for _ in range(ENOUGH):
            watched.gateway.notify_observers([make_receipt(now, failed=False)])
        assert await watched.look() == [("upstream_failing", "over", MODEL)]

    asyncio.run(check())


def test_failures_count_for_a_quarter_of_an_hour():
    watch = ErrorWatch()
    for _ in range(ENOUGH):
        watch.note(make_receipt(0.0, failed=True))

    assert watch.find_failing(0.1, 60.0 * (RECENT - 1)).keys() == {MODEL}
    assert watch.find_failing(0.1, 60.0 * RECENT) == {}


def test_a_key_is_an_alert_in_the_days_before_it_expires(monkeypatch):
    ends = datetime(2030, 6, 30, tzinfo=UTC)
    now = [0.0]
    monkeypatch.setattr(GatewayContext, "now", staticmethod(lambda: now[0]))

    async def check() -> None:
        blocked = replace(KEY, name="no", hash=hash_key("no"), expires=ends, blocked=True)
        watched = Watched(replace(CONFIG, keys=(replace(KEY, expires=ends), blocked)))
        for days, expected in ((7.1, []), (6.9, [("key_expires", "raised", "ci")]), (0.1, [])):
            now[0] = ends.timestamp() - days * 86_400
            assert await watched.look() == expected
        now[0] = ends.timestamp()
        assert await watched.look() == [("key_expires", "over", "ci")]

    asyncio.run(check())


def test_a_ledger_that_is_away_is_an_alert():
    async def check() -> None:
        watched = Watched()
        watched.ledger_away = True
        assert await watched.look() == [("ledger_away", "raised", "")]
        assert await find_alerts(watched.gateway) == []  # of the console
        watched.ledger_away = False
        assert await watched.look() == [("ledger_away", "over", "")]

    asyncio.run(check())


def test_a_state_that_is_away_is_an_alert_for_the_webhook_alone():
    async def check() -> None:
        watched = Watched()
        watched.gateway.shared = replace(watched.gateway.shared, is_lost=lambda: True)
        assert [each.kind for each in await find_own_alerts(watched.gateway)] == ["state_away"]
        assert await find_alerts(watched.gateway) == []

    asyncio.run(check())


def test_only_the_kinds_that_are_wanted_are_sent():
    async def check() -> None:
        config = replace(CONFIG, alerts=AlertsConfig(kinds=("ledger_away",)))
        watched = Watched(config)
        watched.ledger_away = True
        await watched.use(KEY, 1_000)
        assert await watched.look() == [("ledger_away", "raised", "")]

    asyncio.run(check())


def test_the_shares_are_settings():
    async def check() -> None:
        watched = Watched(replace(CONFIG, alerts=AlertsConfig(budget_share=0.5)))
        await watched.use(KEY, 500)
        assert await watched.look() == [("budget_nearly_used", "raised", "ci")]

    asyncio.run(check())


def test_every_alarm_of_the_watch_is_a_kind_that_can_be_wanted():
    assert {*ALARMS} <= {*ALERT_KINDS}


def test_of_several_replicas_one_sends_and_any_says_that_it_is_over(tmp_path: Path):
    async def check(url: str) -> None:
        config = replace(CONFIG, server=ServerConfig(state=url))
        one, other = Watched(config), Watched(config)
        try:
            await one.use(KEY, 900)
            sent = [*await one.look(), *await other.look(), *await one.look()]
            assert sent == [("budget_nearly_used", "raised", "ci")]
            one.release(KEY)
            await one.gateway.state.wait_until_counted()
            sent = [*await other.look(), *await one.look(), *await other.look()]
            assert sent == [("budget_nearly_used", "over", "ci")]
        finally:
            for each in (one, other):
                await each.gateway.shared.aclose()

    with redis_server(tmp_path) as server:
        asyncio.run(check(server.url))


def test_without_redis_each_replica_sends_its_own(tmp_path: Path):
    async def check() -> None:
        with redis_server(tmp_path) as server:
            watched = Watched(replace(CONFIG, server=ServerConfig(state=server.url)))
            assert await watched.look() == []
        assert ("state_away", "raised", "") in [*await watched.look(), *await watched.look()]
        await watched.gateway.shared.aclose()

    asyncio.run(check())


def test_a_gateway_that_starts_without_its_redis_says_so():
    async def check() -> None:
        config = replace(CONFIG, server=ServerConfig(state="redis://127.0.0.1:1/0"))
        watched = Watched(config)
        watched.ledger_away = True
        sent = [*await watched.look(), *await watched.look()]
        assert {("state_away", "raised", ""), ("ledger_away", "raised", "")} <= {*sent}
        await watched.gateway.shared.aclose()

    asyncio.run(check())


NEARLY = [("budget_nearly_used", "raised", "ci")]


def test_an_alert_that_a_killed_replica_did_not_send_is_sent_by_another(tmp_path: Path):
    async def check(server: RedisServer) -> None:
        config = replace(CONFIG, server=ServerConfig(state=server.url))
        one, other = Watched(config), Watched(config)
        await one.use(KEY, 900)
        assert await one.look() == NEARLY  # whose receiver does not answer
        (name,) = server.command("KEYS", "pondero:claim:*")
        server.command("PEXPIRE", name, 5_000)
        assert await other.look() == []
        assert server.command("PTTL", name) <= 5_000
        server.command("DEL", name)  # as after a minute, if the first one was killed
        assert await other.look() == NEARLY
        for each in (one, other):
            await each.gateway.shared.aclose()

    with redis_server(tmp_path) as server:
        asyncio.run(check(server))


def test_an_alert_that_was_taken_is_kept_by_all_and_not_sent_again(tmp_path: Path):
    async def check(server: RedisServer) -> None:
        config = replace(CONFIG, server=ServerConfig(state=server.url))
        one, other = Watched(config), Watched(config)
        await one.use(KEY, 900)
        assert await one.look() == NEARLY
        one.taken[0]()
        assert await one.look() == []
        (name,) = server.command("KEYS", "pondero:claim:*")
        server.command("PEXPIRE", name, 5_000)
        assert await other.look() == []
        assert server.command("PTTL", name) > 5_000  # whoever sees it keeps it
        server.command("DEL", name)  # as after a minute without Redis
        assert [*await other.look(), *await one.look()] == []
        for each in (one, other):
            await each.gateway.shared.aclose()

    with redis_server(tmp_path) as server:
        asyncio.run(check(server))


def test_a_claim_that_no_replica_sees_any_more_ends_by_itself(tmp_path: Path):
    async def check(server: RedisServer) -> None:
        links = [RedisLink(server.url), RedisLink(server.url)]
        one, other = (RedisClaims(link) for link in links)
        assert await one.take("x", 60)
        await one.note_done("x", 60)
        assert not await other.take("x", 120)
        (name,) = server.command("KEYS", "pondero:claim:*")
        assert 60_000 < server.command("PTTL", name) <= 120_000  # whoever sees it keeps it
        assert await other.give_back("x")
        assert not await one.give_back("x")
        for link in links:
            await link.aclose()

    with redis_server(tmp_path) as server:
        asyncio.run(check(server))


# -- a real receiver -------------------------------------------------------------------------------


class Receiver:
    """An HTTP server that keeps what it gets; it answers when ``open`` is set."""

    def __init__(self) -> None:
        self.got: Queue[tuple[dict[str, str], bytes]] = Queue()
        self.open = Event()
        self.open.set()
        self.statuses: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.open.wait(60)
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.put(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def test_an_alert_of_a_running_gateway_arrives(receiver, monkeypatch):
    monkeypatch.setattr(alert_watch, "EVERY", 0.05)
    webhook = Webhook(receiver.url)
    context = GatewayContext(CONFIG, Emulator(any_model=True))
    app = App(context, Observers(webhook=webhook))

    async def run() -> dict[str, Any]:
        messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        messages.put_nowait({"type": "lifespan.startup"})
        started = asyncio.Event()

        async def send(_message: Any) -> None:
            started.set()

        serving = asyncio.ensure_future(app({"type": "lifespan"}, messages.get, send))
        await started.wait()
        uses = [QuotaUse(quota, 900) for quota in find_quotas(KEY)]
        assert await context.state.reserve("1", uses) is None
        _, body = await asyncio.to_thread(receiver.got.get, timeout=60)
        messages.put_nowait({"type": "lifespan.shutdown"})
        await serving
        found: dict[str, Any] = json.loads(body)
        return found

    body = asyncio.run(run())
    webhook.close()
    assert (body["kind"], body["state"], body["key"]) == ("budget_nearly_used", "raised", "ci")
    assert body["text"] == (
        "pondero: budget_nearly_used raised: key ci: 90% of 1,000 tokens per day is used"
    )
    assert "group" not in body


def test_a_receiver_can_check_who_sent_an_alert_and_that_it_is_the_same_again(
    receiver, monkeypatch
):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    receiver.statuses = [503]
    webhook = Webhook(receiver.url, pause=0, secret=read_webhook_secret("env:HOOK_SECRET"))
    webhook.send(Alarm(kind="ledger_away", route="", model="", text="x", at=1.0, requests=0))
    (first, body), (second, again) = (receiver.got.get(timeout=60) for _ in range(2))
    webhook.close()

    assert (first["webhook-id"], body) == (second["webhook-id"], again)
    for headers in (first, second):
        # As the receiver's side of Standard Webhooks computes it.
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body.decode()}"
        key = b64decode(SECRET.removeprefix("whsec_"))
        expected = b64encode(hmac.digest(key, signed.encode(), "sha256")).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"


def test_without_a_secret_nothing_is_signed(receiver):
    webhook = Webhook(receiver.url)
    webhook.send(Alarm(kind="ledger_away", route="", model="", text="x", at=1.0, requests=0))
    headers, _ = receiver.got.get(timeout=60)
    webhook.close()
    assert "webhook-signature" not in headers


@pytest.mark.parametrize("secret", ["hunter2", "whsec_", "whsec_c2hvcnQ=", "whsec_%%%%", ""])
def test_a_weak_secret_of_a_webhook_is_rejected_and_never_quoted(monkeypatch, secret):
    monkeypatch.setenv("HOOK_SECRET", secret)
    with pytest.raises((ValueError, MissingKey)) as caught:
        read_webhook_secret("env:HOOK_SECRET")
    if secret not in ("", "whsec_"):
        assert secret not in str(caught.value)


def test_a_request_does_not_wait_for_a_receiver_that_hangs(receiver, monkeypatch):
    """The receiver is asked and silent; requests are answered all the same."""
    monkeypatch.setattr(alert_watch, "EVERY", 0.05)
    receiver.open.clear()
    webhook = Webhook(receiver.url)
    context = GatewayContext(replace(CONFIG, keys=()), Emulator(any_model=True))
    app = App(context, Observers(webhook=webhook))
    watch = AlertWatch(context, webhook.send, is_ledger_away=lambda: True)

    async def ask() -> int:
        await watch.look()
        body = {
            "model": "opus",
            "max_tokens": 2_000,
            "messages": [{"role": "user", "content": "x"}],
        }
        http = HttpRequest(
            "POST", "http://g/v1/messages", {"host": "127.0.0.1"}, json.dumps(body).encode()
        )
        return (await came(app, http)).status

    assert asyncio.run(ask()) == 200
    assert receiver.got.empty()
    receiver.open.set()
    assert json.loads(receiver.got.get(timeout=60)[1])["kind"] == "ledger_away"
    webhook.close()


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ('kinds = ["budget_nearly_usd"]', "did you mean 'budget_nearly_used'?"),
        ('secret = "whsec_hunter2"', "do not put the secret itself in this file"),
        ("budget_share = 1.5", "write budget_share = 0.8"),
        ("error_share = 0", "write error_share = 0.1"),
        ("expiry_days = -1", "write expiry_days = 7"),
    ],
)
def test_a_wrong_setting_of_alerts_names_its_cure(tmp_path, line, cure):
    file = tmp_path / "gateway.toml"
    file.write_text(f"[alerts]\n{line}\n")
    with pytest.raises(BadConfig) as caught:
        load(file, load_catalog())
    assert cure in str(caught.value)
    assert "hunter2" not in str(caught.value)
