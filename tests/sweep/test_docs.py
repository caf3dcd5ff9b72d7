"""docs/sweep.md says what a sweep does."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from pondero.sweep import KINDS, make_outline
from pondero.sweep.demo import PILOT as DEMO_PILOT
from pondero.sweep.engines.leases import REQUESTS, TOKENS
from pondero.sweep.results.values import Verdict
from pondero.sweep.spec import spec_of
from pondero.sweep.statistics.allocation import PILOT, pilot_size
from pondero.sweep.statistics.exact_test import ONCE_MOST

QUESTIONS = [{"input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(600)]
TEXT = (Path(__file__).parents[2] / "docs" / "sweep.md").read_text("utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_its_python_runs_as_printed(block, data_dir, capsys):
    exec(compile(block, "sweep.md", "exec"), {})
    assert "recommend" in capsys.readouterr().out


def test_the_python_of_its_method_runs_as_printed(capsys):
    page = (Path(__file__).parents[2] / "docs" / "guides" / "sweep-method.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "sweep-method.md", "exec"), {})
    (said,) = re.findall(r"  # (\d+% after \d+ questions)$", block, re.MULTILINE)
    assert capsys.readouterr().out == f"{said}\n"
    assert f"| 300 | 86 % | {said.partition('%')[0]} % |" in page


def test_every_judge_is_in_its_table():
    assert re.findall(r"^\| `(\w+)` \| .*$", TEXT.partition("## Before")[0], re.MULTILINE) == list(
        KINDS
    )


def test_every_verdict_is_in_its_table():
    table = TEXT.partition("| verdict |")[2].partition("`tests/")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(get_args(Verdict))


def test_its_file_is_one():
    (block,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    values = tomllib.loads(block)
    assert values.pop("data")
    assert spec_of(**values).margin == 0.03


def test_the_quickstarts_chances_are_those_of_the_outline():
    page = (Path(__file__).parents[2] / "docs" / "start" / "evaluation.md").read_text("utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    head, _, *rows = lines
    margins = [int(each.removesuffix(" points")) / 100 for each in head[1:]]
    for count, *said in rows:
        for margin, chance in zip(margins, said, strict=True):
            rule = {"models": ["claude-opus-5"], "levels": ["low", "high"], "margin": margin}
            outline = make_outline(
                QUESTIONS[: int(count)], {**rule, "judge": "numeric", "offline": True}
            )
            told = "too few" if outline.problems() else outline.describe_sample_size()
            assert f" is {chance} if it is equal" in told or chance == told


def test_its_numbers_are_those_of_the_program():
    text = " ".join(TEXT.split())
    assert f"A pilot of {PILOT} questions (at most a quarter of them;" in text
    assert f"with a pilot of {DEMO_PILOT}," in text
    assert (pilot_size(40), pilot_size(80), pilot_size(1_000)) == (10, 20, 20)
    assert f"leases of at most {REQUESTS} questions or {TOKENS:,} tokens" in text
    assert f"a pool of at most {ONCE_MOST} right-or-wrong questions" in text
