"""docs/why.md: every story runs, every comment is what is printed, every report is a hazard."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "why.md").read_text("utf-8")  # "why.md" in tests/test_site.py
HAZARDS = (DOCS / "hazards.md").read_text("utf-8")
STORIES = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("title", "story"), STORIES, ids=[title for title, _ in STORIES])
def test_a_story_has_a_report_or_a_capture_and_its_block_runs_as_printed(title, story, capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```", story, re.DOTALL | re.MULTILINE)
    exec(compile(block, "why.md", "exec", dont_inherit=True), {"__name__": "page"})
    printed = capsys.readouterr().out
    said = re.findall(r"^ *(?:print\(.*)?\)  # (.*?)(?: \.\.\.)?$", block, re.MULTILINE)
    assert said
    for each in said:
        assert each in printed


def test_six_to_ten_stories_each_name_their_reports():
    assert 6 <= len(STORIES) <= 10
    for title, story in STORIES:
        assert "https://github.com/" in story, title


def test_every_report_that_is_told_is_a_row_of_the_hazards():
    told = re.findall(r"\[([\w./-]*)#(\d+)\]\(https://github\.com/([\w./-]+)/\w+/(\d+)\)", PAGE)
    assert len(told) == PAGE.count("](https://github.com/")
    for name, number, repository, linked in told:
        assert number == linked
        assert repository.endswith(name)
        short = repository.partition("/")[2]
        assert re.search(rf"{short}#[\d #]*\b{number}\b", HAZARDS), (repository, number)


def test_the_number_of_rows_is_the_number_of_rows():
    rows = re.findall(r"^\| \d+ \|", HAZARDS, re.MULTILINE)
    assert f"all {len(rows)} rows" in PAGE
