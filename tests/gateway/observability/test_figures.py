"""What the console shows of the ledger adds up to what was written into it."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import pytest
from tests.gateway.crowd import crowd
from tests.gateway.postgres import Postgres

from pondero.canon import Usage
from pondero.gateway.observability.figures import load_figures
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import (
    LedgerDatabase,
    PostgresDatabase,
    SqliteDatabase,
)
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.request_filter import RequestFilter
from pondero.gateway.observability.request_pages import load_page
from pondero.gateway.observability.request_row import level_bucket, load_requests
from pondero.gateway.observability.time_range import SPANS

NOW = 1_800_000_000.0


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> Iterator[LedgerDatabase]:
    if request.param == "sqlite":
        made: LedgerDatabase = SqliteDatabase(tmp_path / "gateway.db")
    else:
        server: Postgres = request.getfixturevalue("postgres")
        made = PostgresDatabase(server.make())
    yield made
    made.close()


def written(database, tmp_path, receipts) -> list[Receipt]:
    ledger = Ledger(database, tmp_path / "aside")
    every = list(receipts)
    for receipt in every:
        ledger.note(receipt)
    ledger.close()
    return every


@pytest.mark.parametrize("span", SPANS)
def test_the_slices_of_a_span_add_up_to_its_requests(database, tmp_path, span):
    every = written(database, tmp_path, crowd(400, until=NOW, hours=40 * 24))

    found = load_figures(database, span, now=NOW)

    inside = [each for each in every if each.at >= found.since]
    assert 0 < len(inside) < 400 or span == "month"
    assert sum(each.requests for each in found.slices) == len(inside)
    assert sum(each.thinking for each in found.slices) == sum(r.usage.thinking or 0 for r in inside)
    assert sum(each.answer for each in found.slices) == sum(r.usage.output or 0 for r in inside)
    assert sum(Decimal(each.cost or 0) for each in found.slices) == sum(r.cost or 0 for r in inside)
    assert found.ends == Counter(each.end for each in inside)
    steps = range(found.since, found.until, found.step)
    assert all(each.at in steps for each in found.slices)
    assert len(steps) <= 60


def test_ceilings_are_counted_by_whom_they_bit(database, tmp_path):
    every = written(database, tmp_path, crowd(300, until=NOW, hours=20))

    found = load_figures(database, "day", now=NOW)

    capped = [each for each in every if each.why == "cap"]
    assert capped
    assert sum(bite.times for bite in found.bites) == len(capped)
    assert {(bite.why, bite.key, bite.sent) for bite in found.bites} == {("cap", "ci", "medium")}


def test_what_was_refused_for_a_budget_or_a_model_is_a_bite_too(database, tmp_path):
    refused = [
        Receipt(id=f"{n}", at=NOW - n, key="ci", front="x", said="opus", status=s, end="refused")
        for n, s in enumerate((429, 429, 403, 404))
    ]
    written(database, tmp_path, refused)

    found = load_figures(database, "hour", now=NOW)

    assert {(bite.why, bite.times) for bite in found.bites} == {("limit", 2), ("model", 1)}
    assert found.slices == []


def test_codes_of_adjustments_are_counted_one_by_one(database, tmp_path):
    notes = [("a", "b"), ("b",), ()]
    written(
        database,
        tmp_path,
        [
            Receipt(id=f"{n}", at=NOW, key="ci", front="x", adjustments=codes)
            for n, codes in enumerate(notes)
        ],
    )

    assert load_figures(database, "hour", now=NOW).adjustments == {"b": 2, "a": 1}


def test_a_row_of_the_ledger_is_the_row_of_its_receipt(database, tmp_path):
    every = written(database, tmp_path, crowd(30, until=NOW))

    page = load_page(database, RequestFilter(), count=10)
    assert page.requests == load_requests(reversed(every[-10:]))


def test_a_key_of_this_process_is_in_no_row(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    receipt = Receipt(
        id="1", at=NOW, key="x", front="y", said="sk-planted-0123456789", usage=Usage()
    )

    assert "planted" not in str(load_requests([receipt]))


@pytest.mark.parametrize(
    ("sent", "level"),
    [("high", "high"), ("off", "off"), ("0", "off"), ("8000", "medium"), ("60000", "max")],
)
def test_a_number_of_tokens_counts_as_the_level_it_is_near(sent, level):
    assert level_bucket(sent) == level


@pytest.mark.parametrize("sent", [None, "None", "ultra"])
def test_what_is_no_level_counts_as_none(sent):
    assert level_bucket(sent) is None
