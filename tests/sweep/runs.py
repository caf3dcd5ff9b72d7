"""What tests of runs share: questions with sums, a run over them, and an engine on the emulator."""

import asyncio
from decimal import Decimal

from pondero.canon import Usage
from pondero.emulator import Emulator, ErrorProneResponder
from pondero.exchange import Retry
from pondero.sweep.arms import arms_of, reference_of
from pondero.sweep.engines.engine import BudgetSpent, TrialResult
from pondero.sweep.engines.live import LiveEngine
from pondero.sweep.grading.judges import make_judge
from pondero.sweep.questions import questions_of, shuffle
from pondero.sweep.results.compute import compute_results
from pondero.sweep.run.runner import Runner
from pondero.sweep.run.store import Run
from pondero.sweep.spec import spec_of


def sums(count, first=2):
    return questions_of(
        {"id": f"q{n}", "input": f"What is {n} * 23?", "target": str(n * 23)}
        for n in range(first, first + count)
    )


def begun(count=40, *, past_gate=True, models=("claude-opus-5",), levels="low,high", **options):
    spec = spec_of(
        models=models,
        levels=levels,
        judge=options.pop("judge", "numeric"),
        offline=options.pop("offline", True),
        past_gate=past_gate,
        **options,
    )
    arms = arms_of(spec.models, spec.levels, max_tokens=spec.max_tokens)
    questions = shuffle(sums(count), spec.seed)
    reference = reference_of(arms, spec.reference)
    return Run.create(spec, questions, arms, reference=reference)


def engine(emulator=None, **options):
    emulators = {}

    def transport(repeat):
        if emulator is not None:
            return emulator
        return emulators.setdefault(repeat, Emulator(responder=ErrorProneResponder(repeat)))

    options.setdefault("retry", Retry(attempts=6, waits=False))
    return LiveEngine(transport=transport, stream=False, **options)


def runner(run, other=None, **options):
    return Runner(run, other or engine(), make_judge(run.facts.spec.judge), **options)


class Scripted:
    """An engine whose answers are written down: a function of arm, position and repeat."""

    def __init__(self, answer, ahead=1):
        self.answer, self._ahead = answer, ahead
        self.asked = []
        self.outlives = False

    def ahead(self, _units):
        return self._ahead

    def begin(self, _run):
        return False

    def judge(self, judge):
        return judge

    async def answers(self, asks, budget):
        for ask in asks:
            try:
                if not budget.take(ask):
                    return
            except BudgetSpent:
                return
            self.asked.append((ask.arm, ask.position, ask.repeat))
            settled = self.answer(ask)
            budget.settle(ask, None if settled.cost is None else Decimal(settled.cost))
            yield settled

    async def aclose(self):
        pass


def answered(ask, right, *, thinking=100, cost="0.01", **fields):
    """An answer to a sum that is right or wrong."""
    n = int(ask.prompt.split()[2])
    text = f"it is {n * 23 + (not right)}"
    usage = Usage(input=20, output=10, thinking=thinking)
    return TrialResult(key=ask.key, text=text, usage=usage, cost=cost, seconds=1.0, **fields)


def found(count, answer, **options):
    """The results of a run whose answers are written down."""
    with begun(count, **options) as run:
        asyncio.run(runner(run, Scripted(answer)).finish())
        return compute_results(run)
