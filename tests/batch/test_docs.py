"""docs/batch.md says what batches do."""

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from pondero.batch import Ending, collection
from pondero.cli.app import app
from pondero.framing import MAX_FRAME
from pondero.store import load_catalog

TEXT = (Path(__file__).parents[2] / "docs" / "batch.md").read_text("utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_its_python_runs_as_printed(block, capsys):
    exec(compile(block, "batch.md", "exec"), {})
    out = capsys.readouterr().out
    assert "running" in out
    assert "q4 4 * 23 = 92 as_planned None" in out


def test_every_ending_is_in_its_table():
    table = TEXT.partition("| ending |")[2].partition("##")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(get_args(Ending))


def test_its_table_has_every_provider_with_its_factor_and_limits():
    table = TEXT.partition("| provider |")[2].partition("\n\n")[0]
    rows = {}
    for line in table.splitlines()[2:]:
        names, factor, holds = (cell.strip() for cell in line.strip("|").split("|"))
        rows |= dict.fromkeys(re.findall(r"`([\w-]+)`", names), (float(factor), holds))
    terms = {p.name: p.batch for p in load_catalog().catalog.providers.values() if p.batch}
    assert set(rows) == set(terms)
    for name, (factor, holds) in rows.items():
        assert factor == terms[name].factor
        assert (terms[name].requests is None) == ("asks" not in holds)
        if terms[name].requests:
            assert f"{terms[name].requests:,} asks" in holds
        if terms[name].bytes:
            assert f"{terms[name].bytes // 1_000_000} MB" in holds
        assert ("one model" in holds) == terms[name].one_model


def test_its_days_and_bytes_are_those_of_the_program():
    terms = {p.name: p.batch for p in load_catalog().catalog.providers.values() if p.batch}
    days = {name: each.kept_days for name, each in terms.items()}
    assert (days.pop("mistral"), days.pop("anthropic"), {*days.values()}) == (2, 29, {31})
    assert "after 2 days at Mistral, 29 at Anthropic and 31 elsewhere" in " ".join(TEXT.split())
    assert (MAX_FRAME, collection._PER_ANSWER) == (64 << 20, 1 << 20)


def test_its_command_lines_are_understood():
    for line in re.findall(r"^pondero (batch [^#\n]*)", TEXT, re.MULTILINE):
        _, verb, *rest = shlex.split(line)
        command = app.get_command(None, "batch").get_command(None, verb)
        command.make_context(verb, rest)
