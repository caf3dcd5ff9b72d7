"""What ``sweep`` prints: its arms before it begins, a line for each while it runs, and a plot."""

import asyncio
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..output.echo import echo, style_text

if TYPE_CHECKING:
    from rich.live import Live

    from ...sweep import ArmProgress, GradedAnswer, Outline, SweepResults

_OFTEN = 0.1  # seconds between two drawings
_LARGE = 1_000  # questions whose chance to decide takes more than a second
_VERY_LARGE = 10_000  # more than ten seconds


def print_sentence(text: str, *, err: bool, **style: Any) -> None:
    """Print a sentence; on a terminal no word of it is cut in two."""
    if (sys.stderr if err else sys.stdout).isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)
    echo(style_text(text, **style) if style else text, err=err)


def print_wait(subject: str, questions: int, *, long: str = "some seconds") -> None:
    """Say that something is being computed, if it takes long for this number of questions."""
    if questions >= _LARGE:
        echo(f"computing {subject}, for {long}", err=True)


def print_outline(outline: "Outline", *, err: bool) -> None:
    """Print what would be asked: the arms first, then how many questions would decide."""
    from ...sweep import find_judge_model

    for line in outline.notes:
        print_sentence(line, err=err)
    for line in outline.describe_merged_levels():
        print_sentence(line, err=err, fg="yellow")
    width = max(len(arm.name) for arm in outline.arms)
    for number, arm in enumerate(outline.arms):
        also = [level for level in arm.levels if level != arm.level]
        same = f"  also {', '.join(also)}" if also else ""
        star = "  the reference" if number == outline.reference else ""
        echo(style_text(f"{arm.name:<{width}}", fg="cyan"), star, same, err=err)
    problems = outline.problems()
    if not problems:
        long = "some seconds" if outline.units < _VERY_LARGE else "half a minute or so"
        print_wait("the chance that these questions decide", outline.units, long=long)
        print_sentence(outline.describe_sample_size(), err=err)
    repeats = f", {outline.spec.repeats} times each" if outline.spec.repeats > 1 else ""
    echo(f"{outline.asks:,} answers at most: {len(outline.arms)} arms{repeats}", err=err)
    if model := find_judge_model(outline.spec.judge):
        within = " and counts against --budget" if outline.spec.budget is not None else ""
        echo(f"{model} judges each answer; that is paid too{within}", err=err)
    for problem in problems:
        print_sentence(problem.why, err=err, fg="yellow")


def print_judge(outline: "Outline") -> "tuple[GradedAnswer, ...]":
    """Print a judge with three graded answers, before anything is spent, and return them.

    No model is asked.
    """
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
    tried = f": {why}" if why else ", checked on answers made from the targets:"
    echo(f"judge {name}{tried}", err=True)
    if why:
        return ()
    graded = asyncio.run(grade_examples(make_judge(name), answers))
    for each in graded:
        echo(f"  {each.describe()}", err=True)
    return graded


def print_cost(outline: "Outline", *, err: bool) -> None:
    """Print the most that it can cost, last: a question about it may follow."""
    offline = "; offline, nothing is paid" if outline.spec.offline else ""
    if usual := outline.describe_usual_cost():
        print_sentence(usual, err=err)
    print_sentence(outline.describe_cost() + offline, err=err)
    if budget := outline.describe_budget():
        print_sentence(budget, err=err)


class ProgressLines:
    """Draws a line for each arm while a run asks.

    Without a terminal it prints one for all of them now and then, if ``reports``.
    """

    def __init__(self, live: "Live | None" = None, *, reports: bool = False) -> None:
        self._live = live
        self._reports = reports
        self._began, self._drawn = monotonic(), 0.0

    def __call__(self, tallies: "Sequence[ArmProgress]") -> None:
        """Draw the lines, not too often."""
        now = monotonic()
        if self._live is not None and now - self._drawn >= _OFTEN:
            from rich.text import Text

            self._drawn = now
            width = self._live.console.width
            self._live.update(Text(_lines(tallies, now - self._began, width)), refresh=True)

    def report(self, tallies: "Sequence[ArmProgress]") -> None:
        """Print one line for all arms, unless there is a line for each."""
        if self._reports:
            echo(_sum_up(tallies, monotonic() - self._began), err=True)

    def say(self, text: str) -> None:
        """Print a line above the others."""
        if self._live is None:
            echo(text, err=True)
        else:
            self._live.console.print(text)


@contextmanager
def progress_lines(*, shown: bool) -> "Iterator[ProgressLines]":
    """Give a function that draws a line for each arm; nothing else is printed meanwhile."""
    if not shown or not sys.stderr.isatty():
        yield ProgressLines(reports=shown)
        return
    from rich.live import Live

    from ..output.tables import Screen

    with Live(console=Screen(stderr=True), transient=True, auto_refresh=False) as live:
        yield ProgressLines(live)


_LAYOUTS = ((16, True, True), (16, False, True), (8, False, True), (8, False, False))
"""From wide to narrow: the columns of the bar, whether to show thinking, and the model's name."""


def _lines(tallies: "Sequence[ArmProgress]", seconds: float, columns: int | None = None) -> str:
    """Return a line for each arm, in the widest layout that fits the columns."""
    asked = [tally for tally in tallies if tally.wanted]
    lines = list[str]()
    for bar, thinking, model in _LAYOUTS:
        names = [tally.name if model else tally.name.rpartition("/")[2] for tally in asked]
        width = max(map(len, names), default=0)
        lines = [
            f"{name:<{width}} {_line(tally, bar, seconds, thinking=thinking)}"
            for name, tally in zip(names, asked, strict=True)
        ]
        if columns is None or max(map(len, lines), default=0) < columns:
            break
    return "\n".join(lines)


def _line(tally: "ArmProgress", columns: int, seconds: float, *, thinking: bool) -> str:
    done, left = tally.settled, tally.wanted - tally.settled
    filled = round(columns * done / tally.wanted)
    bar = "━" * filled + "─" * (columns - filled)
    now = done - tally.kept
    # The time of all questions; a decision can end it sooner.
    time_left = f"{duration(seconds * left / now)} at most" if now and left else ""
    failed = f"{tally.failed} failed" if tally.failed else ""
    thought = f"{tally.thinking:,} thinking" if thinking else ""
    counts = f"{bar} {done:,}/{tally.wanted:,}"
    return "  ".join(filter(None, (counts, thought, f"${tally.cost:,.4f}", time_left, failed)))


def _sum_up(tallies: "Sequence[ArmProgress]", seconds: float) -> str:
    wanted = sum(tally.wanted for tally in tallies)
    settled = sum(tally.settled for tally in tallies)
    failed = sum(tally.failed for tally in tallies)
    words = [f"{settled:,} of {wanted:,} answers after {duration(seconds)}"]
    words += [f"{failed:,} failed"] if failed else []
    return ", ".join([*words, f"${sum(tally.cost for tally in tallies):,.4f}"])


def duration(seconds: float) -> str:
    """Return a time in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes else f"{rest} s"


def print_results(results: "SweepResults", *, is_told: bool = False) -> None:
    """Print the table, what is recommended, and on a terminal the plot.

    ``is_told``: why the sanity gate stops it was said before.
    """
    from msgspec.structs import replace

    from .plot import print_plot

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if is_told:
        gate = tuple(replace(each, examples=(), judges=()) for each in results.gate)
        results = replace(results, gate=gate, why="stopped at the sanity gate, as said above")
    echo(results.table(width))
    print_plot(results)
    words = f"'pondero sweep report {results.run} --html FILE' explains these words and figures"
    print_sentence(words, err=True)
