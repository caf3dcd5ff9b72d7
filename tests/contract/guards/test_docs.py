"""The page about the guard names every code there is, and only those."""

import ast
import re
from pathlib import Path

from tests.contract.guards.test_planted import OTHERS, PLANTS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "guard.md").read_text("utf-8")
SOURCE = ROOT / "src" / "pondero"


def _codes():
    """Return the codes that are given to a trap, wherever one is made."""
    files = [*(SOURCE / "dialects").rglob("*.py"), *(SOURCE / "contract" / "guards").glob("*.py")]
    trees = [ast.parse(path.read_text("utf-8")) for path in files]
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                "ReplayIssue",
                "_unreadable",
            ):
                places = [word.value for word in node.keywords if word.arg == "code"] or node.args
                yield from (
                    text.value
                    for place in places
                    for text in ast.walk(place)
                    if isinstance(text, ast.Constant)
                    and re.fullmatch(r"[a-z]+(_[a-z]+)+", str(text.value))
                )


def test_every_code_is_on_the_page_and_no_other():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Codes")[2], re.MULTILINE)) == set(
        _codes()
    )


def test_every_code_is_planted_somewhere_or_found_across_exchanges():
    planted = {plant.code for plant in PLANTS} | {p.code for ps in OTHERS.values() for p in ps}
    assert set(_codes()) - planted == {"thinking_lost", "seal_foreign"}  # see test_guard.py
