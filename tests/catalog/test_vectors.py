"""Model and wish to the exact fields, from the wire sheets, provider by provider."""

import tomllib
from pathlib import Path

import pytest

import pondero

_CASES = [
    pytest.param(case, id=f"{case['model']}/{case['thinking']}")
    for path in sorted((Path(__file__).parent / "vectors").glob("*.toml"))
    for case in tomllib.loads(path.read_text("utf-8"))["case"]
]
_KNOWN = {"model", "thinking", "fields", "codes", "max_tokens", "tool_choice", "tools", "policy"}


@pytest.mark.parametrize("case", _CASES)
def test_the_wish_becomes_the_documented_fields(case):
    assert set(case) <= _KNOWN
    beside = {
        key: case[key] for key in ("max_tokens", "tool_choice", "tools", "policy") if key in case
    }
    plan = pondero.plan(case["model"], case["thinking"], **beside)
    assert plan.fields == case["fields"]
    assert [note.code for note in plan.adjustments] == case.get("codes", [])
