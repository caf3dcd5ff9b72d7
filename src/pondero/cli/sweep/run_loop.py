"""How ``sweep`` runs: it asks first, shows the gate and the forecast, and can be interrupted."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ..command import ask_yes_or_no
from ..output.echo import echo, style_text
from .decide import STOPPED

_REPORTED = 10.0  # seconds between two lines where nothing can be drawn

if TYPE_CHECKING:
    from ...sweep import (
        Engine,
        GateProblem,
        GradedAnswer,
        Judge,
        Outline,
        Run,
        Runner,
        SweepResults,
    )
    from .summary import ProgressLines


DECLINED = 1
"""The exit code after a no: it is not decided, and was not interrupted."""


def confirm(question: str) -> None:
    """Ask the user, and end on no; raise UsageError if there is no terminal to ask on."""
    if not ask_yes_or_no(question):
        raise click.exceptions.Exit(DECLINED)


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


def stops_before(outline: "Outline", graded: "Sequence[GradedAnswer]", *, yes: bool) -> bool:
    """Return whether the gate stops a sweep before anything is asked.

    ``graded`` are answers that the judge was tried on; one that fails on each grades nothing.
    """
    from ...sweep import check_trial_grades, describe_past_gate

    problems = outline.problems()
    if failed := check_trial_grades(outline.spec.judge, graded):
        problems = [*problems, *failed]
        for problem in failed:
            _print_problem(problem)
    if not problems or outline.spec.past_gate:
        return False
    if not yes and _has_terminal():
        return not _continues()
    echo(f"the sanity gate stops it here; {describe_past_gate(problems, '--continue')}", err=True)
    return True


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
    from .summary import print_wait

    code, is_told = _drive(begun, engine, grader, asks=asks, shown=not as_json)
    print_wait("the results", begun.summarize().questions)
    results = compute_results(begun)
    if code and not as_json:  # interrupted: the forecast after the pilot is on the screen already
        results = replace(results, forecasts=())
    print_outcome(results, as_json=as_json, is_told=is_told)
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
        return _report_expected(results, expect)
    return 0 if results.is_decided else 1


def _report_expected(results: "SweepResults", expect: str) -> int:
    """Say whether an expected level is shown to be enough; return 0 if it is, else 1."""
    is_shown = results.shows(expect)
    verdicts = {arm.name: arm.verdict.replace("_", " ") for arm in results.find_arms(expect)}
    said = ", ".join(verdicts.values() if len(verdicts) == 1 else map(": ".join, verdicts.items()))
    found = "shown to be enough" if is_shown else f"not shown to be enough ({said})"
    echo(style_text(f"expected {expect}: {found}", fg="green" if is_shown else "red"), err=True)
    return 0 if is_shown else 1


def print_outcome(results: "SweepResults", *, as_json: bool, is_told: bool = False) -> None:
    """Print the results as a table and sentences, or as JSON; ``is_told``: the gate spoke."""
    from ..command import print_json
    from .summary import print_results

    if as_json:
        print_json(results.to_json())
    else:
        print_results(results, is_told=is_told)


def run_with_progress(begun: "Run", engine: "Engine", grader: "Judge", *, shown: bool) -> int:
    """Ask what a run needs, with a line for each arm if ``shown``."""
    return _drive(begun, engine, grader, asks=False, shown=shown)[0]


def _drive(
    begun: "Run", engine: "Engine", grader: "Judge", *, asks: bool, shown: bool
) -> tuple[int, bool]:
    """Run it; return the exit code, and whether the user saw why the gate stops it."""
    echo(style_text(f"run {begun.facts.run}", bold=True), err=True)
    gate = _Gate(asks=asks, shown=shown)
    return asyncio.run(_run(begun, engine, grader, gate)), gate.is_told


async def _run(begun: "Run", engine: "Engine", grader: "Judge", gate: "_Gate") -> int:
    from ...sweep import Runner

    shown = gate.shown
    with begun.hold_lock(known=engine.begin(begun.facts.run)):
        driver = Runner(begun, engine, grader)
        try:
            driver.retry_errors()
            code = await _interruptible(driver, begun, engine, driver.begin, shown=shown)
            if not code and driver.budget.closed:
                driver.end()
            elif not code and gate.passes(driver, begun, outlives=engine.outlives):
                code = await _interruptible(driver, begun, engine, driver.finish, shown=shown)
            elif not code:
                begun.end("stopped")
                code = gate.code
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
    print_sentence(
        "name all that you are willing to spend on this run: the next bets are sized for it, and "
        "begin with the capital that is left",
        err=True,
    )


# -- before the rest is spent ----------------------------------------------------------------------


class _Gate:
    """The sanity gate on a terminal. What it finds is said once: here, or with the results."""

    def __init__(self, *, asks: bool, shown: bool) -> None:
        self.asks = asks
        self.shown = shown
        self.is_told = False
        self.code = 0
        """The exit code, if it does not pass and the results have no better one."""

    def passes(self, driver: "Runner", begun: "Run", *, outlives: bool) -> bool:
        """Return whether the rest is asked; if nothing is wrong, after a forecast."""
        is_open = self._is_open(driver, begun)
        return is_open and self._wants_rest(driver, begun, outlives=outlives)

    def _wants_rest(self, driver: "Runner", begun: "Run", *, outlives: bool) -> bool:
        from ...sweep import describe_forecast
        from .summary import print_sentence, print_wait

        budget = begun.facts.spec.budget
        print_wait("the forecast", begun.summarize().questions)
        for each in driver.forecast():
            print_sentence(describe_forecast(each, budget=budget), err=True)
        if not self.asks or outlives or not _has_terminal():
            return True
        if click.confirm("ask the rest?", default=False, err=True):
            return True
        self.code = DECLINED
        return False

    def _is_open(self, driver: "Runner", begun: "Run") -> bool:
        problems = driver.gate()
        is_final = any(each.is_final for each in problems)
        if not problems or (begun.facts.past_gate and not is_final):
            return True
        asks = self.asks and _has_terminal() and not is_final
        if asks or not self.shown:  # otherwise the results say it
            for problem in problems:
                _print_problem(problem)
        if not asks:
            echo("the sanity gate stops the run here", err=True)
            return False
        self.is_told = not _continues()
        if not self.is_told:
            begun.change(past_gate=True)
        return not self.is_told


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _continues() -> bool:
    return click.confirm("continue in spite of that?", default=False, err=True)


def _print_problem(problem: "GateProblem") -> None:
    from .summary import print_sentence

    print_sentence(problem.why, err=True, fg="yellow")
    for line in problem.evidence:
        echo(f"  {line}", err=True)


# -- interruption ----------------------------------------------------------------------------------


async def _report(lines: "ProgressLines", driver: "Runner") -> None:
    while True:
        await asyncio.sleep(_REPORTED)
        lines.report(driver.tallies)


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
            reports = asyncio.ensure_future(_report(lines, driver))
            try:
                await task
            finally:
                reports.cancel()
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
        f"interrupted: {did}, {begun.answered:,} answers are saved; "
        f"'pondero sweep resume {name}' continues it",
        err=True,
    )
    return 130
