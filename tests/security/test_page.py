"""The page of promises names tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE)))


@pytest.mark.parametrize("path", NAMED)
def test_a_test_that_the_page_names_is_there(path):
    assert (ROOT / path).is_file()


def test_every_module_here_holds_a_promise_of_the_page():
    here = {f"tests/security/{path.name}" for path in Path(__file__).parent.glob("test_*.py")}
    assert here - {"tests/security/test_page.py"} <= set(NAMED)


def test_every_promise_says_what_holds_it():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
    promises = [row.strip("|").split(" | ") for row in rows if row != "| promise | held by |"]
    assert len(promises) > 15
    assert [row for row in promises if len(row) != 2 or not re.search(r"`tests/", row[1])] == []
