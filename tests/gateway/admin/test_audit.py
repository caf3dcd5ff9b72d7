"""The audit log: every change says who, what, before, after, from where and how it ended."""

import asyncio
import csv
import io
import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.asgi import Came, came

from pondero import gateway
from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import StoreError
from pondero.gateway.admin import api
from pondero.gateway.admin.actor import Actor
from pondero.gateway.admin.command_audit import record_reload
from pondero.gateway.config.model import (
    AlertsConfig,
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    ServerConfig,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.audit_log import AuditEntry, AuditLog, write_entries
from pondero.gateway.observability.audit_pages import (
    AuditFilter,
    load_audit_page,
    matches,
    parse_audit_filter,
)
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import (
    LedgerDatabase,
    PostgresDatabase,
    SqliteDatabase,
)
from pondero.gateway.observability.request_pages import parse_cursor
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.server.rejections import PER_ADDRESS

ADMIN, PLAIN = "pnd_admin-key-of-the-boss", "pnd_plain"
KEYS = (GatewayKey("boss", hash_key(ADMIN), admin=True), GatewayKey("ci", hash_key(PLAIN)))
ROUTE = GatewayRoute(match="opus", to=("anthropic:claude-opus-5",))
CONFIG = GatewayConfig(ServerConfig(), (ROUTE,), keys=KEYS)


class Gate:
    """A gateway, and what is said to its admin API."""

    def __init__(
        self, config: GatewayConfig = CONFIG, ledger: LedgerDatabase | None = None
    ) -> None:
        self.context = GatewayContext(config, Emulator(any_model=True), ledger=ledger)
        self._app = App(self.context)

    def said(self, method: str, place: str, body: object = None, key: str | None = ADMIN) -> Came:
        return asyncio.run(self.ask(method, place, body, key))

    async def ask(
        self, method: str, place: str, body: object = None, key: str | None = ADMIN
    ) -> Came:
        headers = {"host": "127.0.0.1:8787", "content-type": "application/json"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        data = b"" if body is None else json.dumps(body).encode()
        http = HttpRequest(method, f"http://g/admin/{place}", headers, data)
        return await came(self._app, http)

    def entries(self, query: str = "") -> list[dict]:
        found: list[dict] = json.loads(self.said("GET", f"audit?{query}").body)["entries"]
        return found


def test_a_change_is_an_entry_even_if_the_caller_leaves_before_its_answer():
    async def leave() -> list[tuple[str, str, str]]:
        gate = Gate()
        keys = gate.context.keys
        made, go, make = asyncio.Event(), asyncio.Event(), keys.make

        async def make_slowly(name: str, rules: Mapping[str, Any] | None = None) -> str:
            text = await make(name, rules)
            made.set()
            await go.wait()
            return text

        keys.make = make_slowly  # type: ignore[method-assign]
        asked = asyncio.ensure_future(gate.ask("POST", "keys", {"name": "ghost"}))
        await made.wait()
        asked.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await asked
        page = json.loads((await gate.ask("GET", "audit")).body)
        assert "ghost" in [key.name for key in await keys.all()]
        return [(entry["action"], entry["subject"], entry["actor"]) for entry in page["entries"]]

    assert asyncio.run(leave()) == [("key.create", "ghost", "boss")]


def test_each_change_of_a_key_is_an_entry_with_what_was_before_and_after():
    gate = Gate()
    made = json.loads(gate.said("POST", "keys", {"name": "guest", "models": ["opus"]}).body)["key"]
    gate.said("PATCH", "keys/guest", {"limit": {"requests": 5}})
    gate.said("PATCH", "keys/ci", {"blocked": True})
    gate.said("PATCH", "keys/ci", {"blocked": False})
    gate.said("DELETE", "keys/guest")

    found = gate.entries()

    assert [(each["action"], each["subject"]) for each in reversed(found)] == [
        ("key.create", "guest"),
        ("key.change", "guest"),
        ("key.block", "ci"),
        ("key.unblock", "ci"),
        ("key.remove", "guest"),
    ]
    for each in found:
        assert (each["actor"], each["role"], each["how"]) == ("boss", "admin", "key")
        assert each["outcome"] == "done"
    removed, unblocked, blocked, changed, created = found
    assert created["before"] is None
    assert created["after"]["models"] == ["opus"]
    assert (changed["before"]["limit"], changed["after"]["limit"]["requests"]) == (None, 5)
    assert (blocked["before"]["blocked"], blocked["after"]["blocked"]) == (False, True)
    assert (unblocked["before"]["blocked"], unblocked["after"]["blocked"]) == (True, False)
    assert removed["before"]["name"] == "guest"
    assert removed["after"] is None
    text = json.dumps(found)
    assert made not in text
    assert hash_key(made) not in text
    assert hash_key(made)[:15] in text


@pytest.mark.parametrize(
    ("method", "place", "body", "action", "subject"),
    [
        ("POST", "keys", {"name": "ci"}, "key.create", "ci"),
        ("POST", "keys", {"name": "x", "colour": "red"}, "key.create", "x"),
        ("PATCH", "keys/ci", {"models": ["opus"]}, "key.change", "ci"),
        ("PATCH", "keys/nobody", {"blocked": True}, "key.change", "nobody"),
        ("DELETE", "keys/ci", None, "key.remove", "ci"),
    ],
)
def test_a_change_that_is_rejected_is_an_entry_too(method, place, body, action, subject):
    gate = Gate()
    answer = gate.said(method, place, body)

    (entry,) = gate.entries()
    assert answer.status in (400, 404, 409)
    assert (entry["action"], entry["subject"]) == (action, subject)
    assert (entry["actor"], entry["outcome"]) == ("boss", "rejected")
    assert entry["reason"] == json.loads(answer.body)["error"]["message"]


def test_what_no_store_takes_is_an_entry_that_failed(monkeypatch):
    gate = Gate()

    async def fails(_key: GatewayKey) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(gate.context.shared.keys, "add", fails)
    assert gate.said("POST", "keys", {"name": "guest"}).status == 503
    (entry,) = gate.entries()
    assert (entry["outcome"], entry["reason"]) == ("failed", "the disk is full")


def test_who_is_not_let_in_is_recorded_and_the_console_asking_for_a_key_is_not():
    gate = Gate()
    assert gate.said("GET", "keys", key=None).status == 401  # how the console finds that out
    assert gate.entries() == []

    assert gate.said("GET", "keys", key="pnd_wrong-and-secret").status == 401
    assert gate.said("DELETE", "keys/ci", key=PLAIN).status == 403
    assert gate.said("DELETE", "keys/ci", key=None).status == 401

    found = [
        (each["action"], each["subject"], each["actor"], each["role"], each["outcome"])
        for each in reversed(gate.entries())
    ]
    assert found == [
        ("read", "/admin/keys", "", "", "rejected"),
        ("key.remove", "ci", "ci", "", "rejected"),
        ("key.remove", "ci", "", "", "rejected"),
    ]
    assert "pnd_wrong-and-secret" not in json.dumps(gate.entries())


def test_nobody_can_fill_the_audit_log_from_outside():
    gate = Gate()
    for _ in range(2 * PER_ADDRESS):
        gate.said("GET", "keys", key="wrong")

    assert len(gate.entries("count=200")) == PER_ADDRESS


def test_what_the_holder_of_a_key_tries_is_recorded_though_others_of_its_address_try_wrong_keys():
    gate = Gate()
    for _ in range(2 * PER_ADDRESS):  # behind a proxy, all clients have one address
        gate.said("GET", "keys", key="wrong")

    assert gate.said("DELETE", "keys/ci", key=PLAIN).status == 403

    (entry,) = gate.entries("action=key.remove")
    assert (entry["actor"], entry["subject"], entry["outcome"]) == ("ci", "ci", "rejected")


def test_a_request_of_an_admin_that_is_too_large_is_recorded_with_its_admin():
    gate = Gate(replace(CONFIG, server=ServerConfig(max_body=10)))
    assert gate.said("POST", "keys", {"name": "much"}).status == 413

    (entry,) = gate.entries()
    assert (entry["actor"], entry["role"], entry["how"]) == ("boss", "admin", "key")
    assert (entry["action"], entry["outcome"]) == ("key.create", "rejected")


def test_what_a_viewer_tries_is_rejected_and_recorded(monkeypatch):
    gate = Gate()
    viewer = Actor("ann", "viewer", "oidc")
    monkeypatch.setattr(api, "find_actor", lambda *_, **__: viewer)

    assert gate.said("POST", "keys", {"name": "mine"}).status == 403
    (entry,) = gate.entries()  # which a viewer may see
    assert (entry["actor"], entry["role"], entry["how"]) == ("ann", "viewer", "oidc")
    assert (entry["action"], entry["subject"], entry["outcome"]) == (
        *("key.create", "mine"),
        "rejected",
    )


def test_without_a_ledger_entries_go_to_the_log_in_one_line(caplog):
    gate = Gate()
    with caplog.at_level(logging.WARNING):
        gate.said("POST", "keys", {"name": "guest"})

    (line,) = (each.getMessage() for each in caplog.records if "audit: " in each.getMessage())
    assert json.loads(line.removeprefix("audit: "))["action"] == "key.create"
    assert "\n" not in line


def test_without_a_ledger_the_latest_entries_have_pages_too():
    gate = Gate()
    for number in range(5):
        gate.said("PATCH", "keys/ci", {"blocked": number % 2 == 0})

    first = json.loads(gate.said("GET", "audit?count=3").body)
    second = json.loads(gate.said("GET", f"audit?count=3&before={first['next']}").body)

    found = [each["id"] for page in (first, second) for each in page["entries"]]
    assert found == [each.id for each in gate.context.audit.latest()]
    assert second["next"] is None


# -- the configuration -----------------------------------------------------------------------------


def reloaded(before: GatewayConfig, after: GatewayConfig, problem: str | None = None) -> AuditEntry:
    audit = AuditLog()
    record_reload(audit, before, after, problem=problem)
    (entry,) = audit.latest()
    return entry


def test_a_reload_says_what_changed_and_hides_what_is_secret():
    after = replace(
        CONFIG,
        keys=(KEYS[0], replace(KEYS[1], group="research")),
        groups=(GatewayGroup("research"),),
        alerts=AlertsConfig(webhook="https://hooks.example/T0/very-secret"),
        server=replace(CONFIG.server, envelope_secret=("env:NEW",)),
    )

    entry = reloaded(CONFIG, after)

    assert (entry.action, entry.how, entry.outcome) == ("config.reload", "local", "done")
    assert entry.before.keys() == {"keys ci", "alerts.webhook", "server.envelope_secret"}
    assert entry.after.keys() == {*entry.before, "groups research"}
    assert (entry.before["keys ci"]["group"], entry.after["keys ci"]["group"]) == (None, "research")
    assert entry.after["server.envelope_secret"] == ["env:NEW"]
    assert entry.after["alerts.webhook"] == "(an address)"
    text = str(entry)
    assert "very-secret" not in text
    assert KEYS[1].hash not in text


def test_a_reload_says_which_settings_need_a_restart():
    entry = reloaded(CONFIG, replace(CONFIG, waiting=("server.port", "server.log")))

    assert (entry.outcome, entry.before, entry.after) == ("done", None, None)
    assert entry.reason == "server.port, server.log need a restart"


def test_a_reload_that_is_not_taken_says_why():
    entry = reloaded(CONFIG, CONFIG, "gateway.toml:3: unknown setting 'prot'")

    assert (entry.outcome, entry.before, entry.after) == ("rejected", None, None)
    assert entry.reason == "gateway.toml:3: unknown setting 'prot'"


def test_the_workers_of_one_gateway_record_a_reload_once():
    several = replace(CONFIG, server=replace(CONFIG.server, workers=3))
    changed = replace(several, keys=KEYS[:1])

    ids = {reloaded(several, changed).id for _ in range(3)}

    assert len(ids) == 1
    assert reloaded(several, several).id not in ids
    assert len({reloaded(CONFIG, CONFIG).id for _ in range(3)}) == 3


# -- where it is stored ----------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path: Path) -> Iterator[LedgerDatabase]:
    made: LedgerDatabase
    if request.param == "sqlite":
        made = SqliteDatabase(tmp_path / "gateway.db")
    else:
        made = PostgresDatabase(request.getfixturevalue("postgres").make())
    yield made
    made.close()


ENTRY = AuditEntry(
    id="0",
    at=100.0,
    actor="boss",
    role="admin",
    how="key",
    address="10.0.0.7",
    action="key.change",
    subject="ci",
    before={"models": [], "budget": None},
    after={"models": ["opus"], "budget": {"cost": 2.5}},
)


def test_an_entry_is_in_the_database_once_and_as_it_was(database, tmp_path):
    ledger = Ledger(database, tmp_path / "aside")
    for _ in range(2):
        ledger.note_audit(ENTRY)
    ledger.close()

    assert load_audit_page(database, AuditFilter()).entries == [ENTRY]


def test_an_entry_is_never_changed_or_deleted(database, tmp_path):
    for entry in (ENTRY, replace(ENTRY, actor="somebody else")):
        ledger = Ledger(database, tmp_path / "aside")
        ledger.note_audit(entry)
        ledger.close()

    assert load_audit_page(database, AuditFilter()).entries == [ENTRY]
    changes = re.compile(r"(?:UPDATE|DELETE FROM|DROP TABLE|REPLACE INTO)\s+pondero_audit")
    sources = Path(gateway.__file__).parent.rglob("*.py")
    assert [each.name for each in sources if changes.search(each.read_text("utf-8"))] == []


def test_an_entry_of_a_killed_process_is_brought_in(database, tmp_path):
    if (child := os.fork()) == 0:
        away = SqliteDatabase(tmp_path / "missing" / "folder" / "x" / "gateway.db")
        Ledger(away, tmp_path / "aside").note_audit(ENTRY)
        os._exit(9)
    os.waitpid(child, 0)

    ledger = Ledger(database, tmp_path / "aside")
    for _ in range(600):
        if load_audit_page(database, AuditFilter()).entries:
            break
        sleep(0.05)
    ledger.close()
    assert load_audit_page(database, AuditFilter()).entries == [ENTRY]


names = st.sampled_from(["boss", "ci", "it's", "ü", "%", ""])
entries = st.lists(
    st.builds(
        replace,
        st.just(ENTRY),
        at=st.sampled_from([100.0, 200.0, 200.5, 300.0]),
        actor=names,
        action=st.sampled_from(["key.create", "key.block"]),
        subject=names,
        outcome=st.sampled_from(["done", "rejected"]),
    ),
    max_size=12,
)
filters = st.builds(
    AuditFilter,
    actor=st.none() | names,
    action=st.sampled_from([None, "key.create"]),
    subject=st.none() | names,
    outcome=st.sampled_from([None, "done"]),
    since=st.sampled_from([None, 200.0]),
    until=st.sampled_from([None, 200.5, 300.0]),
)


@given(made=entries, wanted=filters, count=st.integers(1, 5))
@settings(max_examples=60)
def test_pages_have_every_wanted_entry_once_newest_first(tmp_path_factory, made, wanted, count):
    database = SqliteDatabase(tmp_path_factory.mktemp("audit") / "gateway.db")
    every = [replace(entry, id=f"{number:04}") for number, entry in enumerate(made)]
    write_entries(database, every)

    pages = [load_audit_page(database, wanted, count=count)]
    while (place := pages[-1].next) is not None:
        pages.append(load_audit_page(database, wanted, before=parse_cursor(place), count=count))
    database.close()

    expected = [entry for entry in every if matches(wanted, entry)]
    expected.sort(key=lambda each: (each.at, each.id), reverse=True)
    assert [entry for page in pages for entry in page.entries] == expected
    assert all(len(page.entries) == count for page in pages[:-1])


def test_a_page_has_what_the_ledger_does_not_have_yet(database):
    gate = Gate(ledger=database)
    older = [replace(ENTRY, id=f"{number}", at=float(number)) for number in range(5)]
    write_entries(database, older)
    gate.said("PATCH", "keys/ci", {"blocked": True})

    first = json.loads(gate.said("GET", "audit?count=3").body)
    second = json.loads(gate.said("GET", f"audit?count=3&before={first['next']}").body)

    assert [each["action"] for each in first["entries"]] == [
        *("key.block", "key.change"),
        "key.change",
    ]
    assert [each["id"] for each in second["entries"]] == ["2", "1", "0"]
    assert second["next"] is None


@pytest.mark.parametrize(
    "query", ["action=eat", "outcome=maybe", "since=soon", "count=0", "before=x", "before=9e999_1"]
)
def test_a_wrong_filter_is_rejected(query):
    assert Gate().said("GET", f"audit?{query}").status == 400


def test_a_filter_is_read_from_an_address():
    found = parse_audit_filter({"actor": " boss ", "since": "1970-01-02T00:00:00Z", "action": ""})
    assert found == AuditFilter(actor="boss", since=86_400.0)


def test_the_csv_has_every_entry_and_no_formula(database):
    gate = Gate(ledger=database)
    write_entries(database, [replace(ENTRY, actor="=1+1")])

    answer = gate.said("GET", "audit.csv")

    (row,) = csv.DictReader(io.StringIO(answer.body.decode()))
    assert answer.headers["content-type"].startswith("text/csv")
    assert row["actor"] == "'=1+1"
    assert json.loads(row["after"]) == ENTRY.after


def test_no_secret_is_in_an_entry_and_none_is_too_large(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    audit = AuditLog()
    texts = {"a sk-planted-0123456789": ["sk-planted-0123456789", "\0\ud800"]}
    audit.record(None, "key.change", subject="sk-planted-0123456789", before=texts, after=texts)
    audit.record(None, "key.change", after={"models": ["x" * 400] * 1_000})

    large, small = audit.latest()
    assert "planted" not in str(small)
    assert large.after.keys() == {"omitted"}
