"""A run that grows: no bet that was made changes, whatever is tried again, added or interrupted."""

import asyncio
import random

import pytest
from tests.sweep.runs import Scripted, answered, begun, runner

from pondero.errors import BadParameter, UsageError
from pondero.sweep.engines.engine import TrialResult
from pondero.sweep.results.compute import compute_results
from pondero.sweep.run.growth import add_run_arm, extend_run, raise_budget
from pondero.sweep.run.store import Run

BROKEN = 23
"""A question after the pilot that the service always rejects."""


@pytest.fixture(autouse=True)
def _own_data(data_dir):
    return data_dir


def answer(ask):
    if ask.position == BROKEN and ask.arm == 1:
        return TrialResult(key=ask.key, finish="error", error="BadRequest: no")
    right = random.Random(f"{ask.position} {ask.arm}").random() < 0.9
    return answered(ask, right, cost=("0.002", "0.008")[ask.arm])


def resume(run, answer=answer):
    """Go on as ``sweep resume`` does: what failed is asked again."""
    driver = runner(run, Scripted(answer))
    driver.retry_errors()
    asyncio.run(driver.finish())
    return compute_results(run).arms[0].history


def more_rows(count, first=500):
    numbers = range(first, first + count)
    return [
        {"id": f"more{n}", "input": f"What is {n} * 23?", "target": f"{n * 23}"} for n in numbers
    ]


def test_another_budget_changes_no_bet_that_was_made_though_an_answer_is_tried_again():
    with begun(400, budget=0.5, max_tokens=60) as run:
        before = resume(run)
        assert len(before) > 10
        for budget in (0.55, 0.6, 0.9):
            raise_budget(run, budget)
            now = resume(run)
            assert now[: len(before)] == before
            before = now


def test_bets_under_a_small_budget_are_bolder_than_without_one():
    def lose(ask):
        return answered(ask, ask.arm == 1 or ask.position < 20, cost=("0.002", "0.008")[ask.arm])

    def first_loss(**options):
        with begun(400, max_tokens=60, **options) as run:
            return resume(run, lose)[0]

    assert first_loss(budget=0.5) < first_loss()


def test_more_questions_change_no_bet_that_was_made_if_a_retry_was_killed():
    with begun(70) as run:
        before = resume(run)
        driver = runner(run, Scripted(answer))
        driver.retry_errors()  # killed here: the answer is forgotten, and not asked again yet
        assert extend_run(run, more_rows(100)) == 100
        assert resume(run)[: len(before)] == before


class Killed(BaseException):
    pass


def test_an_extension_that_is_killed_is_there_as_a_whole_or_not_at_all(monkeypatch):
    """Killed before each of its writes: the plan of the questions that were there stays."""
    for writes in range(6):
        with begun(70) as run:
            before = resume(run, lambda ask: answered(ask, right=ask.position % 9 > 0))
            name, left = run.facts.run, [writes]

            def write(*parts, real=run._database.rows, left=left):
                if parts[0].startswith("INSERT"):
                    left[0] -= 1
                    if left[0] < 0:
                        raise Killed
                return real(*parts)

            monkeypatch.setattr(run._database, "rows", write)
            try:
                extend_run(run, more_rows(100), budget=50.0)
                whole = True
            except Killed:
                whole = False
        with Run.open(name) as run:
            facts, count = run.facts, len(run.questions())
            assert (count, facts.planned) in ((70, None), (170, 70))
            assert (count == 170) == any(each.units == 170 for each in facts.changes)
            assert compute_results(run).arms[0].history == before
            assert count == 170 or not whole


def test_a_run_that_another_process_asks_does_not_grow():
    with begun(70) as run, Run.open(run.facts.run) as other:
        resume(run)
        with run.hold_lock():
            for grow in (
                lambda: extend_run(other, more_rows(9)),
                lambda: add_run_arm(other, "claude-opus-5/max"),
                lambda: raise_budget(other, 9.0),
            ):
                with pytest.raises(UsageError, match="another process"):
                    grow()
        with Run.open(run.facts.run) as now:
            assert now.facts == run.facts
            assert len(now.questions()) == 70


def test_a_process_that_waited_for_the_lock_goes_on_with_the_facts_as_they_are_now():
    with begun(70) as run, Run.open(run.facts.run) as other:
        raise_budget(run, 7.0)
        with other.hold_lock():
            assert other.facts.spec.budget == 7.0


def test_an_added_question_that_cannot_be_judged_is_named_with_its_line(tmp_path):
    path = tmp_path / "more.jsonl"
    path.write_text('{"input": "What is 500 * 23?", "target": "11500"}\n{"input": "Why?"}\n')
    with (
        begun(100) as run,
        pytest.raises(BadParameter, match=r"more\.jsonl:2: question '\d+' has no"),
    ):
        extend_run(run, path)


def test_questions_are_for_a_level_that_is_not_decided():
    def lose(ask):
        return answered(ask, ask.arm == 1, cost=("0.002", "0.008")[ask.arm])

    with begun(100) as run:
        resume(run, lose)
        with pytest.raises(UsageError, match=r"was given up.* only for another arm .*add-arm"):
            extend_run(run, more_rows(40))
