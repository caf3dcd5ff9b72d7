"""``sweep`` and ``asweep``: a whole sweep as one call; and its steps, for the command line."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Unpack

from msgspec.structs import replace

from ..client import AsyncClient
from ..errors import BadParameter, UsageError
from .arms import sweep_policy
from .engines.batch import BatchEngine
from .engines.engine import Engine
from .engines.live import OFFLINE_AT_ONCE, LiveEngine, emulators
from .grading.grade import Judge
from .grading.judges import check_questions, find_judge_model, make_judge
from .outline import Outline, check_judge_options, check_prices, make_outline
from .questions import Data, Question
from .results.compute import compute_results
from .results.values import SweepResults
from .run.run_plan import has_left_pilot, make_pool
from .run.runner import Progress, Runner
from .run.scores import Scores
from .run.store import Run, find_run
from .spec import Spec, SweepOptions


def _live(spec: Spec) -> Engine:
    if not spec.offline:
        return LiveEngine()
    sends = emulators(spec.seed)
    return LiveEngine(transport=sends, stream=False, start=OFFLINE_AT_ONCE, is_free=True)


def _batch(spec: Spec) -> Engine:
    return BatchEngine(transport=emulators(spec.seed)) if spec.offline else BatchEngine()


def _ray(spec: Spec) -> Engine:
    from .engines.ray import RayEngine  # noqa: PLC0415 - an extra

    return RayEngine(address=spec.ray_address, offline=spec.offline, seed=spec.seed)


ENGINES: dict[str, Callable[[Spec], Engine]] = {"live": _live, "batch": _batch, "ray": _ray}


def make_engine(spec: Spec) -> Engine:
    """Return the engine that a sweep names; raise BadParameter if it is unknown."""
    if spec.engine not in ENGINES:
        message = f"unknown engine {spec.engine!r}; use {' '.join(ENGINES)}"
        raise BadParameter(message)
    return ENGINES[spec.engine](spec)


def create_run(outline: Outline) -> Run:
    """Create a run on disk; nothing is sent. Raise MissingKey before there is a run."""
    check_access(outline)
    return Run.create(
        outline.spec,
        outline.questions,
        outline.arms,
        reference=outline.reference,
        source=outline.source,
    )


def check_access(outline: Outline) -> None:
    """Raise MissingKey if a model of a sweep, or of its judge, has no key; nothing is sent."""
    if not outline.spec.offline:
        client = AsyncClient(policy=sweep_policy())
        for arm in outline.arms:
            client.prepare(arm.model, "?", arm.level)
        check_judge(outline.spec.judge, ())


def check_judge(name: str, questions: Iterable[Question]) -> None:
    """Raise UsageError if a judge cannot grade these, or is a model unknown or without a key."""
    check_questions(name, questions)
    if model := find_judge_model(name):
        AsyncClient().prepare(model, "?")


def change_judge(run: Run, name: str) -> None:
    """Give a run another judge; raise BadParameter if its bets are by the grades of the one it has.

    A judge that is chosen after its grades are known could be the one that shows the most. The
    pilot is not bet on, so until its end the choice is free.
    """
    with run.hold_facts():
        facts, spec = run.facts, replace(run.facts.spec, judge=name)
        if name == facts.spec.judge:
            return
        check_judge_options(spec, run.questions())
        check_prices(spec, facts.arms, run.questions()[0])
        if not spec.offline:
            check_judge(name, ())
        scores = Scores(run, facts.spec.judge)
        if has_left_pilot(scores, make_pool(facts, scores.questions)):
            free = "" if spec.offline else "; it reuses the answers, at no cost"
            message = (
                f"run {facts.run} has answers after its pilot, and its bets are by the grades of "
                f"{facts.spec.judge!r}; begin a new run with --judge {name}{free}"
            )
            raise BadParameter(message)
        former = (*facts.former_judges, facts.spec.judge)
        former = tuple(each for each in dict.fromkeys(former) if each != name)
        run.change(spec=spec, former_judges=former, judge_errors=None)


async def run_sweep(
    run: Run, engine: Engine, judge: Judge, progress: Progress | None
) -> SweepResults:
    """Run the trials that a run still needs, and return the results."""
    try:
        with run.hold_lock(known=engine.begin(run.facts.run)):
            runner = Runner(run, engine, judge, progress=progress)
            try:
                runner.retry_errors()
                await runner.finish()
            finally:
                runner.close()
        return compute_results(run)
    except BaseException:
        run.end("stopped")
        raise
    finally:
        await engine.aclose()


async def asweep(
    data: Data = (),
    models: str | Iterable[str] = (),
    *,
    resume: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[SweepOptions],
) -> SweepResults:
    """Return which level of which model is enough for these questions; awaits the answers.

    ``data`` is a file (JSONL, CSV, or a SWEEP.toml) or mappings with ``id``, ``input``,
    ``target``, ``choices`` and ``metadata``. Answers are saved on disk; ``resume`` is the name of a
    run to continue. Requests cost at once, so set a ``budget``.

    >>> right = {f"{n} * 23": f"{n} * 23 = {n * 23}" for n in range(9)}
    >>> questions = [{"input": f"What is {q}?", "target": a} for q, a in right.items()]
    >>> found = await pondero.asweep(questions, "claude-opus-5", levels="off,low", offline=True)
    >>> found.state, [arm.level for arm in found.arms]
    ('stopped', ['off', 'low'])
    """
    if resume is not None:
        with Run.open(find_run(resume)) as run:
            spec = run.facts.spec
            return await run_sweep(run, make_engine(spec), make_judge(spec.judge), progress)
    chosen = (models,) if isinstance(models, str) else tuple(models)
    outline = make_outline(data, {**options, "models": chosen or None})
    engine = make_engine(outline.spec)
    with create_run(outline) as run:
        return await run_sweep(run, engine, make_judge(outline.spec.judge), progress)


def sweep(
    data: Data = (),
    models: str | Iterable[str] = (),
    *,
    resume: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[SweepOptions],
) -> SweepResults:
    """Return which level of which model is enough for these questions; see ``asweep``.

    >>> right = {f"{n} * 23": f"{n} * 23 = {n * 23}" for n in range(9)}
    >>> questions = [{"input": f"What is {q}?", "target": a} for q, a in right.items()]
    >>> found = pondero.sweep(questions, "claude-opus-5", levels="off,low", offline=True)
    >>> found.state, [arm.level for arm in found.arms]
    ('stopped', ['off', 'low'])
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asweep(data, models, resume=resume, progress=progress, **options))
    raise UsageError("an event loop is already running; await pondero.asweep(...) instead")
