"""What tests of reports and exports share: a run in which everything happens that can."""

import asyncio
import random

from tests.sweep.runs import Scripted, begun, runner

from pondero.canon import Usage
from pondero.sweep.arms import arms_of
from pondero.sweep.engines.engine import TrialResult
from pondero.sweep.questions import questions_of, shuffle
from pondero.sweep.results.compute import compute_results
from pondero.sweep.run.store import Run
from pondero.sweep.spec import spec_of

EVIL = '</script><script>bad=1</script><img src=x onerror="bad=2">\x1b[31m\u202e\u2066\x00&amp;'
LEVELS = ("off", "low", "high")
_RIGHT = (0.5, 0.8, 0.88)
_THINKING = (0, 90, 800)
_COST = ("0.001", "0.004", "0.03")
_SECONDS = (0.5, 2.0, 14.0)


def answered(ask, **given):
    """An answer that is right the oftener the higher its level; a few are refused or empty."""
    draw = random.Random(f"{ask.arm}-{ask.position}-{ask.repeat}").random()
    usage = Usage(input=20, output=10, thinking=_THINKING[ask.arm] + int(40 * draw))
    fields = {"key": ask.key, "usage": usage, "cost": _COST[ask.arm], "at": 1_790_000_000.0}
    fields |= {"seconds": _SECONDS[ask.arm] * (1 + draw), **given}
    if draw < 0.03:
        return TrialResult(finish="refusal", text=f"no {EVIL}", **fields)
    if draw < 0.06:
        return TrialResult(verdict="exhausted", **fields)
    right = draw > 1 - _RIGHT[ask.arm]
    return TrialResult(text="yes" if right else f"it is {EVIL} " + "blah " * 2_000, **fields)


def run_of(count=60, *, answer=answered, finish=True, models=("claude-opus-5",), **options):
    """A run whose every word is hostile, asked to its end or to its first quarter."""
    options = {
        "judge": "includes",
        "past_gate": True,
        "system": f"be brief {EVIL}",
        "max_tokens": 8000,
        **options,
    }
    spec = spec_of(models=models, levels=",".join(LEVELS), **options)
    rows = (
        {"id": f"q{n} {EVIL}", "input": f"{n}? {EVIL} " + "long " * 500 * (n % 7 == 0),
         "target": "yes", "metadata": {"page": f"{n // 2}{EVIL}"}}
        for n in range(count)
    )  # fmt: skip
    arms = arms_of(spec.models, spec.levels)
    questions = shuffle(questions_of(rows), 0)
    run = Run.create(spec, questions, arms, reference=len(LEVELS) - 1)
    driver = runner(run, Scripted(answer))
    asyncio.run(driver.finish() if finish else driver.pilot())
    return run


def results(count=60, **options):
    with run_of(count, **options) as run:
        return compute_results(run)


def sweep_of(count=40, **options):
    """The results of a plain offline sweep over sums."""
    with begun(count, **options) as run:
        asyncio.run(runner(run).finish())
        return compute_results(run)
