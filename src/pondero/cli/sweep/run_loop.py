"""How ``sweep`` runs: it asks first, shows the gate and the forecast, and can be interrupted."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ..command import confirm
from ..output.echo import echo, style_text
from .decide import STOPPED

if TYPE_CHECKING:
    from ...sweep import Engine, GateProblem, Judge, Outline, Run, Runner, SweepResults

_ANSWER = 60  # characters of an answer that are shown


def confirm_pilot(outline: "Outline", engine: "Engine") -> None:
    """Ask before anything is spent: the pilot, or all of it at a batch service."""
    from ...sweep import format_cost

    pilot = None if engine.outlives else outline.pilot_questions
    bound = outline.max_cost(pilot)
    most = "" if bound is None else f", {format_cost(bound)} at most"
    if pilot is None:
        confirm(f"ask all {len(outline.questions):,} questions of every arm{most}?")
    else:
        confirm(f"begin with a pilot of {pilot} questions to every arm{most}?")


def stops_before(outline: "Outline", *, yes: bool) -> bool:
    """Return whether the gate stops a sweep before anything is asked."""
    problems = outline.problems()
    if not problems or outline.spec.past_gate:
        return False
    return not _continues(problems, yes=yes)


def run_and_print(
    begun: "Run",
    engine: "Engine",
    grader: "Judge",
    *,
    asks: bool,
    as_json: bool,
    expect: str | None = None,
) -> int:
    """Run what a run needs, print what it found, and return the exit code."""
    from msgspec.structs import replace

    from ...sweep import compute_results

    code = run_with_progress(begun, engine, grader, asks=asks, shown=not as_json)
    results = compute_results(begun)
    if code and not as_json:  # interrupted: the forecast after the pilot is on the screen already
        results = replace(results, forecasts=())
    print_outcome(results, as_json=as_json)
    return code or report_failures(begun, grader.name) or exit_code(results, expect)


def report_failures(run: "Run", judge: str) -> int:
    """Return 3, with one sentence, if every grade of a run failed."""
    from ...sweep import describe_failures

    grades = [(each.score, each.note) for each in run.grades_by(judge).values()]
    if why := describe_failures(judge, grades):
        echo(style_text(why, fg="red"), err=True)
        return STOPPED
    return 0


def exit_code(results: "SweepResults", expect: str | None = None) -> int:
    """Return 3 if the gate stopped it, 1 if not decided or not as expected, else 0."""
    if results.is_gated:
        return STOPPED
    if expect is not None:
        return 0 if results.shows(expect) else 1
    return 0 if results.is_decided else 1


def print_outcome(results: "SweepResults", *, as_json: bool) -> None:
    """Print the results as a table and sentences, or as JSON."""
    from ..command import print_json
    from .summary import print_results

    if as_json:
        print_json(results.to_json())
    else:
        print_results(results)


def run_with_progress(
    begun: "Run", engine: "Engine", grader: "Judge", *, asks: bool = False, shown: bool
) -> int:
    """Ask what a run needs, with a line for each arm if ``shown``."""
    echo(style_text(f"run {begun.facts.run}", bold=True), err=True)
    return asyncio.run(_run(begun, engine, grader, asks=asks, shown=shown))


async def _run(begun: "Run", engine: "Engine", grader: "Judge", *, asks: bool, shown: bool) -> int:
    from ...sweep import Runner

    with begun.hold_lock(known=engine.begin(begun.facts.run)):
        driver = Runner(begun, engine, grader)
        try:
            driver.retry_errors()
            code = await _interruptible(driver, begun, engine, driver.begin, shown=shown)
            if not code and driver.budget.closed:
                driver.end()
            elif not code and _passes_gate(driver, begun, asks=asks):
                _show_forecast(driver)
                if asks and not engine.outlives:
                    confirm("continue?")
                code = await _interruptible(driver, begun, engine, driver.finish, shown=shown)
            elif not code:
                begun.end("stopped")
        except BaseException:
            begun.end("stopped")
            raise
        finally:
            driver.close()
            await engine.aclose()
    if driver.budget.closed and not code:
        _print_stop(driver, begun)
    return code


def _print_stop(driver: "Runner", begun: "Run") -> None:
    """Print why a run has stopped, and what to type so that it continues."""
    from ...sweep import format_cost
    from .summary import print_sentence

    print_sentence(f"stopped: {driver.budget.closed}", err=True, fg="yellow")
    if not driver.budget.is_used_up:
        return
    name, (count, bound) = begun.facts.run, begun.lost
    if count:
        requests = f"{count:,} lost {'request' if count == 1 else 'requests'}"
        print_sentence(
            f"{format_cost(bound)} of it is reserved for {requests}, which may have been charged: "
            f"'pondero sweep release {name}' gives it back once the bill shows that they were not",
            err=True,
        )
    print_sentence(f"raise --budget: pondero sweep resume {name} --budget USD", err=True)


# -- before the rest is spent ----------------------------------------------------------------------


def _passes_gate(driver: "Runner", begun: "Run", *, asks: bool) -> bool:
    """Show what the gate finds; return whether the run continues."""
    problems = driver.gate()
    for problem in problems:
        _print_problem(problem)
    if not problems or begun.facts.past_gate:
        return True
    if not _continues(problems, yes=not asks):
        return False
    begun.change(past_gate=True)
    return True


def _continues(problems: "Sequence[GateProblem]", *, yes: bool) -> bool:
    """Return whether the user continues past the gate; without a terminal, not."""
    if yes or sys.stdin is None or not sys.stdin.isatty():
        does = "runs it anyway"
        if any(each.stays for each in problems):
            does = "only measures: nothing is recommended while this holds"
        echo(f"the sanity gate stops the run here; --continue {does}", err=True)
        return False
    import click

    return click.confirm("continue in spite of that?", default=False, err=True)


def _print_problem(problem: "GateProblem") -> None:
    from .summary import print_sentence

    print_sentence(problem.why, err=True, fg="yellow")
    for example in problem.examples:
        target = " or ".join(map(repr, example.targets)) or "no target"
        echo(f"  answered {example.answer[-_ANSWER:]!r}, target {target}", err=True)
    if problem.judges:
        echo(f"  judges that accept one of these: {', '.join(problem.judges)}", err=True)


def _show_forecast(driver: "Runner") -> None:
    from ...sweep import describe_forecast
    from .summary import print_sentence

    for each in driver.forecast():
        print_sentence(describe_forecast(each), err=True)


# -- interruption ----------------------------------------------------------------------------------


async def _interruptible(
    driver: "Runner",
    begun: "Run",
    engine: "Engine",
    work: Callable[[], Awaitable[object]],
    *,
    shown: bool,
) -> int:
    """Do work of a run; Ctrl-C lets requests finish, a second drops them, but not batches."""
    from .summary import ProgressLines, progress_lines

    lines = ProgressLines()
    task = asyncio.ensure_future(work())
    presses: list[int] = []

    def interrupt() -> None:
        presses.append(driver.budget.flights)
        if len(presses) == 1:
            driver.stop("interrupted")
            if not engine.outlives:
                lines.say(f"finishing {presses[0]} in flight; Ctrl-C again drops them")
        else:
            task.cancel()

    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows: Ctrl-C cancels at once
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        with progress_lines(shown=shown) as lines, suppress(asyncio.CancelledError):
            driver.progress = lines
            await task
    finally:
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
    if not presses:
        return 0
    begun.end("stopped")
    did = f"finished {presses[0]} in flight"
    if len(presses) > 1:
        did = f"dropped {presses[1]} in flight"
    if engine.outlives:
        did = f"left {driver.budget.flights} at the service"
    name = begun.facts.run
    echo(
        f"interrupted: {did}, {len(begun.answers()):,} answers are saved; "
        f"'pondero sweep resume {name}' continues it",
        err=True,
    )
    return 130
