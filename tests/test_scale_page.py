"""The arithmetic of docs/scale.md follows from the figures that it states."""

import re
from math import ceil
from pathlib import Path

from pondero.gateway.quotas.admission import _TRIES
from pondero.gateway.quotas.quota import SLOTS

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text("utf-8")
NEEDS = PAGE.partition("## What a thousand requests a second need")[2]
RATE = 1_000


def _rows(text: str) -> dict[str, list[str]]:
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {first: rest for first, *rest in cells}


ROWS = _rows(NEEDS)
MEASURED = _rows(PAGE.partition("## What a thousand requests a second need")[0])


def _number(text: str) -> float:
    found = re.search(r"[\d,]+(?:\.\d+)?", text)
    assert found is not None, text
    return float(found[0].replace(",", ""))


def _measured(what: str, column: int = 0) -> float:
    return _number(ROWS[what][column])


def _stated(what: str) -> float:
    return _number(ROWS[what][-1])


def _is_rounded(stated: float, exact: float) -> bool:
    """Return whether a figure is what the exact one rounds to, in the digits it has."""
    digits = len(f"{stated:.10g}".partition(".")[2])
    return round(exact, digits) == stated


CPU = _measured("CPU of Redis")
BYTES = _measured("bytes to Redis") + _measured("bytes from Redis")
KEPT = _measured("memory of Redis for its cached answer of 1,500 bytes")
PASSED = _number(MEASURED["pass-through: Messages client, Messages upstream"][0])
OWN = PASSED + _measured("CPU that Redis adds to the gateway")
STREAM = _number(MEASURED["open answers"][0].partition(" to ")[2])
ROW = _number(MEASURED["total number of requests"][0].partition("SQLite and")[2])
EXACT = {
    "gateway CPU": RATE * OWN / 1000,
    "gateway processes, each half busy": ceil(RATE * OWN / 1000 / 0.5),
    "open answers of 20 seconds each": RATE * 20,
    "gateway memory for them, 100 KiB each": RATE * 20 * STREAM * 1024 / 2**30,
    "Redis round trips that requests wait for": RATE * _measured("round trips before the service"),
    "Redis commands": RATE * _measured("commands"),
    "Redis CPU": RATE * CPU / 1000,
    "network to and from Redis": RATE * BYTES / 1e6,
    "Redis memory with `answer_cache_seconds = 3600`": RATE * KEPT * 3600 * 9 / 8 / 1e9,
    "PostgreSQL rows": RATE,
    "PostgreSQL CPU": RATE * _measured("CPU of PostgreSQL for its row") / 1000,
    "ledger on disk, 385 bytes a row": RATE * ROW * 86_400 / 1e9,
}


def test_what_a_thousand_requests_need_follows_from_what_one_takes():
    for what, exact in EXACT.items():
        assert _is_rounded(_stated(what), exact), (what, exact)


def test_the_rows_of_the_run_are_those_that_its_replicas_wrote():
    (rate,) = re.findall(r"ten replicas with (\d+) requests a second each", PAGE)
    wrote = r"connections of ten\s+replicas wrote (\d+) rows a second, .* needed ([\d.]+) cores"
    ((rows, cores),) = re.findall(wrote, PAGE)

    assert int(rows) == 10 * int(rate)
    exact = int(rows) * _measured("CPU of PostgreSQL for its row") / 1000
    assert _is_rounded(float(cores), exact)


def test_every_row_of_the_needs_is_computed_here():
    table = NEEDS.partition("| resource |")[2].partition("\n\n")[0]
    named = {row for row in _rows(table) if not row.startswith("---") and "formula" not in row}
    assert named == {*EXACT}


def test_the_formulas_have_the_figures_of_the_measurements():
    for what, figures in {
        "gateway CPU": (PASSED, OWN - PASSED),
        "gateway memory for them, 100 KiB each": (STREAM,),
        "Redis CPU": (CPU,),
        "Redis commands": (_measured("commands"),),
        "network to and from Redis": (_measured("bytes to Redis"), _measured("bytes from Redis")),
        "Redis memory with `answer_cache_seconds = 3600`": (KEPT,),
        "PostgreSQL CPU": (_measured("CPU of PostgreSQL for its row"),),
        "ledger on disk, 385 bytes a row": (ROW,),
    }.items():
        stated = {float(each) for each in re.findall(r"[\d.]+", ROWS[what][0].replace(",", ""))}
        assert {round(each, 3) for each in figures} <= stated, what


def test_where_the_bottlenecks_are_follows_from_the_measurements():
    def full(name: str, pattern: str) -> float:
        found = re.search(pattern, NEEDS)
        assert found is not None, name
        return _number(found[1])

    bound = full("quotas", r"full at ([\d,]+) requests")
    free = full("no quotas", r"without quotas at ([\d,]+)")
    rows = full("rows", r"at ([\d,]+) rows a second")
    short = full("cache", r"600 needs ([\d.]+) GB")
    assert bound < rows  # Redis is full first
    assert round(bound) == round(1000 / CPU)
    assert round(free) == round(1000 / _measured("CPU of Redis", 1))
    assert round(rows) == round(1000 / _measured("CPU of PostgreSQL for its row"))
    assert _is_rounded(short, RATE * KEPT * 600 * 9 / 8 / 1e9)


def test_the_tries_and_slots_of_the_page_are_those_of_the_program():
    text = " ".join(PAGE.split())
    assert _TRIES - 1 == 2
    assert "two for each of at most two further tries" in text
    assert f"its window has {SLOTS + 1} slots" in text
