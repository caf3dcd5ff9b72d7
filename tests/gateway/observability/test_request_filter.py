"""A filter means the same in SQL, for the ledger, and in Python, for live rows."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero.canon import Usage
from pondero.errors import BadParameter
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import (
    LedgerDatabase,
    PostgresDatabase,
    SqliteDatabase,
)
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.request_filter import (
    ENDS,
    RequestFilter,
    make_clause,
    matches,
    parse_filter,
)
from pondero.gateway.observability.request_row import load_requests

NAMES = ("ci", "CI", "a%b", "a_b", "a!b", "axb", "ü ber", "Ü", "it's", '"', "--", "")
LEVELS = (None, "None", "nothing", "off", "high", "0", "4096", "on")
name = st.sampled_from(NAMES)
optional = st.none() | name
receipt = st.builds(
    Receipt,
    id=st.just("0"),
    at=st.sampled_from((100.0, 200.0, 200.5, 300.0)),
    key=name,
    front=st.just("chat"),
    said=name,
    provider=st.sampled_from(("north", "south")),
    model=st.sampled_from((None, "m1", "m:1", "M2")),
    sent=st.sampled_from(LEVELS),
    why=st.sampled_from((None, "cap", "rule:ci")),
    adjustments=st.sampled_from(((), ("unsupported_level", "no_room"))),
    status=st.sampled_from((200, 401, 429)),
    end=st.sampled_from(ENDS),
    reason=optional,
    purpose=st.sampled_from((None, "title", "main")),
    route=optional,
    group=optional,
    offline=st.booleans(),
    usage=st.just(Usage()),
)
search = st.lists(st.sampled_from((*NAMES, "c", "M", "%", "_", "!", "cap", "level")), max_size=2)
wanted = st.builds(
    RequestFilter,
    key=optional,
    group=optional,
    model=st.sampled_from((None, "north:m1", "south:m:1", "north:", "m1")),
    route=optional,
    end=st.sampled_from((None, *ENDS)),
    status=st.sampled_from((None, 200, 429)),
    level=st.sampled_from((None, "off", "high", "tokens", "none")),
    purpose=st.sampled_from((None, "title", "main")),
    search=st.none() | search.map(" ".join),
    since=st.sampled_from((None, 200.0)),
    until=st.sampled_from((None, 200.5)),
    offline=st.sampled_from((None, True, False)),
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request, tmp_path_factory) -> Iterator[LedgerDatabase]:
    if request.param == "sqlite":
        made: LedgerDatabase = SqliteDatabase(tmp_path_factory.mktemp("ledger") / "gateway.db")
    else:
        made = PostgresDatabase(request.getfixturevalue("postgres").make())
    yield made
    made.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(receipt, min_size=1, max_size=8), wanted)
def test_the_ledger_and_the_live_rows_are_filtered_alike(tmp_path_factory, database, rows, wanted):
    every = [replace(each, id=f"{at}") for at, each in enumerate(rows)]
    database.write("DELETE FROM pondero_receipts WHERE ? = 1", [(1,)])
    ledger = Ledger(Unclosed(database), tmp_path_factory.mktemp("aside"))
    for each in every:
        ledger.note(each)
    ledger.close()

    clause = make_clause(wanted)
    found = database.rows(f"SELECT id FROM pondero_receipts WHERE {clause.sql}", clause.values)

    live = [row.id for row in load_requests(every) if matches(wanted, row)]
    assert sorted(id for (id,) in found) == live


class Unclosed:
    """A database that stays open when its ledger closes."""

    def __init__(self, database: LedgerDatabase) -> None:
        self.rows, self.write = database.rows, database.write

    def close(self) -> None:
        pass


def test_an_address_names_a_filter():
    found = parse_filter(
        {
            "key": " ci ",
            "status": "429",
            "level": "high",
            "since": "1970-01-02T00:00:00Z",
            "x": "y",
        },
        offline=False,
    )

    named = RequestFilter(key="ci", status=429, level="high", since=86_400.0, offline=False)
    assert found == named


@pytest.mark.parametrize("offline", [True, False])
def test_the_answers_that_a_gateway_gives_are_shown_unless_others_are_asked_for(offline):
    asked = {"": offline, "real": False, "emulator": True, "all": None}
    found = {text: parse_filter({"answers": text}, offline=offline).offline for text in asked}
    assert found == asked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "many"),
        ("status", "-1"),
        ("end", "soon"),
        ("level", "hihg"),
        ("answers", "some"),
        ("since", "yesterday"),
        ("until", "nan"),
        ("until", "1e300"),
    ],
)
def test_a_wrong_filter_is_rejected_with_its_name(name, value):
    with pytest.raises(BadParameter, match=name):
        parse_filter({name: value}, offline=False)
