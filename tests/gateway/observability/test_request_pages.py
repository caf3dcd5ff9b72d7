"""Pages over the whole ledger: every request once, and little work however large it is."""

import csv
from collections.abc import Iterator
from io import StringIO

import pytest
from msgspec.structs import replace
from tests.gateway.crowd import crowd
from tests.gateway.ledger_rows import count_work, make_ledger

from pondero.errors import BadParameter
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import (
    LedgerDatabase,
    PostgresDatabase,
    SqliteDatabase,
)
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.request_filter import RequestFilter
from pondero.gateway.observability.request_pages import (
    CSV_NAMES,
    SCANNED,
    Cursor,
    RequestPage,
    find_ids,
    find_request,
    format_csv,
    iter_csv,
    load_page,
    parse_cursor,
    search_page,
)
from pondero.gateway.observability.request_row import load_requests

NOW = 1_800_000_000.0
MANY = 100_000


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> Iterator[LedgerDatabase]:
    if request.param == "sqlite":
        made: LedgerDatabase = SqliteDatabase(tmp_path / "gateway.db")
    else:
        made = PostgresDatabase(request.getfixturevalue("postgres").make())
    yield made
    made.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Iterator[SqliteDatabase]:
    made = make_ledger(tmp_path_factory.mktemp("large") / "gateway.db", MANY, until=NOW)
    yield made
    made.close()


def written(database, tmp_path, receipts) -> list[Receipt]:
    ledger = Ledger(database, tmp_path / "aside")
    every = list(receipts)
    for receipt in every:
        ledger.note(receipt)
    ledger.close()
    return every


def read_all(database, wanted, **options) -> list[RequestPage]:
    pages = [load_page(database, wanted, **options)]
    while pages[-1].next is not None:
        pages.append(load_page(database, wanted, before=parse_cursor(pages[-1].next), **options))
    return pages


@pytest.mark.parametrize("wanted", [RequestFilter(), RequestFilter(key="maria")])
@pytest.mark.parametrize("scanned", [7, 1000])
def test_pages_have_every_request_once_newest_first(database, tmp_path, wanted, scanned):
    # Several requests at one moment: the id decides their order.
    receipts = (
        replace(each, at=float(int(each.at) // 1000 * 1000)) for each in crowd(120, until=NOW)
    )
    every = written(database, tmp_path, receipts)

    pages = read_all(database, wanted, count=10, scanned=scanned)

    rows = [row for page in pages for row in page.requests]
    inside = [each for each in every if wanted.key in (None, each.key)]
    assert rows == load_requests(sorted(inside, key=lambda each: (each.at, each.id), reverse=True))
    assert all(len(page.requests) <= 10 for page in pages)


def test_a_page_in_a_time_span_has_nothing_else(database, tmp_path):
    every = written(database, tmp_path, crowd(80, until=NOW))
    since, until = every[20].at, every[50].at

    rows = load_page(database, RequestFilter(since=since, until=until), count=100).requests

    assert [row.id for row in rows] == [each.id for each in reversed(every[20:50])]


def test_one_request_is_found_by_its_id(database, tmp_path):
    every = written(database, tmp_path, crowd(5, until=NOW))

    assert find_request(database, every[2].id) == load_requests(every[2:3])[0]
    assert find_request(database, "nobody") is None


@pytest.mark.parametrize("text", ["", "soon", "_", "1e_"])
def test_a_wrong_place_is_rejected(text):
    with pytest.raises(BadParameter, match="before"):
        parse_cursor(text)


def test_a_place_survives_its_text():
    place = Cursor(1763164800.1234567, "00ab_c")

    assert parse_cursor(str(place)) == place


# -- a hundred thousand requests -------------------------------------------------------------------


def test_a_page_is_the_same_work_in_a_ledger_a_hundred_times_as_large(large, tmp_path):
    small = make_ledger(tmp_path / "small.db", MANY // 100, until=NOW)
    middle = parse_cursor(f"{NOW - MANY / 2}_")

    few = count_work(small, lambda: load_page(small, RequestFilter()))
    first = count_work(large, lambda: load_page(large, RequestFilter()))
    deep = count_work(large, lambda: load_page(large, RequestFilter(), before=middle))
    small.close()

    assert first <= 1.1 * few
    assert deep <= 1.3 * few  # each row is also compared with the place


def test_a_search_that_finds_nothing_looks_at_a_limited_number_of_rows(large):
    wanted = RequestFilter(search="needle")
    pages: list[RequestPage] = []

    one = count_work(large, lambda: pages.append(load_page(large, wanted)))
    whole = count_work(large, lambda: large.rows("SELECT sum(length(said)) FROM pondero_receipts"))

    (page,) = pages
    assert page.requests == []
    assert page.searched == NOW - SCANNED
    assert one < 100 * SCANNED  # instructions for a row with its eight texts
    assert whole > 4 * MANY  # which the count really counts


def test_a_search_goes_on_until_it_finds_the_needle(large):
    pages = read_all(large, RequestFilter(search="needle"))

    assert [row.reason for page in pages for row in page.requests] == ["needle in a haystack"]
    assert len(pages) == MANY // SCANNED + 1


def test_a_search_of_all_is_one_answer_if_there_is_time(large):
    page = search_page(large, RequestFilter(search="needle"), seconds=60)

    assert [row.reason for row in page.requests] == ["needle in a haystack"]
    assert (page.next, page.searched) == (None, None)


def test_a_search_that_runs_out_of_time_says_how_far_it_looked(large):
    page = search_page(large, RequestFilter(search="needle"), seconds=0)

    assert (page.requests, page.searched) == ([], NOW - SCANNED)


def test_a_full_page_is_not_searched_further(large):
    page = search_page(large, RequestFilter(search="model-2"), count=7, seconds=60)

    assert len(page.requests) == 7
    assert page.searched is None
    assert page == load_page(large, RequestFilter(search="model-2"), count=7)


def test_the_ids_of_a_search_are_found_in_every_part_of_a_time_span(database, tmp_path):
    every = written(database, tmp_path, crowd(120, until=NOW))
    inside = [each for each in every if NOW - 50_000 <= each.at < NOW - 5_000]
    wanted = RequestFilter(search="MARIA", since=NOW - 50_000, until=NOW - 5_000)
    sought = [each.id for each in inside if each.key == "maria"]
    assert len(sought) > 1

    assert sorted(find_ids(database, wanted, most=len(sought)) or ()) == sorted(sought)
    assert find_ids(database, wanted, most=len(sought) - 1) is None
    assert find_ids(database, wanted, most=1000, stopped=lambda: True) is None


def test_a_search_looks_at_each_row_of_a_time_span_once(large):
    """Of two lower ends of the time, SQLite must not take the one that is further away."""
    span = RequestFilter(search="needle", since=NOW - MANY, until=NOW)
    parts = RequestFilter(search="needle")

    assert count_work(large, lambda: find_ids(large, span, most=10)) < 1.2 * count_work(
        large, lambda: find_ids(large, parts, most=10)
    )
    assert count_work(large, lambda: read_all(large, span)) < 1.2 * count_work(
        large, lambda: read_all(large, parts)
    )


# -- CSV -------------------------------------------------------------------------------------------


def test_csv_has_all_that_is_filtered(large):
    lines = "".join(iter_csv(large, RequestFilter(key="key-3", end="failed")))

    rows = list(csv.reader(StringIO(lines)))
    assert len(rows) == sum(n % 7 == 3 and n % 50 == 0 for n in range(MANY))
    assert all(len(row) == len(CSV_NAMES) for row in rows)
    assert {row[CSV_NAMES.index("status")] for row in rows} == {"529"}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", '=a"b,c\n'])
def test_no_name_in_csv_is_a_formula(name):
    (row,) = load_requests([Receipt(id="1", at=NOW, key=name, front="x", said=name)])

    (cells,) = csv.reader(StringIO(format_csv([row]), newline=""))
    assert cells[CSV_NAMES.index("key")] == f"'{row.key}"
    assert cells[CSV_NAMES.index("requested_model")] == f"'{row.requested_model}"
