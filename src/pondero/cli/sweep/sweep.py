"""``sweep``: which level is enough for this work, measured on the user's own questions."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..command import CommandGroup, confirm, examples, json_option, print_json
from ..commands.completion import model as complete_model
from ..output.echo import echo, style_text
from .adopt import adopt, print_adopted
from .report import demo, export, report

if TYPE_CHECKING:
    from ...sweep import Engine, Judge, Outline, Run, Runner, SweepResults

Command = TypeVar("Command", bound=Callable[..., object])

_YES = click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")
_RUN = click.argument("name", metavar="RUN")
_RAY_ADDRESS = click.option(
    "--ray-address", metavar="HOST:PORT",
    help="The cluster for --engine ray. Default: RAY_ADDRESS, else one on this machine.",
)  # fmt: skip
_KINDS = "exact includes numeric regex choice json_schema python command model"


@click.group(
    cls=CommandGroup,
    epilog=examples(
        "pondero sweep run questions.jsonl -m claude-opus-5 --judge numeric",
        "pondero sweep run questions.jsonl -m gpt-5.5 --levels off,low,high --dry-run",
        "pondero sweep run questions.jsonl -m gpt-5.5 --offline   no key, no cost",
        "pondero sweep resume last",
        "pondero sweep show last --json",
        "pondero sweep report last --html report.html",
        "pondero sweep demo                                       no key, no data",
        "pondero sweep adopt last --as sums",
    ),
)
def sweep() -> None:
    """Measure which level is enough for your own questions."""


for _command in (report, export, demo, adopt):
    sweep.add_command(_command)


def _options(command: Command) -> Command:
    for option in reversed(
        (
            click.option(
                "-m", "--model", "models", multiple=True, metavar="MODEL[/LEVEL]",
                help="A model to sweep. May be repeated; the reference is a level of the first.",
                shell_complete=complete_model,
            ),
            click.option(
                "--levels", metavar="all|LIST", help="Levels to compare, as off,low,high."
            ),
            click.option("--judge", metavar="KIND[:ARG]", help=f"How to grade answers: {_KINDS}."),
            click.option(
                "--reference", metavar="LEVEL",
                help="The level to compare the others with. Default: the highest.",
            ),
            click.option(
                "--against", type=click.Choice(["reference", "best"]),
                help="Compare arms with the reference, or with each other to find the best.",
            ),
            click.option(
                "--margin", type=float, metavar="SHARE",
                help="How much worse a level may be and still count as good enough. Default: 0.05.",
            ),
            click.option("--repeats", type=int, metavar="K", help="Ask every question K times."),
            click.option(
                "--cluster", metavar="FIELD",
                help="Treat questions with the same value of this metadata field as one cluster.",
            ),
            click.option(
                "--max-cost", type=float, metavar="USD",
                help="Stop before answers cost more than this. "
                "A judge model's cost is not included.",
            ),
            click.option(
                "--max-tokens", type=int, metavar="N",
                help="Maximum output tokens of one answer.",
            ),
            click.option("--system", metavar="TEXT", help="The system prompt."),
            click.option(
                "--engine", metavar="live|batch|ray",
                help="How to send the questions. Default: live.",
            ),
            _RAY_ADDRESS,
            click.option(
                "--seed", type=int, metavar="N", help="Seed for the order of the questions."
            ),
            click.option(
                "--offline", is_flag=True, default=None,
                help="Use the built-in emulator, which makes fewer mistakes at higher levels.",
            ),
            click.option(
                "--allow-unpriced", "unpriced", is_flag=True, default=None,
                help="Allow models whose price is unknown.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@sweep.command(
    epilog=examples(
        "pondero sweep run questions.jsonl -m gpt-5.5 --judge numeric --max-cost 5",
        "pondero sweep run quiz.csv -m gpt-5.5 -m gemini-3-pro-preview --judge choice",
        "pondero sweep run SWEEP.toml --yes --json",
    )
)
@click.argument("data", type=click.Path(path_type=Path), metavar="DATA|SWEEP.toml")
@_options
@click.option("--dry-run", is_flag=True, help="Show what would be asked, and ask nothing.")
@_YES
@json_option
def run(data: Path, *, dry_run: bool, yes: bool, as_json: bool, **options: Any) -> int:
    """Ask the questions of DATA at every level, and say which is enough.

    DATA is JSONL or CSV with the fields input and target, and optionally id, choices and metadata.
    A SWEEP.toml has the same options by their names, and data. Answers are saved on disk as they
    arrive: 'pondero sweep resume' continues after any interruption.
    """
    from ...sweep import PILOT, create_run, make_engine, make_judge, make_outline
    from .summary import print_outline

    models = options.pop("models") or None
    outline = make_outline(data, {**options, "models": models})
    print_outline(outline, err=as_json or not dry_run)
    if dry_run:
        if as_json:
            print_json(outline.to_json())
        return 0
    engine = make_engine(outline.spec)
    asks_first = not yes and not outline.spec.offline
    pilots = asks_first and not engine.outlives  # a pilot of a batch may take a day
    if asks_first:
        _confirm_first(outline, PILOT if pilots else None)
    with create_run(outline, engine) as begun:
        judge = make_judge(outline.spec.judge)
        return _run_and_print(begun, engine, judge, outline if pilots else None, as_json=as_json)


@sweep.command(epilog=examples("pondero sweep resume last", "pondero sweep resume 20261115 --yes"))
@_RUN
@_RAY_ADDRESS
@_YES
@json_option
def resume(name: str, *, ray_address: str | None, yes: bool, as_json: bool) -> int:
    """Continue a run; answered questions are not asked again."""
    from msgspec.structs import replace

    from ...sweep import Run, find_run, make_engine, make_judge

    with Run.open(find_run(name)) as begun:
        spec = begun.facts.spec
        if ray_address is not None:
            spec = replace(spec, ray_address=ray_address)
        left = f"{len(begun.answers()):,} answers are there"
        if not yes and not spec.offline and (begun.state != "done" or begun.failed):
            confirm(f"{left}; ask the rest?")
        return _run_and_print(
            begun, make_engine(spec), make_judge(spec.judge), None, as_json=as_json
        )


@sweep.command("list")
@click.option("--adopted", is_flag=True, help="List what was adopted of them instead.")
@json_option
def list_(*, adopted: bool, as_json: bool) -> None:
    """List the runs on this disk, the newest first."""
    from msgspec import to_builtins

    from ...sweep import list_runs

    if adopted:
        print_adopted(as_json=as_json)
        return
    found = list_runs()
    if as_json:
        print_json({"runs": to_builtins(found)})
        return
    for each in found:
        day = datetime.fromtimestamp(each.started, UTC).strftime("%Y-%m-%d %H:%M")
        echo(style_text(each.run, fg="cyan"), f"  {day}  {each.state}")
    if not found:
        echo("there are no runs yet; 'pondero sweep run' makes one", err=True)


@sweep.command(epilog=examples("pondero sweep show last", "pondero sweep show last --json"))
@_RUN
@click.option("--judge", metavar="KIND[:ARG]", help="As another judge has graded it.")
@json_option
def show(name: str, *, judge: str | None, as_json: bool) -> None:
    """Show what a run has found so far."""
    from ...sweep import Run, compute_results, find_run

    with Run.open(find_run(name)) as found:
        _print(compute_results(found, judge=judge), as_json=as_json)


@sweep.command(
    epilog=examples(
        "pondero sweep judge last --judge numeric:0.01",
        "pondero sweep judge last --judge model:claude-opus-5/low",
    )
)
@_RUN
@click.option("--judge", "kind", required=True, metavar="KIND[:ARG]", help=f"One of {_KINDS}.")
@_YES
@json_option
def judge(name: str, *, kind: str, yes: bool, as_json: bool) -> None:
    """Judge the saved answers of a run again with another judge."""
    from ...sweep import (
        Run,
        Runner,
        check_judge,
        compute_results,
        find_run,
        make_engine,
        make_judge,
    )

    other = make_judge(kind)
    with Run.open(find_run(name)) as found:
        check_judge(kind, found.questions())
        if kind.startswith("model") and not yes:
            confirm(f"ask {kind[6:]} about {len(found.answers()):,} answers?")

        async def judge_again() -> None:
            engine = make_engine(found.facts.spec)
            try:
                await Runner(found, engine, other).judge()
            finally:
                await engine.aclose()

        asyncio.run(judge_again())
        _print(compute_results(found, judge=kind), as_json=as_json)


# -- asking first ----------------------------------------------------------------------------------


def _confirm_first(outline: "Outline", pilot: int | None) -> None:
    from ...sweep import format_cost

    bound = outline.max_cost(pilot)
    most = "" if bound is None else f", {format_cost(bound)} at most"
    if pilot is None:
        confirm(f"ask all {len(outline.questions):,} questions of every arm{most}?")
        return
    count = min(pilot, len(outline.questions))
    confirm(f"begin with a pilot of {count} questions to every arm{most}?")


def _confirm_rest(driver: "Runner", outline: "Outline", seconds: float) -> None:
    from .summary import duration

    if driver.purse.closed:
        return
    costs = [each for tally in driver.tallies for each in tally.costs]
    low, high = _forecast(costs, outline.asks) if costs else (0.0, 0.0)
    money = f"cost ${low:,.2f} to ${high:,.2f}" if costs else "have an unknown cost"
    whole = seconds / max(1, sum(tally.settled for tally in driver.tallies)) * outline.asks
    echo(
        f"the whole will {money} and take {duration(whole / 4)} to {duration(whole)}; "
        "arms that are decided early stop",
        err=True,
    )
    confirm("continue?")


def _forecast(costs: list[float], asks: int) -> tuple[float, float]:
    from statistics import fmean, stdev

    mean = fmean(costs)
    error = 2 * stdev(costs) / len(costs) ** 0.5 if len(costs) > 1 else mean
    return max(0.0, mean - error) * asks, (mean + error) * asks


# -- running ---------------------------------------------------------------------------------------


def _run_and_print(
    begun: "Run", engine: "Engine", grader: "Judge", outline: "Outline | None", *, as_json: bool
) -> int:
    from ...sweep import compute_results

    code = run_with_progress(begun, engine, grader, outline, shown=not as_json)
    _print(compute_results(begun), as_json=as_json)
    return code


def run_with_progress(
    begun: "Run", engine: "Engine", grader: "Judge", outline: "Outline | None", *, shown: bool
) -> int:
    """Ask what a run needs, with a line for each arm if ``shown``."""
    echo(style_text(f"run {begun.facts.run}", bold=True), err=True)
    return asyncio.run(_run(begun, engine, grader, outline, shown=shown))


async def _run(
    begun: "Run", engine: "Engine", grader: "Judge", outline: "Outline | None", *, shown: bool
) -> int:
    from ...sweep import Runner

    with begun.hold_lock(known=engine.begin(begun.facts.run)):
        begun.forget_errors()
        driver = Runner(begun, engine, grader)
        try:
            code = 0
            if outline is not None:
                began = monotonic()
                code = await _interruptible(driver, begun, engine, driver.pilot, shown=shown)
                if not code:
                    _confirm_rest(driver, outline, monotonic() - began)
            code = code or await _interruptible(driver, begun, engine, driver.finish, shown=shown)
            code = code or await _interruptible(driver, begun, engine, driver.compare, shown=shown)
        except BaseException:
            begun.end("stopped")
            raise
        finally:
            await engine.aclose()
    if driver.purse.closed and not code:
        echo(style_text(f"stopped: {driver.purse.closed}", fg="yellow"), err=True)
        return 1
    return code


async def _interruptible(
    driver: "Runner",
    begun: "Run",
    engine: "Engine",
    work: Callable[[], Awaitable[object]],
    *,
    shown: bool,
) -> int:
    """Do work of a run; Ctrl-C lets requests finish, a second drops them, but not batches."""
    from .summary import progress_lines

    task = asyncio.ensure_future(work())
    presses: list[int] = []

    def interrupt() -> None:
        presses.append(driver.purse.flights)
        if len(presses) == 1:
            driver.stop("interrupted")
            if not engine.outlives:
                echo(f"finishing {presses[0]} in flight; Ctrl-C again drops them", err=True)
        else:
            task.cancel()

    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows: Ctrl-C cancels at once
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        with progress_lines(shown=shown) as driver.progress, suppress(asyncio.CancelledError):
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
        did = f"left {driver.purse.flights} at the service"
    name = begun.facts.run
    echo(
        f"interrupted: {did}, {len(begun.answers()):,} answers are saved; "
        f"'pondero sweep resume {name}' continues it",
        err=True,
    )
    return 130


def _print(results: "SweepResults", *, as_json: bool) -> None:
    from .summary import print_results

    if as_json:
        print_json(results.to_json())
    else:
        print_results(results)
