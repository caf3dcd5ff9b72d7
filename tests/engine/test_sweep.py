"""A sweep over the levels of a real engine, which counts no thinking and has no price."""

import asyncio
import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from tests.engine.scripted import CHAT, STEPS

from pondero.cli.app import run
from pondero.sweep import (
    LiveEngine,
    Run,
    arms_of,
    compute_results,
    find_run,
    make_judge,
    questions_of,
    render_report,
    run_sweep,
)
from pondero.sweep.spec import spec_of

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("_wires")]

LEVELS = "off,low,medium,high,max"
COUNT = 120


def questions():
    """One in ten is wrong at every level: the engine says the same to all."""
    return [
        {
            "id": f"q{n}",
            "input": f"How is the weather on day {n}?",
            "target": "sunny" if n % 10 else "rainy",
        }
        for n in range(COUNT)
    ]


@pytest.fixture
def data(tmp_path, data_dir):
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, questions())))
    return str(path)


def count_tokens(engine, level):
    """Return how many tokens the engine itself says that an answer took, asked without us."""
    connection = HTTPConnection(urlsplit(engine).netloc, timeout=60)
    body = {
        "messages": [{"role": "user", "content": "How is the weather on day 1?"}],
        "reasoning_effort": "none" if level == "off" else level,
    }
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    usage = json.load(connection.getresponse())["usage"]
    connection.close()
    return usage["completion_tokens"]


def sweep(data, *more):
    arguments = ("--levels", LEVELS, "--judge", "includes", "--yes", "--allow-unpriced", *more)
    return run(["sweep", "run", data, "-m", CHAT, *arguments])


def test_the_levels_are_seen_in_the_engines_own_count_of_tokens(engine, data, capsys):
    assert sweep(data, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    counts = {level: count_tokens(engine, level) for level in LEVELS.split(",")}
    assert list(counts.values()) == sorted(set(counts.values()))
    measured = {arm["levels"][0]: arm["output_tokens"] for arm in told["arms"]}
    assert measured == counts
    assert counts["max"] - counts["low"] == STEPS["max"] - STEPS["low"]
    assert {arm["thinking_tokens"] for arm in told["arms"]} == {None}
    assert {arm["cost"] for arm in told["arms"]} == {None}
    assert told["recommended"] == f"{CHAT}/off"
    assert told["reference"] == f"{CHAT}/max"


def test_the_report_says_output_tokens_where_thinking_is_not_counted(engine, data, capsys):
    assert sweep(data) == 0
    out = capsys.readouterr().out
    fewer, more = count_tokens(engine, "off"), count_tokens(engine, "max")
    saved = f"saves      {100 * (1 - fewer / more):.0f} % of the output tokens of max"
    assert saved in out
    head = next(line for line in out.splitlines() if line.startswith("arm "))
    assert "output" in head
    assert "thinking" not in head
    assert "unknown" not in out
    with Run.open(find_run("last")) as begun:
        page = render_report(compute_results(begun))
    assert "Right answers against output" in page
    assert "No answer came with a count of its thinking" not in page


@pytest.mark.usefixtures("data_dir")
def test_no_decision_depends_on_seconds():
    """The same answers with the times of another machine are decided in the same way."""
    spec = spec_of(models=[CHAT], levels=LEVELS, judge="includes", unpriced=True, fresh=True)
    arms = arms_of(spec.models, spec.levels)
    found = []
    for slow_first in (False, True):
        with Run.create(spec, questions_of(questions()), arms, reference=len(arms) - 1) as begun:
            timed = _Timed(slow_first=slow_first)
            results = asyncio.run(run_sweep(begun, timed, make_judge(spec.judge), None))
        seconds = [arm.seconds for arm in results.arms]
        assert (seconds == sorted(seconds)) is not slow_first
        found.append((results.recommendation, [_decided(arm) for arm in results.arms]))
    assert found[0] == found[1]
    assert found[0][0].level == "off"


def _decided(arm):
    return arm.level, arm.verdict, arm.won_at, arm.capital, arm.units, arm.difference


class _Timed(LiveEngine):
    """The engine, one question at a time, with times that we make up."""

    def __init__(self, *, slow_first):
        super().__init__(stream=False)
        self._slow_first = slow_first

    def ahead(self, _units):
        return 1

    async def answers(self, asks, budget):
        rank = {ask.key: ask.arm for ask in asks}
        async for settled in super().answers(asks, budget):
            arm = rank[settled.key]
            seconds = 9.0 - arm if self._slow_first else 1.0 + arm
            yield replace(settled, seconds=seconds)
