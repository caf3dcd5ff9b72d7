"""The runner: asks in the fixed order, judges, bets, and stops at the earliest decision.

Each result is on disk before the next step.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from random import random

from msgspec import Struct

from ...errors import BadParameter, PonderoError
from ...exchange import Retry
from ..engines.engine import BudgetSpent, CostBudget, Engine, Trial, TrialResult, first_of
from ..grading.agreement import agreement, labels
from ..grading.grade import JudgeFailed
from ..grading.judges import Judge, find_judge_model
from ..grading.labels import count_errors
from ..questions import Question
from ..statistics.comparison import Comparison, PlanChange
from ..statistics.contest import Contest
from ..statistics.forecast import Forecast
from .answer_store import AnswerStore
from .forecast import forecast_rest
from .gate import (
    GateProblem,
    check_pilot,
    check_rest,
    check_units,
    count_units,
    fewest_units,
)
from .growth import first_unseen, keep_fronts
from .prices import find_trial_bound, max_grade_cost
from .run_plan import (
    has_dollars,
    make_comparison,
    make_pool,
    measure_prices,
    pilot_positions,
)
from .scores import Scores, TrialSlot, every_ask
from .store import Run, StoredGrade

GRADE_TRIES = 3
"""How often a model is asked for a grade whose reply is lost; each may have been charged."""


class ArmProgress(Struct):
    """The progress of an arm: trials wanted and settled, and what they cost."""

    name: str
    wanted: int = 0
    settled: int = 0
    thinking: int = 0
    costs: list[float] = []
    failed: int = 0
    kept: int = 0
    """Settled by an earlier process: these say nothing about the pace."""

    @property
    def cost(self) -> float:
        """Return what the answers cost."""
        return sum(self.costs)


Progress = Callable[[Sequence[ArmProgress]], None]


class Runner:
    """Drives one run on one engine with one judge."""

    def __init__(
        self,
        run: Run,
        engine: Engine,
        judge: Judge,
        *,
        progress: Progress | None = None,
    ) -> None:
        spec = run.facts.spec
        cap = None if spec.budget is None else Decimal(str(spec.budget))
        self.budget: CostBudget = CostBudget(run, cap=cap, spent=run.spent + run.lost[1])
        self.tallies: list[ArmProgress] = [ArmProgress(arm.name) for arm in run.facts.arms]
        self._run = run
        self._engine = engine
        self._judge = engine.judge(judge)
        self.progress: Progress = progress or (lambda _: None)
        self._questions = run.questions()
        self._asks = every_ask(run.facts, self._questions)
        self._pool = make_pool(run.facts, self._questions)
        self._scores = Scores(run, self._judge.name, self._asks)
        self._limit = asyncio.Semaphore(self._judge.at_once)
        self._graded = asyncio.Event()
        self._counted = False
        self._watch: Callable[[], None] = lambda: None
        self._store = None if spec.offline else AnswerStore()

    def close(self) -> None:
        """Close the file of answers that runs share."""
        if self._store is not None:
            self._store.close()

    def retry_errors(self) -> None:
        """Forget what failed, so that it is asked again; bets that were made keep their sizes."""
        grades = self._run.grades(self._run.facts.spec.judge)
        if self._run.failed or None in grades.values():
            keep_fronts(self._run, make_comparison(self._scores, self._pool).advance())
            self._run.forget_errors()

    def stop(self, why: str) -> None:
        """Begin no further trial."""
        self.budget.close(why)

    async def begin(self) -> list[GateProblem]:
        """Ask the pilot; before it, labelled answers fix the margin by the judge's grades."""
        await self.compare()
        return await self.pilot()

    async def pilot(self) -> list[GateProblem]:
        """Ask every arm the first questions, and return what the sanity gate finds in them.

        If there are too few to show anything, nothing is asked.
        """
        await self._catch_up()
        facts = self._run.facts
        units = count_units(facts, self._pool)
        few = check_units(facts.spec.margin, units, least=fewest_units(facts))
        if few and not facts.past_gate:
            return self.gate()
        arms = range(len(facts.arms))
        places = pilot_positions(facts, self._pool)
        await self._ask([ask for at in places for arm in arms for ask in self._asks[arm, at]])
        return self.gate()

    def gate(self) -> list[GateProblem]:
        """Return what the sanity gate finds so far."""
        is_over = not self.budget.closed  # else the pilot can be completed later
        return check_pilot(self._scores, self._pool, is_over=is_over)

    def forecast(self) -> tuple[Forecast, ...]:
        """Return forecasts by the pilot: for an equal arm, and one worse by half the margin."""
        return forecast_rest(self._scores, self._pool, left=self.budget.left)

    async def finish(self) -> Contest | None:
        """Ask until all is decided, the questions are used up, or it is stopped.

        Return None if the sanity gate stops it.
        """
        problems = await self.begin()
        facts = self._run.facts
        is_final = any(each.is_final for each in problems)
        if self.budget.closed or is_final or (problems and not facts.past_gate):
            self.end()
            return None
        comparison = self._plan(make_comparison(self._scores, self._pool))
        while (waits := comparison.advance().waits) is not None and not self.budget.closed:
            before = len(self._scores.answers)
            await self._follow(comparison, waits)
            if comparison.advance().waits == waits and len(self._scores.answers) == before:
                break  # nothing could be sent
            comparison = self._plan(make_comparison(self._scores, self._pool))
        contest = comparison.contest
        if contest.winners or (contest.is_over and not check_rest(self._scores, self._pool)):
            self._run.end("done")
        else:
            self.end()
        return contest

    def end(self) -> None:
        """Save that the run was stopped, and whether by its budget."""
        self._run.end("stopped", used_up=self.budget.is_used_up)

    def _plan(self, comparison: Comparison) -> Comparison:
        """Aim the next bets at what the budget pays for; save that, so that a replay agrees."""
        waits = comparison.advance().waits
        if waits is None or self.budget.left is None:
            return comparison
        arm, at = waits
        first = first_unseen(self._run.facts, arm, at)
        aimed, end = self._pool.horizon(arm, first)
        units = min(end, at + self._affordable(arm, at, end))
        if units == aimed:
            return comparison
        change = PlanChange(arm, first, units, end)
        self._run.change(changes=(*self._run.facts.changes, change))
        self._pool = make_pool(self._run.facts, self._questions)
        return make_comparison(self._scores, self._pool)

    def _affordable(self, arm: int, at: int, end: int) -> int:
        """Return how many units of an arm the budget pays for, by the pilot's prices."""
        places = pilot_positions(self._run.facts, self._pool)
        if not has_dollars(self._scores, places):
            return end - at
        prices = measure_prices(self._scores, places)
        left, count = float(self.budget.left or 0), 0
        rivals = self._rivals(arm)
        for unit in range(at, end):
            for place in self._pool.units[unit]:
                asked = [who for who in (arm, *rivals) if not self._scores.is_known(who, place)]
                left -= sum(prices[who] for who in asked)
            if left < 0:
                break
            count += 1
        return max(1, count)

    def _rivals(self, arm: int) -> tuple[int, ...]:
        facts = self._run.facts
        if facts.spec.against == "best":
            return tuple(other for other in range(len(facts.arms)) if other != arm)
        return (facts.reference,)

    async def _follow(self, comparison: Comparison, waits: tuple[int, int]) -> None:
        """Ask about one arm from a unit on, in order, until the bets need no more of it."""
        arm, at = waits
        pool = self._pool
        # One test at the end looks at nothing before it, and bets that wait for labels look
        # later: nothing is saved by asking slowly.
        spec = self._run.facts.spec
        waits_to_end = spec.once or spec.label_share is not None
        ahead = len(pool.units) if waits_to_end else self._engine.ahead(pool.first)
        unit_of = {place: unit for unit, places in enumerate(pool.units) for place in places}
        front = [at]

        def watch() -> None:
            now = comparison.advance().waits
            if now is None or now[0] != arm:
                self.budget.hold("decided")
            else:
                front[0] = now[1]
            self.budget.wake()

        self.budget.admits = lambda trial: unit_of[trial.position] < front[0] + ahead
        self._watch = watch
        asked = (arm, *self._rivals(arm))
        _, end = pool.horizon(arm, at)
        places = (place for unit in pool.units[at:end] for place in unit)
        try:
            await self._ask([ask for at in places for who in asked for ask in self._asks[who, at]])
        finally:
            self.budget.release()
            self.budget.admits = lambda _: True
            self._watch = lambda: None

    async def judge(self) -> None:
        """Grade every answer that this judge has not graded; no trial is run."""
        self._run.forget_ungraded(self._judge.name)
        await self._catch_up()
        await self.compare()

    async def compare(self) -> None:
        """Compare a model that judges with people's labels; no answer is graded twice."""
        name = self._judge.name
        if not find_judge_model(name) or self.budget.closed:
            return
        known, labelled = self._run.grades(name), labels(self._questions)
        async with _raise_one(asyncio.TaskGroup()) as group:
            for each in labelled:
                if (each.question.id, each.key) not in known:
                    settled = TrialResult(key=each.key, text=each.answer)
                    group.create_task(self._grade(each.question, settled))
        grades = self._run.grades(name)
        scores = ((grades.get((each.question.id, each.key)), each.right) for each in labelled)
        pairs = [(score >= 0.5, right) for score, right in scores if score is not None]
        found = agreement(pairs)
        if found is not None:
            self._run.keep_agreement(name, found)
            if name == self._run.facts.spec.judge and self._run.facts.judge_errors is None:
                self._run.change(judge_errors=count_errors(pairs))

    # -- asking ------------------------------------------------------------------------------------

    async def _ask(self, asked: Sequence[TrialSlot]) -> None:
        await self._reuse(asked)
        known = self._run.answers()
        todo = {each.key: each for each in asked if each.key not in known}
        self._count(known, asked)
        asks = [self._make_trial(each) for each in todo.values()]
        if asks:
            async with _raise_one(asyncio.TaskGroup()) as grading:
                async for settled in self._engine.answers(asks, self.budget):
                    await self._take(todo[settled.key], settled, grading)

    async def _reuse(self, asked: Sequence[TrialSlot]) -> None:
        """Take answers of earlier runs to the same requests, and grade them."""
        spec = self._run.facts.spec
        if self._store is None or spec.fresh:
            return
        wanted: dict[str, list[str]] = {}
        for slot in asked:
            if slot.key not in self._scores.answers:
                wanted.setdefault(self._run.facts.arms[slot.arm].model, []).append(slot.key)
        found: dict[str, TrialResult] = {}
        for model, keys in wanted.items():
            found |= self._store.find(model, keys)
        for slot in asked:
            if self.budget.closed:
                break  # the bets need no more
            settled = found.pop(slot.key, None)
            if settled is not None:
                self._scores.add_answer(settled)
                self._run.settle(settled)
                await self._grade(self._questions[slot.position], settled)
                self._report(slot.arm, settled)

    def _forget_reused(self, model: str, settled: TrialResult) -> None:
        """Drop answers of earlier runs once the service says that another model answers now."""
        if settled.model is None:
            return
        other = [
            slot.key
            for (number, _), slots in self._asks.items()
            if self._run.facts.arms[number].model == model
            for slot in slots
            if (found := self._scores.answers.get(slot.key)) is not None
            and found.reused
            and found.model != settled.model
        ]
        if other:
            keep_fronts(self._run, make_comparison(self._scores, self._pool).advance())
            self._run.forget(other)
            for key in other:
                self._scores.answers.pop(key, None)
            self.budget.hold("another model answers now")

    async def _take(
        self, asked: TrialSlot, settled: TrialResult, grading: asyncio.TaskGroup
    ) -> None:
        question = self._questions[asked.position]
        model = self._run.facts.arms[asked.arm].model
        self._scores.add_answer(settled)
        if self._store is not None and not settled.reused:
            self._forget_reused(model, settled)
        if self._judge.at_once > 1:
            self._run.settle(settled)
            grading.create_task(self._grade(question, settled))
        else:
            graded = await self._make_grade(question, settled)
            self._run.settle(settled, graded)
            self._count_grade(settled, graded)
        if self._store is not None:  # last: killed before, the answer is this run's, not reused
            self._store.keep(model, settled)
        self._report(asked.arm, settled)

    def _make_trial(self, asked: TrialSlot) -> Trial:
        spec, arm = self._run.facts.spec, self._run.facts.arms[asked.arm]
        question = self._questions[asked.position]
        bound = find_trial_bound(spec, arm, question)
        grading = None if spec.budget is None else max_grade_cost(spec, arm, question)
        return Trial(
            asked.key,
            asked.arm,
            asked.position,
            asked.repeat,
            arm.model,
            arm.level,
            question.prompt,
            spec.system,
            spec.max_tokens,
            bound,
            grading,
        )

    def _count(self, known: dict[str, TrialResult], asked: Sequence[TrialSlot]) -> None:
        for tally in self.tallies:
            tally.wanted = tally.settled if self._counted else 0
        for each in asked:
            settled = known.get(each.key)
            if settled is None:
                self.tallies[each.arm].wanted += 1
            elif not self._counted:
                self.tallies[each.arm].wanted += 1
                self.tallies[each.arm].kept += 1
                _add(self.tallies[each.arm], settled)
        self._counted = True

    def _report(self, arm: int, settled: TrialResult) -> None:
        _add(self.tallies[arm], settled)
        self.progress(self.tallies)

    # -- judging -----------------------------------------------------------------------------------

    async def _catch_up(self) -> None:
        """Grade what an earlier process left without a grade."""
        self._scores = Scores(self._run, self._judge.name, self._asks)
        known, graded = self._scores.answers, self._run.grades(self._judge.name)
        async with _raise_one(asyncio.TaskGroup()) as group:
            for asks in self._asks.values():
                for ask in asks:
                    question = self._questions[ask.position]
                    settled = known.get(ask.key)
                    if settled is not None and (question.id, ask.key) not in graded:
                        group.create_task(self._grade(question, settled))

    async def _grade(self, question: Question, settled: TrialResult) -> None:
        graded = None
        if not settled.is_missing and not settled.is_refused:
            async with self._limit:
                if not await self._reserve_grade(question, settled):
                    return
                graded = await self._make_grade(question, settled)
        if graded is not None:
            self._run.grade(graded)
        self._count_grade(settled, graded)

    async def _reserve_grade(self, question: Question, settled: TrialResult) -> bool:
        """Keep the most that a model's grade can cost, here and on disk; False: it does not fit."""
        spec = self._run.facts.spec
        if self._judge.name != spec.judge:
            return True
        bound = max_grade_cost(spec, None, question, answer=settled.text)
        if bound is None:
            return True
        try:
            while spec.budget is not None and not self.budget.take_grading(settled.key, bound):
                self._graded.clear()
                await self._graded.wait()
        except BudgetSpent:
            return False
        self._run.begin_grade(settled.key, bound)
        return True

    def _count_grade(self, settled: TrialResult, graded: StoredGrade | None) -> None:
        """Tell the scores, the budget and the bets."""
        cost = Decimal(graded.cost) if graded is not None and graded.cost else Decimal(0)
        self.budget.settle_grading(settled.key, cost)
        self._graded.set()
        if graded is not None:
            self._scores.add_grade(graded.question, graded.key, graded.score)
        self._watch()

    async def _make_grade(self, question: Question, settled: TrialResult) -> StoredGrade | None:
        """Return a grade, or None without an answer, or if the budget pays for no other try."""
        if settled.is_missing or settled.is_refused:
            return None
        for tries in range(1, GRADE_TRIES + 1):
            try:
                return await self._try_grade(question, settled, is_last=tries == GRADE_TRIES)
            except JudgeFailed as error:  # its reply was lost
                await asyncio.sleep(Retry().wait(error, tries, random))
                if not await self._reserve_grade(question, settled):
                    break
        return None

    async def _try_grade(
        self, question: Question, settled: TrialResult, *, is_last: bool
    ) -> StoredGrade:
        """Return a grade, or a failed one; raise JudgeFailed if it may be tried again."""
        name = self._judge.name
        try:
            grade = await self._judge.grade(question, settled.text)
        except BadParameter:
            raise  # the judge does not fit the data: every question would fail
        except JudgeFailed as error:
            if error.is_lost:
                self._lose_grade(question, settled)
                if not is_last:
                    raise
            cost = None if error.is_lost else error.cost  # what is lost counts with its most
            return StoredGrade(question.id, settled.key, name, None, str(error), cost)
        except PonderoError as error:
            return StoredGrade(question.id, settled.key, name, None, str(error))
        return StoredGrade(question.id, settled.key, name, grade.score, grade.note, grade.cost)

    def _lose_grade(self, question: Question, settled: TrialResult) -> None:
        """Count the most that a grade without a reply can have cost, here and on disk."""
        spec = self._run.facts.spec
        if self._judge.name == spec.judge:
            bound = max_grade_cost(spec, None, question, answer=settled.text) or Decimal(0)
            self._run.lose_grade(settled.key, bound)
            self.budget.settle_grading(settled.key, bound)


@asynccontextmanager
async def _raise_one(group: asyncio.TaskGroup) -> AsyncIterator[asyncio.TaskGroup]:
    """Enter a group of tasks; raise one error instead of a group of errors."""
    try:
        async with group:
            yield group
    except* PonderoError as errors:
        raise first_of(errors) from None


def _add(tally: ArmProgress, settled: TrialResult) -> None:
    tally.settled += 1
    tally.thinking += settled.usage.thinking or 0
    if settled.cost is not None and not settled.reused:
        tally.costs.append(float(settled.cost))
    tally.failed += settled.error is not None
