"""What ``sweep`` prints: its arms before it begins, a line for each while it runs, and a plot."""

import asyncio
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from ..output.echo import echo, style_text

if TYPE_CHECKING:
    from ...sweep import ArmProgress, Outline, Progress, SweepResults

_OFTEN = 0.1  # seconds between two drawings


def print_outline(outline: "Outline", *, err: bool) -> None:
    """Print what would be asked: the arms first, then how many questions would decide."""
    from ...sweep import find_judge_model

    for line in outline.notes:
        echo(line, err=err)
    for line in outline.describe_merged_levels():
        echo(style_text(line, fg="yellow"), err=err)
    width = max(len(arm.name) for arm in outline.arms)
    for number, arm in enumerate(outline.arms):
        also = [level for level in arm.levels if level != arm.level]
        same = f"  also {', '.join(also)}" if also else ""
        star = "  the reference" if number == outline.reference else ""
        echo(style_text(f"{arm.name:<{width}}", fg="cyan"), star, same, err=err)
    echo(outline.describe_sample_size(), err=err)
    repeats = f", {outline.spec.repeats} times each" if outline.spec.repeats > 1 else ""
    echo(f"{outline.asks:,} answers at most: {len(outline.arms)} arms{repeats}", err=err)
    if model := find_judge_model(outline.spec.judge):
        within = " and counts against --budget" if outline.spec.budget is not None else ""
        echo(f"{model} judges each answer; that is paid too{within}", err=err)
    for problem in outline.problems():
        echo(style_text(problem.why, fg="yellow"), err=err)


def print_judge(outline: "Outline") -> None:
    """Print a judge with three graded answers, before anything is spent; no model is asked."""
    from ...sweep import (
        find_judge_kind,
        find_judge_model,
        grade_examples,
        make_examples,
        make_judge,
    )

    name = outline.spec.judge
    answers = make_examples(outline.questions)
    why = ""
    if find_judge_model(name):
        why = "it asks a model, so it is not tried before"
    elif not find_judge_kind(name).answers or not answers:
        why = "a target is no answer to it, so try one with 'pondero sweep grade'"
    echo(
        f"judge {name}{f': {why}' if why else ', tried on answers made of the targets:'}", err=True
    )
    if not why:
        for each in asyncio.run(grade_examples(make_judge(name), answers)):
            echo(f"  {each.describe()}", err=True)


@contextmanager
def progress_lines(*, shown: bool) -> "Iterator[Progress]":
    """Give a function that draws a line for each arm; print nothing and ask nothing meanwhile."""
    if not shown or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.live import Live
    from rich.text import Text

    from ..output.tables import Screen

    began, drawn = monotonic(), [0.0]
    with Live(console=Screen(stderr=True), transient=True, auto_refresh=False) as live:

        def draw(tallies: "Sequence[ArmProgress]") -> None:
            now = monotonic()
            if now - drawn[0] >= _OFTEN:
                drawn[0] = now
                live.update(Text(_lines(tallies, now - began)), refresh=True)

        yield draw


def _lines(tallies: "Sequence[ArmProgress]", seconds: float) -> str:
    asked = [tally for tally in tallies if tally.wanted]
    width = max((len(tally.name) for tally in asked), default=0)
    return "\n".join(_line(tally, width, seconds) for tally in asked)


def _line(tally: "ArmProgress", width: int, seconds: float) -> str:
    done, left = tally.settled, tally.wanted - tally.settled
    filled = round(16 * done / tally.wanted)
    bar = "━" * filled + "─" * (16 - filled)
    now = done - tally.kept
    time_left = f"{duration(seconds * left / now)} left" if now and left else ""
    failed = f"  {tally.failed} failed" if tally.failed else ""
    return (
        f"{tally.name:<{width}} {bar} {done:,}/{tally.wanted:,}  {tally.thinking:,} thinking  "
        f"${tally.cost:,.4f}  {time_left}{failed}"
    ).rstrip()


def duration(seconds: float) -> str:
    """Return a time in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes else f"{rest} s"


def print_results(results: "SweepResults") -> None:
    """Print the table, what is recommended, and on a terminal the plot."""
    from .plot import print_plot

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    echo(results.table(width))
    print_plot(results)
