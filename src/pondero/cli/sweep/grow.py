"""``sweep extend``, ``add-arm``, ``label``, ``decide-now``, ``release``, ``check``: after a run."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import examples, json_option, print_json
from ..output.echo import echo
from .run_loop import confirm, exit_code, print_outcome, run_and_print

if TYPE_CHECKING:
    from ...sweep import Run

_RUN = click.argument("name", metavar="RUN")
_YES = click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")
_BUDGET = click.option(
    "--budget", type=float, metavar="USD", help="The new budget for all of the run."
)


@click.command(epilog=examples("pondero sweep extend last more.jsonl --budget 8"))
@_RUN
@click.argument("data", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@_BUDGET
@_YES
@json_option
def extend(name: str, data: Path, *, budget: float | None, yes: bool, as_json: bool) -> int:
    """Add questions to a run, and continue it.

    The new questions follow the old ones, in a random order of their own. The arm that is not
    decided yet keeps its capital, so the error stays one in 20.
    """
    from ...sweep import Run, extend_run, find_run

    with Run.open(find_run(name)) as found:
        added = extend_run(found, data, budget=budget)
        echo(f"added {added:,} questions to run {found.facts.run}", err=True)
        return _continue(found, yes=yes, as_json=as_json)


@click.command("add-arm", epilog=examples("pondero sweep add-arm last claude-opus-5/minimal"))
@_RUN
@click.argument("arm", metavar="MODEL/LEVEL")
@_BUDGET
@_YES
@json_option
def add_arm(name: str, arm: str, *, budget: float | None, yes: bool, as_json: bool) -> int:
    """Add an arm to a run, and continue it.

    The new arm gets the capital that the others have left, so the error stays one in 20.
    """
    from ...sweep import Run, add_run_arm, find_run

    with Run.open(find_run(name)) as found:
        added = add_run_arm(found, arm, budget=budget)
        echo(f"added {added.name} to run {found.facts.run}", err=True)
        return _continue(found, yes=yes, as_json=as_json)


@click.command(epilog=examples("pondero sweep label last labels.csv"))
@_RUN
@click.argument("data", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@json_option
def label(name: str, data: Path, *, as_json: bool) -> int:
    """Save human labels for a run's answers.

    FILE has question, arm and right (true or false, or a score), as 'sweep export --labels' writes
    it. With --label-share they correct the judge; else they show whether it favours an arm.
    """
    from ...sweep import Run, compute_results, find_run, label_run

    with Run.open(find_run(name)) as found, found.hold_facts():
        new = label_run(found, data)
        results = compute_results(found)
        found.end("done" if results.is_decided else "stopped")
    echo(f"saved {new:,} labels with run {results.run}", err=True)
    print_outcome(results, as_json=as_json)
    return exit_code(results)


@click.command("decide-now", epilog=examples("pondero sweep decide-now last"))
@_RUN
@json_option
def decide_now(name: str, *, as_json: bool) -> int:
    """End a run, and decide by the answers so far.

    If a level has been shown to be enough, it is recommended; otherwise the reference stays.
    """
    from ...sweep import Run, compute_results, find_run

    with Run.open(find_run(name)) as found, found.hold_facts():
        found.change(is_closed=True)
        found.end("done")
        results = compute_results(found)
    print_outcome(results, as_json=as_json)
    return exit_code(results)


@click.command(epilog=examples("pondero sweep release last"))
@_RUN
def release(name: str) -> None:
    """Stop counting lost requests against the budget.

    A request that was in flight when its process ended may have been charged, so the most that it
    can have cost counts as spent. Release it once the bill shows that it was free.
    """
    from ...sweep import Run, find_run, format_cost, make_engine

    with Run.open(find_run(name)) as found:
        engine = make_engine(found.facts.spec)
        with found.hold_lock(known=engine.begin(found.facts.run)):  # an open batch is not lost
            found.end("stopped")
            count, cost = found.release()
    echo(f"released {format_cost(cost)} of {count:,} lost requests")


def _continue(found: "Run", *, yes: bool, as_json: bool) -> int:
    from ...sweep import make_engine, make_judge

    spec = found.facts.spec
    if not yes and not spec.offline:
        confirm("ask what this adds?")
    return run_and_print(
        found, make_engine(spec), make_judge(spec.judge), asks=False, as_json=as_json
    )


@click.command(
    epilog=examples("pondero sweep check sums", "pondero sweep check sums --questions 40")
)
@click.argument("name", metavar="NAME")
@click.option(
    "--questions", type=click.IntRange(min=1), default=20, metavar="N",
    help="How many questions to ask at most. Default: 20.",
)  # fmt: skip
@click.option(
    "--offline", is_flag=True,
    help="Ask the emulator. Only for a calibration of its answers, which is always checked so.",
)  # fmt: skip
@_YES
@json_option
def check(name: str, *, questions: int, offline: bool, yes: bool, as_json: bool) -> int:
    """Ask a few questions to see whether a calibration still holds.

    Exit 0 if it does; 1 if another model answers now, or the answers are shown to be worse.
    """
    from msgspec import to_builtins

    from ...store import load_calibrations
    from ...sweep import check_calibration

    made = load_calibrations().get(name.lower())
    if made is not None and offline and not made.offline:
        message = f"{made.name!r} was measured at the service; the emulator cannot say if it holds"
        raise click.UsageError(message)
    if made is not None and made.offline:
        echo(f"{made.name} was measured offline, so the emulator is asked", err=True)
    elif made is not None and not yes:
        confirm(f"ask {made.model}/{made.level} at most {questions} questions?")
    found = asyncio.run(check_calibration(name, questions=questions))
    if as_json:
        print_json(to_builtins(found))
    else:
        said = "still holds" if found.holds else "does not hold any more"
        echo(f"{found.name} {said}: {found.why}")
    return 0 if found.holds else 1
