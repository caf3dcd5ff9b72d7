"""What the console shows of the ledger adds up to what was written into it."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.crowd import crowd
from tests.gateway.ledger_rows import count_work, make_ledger
from tests.gateway.postgres import Postgres

from pondero.canon import Usage
from pondero.errors import StoreError
from pondero.gateway.observability import figures
from pondero.gateway.observability.figures import (
    PERCENTILES,
    find_percentiles,
    load_choices,
    load_figures,
)
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import (
    LedgerDatabase,
    PostgresDatabase,
    SqliteDatabase,
)
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.request_filter import RequestFilter, matches
from pondero.gateway.observability.request_pages import find_ids, load_page
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
    assert all(each.at in steps for each in (*found.slices, *found.steps))
    assert sum(each.requests for each in found.steps) == len(inside)
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
    admin = Receipt(id="a", at=NOW, key="ci", front="", status=403, end="refused")  # names no model
    written(database, tmp_path, [*refused, admin])

    found = load_figures(database, "hour", now=NOW)

    assert {(bite.why, bite.times) for bite in found.bites} == {("limit", 2), ("model", 1)}
    assert found.slices == []
    assert sum(each.requests for each in found.steps) == 5


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


@pytest.mark.parametrize("wanted", [RequestFilter(), RequestFilter(key="maria")])
def test_models_and_keys_add_up_to_what_is_filtered(database, tmp_path, wanted):
    every = written(database, tmp_path, crowd(400, until=NOW))

    found = load_figures(database, "day", now=NOW, wanted=wanted)

    inside = [each for each in every if wanted.key in (None, each.key)]
    for totals in (found.models, found.keys):
        assert sum(each.requests for each in totals) == len(inside)
        assert sum(each.failed for each in totals) == sum(r.end == "failed" for r in inside)
        assert sum(each.thinking for each in totals) == sum(r.usage.thinking or 0 for r in inside)
        assert sum(Decimal(each.cost or 0) for each in totals) == sum(r.cost or 0 for r in inside)
    assert {each.key for each in found.keys} == {each.key for each in inside}
    assert sum(each.requests for each in found.statuses) == len(inside)


def test_percentiles_are_those_of_the_sorted_answers(database, tmp_path):
    every = written(database, tmp_path, crowd(700, until=NOW))

    for total in load_figures(database, "day", now=NOW).models:
        took = sorted(r.seconds for r in every if r.answered_by == total.model and r.end == "done")
        exact = [took[ceil(share * len(took)) - 1] for share in PERCENTILES]
        assert total.seconds == pytest.approx(exact, rel=0.011)
        assert total.first == pytest.approx((0.4,) * len(PERCENTILES))


@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(values):
    ordered = sorted(values)

    found = find_percentiles(Counter(values))

    assert found == tuple(ordered[ceil(p * len(ordered)) - 1] / 1000 for p in PERCENTILES)


def test_a_day_in_its_first_hour_is_drawn_minute_by_minute(database, tmp_path):
    every = written(database, tmp_path, crowd(300, until=NOW, hours=0.5))

    found = load_figures(database, "day", now=NOW)

    assert found.step == 60
    assert len({each.at for each in found.slices}) > 20
    assert sum(each.requests for each in found.slices) == len(every)


def test_a_named_time_is_drawn_and_nothing_else(database, tmp_path):
    every = written(database, tmp_path, crowd(300, until=NOW))
    since, until = every[100].at, every[200].at

    found = load_figures(database, "hour", now=NOW, wanted=RequestFilter(since=since, until=until))

    assert sum(each.requests for each in found.slices) == 100
    assert found.since <= since
    assert found.until >= until


def test_figures_that_nobody_waits_for_are_not_added_up(database, tmp_path):
    written(database, tmp_path, crowd(5, until=NOW))
    looks = iter((False, False, True))

    with pytest.raises(StoreError, match="not wanted"):
        load_figures(database, "day", now=NOW, stopped=lambda: next(looks))
    assert list(looks) == []


@pytest.mark.parametrize("search", ["maria", "MARIA opus", "nothing-has-this"])
def test_a_search_has_the_same_figures_whether_it_finds_few_or_many(
    database, tmp_path, monkeypatch, search
):
    every = written(database, tmp_path, crowd(300, until=NOW, hours=20))
    wanted = RequestFilter(search=search)

    few = load_figures(database, "day", now=NOW, wanted=wanted)
    monkeypatch.setattr(figures, "_RARE", 0)
    many = load_figures(database, "day", now=NOW, wanted=wanted)

    assert few == many
    found = [row for row in load_requests(every) if matches(wanted, row)]
    assert sum(few.ends.values()) == len(found)


def test_the_figures_of_a_rare_search_are_little_more_work_than_the_search(tmp_path):
    large = make_ledger(tmp_path / "gateway.db", 50_000, until=NOW)
    wanted = RequestFilter(search="needle", since=NOW - 100_000)

    search = count_work(large, lambda: find_ids(large, wanted, most=10))
    all_of_it = count_work(large, lambda: load_figures(large, "month", now=NOW, wanted=wanted))
    large.close()

    assert all_of_it < 1.5 * search


def test_what_occurs_can_be_chosen(database, tmp_path):
    every = written(database, tmp_path, crowd(200, until=NOW))

    found = load_choices(database, "day", now=NOW)

    assert found.keys == sorted({each.key for each in every})
    assert found.models == sorted({str(each.answered_by) for each in every})
    assert found.statuses == sorted({each.status for each in every})
    assert found.purposes == found.routes == []


def test_groups_add_up_to_the_keys_that_were_in_them(database, tmp_path):
    every = written(database, tmp_path, crowd(300, until=NOW, hours=20))

    found = load_figures(database, "day", now=NOW)
    alone = load_figures(database, "day", now=NOW, wanted=RequestFilter(group="research"))

    (group,) = found.groups
    inside = [each for each in every if each.group == "research"]
    assert 0 < len(inside) < len(every)
    assert (group.group, group.keys, group.requests) == ("research", 2, len(inside))
    assert Decimal(group.cost or 0) == sum(each.cost or 0 for each in inside)
    assert group.thinking == sum(each.usage.thinking or 0 for each in inside)
    assert {each.key for each in alone.keys} == {"ci", "maria"}
    assert load_choices(database, "day", now=NOW).groups == ["research"]
