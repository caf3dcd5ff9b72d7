"""What tests of runs share: questions with sums, a run over them, and an engine on the emulator."""

from pondero.emulator import Emulator, Fallible
from pondero.exchange import Retry
from pondero.sweep.arms import arms_of, reference_of
from pondero.sweep.data import questions_of, shuffled
from pondero.sweep.judges import judge_of
from pondero.sweep.live import LiveEngine
from pondero.sweep.runner import Runner
from pondero.sweep.runs import Run
from pondero.sweep.spec import spec_of


def sums(count, first=2):
    return questions_of(
        {"id": f"q{n}", "input": f"What is {n} * 23?", "target": str(n * 23)}
        for n in range(first, first + count)
    )


def begun(count=40, *, models=("claude-opus-5",), levels="low,high", looks=4, **options):
    spec = spec_of(
        models=models, levels=levels, judge=options.pop("judge", "numeric"), offline=True, **options
    )
    arms = arms_of(spec.models, spec.levels, max_tokens=spec.max_tokens)
    questions = shuffled(sums(count), spec.seed)
    reference = reference_of(arms, spec.reference)
    return Run.create(spec, questions, arms, reference=reference, looks=looks)


def engine(emulator=None, **options):
    emulators = {}

    def transport(repeat):
        if emulator is not None:
            return emulator
        return emulators.setdefault(repeat, Emulator(mind=Fallible(repeat)))

    options.setdefault("retry", Retry(attempts=6, waits=False))
    return LiveEngine(transport=transport, stream=False, **options)


def runner(run, other=None, **options):
    return Runner(run, other or engine(), judge_of(run.facts.spec.judge), **options)
