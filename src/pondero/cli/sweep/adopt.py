"""``sweep adopt``, ``calibrations`` and ``forget``: the levels of sweeps that ``auto`` takes."""

import sys
from typing import TYPE_CHECKING

import click

from ..command import examples, json_option, print_json
from ..output.echo import echo, style_text
from .run_loop import confirm

if TYPE_CHECKING:
    from pathlib import Path

    from ...exchange import Calibration


@click.command(
    epilog=examples(
        "pondero sweep adopt last --as sums",
        "pondero sweep adopt last --as sums --by-kind",
        "pondero sweep adopt 20261115 --as sums --level medium --force",
        "pondero ask claude-opus-5/auto:sums 'What is 17 * 23?'",
    )
)
@click.argument("run", metavar="RUN")
@click.option("--as", "name", required=True, metavar="NAME", help="The name, to use as auto:NAME.")
@click.option(
    "--level",
    metavar="LEVEL",
    help="Adopt this level. If it is not shown to be enough, that takes --force, and is recorded.",
)
@click.option(
    "--by-kind",
    is_flag=True,
    help="Give each metadata.kind its own level, if its questions decide one.",
)
@click.option("--judge", metavar="KIND[:ARG]", help="Use the grades of this judge.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace a calibration of this name, and adopt a --level that is not shown to be enough.",
)
@json_option
def adopt(
    run: str,
    name: str,
    *,
    level: str | None,
    by_kind: bool,
    judge: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Save what a run recommends as NAME, for auto and auto:NAME.

    MODEL/auto uses the level that was adopted last for the model, MODEL/auto:NAME the one of that
    name. auto:NAME alone also chooses the model.
    """
    from msgspec import to_builtins

    from ...store import calibration_file, save_calibration
    from ...sweep import Run, check_shown, compute_results, find_run

    path = calibration_file(name)
    with Run.open(find_run(run)) as found:
        results = compute_results(found, judge=judge)
    made = results.calibration(name, level=level, by_kind=by_kind)
    if not force:
        check_shown(results, level)
    save_calibration(made, force=force or _may_replace(path))
    if as_json:
        print_json({**to_builtins(made), "file": str(path)})
        return
    print_calibration(made)
    for kind in results.kinds if by_kind else ():
        if not kind.is_shown:
            level = results.arms[kind.arm].level
            echo(f"kind {kind.kind}: nothing cheaper is shown, so it takes {level}, the reference")
    source = results.facts.source
    echo(f"it comes from run {results.run}{f' of {source}' if source else ''}")
    model = made.model.partition(":")[2]
    tried = f"plan {model}/auto:{made.name}"
    if made.offline:  # plan speaks of the service, for which it does not hold
        tried = f'ask --offline {model}/auto:{made.name} "..."'
    echo(f"it is in {path}; try: pondero {tried}")


def _may_replace(path: "Path") -> bool:
    if not path.exists() or sys.stdin is None or not sys.stdin.isatty():
        return False
    confirm(f"replace {path}?")
    return True


@click.command(epilog=examples("pondero sweep calibrations", "pondero sweep calibrations --json"))
@json_option
def calibrations(*, as_json: bool) -> None:
    """List the adopted levels (calibrations), newest first."""
    from msgspec import to_builtins

    from ...store import load_calibrations

    found = load_calibrations()
    for why in found.broken.values():
        echo(style_text(why, fg="yellow"), err=True)
    newest = sorted(found.known.values(), key=lambda each: each.adopted, reverse=True)
    if as_json:
        print_json({"calibrations": to_builtins(newest), "broken": dict(found.broken)})
        return
    for each in newest:
        print_calibration(each)
    if not newest:
        echo("nothing is adopted yet; use 'pondero sweep adopt RUN --as NAME'", err=True)


@click.command(epilog=examples("pondero sweep forget sums"))
@click.argument("name", metavar="NAME")
def forget(name: str) -> None:
    """Remove a calibration; auto:NAME is then unknown."""
    from ...store import remove_calibration

    echo(f"removed {remove_calibration(name)}")


def print_calibration(made: "Calibration") -> None:
    """Print a calibration and its evidence."""
    from ...exchange import describe_evidence

    echo(style_text(made.name, fg="cyan", bold=True), f"  {made.model}/{made.level}")
    for kind in (None, *made.kinds):
        level = made.kinds[kind].level if kind else made.level
        echo(f"  {level:<8}{describe_evidence(made, kind)}")
