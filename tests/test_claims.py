"""The claims of the prose are tied to tests.

A sentence that says what is always, never or only so, or names a default, a limit, a precedence or
an exit code, is a claim. On the pages below it is followed by an invisible mark, in the same
paragraph, list item or row of a table:

    <!-- claim: tests/test_errors.py::test_a_status_tells_the_kind_of_error -->

A mark covers the text before it, back to the mark before or the beginning of the block. Several
tests are separated by blanks. A fact about a vendor has a page with its source instead:

    <!-- fact: wires/anthropic.md -->

Code, titles, links and generated tables are exempt: other tests run the code and write the tables.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MENU = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
REFERENCE = re.findall(
    r"(\S+\.md)$", MENU.partition("- Reference:\n")[2].partition("\n  - ")[0], re.MULTILINE
)
OTHERS = (
    "index.md",
    *(f"start/{page.name}" for page in sorted((DOCS / "start").glob("*.md"))),
    "guides/levels.md",
    "guides/cost.md",
    "guides/failures.md",
    "docker.md",
    "troubleshooting.md",
    "hooks.md",
    "endpoints.md",
    "kubernetes.md",
    "gateway.md",
    "ask.md",
    "chat.md",
    "threads.md",
    "batch.md",
    "sweep.md",
    "python.md",
    "scale.md",
)
CHECKED = [*REFERENCE, *OTHERS]
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
MARK = re.compile(r"<!-- (claim|fact): (.*?) -->", re.DOTALL)
CLAIM = re.compile(
    r"\b(always|never|(?<!-)only|defaults?|at most|at least|up to|no more than|precedence"
    r"|exit codes?(?= (?:is|are|\d))|exit codes:|overrides?)(?!\w)",
    re.IGNORECASE,
)


def blocks(text):
    """Yield the paragraphs, list items and rows of a page, without code and generated tables."""
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*$|^\|.*\n(?=\|[-: |]+\|$)", "", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\|)", text):
        plain = re.sub(r"`[^`]*`", "`x`", block)
        yield re.sub(r"\[[^]]*\]\([^)]*\)", "[x]", " ".join(plain.split()))


def unmarked(text):
    """Return the text that makes a claim and is followed by no mark, block by block."""
    rest = [MARK.split(block)[-1] for block in blocks(text)]
    return [each for each in rest if CLAIM.search(each)]


@cache
def _tests(file):
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


def test_the_pages_that_are_checked_are_there():
    assert len(REFERENCE) == len(set(REFERENCE)) > 15
    assert {"security.md", "emulator.md", "reference/errors.md"} <= set(REFERENCE)
    made = {"contributing.md", "changelog.md"}
    assert [page for page in CHECKED if page not in made and not (DOCS / page).is_file()] == []


@pytest.mark.parametrize("page", CHECKED)
def test_every_claim_of_a_reference_page_is_tied_to_a_test(page):
    assert unmarked((DOCS / page).read_text("utf-8")) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_mark_names_a_test_or_a_page_that_is_there(path):
    for kind, names in MARK.findall(path.read_text("utf-8")):
        assert names.split(), path.name
        for name in names.split():
            if kind == "fact":
                assert (DOCS / name).is_file(), name
                continue
            file, _, function = name.partition("::")
            assert function.startswith("test_"), name
            assert function in _tests(file), f"{function} is not in {file}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It never asks. <!-- claim: tests/a.py::test_b -->", []),
        ("It never asks.", ["It never asks."]),
        ("It asks. <!-- claim: tests/a.py::test_b --> It only asks.", [" It only asks."]),
        ("- one\n- always two <!-- claim: x -->\n- at most three", ["- at most three"]),
        ("| a | b |\n| --- | --- |\n| c | by default d |", ["| c | by default d |"]),
        ("```sh\nnever\n```\n\n## Only a title\n\n`default` [only](x.md)", []),
        ("<!-- table -->\n| never | x |\n<!-- /table -->", []),
        ("| the default | never |\n| --- | --- |\n| a | read-only |", []),
        ("The exit\ncode is 1.\nText.", ["The exit code is 1. Text."]),
    ],
)
def test_a_claim_is_found_unless_a_mark_follows_it(text, found):
    assert unmarked(text) == found
