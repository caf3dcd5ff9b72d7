"""Model and wish to the exact fields, from the wire sheets, provider by provider."""

import tomllib
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

import pondero

_BESIDE = ("max_tokens", "tool_choice", "tools", "policy")
_KNOWN = {"model", "thinking", "fields", "codes", *_BESIDE}
# One test a model: a test for each of the thousands of cases would cost more than the cases.
_MODELS = [
    pytest.param(list(cases), id=model)
    for path in sorted((Path(__file__).parent / "vectors").glob("*.toml"))
    for model, cases in groupby(
        tomllib.loads(path.read_text("utf-8"))["case"], key=itemgetter("model")
    )
]


@pytest.mark.parametrize("cases", _MODELS)
def test_the_wish_becomes_the_documented_fields(cases):
    documented, made = [], []
    for case in cases:
        assert set(case) <= _KNOWN
        beside = {key: case[key] for key in _BESIDE if key in case}
        wish = (case["thinking"], beside)
        documented.append((*wish, case["fields"], case.get("codes", [])))
        plan = pondero.plan(case["model"], case["thinking"], **beside)
        made.append((*wish, plan.fields, [note.code for note in plan.adjustments]))
    assert made == documented
