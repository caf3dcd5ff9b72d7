"""docs/hazards.md tells the truth: every row is there, and every test it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hazards.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
ROWS = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("|")]
WANTED = [*range(1, 42), 44, 45]


@cache
def functions_in(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_test_that_is_named_exists(path, name):
    assert name.startswith("test_")
    assert name in functions_in(path)


@pytest.mark.parametrize("row", [*map(str, WANTED), *(f"T{n}" for n in range(1, 12))])
def test_every_report_and_every_trap_has_its_row(row):
    assert ROWS.count(row) == 1


def test_every_row_names_a_test():
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    bare = [row for row in rows if "::test_" not in row]
    assert len(bare) == 6  # the heads of three tables and the rules below them


def test_every_test_here_that_names_a_hazard_is_on_the_page():
    named = {name for _, name in NAMED}
    for file in (ROOT / "tests" / "hazards").glob("test_*.py"):
        found = {
            n
            for n in functions_in(f"tests/hazards/{file.name}")
            if re.match(r"test_(hazard|trap)", n)
        }
        assert found <= named, file.name
