"""``sweep``: which level is enough for this work, measured on the user's own questions."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from ..command import CommandGroup, examples, json_option, print_json
from ..commands.completion import model as complete_model
from ..output.echo import echo, style_text
from .adopt import adopt, calibrations, forget
from .decide import STOPPED, MarginType, decide
from .grade import grade
from .grow import add_arm, check, decide_now, extend, label, release
from .report import demo, export, report
from .run_loop import (
    confirm,
    confirm_pilot,
    exit_code,
    print_outcome,
    report_failures,
    run_and_print,
    stops_before,
)

Command = TypeVar("Command", bound=Callable[..., object])

_YES = click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")
_RUN = click.argument("name", metavar="RUN")
_EXPECT = click.option(
    "--expect", metavar="LEVEL", help="Exit 1 if this level is not shown to be enough."
)
_RAY_ADDRESS = click.option(
    "--ray-address", metavar="HOST:PORT",
    help="The cluster for --engine ray. Default: RAY_ADDRESS, else one on this machine.",
)  # fmt: skip
_KINDS = (
    "exact includes numeric choice json json_schema regex python command code model rubric pairwise"
)


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
        "pondero sweep grade --judge numeric --target 0.5 --answer 50%",
    ),
)
def sweep() -> None:
    """Measure which level is enough for your own questions."""


for _command in (
    *(report, export, demo, adopt, calibrations, forget, grade),
    *(decide, extend, add_arm, label, decide_now, release, check),
):
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
                "--levels", metavar="all|LIST", help="Levels to compare, such as off,low,high."
            ),
            click.option(
                "--judge", metavar="KIND[:ARG]",
                help=f"How to grade answers: {_KINDS}. Default: what fits the targets.",
            ),
            click.option(
                "--reference", metavar="LEVEL",
                help="The level to compare the others with. Default: the highest.",
            ),
            click.option(
                "--against", type=click.Choice(["reference", "best"]),
                help="Compare arms with the reference, or with each other to find the best.",
            ),
            click.option(
                "--margin", type=MarginType(), metavar="POINTS",
                help="Percentage points that a level may be worse and still be enough. Default: 5.",
            ),
            click.option("--repeats", type=int, metavar="K", help="Ask every question K times."),
            click.option(
                "--cluster", metavar="FIELD",
                help="Treat questions with the same value of this metadata field as one cluster.",
            ),
            click.option(
                "--budget", type=float, metavar="USD",
                help="Stop before answers and their judge cost more than this.",
            ),
            click.option(
                "--pilot", type=int, metavar="N",
                help="Questions to every arm first, not used in the decision. Default: 20.",
            ),
            click.option(
                "--once", is_flag=True, default=None,
                help="Decide once, after all questions; for at most 300 questions.",
            ),
            click.option(
                "--fresh", is_flag=True, default=None, help="Do not reuse answers of earlier runs."
            ),
            click.option(
                "--continue", "past_gate", is_flag=True, default=None,
                help="Continue if the sanity gate fails after the pilot.",
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
                "--label-share", type=float, metavar="SHARE",
                help="The share of questions that people label, to correct the judge.",
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
        "pondero sweep run questions.jsonl -m gpt-5.5 --judge numeric --budget 5",
        "pondero sweep run quiz.csv -m gpt-5.5 -m gemini-3-pro-preview --judge choice",
        "pondero sweep run SWEEP.toml --yes --json",
    )
)
@click.argument("data", type=click.Path(path_type=Path), metavar="DATA|SWEEP.toml")
@_options
@click.option("--dry-run", is_flag=True, help="Show what would be asked, and ask nothing.")
@_EXPECT
@_YES
@json_option
def run(
    data: Path, *, dry_run: bool, expect: str | None, yes: bool, as_json: bool, **options: Any
) -> int:
    """Ask the questions of DATA, and say which level is enough.

    DATA is JSONL, JSON, CSV or TSV with the fields input and target, and optionally id, choices and
    metadata; the names of other tools, such as question and answer, are read too.
    A SWEEP.toml has data and the same options, by name. Answers are saved on disk as they
    arrive: 'pondero sweep resume last' continues after any interruption.

    Exit 0: a level is recommended, or the reference stays after the whole pool; 1: not decided, or
    --expect fails; 3: the sanity gate stops it.
    """
    from ...sweep import (
        check_access,
        check_expected,
        create_run,
        list_runs,
        make_engine,
        make_judge,
        make_outline,
    )
    from .summary import print_cost, print_judge, print_outline

    models = options.pop("models") or None
    with _before_run():
        outline = make_outline(data, {**options, "models": models})
        check_expected(outline.arms, outline.reference, expect)
        print_outline(outline, err=as_json or not dry_run)
        graded = print_judge(outline)
        print_cost(outline, err=as_json or not dry_run)
        if dry_run:
            if as_json:
                print_json(outline.to_json())
            return 0
        engine = make_engine(outline.spec)
        asks = not yes and not outline.spec.offline
        if stops_before(outline, graded, yes=not asks):
            if before := list_runs()[:1]:
                echo(f"no run was begun: 'last' is still {before[0].run}", err=True)
            return STOPPED
        check_access(outline)
        if asks:
            confirm_pilot(outline, engine)
    with create_run(outline) as begun:
        judge = make_judge(outline.spec.judge)
        return run_and_print(begun, engine, judge, asks=asks, as_json=as_json, expect=expect)


@contextmanager
def _before_run() -> Iterator[None]:
    """Say that nothing was sent if Ctrl-C, or a no, ends it here."""
    try:
        yield
    except (KeyboardInterrupt, click.Abort, click.exceptions.Exit):
        echo("no run was begun: nothing was sent", err=True)
        raise


@sweep.command(epilog=examples("pondero sweep resume last", "pondero sweep resume 20261115 --yes"))
@_RUN
@_RAY_ADDRESS
@click.option(
    "--budget", type=float, metavar="USD", help="A new budget for all of the run, spent included."
)
@click.option(
    "--judge",
    "kind",
    metavar="KIND[:ARG]",
    help="Grade with this judge from now on; possible until the end of the pilot.",
)
@click.option(
    "--continue", "past_gate", is_flag=True, help="Continue if the sanity gate has failed."
)
@_EXPECT
@_YES
@json_option
def resume(
    name: str,
    *,
    ray_address: str | None,
    budget: float | None,
    kind: str | None,
    past_gate: bool,
    expect: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Continue a run; answered questions are not asked again."""
    from msgspec.structs import replace

    from ...sweep import (
        Run,
        change_judge,
        check_expected,
        compute_results,
        find_run,
        make_engine,
        make_judge,
        raise_budget,
    )

    with Run.open(find_run(name)) as begun:
        check_expected(begun.facts.arms, begun.facts.reference, expect)
        if kind is not None:
            change_judge(begun, kind)
        raise_budget(begun, budget)
        if past_gate:
            with begun.hold_facts():
                begun.change(past_gate=True)
        spec = begun.facts.spec
        if ray_address is not None:
            spec = replace(spec, ray_address=ray_address)
        if not begun.failed and compute_results(begun).is_decided:
            echo("decided already: no question is asked", err=True)
        left = f"{begun.answered:,} answers are there"
        if not yes and not spec.offline and (begun.state != "done" or begun.failed):
            confirm(f"{left}; ask the rest?")
        judge = make_judge(spec.judge)
        return run_and_print(
            begun, make_engine(spec), judge, asks=False, as_json=as_json, expect=expect
        )


@sweep.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the runs on this disk, the newest first."""
    from msgspec import to_builtins

    from ...sweep import list_runs

    found = list_runs()
    best = [_find_recommended(each.run) for each in found]
    if as_json:
        rows = zip(to_builtins(found), best, strict=True)
        print_json({"runs": [{**each, "recommended": name} for each, name in rows]})
        return
    told = [
        name or f"nothing of {', '.join(each.models)}"
        for each, name in zip(found, best, strict=True)
    ]
    width = max(map(len, told), default=0)
    for each, result in zip(found, told, strict=True):
        day = datetime.fromtimestamp(each.started, UTC).strftime("%Y-%m-%d %H:%M")
        data = f"{each.questions:,} of {each.source}" if each.source else f"{each.questions:,}"
        echo(
            style_text(each.run, fg="cyan"),
            f"  {day}  {each.state:<11}  {result:<{width}}  {data}",
        )
    if not found:
        echo("there are no runs yet; 'pondero sweep run' makes one", err=True)


def _find_recommended(name: str) -> str | None:
    from ...sweep import Run, compute_results

    with Run.open(name) as run:
        found = compute_results(run).recommendation
        return None if found is None else found.name


@sweep.command(epilog=examples("pondero sweep show last", "pondero sweep show last --json"))
@_RUN
@click.option("--judge", metavar="KIND[:ARG]", help="Use the grades of this judge.")
@_EXPECT
@json_option
def show(name: str, *, judge: str | None, expect: str | None, as_json: bool) -> int:
    """Show the results of a run so far."""
    from ...sweep import Run, check_expected, compute_results, find_run

    with Run.open(find_run(name)) as found:
        check_expected(found.facts.arms, found.facts.reference, expect)
        results = compute_results(found, judge=judge)
    print_outcome(results, as_json=as_json)
    return 0 if expect is None else exit_code(results, expect)


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
def judge(name: str, *, kind: str, yes: bool, as_json: bool) -> int:
    """Judge the saved answers of a run again with another judge."""
    from ...sweep import (
        Run,
        Runner,
        check_judge,
        compute_results,
        find_judge_model,
        find_run,
        make_engine,
        make_judge,
    )

    other = make_judge(kind)
    with Run.open(find_run(name)) as found:
        check_judge(kind, found.questions())
        model = find_judge_model(kind)
        if model and not yes:
            confirm(f"ask {model} about {found.answered:,} answers?")

        async def judge_again() -> None:
            engine = make_engine(found.facts.spec)
            driver = Runner(found, engine, other)
            try:
                await driver.judge()
            finally:
                driver.close()
                await engine.aclose()

        asyncio.run(judge_again())
        print_outcome(compute_results(found, judge=kind), as_json=as_json)
        return report_failures(found, kind)
