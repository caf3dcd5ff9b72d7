"""The ledger: a row for every request, in SQLite and in PostgreSQL, whatever happens to them."""

import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from time import sleep

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero.canon import Usage, dump_json
from pondero.errors import StoreError
from pondero.gateway.observability import journal
from pondero.gateway.observability import ledger as ledgers
from pondero.gateway.observability import ledger_database as databases
from pondero.gateway.observability.ledger import (
    COLUMNS,
    Ledger,
    make_rows,
    query_usage,
    round_dollars,
)
from pondero.gateway.observability.ledger_database import (
    SCHEMA,
    PostgresDatabase,
    SqliteDatabase,
    ledger_database,
)
from pondero.gateway.observability.receipt import KILLED, NO_LEVEL, Receipt
from pondero.store import Schema

RECEIPT = Receipt(
    id="0" * 24,
    at=1763164800.25,
    key="ci",
    front="chat",
    said="opus/high",
    provider="north",
    model="m1",
    road="translated",
    asked="high",
    sent="medium",
    why="cap",
    adjustments=("level", "cap"),
    finish="stop",
    purpose="title",
    route="opus",
    verdict="as planned",
    usage=Usage(100, 5, None, 20, 80, 205),
    tries=1,
    stream=True,
    first=0.25,
    seconds=1.5,
    cost=Decimal("0.0000123455"),
    first_try=0.01,
    last_try=0.125,
    first_answer=0.75,
    endpoint="embeddings",
    units="pages=2",
    group="research",
)
COUNT = "SELECT count(*) FROM pondero_receipts"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        made = SqliteDatabase(tmp_path / "gateway.db")
    else:
        made = PostgresDatabase(request.getfixturevalue("postgres").make())
    yield made
    made.close()


def receipts(count: int, **fields) -> list[Receipt]:
    return [replace(RECEIPT, id=f"{number:024x}", **fields) for number in range(count)]


def written(database, each: list[Receipt], aside: Path) -> None:
    ledger = Ledger(database, aside)
    for receipt in each:
        ledger.note(receipt)
    ledger.close()


def test_a_request_is_a_row_and_closing_writes_all_of_them(database, tmp_path):
    written(database, receipts(1000), tmp_path / "aside")
    assert database.rows(COUNT) == [(1000,)]
    (row,) = database.rows("SELECT * FROM pondero_receipts WHERE id = ?", (RECEIPT.id,))
    assert row == (
        *("0" * 24, 1763164800.25, 29386080, "ci", "chat", "opus/high", "north", "m1"),
        *("translated", "high", "medium", "cap", "level cap", 200, "done", "stop", "as planned"),
        *(100, 5, None, 20, 80, 12346, 1, 1, 0.25, 1.5, 0, 0, None, "title", "opus"),
        *(0.01, 0.125, 0.75, "embeddings", "pages=2", None, "research"),
    )


def test_requests_that_know_different_things_have_their_rows(database, tmp_path):
    """Rows with the same columns are written together, if there are many."""
    some = {"asked": None, "cost": None, "route": None, "first": None}
    plain = {**some, "provider": None, "model": None, "group": None, "usage": Usage()}
    kinds = [{}, some, plain, {**plain, "status": 403, "reason": "rejected", "end": "refused"}]
    each = receipts(300)
    each = [replace(one, **kinds[index % 7 % 4]) for index, one in enumerate(each)]
    assert len(list(ledgers._group_rows(make_rows(each)))) == 4  # the last kind has few
    database.write(ledgers._INSERT, make_rows([replace(each[1], reason=KILLED)]))
    written(database, each, tmp_path / "aside")
    names = ", ".join(COLUMNS)
    assert database.rows(f"SELECT {names} FROM pondero_receipts ORDER BY id") == make_rows(each)


def test_a_row_has_a_reason_as_a_whole_sentence():
    (row,) = make_rows([replace(RECEIPT, reason="r" * 390)])
    assert row[COLUMNS.index("reason")] == "r" * 390


def test_a_row_that_is_written_twice_is_there_once(database, tmp_path):
    for _ in range(2):
        written(database, receipts(3), tmp_path / "aside")
    assert database.rows(COUNT) == [(3,)]


BEGUN = """
import os, sys, time
from pathlib import Path
from msgspec.structs import replace
from tests.gateway.observability.test_ledger import RECEIPT, until
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import SqliteDatabase
from pondero.gateway.observability.receipt import KILLED

folder = Path(sys.argv[1])
database = SqliteDatabase(folder / "gateway.db")
ledger = Ledger(database, folder / "aside")
begun = replace(RECEIPT, end="failed", reason=KILLED, estimated=True, cost=None)
for id in ("ended", "open", "late"):
    ledger.save_begun(replace(begun, id=id))
ledger.note(replace(RECEIPT, id="ended"))
until(lambda: database.rows("SELECT count(*) FROM pondero_receipts") == [(1,)])
ledger.note(replace(RECEIPT, id="late"))
os._exit(9)
"""


def until(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        sleep(0.05)
    raise AssertionError("it never came true")


def test_a_request_that_a_killed_process_had_open_has_a_row_of_the_most_it_may_have_taken(tmp_path):
    killed = subprocess.run([sys.executable, "-c", BEGUN, str(tmp_path)], check=False)
    assert killed.returncode == 9
    database = SqliteDatabase(tmp_path / "gateway.db")
    ledger, noticed = Ledger(database, tmp_path / "aside"), []
    ledger.notice_killed = noticed.append
    until(lambda: database.rows(COUNT) == [(3,)])
    ledger.close()
    rows = database.rows("SELECT id, ended, reason, estimated, thinking FROM pondero_receipts")
    assert sorted(rows) == [
        ("ended", "done", None, 0, 80),
        ("late", "done", None, 0, 80),
        ("open", "failed", KILLED, 1, 80),
    ]
    assert [receipt.id for receipt in noticed] == ["open"]
    assert list((tmp_path / "aside").iterdir()) == []
    database.close()


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_of_two_files_of_a_killed_process_the_newer_one_counts(tmp_path, names):
    """While the ledger is away a process appends to the second; a request may ask another model."""
    begun = replace(RECEIPT, end="failed", reason=KILLED, estimated=True, cost=None)
    more = replace(begun, id="open", usage=Usage(200, output=200, thinking=160), tries=2)
    texts = (
        [replace(begun, id="open"), replace(begun, id="ended")],
        [more, replace(RECEIPT, id="ended")],
    )
    aside = tmp_path / "aside"
    aside.mkdir()
    for number, (name, receipts) in enumerate(zip(names, texts, strict=True)):
        mark = {True: b"?", False: b""}
        lines = [mark[each.reason == KILLED] + dump_json(each).encode() for each in receipts]
        (aside / f"{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        os.utime(aside / f"{name}.jsonl", (number, number))
    database = SqliteDatabase(tmp_path / "gateway.db")
    ledger, noticed = Ledger(database, aside), []
    ledger.notice_killed = noticed.append
    until(lambda: not (aside / "a.jsonl").exists() and not (aside / "b.jsonl").exists())
    ledger.close()
    rows = database.rows("SELECT id, ended, thinking, tries FROM pondero_receipts ORDER BY id")
    assert rows == [("ended", "done", 80, RECEIPT.tries), ("open", "failed", 160, 2)]
    assert [(each.id, each.usage.thinking) for each in noticed] == [("open", 160)]
    database.close()


def test_the_end_of_a_request_replaces_the_row_of_its_beginning(database, tmp_path):
    begun = replace(RECEIPT, end="failed", reason=KILLED, estimated=True)
    for receipt in (begun, RECEIPT, begun):
        written(database, [receipt], tmp_path / "aside")
    rows = database.rows("SELECT ended, reason, estimated FROM pondero_receipts")
    assert rows == [("done", None, 0)]


def test_the_usage_of_a_request_without_a_level_has_none(database, tmp_path):
    written(database, [replace(RECEIPT, sent=NO_LEVEL)], tmp_path / "aside")
    assert [each.level for each in query_usage(database)] == [None]


def test_what_was_taken_adds_up_by_key_model_and_level(database, tmp_path):
    each = [
        *receipts(3),
        replace(RECEIPT, id="left", end="left", usage=Usage(9, output=9)),
        replace(RECEIPT, id="failed", end="failed", usage=Usage(), cost=None),
        replace(RECEIPT, id="other", key="you", usage=Usage(1), cost=None),
        replace(RECEIPT, id="emulated", offline=True),
        replace(RECEIPT, id="refused", model=None, provider=None, end="refused", status=404),
    ]
    written(database, each, tmp_path / "aside")
    found = {(each.key, each.offline): each for each in query_usage(database)}
    assert set(found) == {("ci", False), ("ci", True), ("you", False)}
    mine = found["ci", False]
    assert (mine.model, mine.level, mine.replies, mine.priced) == ("north:m1", "medium", 4, 4)
    assert (mine.input, mine.cached, mine.thinking, mine.output) == (309, 15, 240, 69)
    assert (mine.cost, mine.seconds) == ("0.000049384", 6.0)
    yours = found["you", False]
    assert (yours.thinking, yours.output, yours.cost, yours.priced) == (None, None, None, 0)
    assert query_usage(database, days=1) == []


_words = st.text(max_size=300)
_odd = st.builds(
    Receipt,
    id=st.uuids().map(str),
    at=st.floats(0, 4e9),
    key=_words,
    front=st.just("chat"),
    said=_words,
    provider=st.none() | st.just("north"),
    model=st.none() | _words,
    usage=st.builds(Usage, *[st.none() | st.integers(-(2**70), 2**70)] * 5),
    cost=st.none() | st.decimals(0, 10**6, allow_nan=False, places=12),
)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_request_is_too_odd_to_be_written(kind, request, tmp_path):
    """Names are whatever a client says, counts whatever a service says; one must not stop all."""
    sqlite = SqliteDatabase(tmp_path / "gateway.db")
    database = (
        sqlite if kind == "sqlite" else PostgresDatabase(request.getfixturevalue("postgres").make())
    )

    @settings(max_examples=50)
    @given(st.lists(_odd, max_size=5, unique_by=lambda each: each.id))
    def law(each):
        database.write("DELETE FROM pondero_receipts WHERE ? = 1", [(1,)])
        database.write(ledgers._INSERT, make_rows(each))
        assert database.rows(COUNT) == [(len(each),)]
        billionths = sum(r.cost.quantize(Decimal("1e-9")) for r in each if r.cost is not None)
        total = database.rows("SELECT sum(cost) FROM pondero_receipts")[0][0]
        assert Decimal(round_dollars(total) or 0) == Decimal(billionths)

    law()
    database.close()


def test_a_database_that_goes_away_loses_nothing(postgres, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(ledgers, "REST", 0.0)
    aside = tmp_path / "aside"
    database = PostgresDatabase(postgres.make())
    ledger = Ledger(database, aside)
    each = receipts(30)
    with caplog.at_level(logging.WARNING, "pondero.gateway"):
        for receipt in each[:10]:
            ledger.note(receipt)
        _until(lambda: database.rows(COUNT) == [(10,)])
        postgres.kill()
        for receipt in each[10:20]:
            ledger.note(receipt)
        _until(lambda: ledger.away and list(aside.iterdir()))
        postgres.start()
        for receipt in each[20:]:
            ledger.note(receipt)
        _until(lambda: not ledger.away)
        ledger.close()
    assert database.rows(COUNT) == [(30,)]  # it opens again
    database.close()
    assert list(aside.iterdir()) == []
    said = [record.message for record in caplog.records]
    assert len([text for text in said if "is away" in text]) == 1
    assert len([text for text in said if "is back" in text]) == 1
    assert "planted-password" not in caplog.text


def test_what_was_put_aside_by_a_process_that_ended_is_brought_in_by_the_next(tmp_path, caplog):
    aside = tmp_path / "aside"
    away = PostgresDatabase("postgresql://nobody:planted-password@127.0.0.1:1/none")
    written(away, receipts(5, said="\ud800", usage=Usage(2**80)), aside)
    assert [len(path.read_bytes().splitlines()) for path in aside.iterdir()] == [5]
    database = SqliteDatabase(tmp_path / "gateway.db")
    written(database, [], aside)
    assert database.rows(COUNT) == [(5,)]
    assert list(aside.iterdir()) == []
    assert "planted-password" not in caplog.text


def test_where_nothing_can_be_put_aside_it_waits_in_memory(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(ledgers, "REST", 0.0)
    aside = tmp_path / "a-file"
    aside.write_text("in the way")
    database = Failing(SqliteDatabase(tmp_path / "gateway.db"))
    ledger = Ledger(database, aside)
    for receipt in receipts(5):
        ledger.note(receipt)
    _until(lambda: ledger.away)
    assert caplog.text.count("wait in memory") == 1
    assert (ledger.held, ledger.lost) == (5, 0)
    database.fails = False
    ledger.close()
    assert database.inner.rows(COUNT) == [(5,)]


def test_a_request_that_found_no_room_on_disk_counts_once(tmp_path, monkeypatch, caplog):
    """Of its beginning nothing is kept in memory, which would be lost together with it."""
    ledger = Ledger(Failing(SqliteDatabase(tmp_path / "gateway.db")), tmp_path / "aside")
    ledger._work.close(1)  # its thread must not write meanwhile
    monkeypatch.setattr(journal.os, "write", lambda *_: 0)  # the disk is full
    for receipt in receipts(3):
        ledger.save_begun(receipt)
        ledger.note(receipt)
    assert ledger.held == 3
    ledger.close()
    assert "3 requests are lost" in caplog.text


def test_receipts_that_come_together_are_written_together_and_each_has_its_row(
    tmp_path, monkeypatch
):
    database = SqliteDatabase(tmp_path / "gateway.db")
    ledger = Ledger(database, tmp_path / "aside")
    ledger._work.close(1)  # its thread must not write meanwhile
    one, *more = receipts(7)
    ledger.save_begun(one)
    wrote, write = [], os.write
    with monkeypatch.context() as patch:
        patch.setattr(
            journal.os, "write", lambda file, data: wrote.append(data) or write(file, data)
        )
        ledger.note_all([one, *more[:3]])
        patch.setattr(journal.os, "write", lambda *_: 0)  # the disk is full
        ledger.note_all(more[3:])
    assert [data.count(b"\n") for data in wrote] == [4]
    assert ledger.held == 3
    ledger._write()
    assert database.rows(f"{COUNT} WHERE ended = 'done'") == [(7,)]
    ledger.close()


def test_requests_that_begin_together_are_saved_in_one_write_before_any_of_them_ends(
    tmp_path, monkeypatch
):
    database = SqliteDatabase(tmp_path / "gateway.db")
    ledger = Ledger(database, tmp_path / "aside")
    ledger._work.close(1)  # its thread must not write meanwhile
    one, *more = receipts(4)
    wrote, write = [], os.write
    with monkeypatch.context() as patch:
        patch.setattr(
            journal.os, "write", lambda file, data: wrote.append(data) or write(file, data)
        )
        for receipt in more:
            ledger.add_begun(receipt)
        assert wrote == []
        ledger.flush_begun()
        ledger.flush_begun()
        ledger.add_begun(one)
        ledger.note_all([one])
    assert [data[:1] for data in wrote] == [b"?", b"?", b"{"]
    assert [data.count(b"\n") for data in wrote] == [3, 1, 1]
    ledger.close()


def test_what_waited_in_memory_is_not_forgotten_when_it_finds_room(tmp_path, monkeypatch):
    """What it says is then on disk alone, next to records that need not be read from there."""
    monkeypatch.setattr(ledgers, "REST", 0.0)
    database = Failing(SqliteDatabase(tmp_path / "gateway.db"))
    ledger = Ledger(database, tmp_path / "aside")
    ledger._work.close(1)  # its thread must not write meanwhile
    first, second, third = receipts(3)
    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "write", lambda *_: 0)
        ledger.note(first)
    assert ledger.held == 1
    ledger.note(second)
    ledger._write()
    assert ledger.away
    ledger.note(third)
    assert ledger.held == 0
    database.fails = False
    ledger._write()
    assert database.inner.rows(COUNT) == [(3,)]
    ledger.close()


def test_more_records_than_a_file_remembers_are_read_from_it(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "_REMEMBERED", 3)
    database = SqliteDatabase(tmp_path / "gateway.db")
    ledger = Ledger(database, tmp_path / "aside")
    ledger._work.close(1)  # its thread must not write meanwhile
    for receipt in receipts(5):
        ledger.note(receipt)
    assert ledger._journal.find_full().records is None
    ledger._write()
    assert database.rows(COUNT) == [(5,)]
    ledger.close()


def test_a_record_is_read_from_the_journal_only_if_it_must_be(tmp_path, monkeypatch):
    monkeypatch.setattr(journal.JournalFile, "chunks", lambda _: pytest.fail("it was read"))
    database = SqliteDatabase(tmp_path / "gateway.db")
    written(database, receipts(5), tmp_path / "aside")
    assert database.rows(COUNT) == [(5,)]


def test_beyond_its_most_the_oldest_in_memory_are_lost_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "REST", 0.0)
    monkeypatch.setattr(journal, "MOST", 3)
    aside = tmp_path / "a-file"
    aside.write_text("in the way")
    database = Failing(SqliteDatabase(tmp_path / "gateway.db"))
    ledger = Ledger(database, aside)
    noted = list(receipts(5))
    for receipt in noted:
        ledger.note(receipt)
    _until(lambda: ledger.lost)
    assert (ledger.held, ledger.lost) == (3, 2)
    database.fails = False
    ledger.close()
    kept = {row[0] for row in database.inner.rows("SELECT id FROM pondero_receipts")}
    assert kept == {each.id for each in noted[2:]}


class Failing:
    """A database that is away for as long as it is told to be."""

    def __init__(self, inner) -> None:
        self.inner = inner
        self.fails = True

    def write(self, sql, rows) -> None:
        if self.fails:
            raise StoreError("it is away")
        self.inner.write(sql, rows)

    def rows(self, sql, values=()):
        return self.inner.rows(sql, values)

    def close(self) -> None:
        pass


def test_processes_that_start_at_once_make_the_tables_once(postgres):
    address = postgres.make()
    databases = [PostgresDatabase(address) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda each: each.rows(COUNT), databases)) == [[(0,)]] * 8
    for each in databases:
        each.close()
    with psycopg.connect(address) as connection:
        versions = connection.execute("SELECT version FROM pondero_form").fetchall()
        assert versions == [(number + 1,) for number in range(len(SCHEMA.migrations))]


def test_a_ledger_without_deployments_gets_their_column_and_keeps_its_rows(
    postgres, tmp_path, monkeypatch
):
    address, path = postgres.make(), tmp_path / "gateway.db"
    before = replace(SCHEMA, migrations=SCHEMA.migrations[:4])
    row = ", ".join(
        ("'1'", "1.0", "1", *["'x'"] * 4, "'x'", *["1"], "'done'", "1", "1", "2.0", "0")
    )
    names = "id, at, minute, key, front, said, road, adjustments, status, ended, tries, stream, "
    insert = f"INSERT INTO pondero_receipts ({names}seconds, offline) VALUES ({row})"
    with monkeypatch.context() as patch:
        patch.setattr("pondero.gateway.observability.ledger_database.SCHEMA", before)
        for old in (SqliteDatabase(path), PostgresDatabase(address)):
            old.write(insert, [()])
            old.close()
    for new in (SqliteDatabase(path), PostgresDatabase(address)):
        assert new.rows("SELECT id, deployment FROM pondero_receipts") == [("1", None)]
        new.close()


def test_a_ledger_of_a_newer_pondero_is_left_alone(postgres, tmp_path):
    address = postgres.make()
    database = PostgresDatabase(address)
    database.write("INSERT INTO pondero_form VALUES (?)", [(99,)])
    database.close()
    with pytest.raises(StoreError, match="newer pondero"):
        database.rows(COUNT)
    path = tmp_path / "gateway.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="newer pondero"):
        SqliteDatabase(path).rows(COUNT)


def test_the_configuration_names_the_database(data_dir, monkeypatch):
    monkeypatch.setenv("LEDGER", "postgresql://somewhere/books")
    assert ledger_database("off") is None
    assert isinstance(ledger_database("env:LEDGER"), PostgresDatabase)
    ledger_database("sqlite").rows(COUNT)
    assert (data_dir / "gateway.db").stat().st_mode & 0o777 == 0o600


def _until(true) -> None:
    for _ in range(600):
        if true():
            return
        sleep(0.05)
    raise AssertionError("it never came true")


def test_a_cost_beyond_measure_stops_no_row(database):
    rows = make_rows([replace(RECEIPT, cost=Decimal(10) ** 30), replace(RECEIPT, id="1" * 24)])
    database.write(ledgers._INSERT, rows)
    assert database.rows(COUNT) == [(2,)]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_ledger_of_the_version_before_groups_keeps_its_rows(request, tmp_path, monkeypatch, kind):
    """A file on disk, or the tables of a server, get the new column and the new table."""
    address = request.getfixturevalue("postgres").make() if kind == "postgresql" else ""

    def open_database() -> SqliteDatabase | PostgresDatabase:
        return PostgresDatabase(address) if address else SqliteDatabase(tmp_path / "gateway.db")

    before_groups = [each for each in SCHEMA.migrations if "key_group" not in str(each)]
    assert SCHEMA.migrations[: len(before_groups)] == tuple(before_groups)
    old = Schema(tuple(before_groups), SCHEMA.probe)
    columns = [name for name in COLUMNS if name != "key_group"]
    marks = ", ".join("?" for _ in columns)
    (row,) = make_rows([RECEIPT])
    with monkeypatch.context() as before:
        before.setattr(databases, "SCHEMA", old)
        database = open_database()
        insert = f"INSERT INTO pondero_receipts ({', '.join(columns)}) VALUES ({marks})"
        database.write(insert, [row[:-1]])
        database.close()

    database = open_database()
    written(database, receipts(2)[1:], tmp_path / "aside")
    database = open_database()

    assert database.rows("SELECT id, key_group FROM pondero_receipts ORDER BY id") == [
        (RECEIPT.id, None),
        (f"{1:024x}", "research"),
    ]
    assert database.rows("SELECT count(*) FROM pondero_audit") == [(0,)]
    database.close()


def test_a_long_query_keeps_neither_a_page_nor_a_record_waiting(tmp_path):
    database = SqliteDatabase(tmp_path / "gateway.db")
    first, second = make_rows(receipts(2))
    database.write(ledgers._INSERT, [first])
    long = (
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers "
        "WHERE n < 20000000) SELECT count(*) FROM numbers"
    )
    with ThreadPoolExecutor(1) as pool:
        query = pool.submit(database.rows, long)
        sleep(0.1)
        assert database.rows(COUNT) == [(1,)]
        database.write(ledgers._INSERT, [second])
        assert not query.done()
        assert query.result() == [(20_000_000,)]
    assert database.rows(COUNT) == [(2,)]
    database.close()


def test_a_connection_that_is_used_while_the_database_is_closed_is_closed_after_it(tmp_path):
    database = SqliteDatabase(tmp_path / "gateway.db")
    with database._connection() as used:
        database.close()
        assert used.rows(COUNT) == [(0,)]
    with pytest.raises(StoreError):
        used.rows(COUNT)
    assert database.rows(COUNT) == [(0,)]  # on a new one
    database.close()
