"""Every defect of the table has its place in the code, and names tests that exist."""

import pytest
from tests.mutations.run import ROOT, load_plantings, load_requirements

PLANTINGS = load_plantings()
ROWS = load_requirements()["rows"]


@pytest.mark.parametrize("planting", PLANTINGS, ids=lambda each: f"{each['row']}: {each['what']}")
def test_a_defect_can_be_planted(planting):
    text = (ROOT / planting["file"]).read_text("utf-8")
    assert text.count(planting["old"]) == 1, (
        "the code has changed; plant the defect where it is now"
    )
    assert planting["old"] != planting["new"]


@pytest.mark.parametrize("planting", PLANTINGS, ids=lambda each: f"{each['row']}: {each['what']}")
def test_a_planted_defect_has_tests_to_notice_it(planting):
    if planting["row"] != "new":
        assert "test" not in planting, "the requirements list names the tests of a row"
        assert ROWS[planting["row"]]["shown"]
        return
    file, _, name = planting["test"].partition("::")
    assert f"def {name}" in (ROOT / file).read_text("utf-8")
