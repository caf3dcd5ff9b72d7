"""The requirements page has every requirement, and every test it names is there."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

from pondero.contract import SCENARIOS

ROOT = Path(__file__).parent.parent
REQUIREMENTS = tomllib.loads((ROOT / "docs" / "requirements.toml").read_text("utf-8"))
ROWS = REQUIREMENTS["rows"]
# How many rows each part has, and how many there are of each type.
PARTS = {"A": 94, "B": 69, "C": 78, "D": 74, "E": 47, "T": 11}
TYPES = {
    "mapping": 107, "wire": 58, "contract test": 47, "policy": 37, "replay": 23, "stream": 20,
    "error": 16, "CLI-UX": 15, "usage": 12, "VCR": 10, "TUI": 9, "deferred": 8, "trap": 11,
    "constraint": 14,
}  # fmt: skip
NAMED = sorted({name for row in ROWS.values() for name in row.get("shown", ())})


@cache
def _tests(file: str) -> set[str]:
    path = ROOT / file
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text("utf-8"))
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, functions)}


def _node(name: str) -> str:
    return name if "::" in name else REQUIREMENTS["tests"][name.partition(":")[0]]


def test_every_row_of_every_part_is_there_in_order():
    ids = [f"{letter}{number:02}" for letter, count in PARTS.items()
           for number in range(1, count + 1)]  # fmt: skip
    assert list(ROWS) == [*ids, *(f"G{number}" for number in range(1, 15))]


def test_every_row_says_what_is_asked_for_and_of_which_type_it_is():
    kinds = [row["type"] for row in ROWS.values()]
    assert {kind: kinds.count(kind) for kind in TYPES} == TYPES
    assert all(
        row["asks"] and set(row) <= {"type", "asks", "shown", "why"} for row in ROWS.values()
    )


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_is_named_exists(name):
    file, _, function = _node(name).partition("::")
    assert function in _tests(file), f"{function} is not in {file}"


def test_no_name_for_a_test_is_left_over():
    used = {name.partition(":")[0] for name in NAMED if "::" not in name}
    assert used == set(REQUIREMENTS["tests"])


def test_a_scenario_that_is_named_exists():
    named = {name.partition(":")[2] for name in NAMED if "::" not in name and ":" in name}
    assert named <= {scenario.name for scenario in SCENARIOS}


def test_every_scenario_that_a_row_asks_for_is_named():
    named = {name.partition(":")[2] for name in NAMED if "::" not in name and ":" in name}
    assert {scenario.name for scenario in SCENARIOS if scenario.row} <= named


@pytest.mark.parametrize("id", [id for id, row in ROWS.items() if row["type"] == "contract test"])
def test_a_contract_is_shown_by_a_test_or_says_why_not(id):
    assert "shown" in ROWS[id] or "why" in ROWS[id]
