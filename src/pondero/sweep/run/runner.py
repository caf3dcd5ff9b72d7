"""The runner: asks, judges, looks, continues; each result is on disk before the next step."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal

from msgspec import Struct

from ...batch import batch_discount
from ...canon import Usage, dump_json
from ...errors import BadParameter, PonderoError
from ...store import load_catalog, price_usage
from ..arms import Arm
from ..engines.engine import CostBudget, Engine, Trial, TrialResult, first_of
from ..grading.agreement import agreement, labels
from ..grading.judges import Judge
from ..questions import Question
from ..spec import Spec
from ..statistics.progress import Scores, SweepProgress, TrialSlot, every_ask, replay_looks
from .store import Run, StoredGrade

PILOT = 8
"""Questions that every arm is asked first, to estimate the cost of the whole."""

_ENVELOPE = 512  # tokens around a prompt: roles, separators, the service's own prompt


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
        cap = None if spec.max_cost is None else Decimal(str(spec.max_cost))
        self.purse: CostBudget = CostBudget(run, cap=cap, spent=run.spent)
        self.tallies: list[ArmProgress] = [ArmProgress(arm.name) for arm in run.facts.arms]
        self._run = run
        self._engine = engine
        self._judge = engine.judge(judge)
        self.progress: Progress = progress or (lambda _: None)
        self._questions = run.questions()
        self._asks = every_ask(run.facts, self._questions)
        self._limit = asyncio.Semaphore(self._judge.at_once)
        self._counted = False

    def stop(self, why: str) -> None:
        """Begin no further trial."""
        self.purse.close(why)

    async def pilot(self, count: int = PILOT) -> Scores:
        """Run the first questions on every arm; they are part of the first look."""
        scores = await self._catch_up()
        upto = min(count, len(self._questions))
        arms = range(len(self._run.facts.arms))
        await self._ask([ask for at in range(upto) for arm in arms for ask in scores.asks[arm, at]])
        return Scores(self._run, self._judge.name, self._asks)

    async def finish(self) -> SweepProgress:
        """Run look by look until all is decided, the questions are used up, or it is stopped."""
        scores = await self._catch_up()
        now = replay_looks(scores)
        while not now.is_over and not self.purse.closed:
            upto = now.looks[now.look]
            places = [(arm, at) for at in range(upto) for arm in now.asked]
            await self._ask([ask for place in places for ask in scores.asks[place]])
            scores = Scores(self._run, self._judge.name, self._asks)
            now = replay_looks(scores)
        self._run.end("done" if now.is_over else "stopped")
        return now

    async def judge(self) -> None:
        """Grade every answer that this judge has not graded; no trial is run."""
        self._run.forget_ungraded(self._judge.name)
        await self._catch_up()
        await self.compare()

    async def compare(self) -> None:
        """Compare a model that judges with people's labels; no answer is graded twice."""
        name = self._judge.name
        if not name.startswith("model:") or self.purse.closed:
            return
        known, labelled = self._run.grades(name), labels(self._questions)
        async with _raise_one(asyncio.TaskGroup()) as group:
            for each in labelled:
                if (each.question.id, each.key) not in known:
                    settled = TrialResult(key=each.key, text=each.answer)
                    group.create_task(self._grade(each.question, settled))
        grades = self._run.grades(name)
        scores = ((grades.get((each.question.id, each.key)), each.right) for each in labelled)
        found = agreement([(score >= 0.5, right) for score, right in scores if score is not None])
        if found is not None:
            self._run.keep_agreement(name, found)

    # -- asking ------------------------------------------------------------------------------------

    async def _ask(self, asked: Sequence[TrialSlot]) -> None:
        known = self._run.answers()
        todo = {each.key: each for each in asked if each.key not in known}
        self._count(known, asked)
        asks = [self._make_trial(each) for each in todo.values()]
        if asks:
            async with _raise_one(asyncio.TaskGroup()) as grading:
                async for settled in self._engine.answers(asks, self.purse):
                    await self._take(todo[settled.key], settled, grading)

    async def _take(
        self, asked: TrialSlot, settled: TrialResult, grading: asyncio.TaskGroup
    ) -> None:
        question = self._questions[asked.position]
        if self._judge.at_once > 1:
            self._run.settle(settled)
            grading.create_task(self._grade(question, settled))
        else:
            self._run.settle(settled, await self._make_grade(question, settled))
        self._report(asked.arm, settled)

    def _make_trial(self, asked: TrialSlot) -> Trial:
        spec, arm = self._run.facts.spec, self._run.facts.arms[asked.arm]
        question = self._questions[asked.position]
        bound = None
        if spec.max_cost is not None:
            bound = max_trial_cost(spec, arm, question)
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

    async def _catch_up(self) -> Scores:
        scores = Scores(self._run, self._judge.name, self._asks)
        known, graded = scores.answers, self._run.grades(self._judge.name)
        async with _raise_one(asyncio.TaskGroup()) as group:
            for asks in scores.asks.values():
                for ask in asks:
                    question = self._questions[ask.position]
                    settled = known.get(ask.key)
                    if settled is not None and (question.id, ask.key) not in graded:
                        group.create_task(self._grade(question, settled))
        return Scores(self._run, self._judge.name, self._asks)

    async def _grade(self, question: Question, settled: TrialResult) -> None:
        async with self._limit:
            graded = await self._make_grade(question, settled)
        if graded is not None:
            self._run.grade(graded)

    async def _make_grade(self, question: Question, settled: TrialResult) -> StoredGrade | None:
        if settled.error is not None or settled.is_exhausted or settled.is_refused:
            return None
        name = self._judge.name
        try:
            grade = await self._judge.grade(question, settled.text)
        except BadParameter:
            raise  # the judge does not fit the data: every question would fail
        except PonderoError as error:
            return StoredGrade(question.id, settled.key, name, None, str(error))
        return StoredGrade(question.id, settled.key, name, grade.score, grade.note, grade.cost)


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
    if settled.cost is not None:
        tally.costs.append(float(settled.cost))
    tally.failed += settled.error is not None


# -- prices ----------------------------------------------------------------------------------------


def max_answer_cost(
    arm: Arm, question: Question, *, system: str | None, max_tokens: int | None
) -> Decimal:
    """Return the most an answer can cost, at one byte a token; raise BadParameter if unlimited."""
    entry = load_catalog().entry(arm.model)
    most = max_tokens or entry.capability.max_output
    if most is None:
        message = (
            f"the output limit of {arm.model} is unknown, so its cost cannot be limited; "
            "set --max-tokens"
        )
        raise BadParameter(message)
    words = len(dump_json(question.prompt).encode()) + len((system or "").encode())
    usage = Usage(input=words + _ENVELOPE, output=most)
    price = price_usage(entry.provider.name, entry.model, usage)
    if price is None:
        message = (
            f"no price of {arm.model} is known, so its cost cannot be limited; remove --max-cost"
        )
        raise BadParameter(message)
    return price


def max_trial_cost(spec: Spec, arm: Arm, question: Question) -> Decimal:
    """Return the most that one answer can cost, at the engine's price."""
    bound = max_answer_cost(arm, question, system=spec.system, max_tokens=spec.max_tokens)
    if spec.engine not in DISCOUNTED:
        return bound
    return bound * batch_discount(load_catalog().entry(arm.model).provider.name)


DISCOUNTED = ("batch",)
"""The engines with the price of batches."""


def is_priced(model: str) -> bool:
    """Return whether a price of this model is known."""
    entry = load_catalog().entry(model)
    return (
        price_usage(entry.provider.name, entry.model, Usage(input=1_000, output=1_000)) is not None
    )
