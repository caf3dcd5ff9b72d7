"""What ``sweep`` prints: its arms before it begins, a line for each while it runs, and a plot."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from .output import echo, styled

if TYPE_CHECKING:
    from ..sweep import Outline, Progress, Results, Tally

_OFTEN = 0.1  # seconds between two drawings


def print_outline(outline: "Outline", *, err: bool) -> None:
    """Print what would be asked: the arms first, then how many questions would decide."""
    for line in outline.merged():
        echo(styled(line, fg="yellow"), err=err)
    width = max(len(arm.name) for arm in outline.arms)
    for number, arm in enumerate(outline.arms):
        also = [level for level in arm.levels if level != arm.level]
        same = f"  also {', '.join(also)}" if also else ""
        star = "  the reference" if number == outline.reference else ""
        echo(styled(f"{arm.name:<{width}}", fg="cyan"), star, same, err=err)
    echo(outline.planned(), err=err)
    repeats = f", {outline.spec.repeats} times each" if outline.spec.repeats > 1 else ""
    echo(f"{outline.asks:,} answers at most: {len(outline.arms)} arms{repeats}", err=err)


@contextmanager
def progress_lines(*, shown: bool) -> "Iterator[Progress]":
    """Give a function that draws a line for each arm: questions, tokens, money and time left.

    Nothing may be printed or asked while it draws.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.live import Live
    from rich.text import Text

    from .tables import Screen

    began, drawn = monotonic(), [0.0]
    with Live(console=Screen(stderr=True), transient=True, auto_refresh=False) as live:

        def draw(tallies: "Sequence[Tally]") -> None:
            now = monotonic()
            if now - drawn[0] >= _OFTEN:
                drawn[0] = now
                live.update(Text(_lines(tallies, now - began)), refresh=True)

        yield draw


def _lines(tallies: "Sequence[Tally]", seconds: float) -> str:
    """Return a line for each arm that is asked."""
    asked = [tally for tally in tallies if tally.wanted]
    width = max((len(tally.name) for tally in asked), default=0)
    return "\n".join(_line(tally, width, seconds) for tally in asked)


def _line(tally: "Tally", width: int, seconds: float) -> str:
    done, left = tally.settled, tally.wanted - tally.settled
    filled = round(16 * done / tally.wanted)
    bar = "━" * filled + "─" * (16 - filled)
    time_left = f"{duration(seconds * left / done)} left" if done and left else ""
    failed = f"  {tally.failed} failed" if tally.failed else ""
    return (
        f"{tally.name:<{width}} {bar} {done:,}/{tally.wanted:,}  {tally.thinking:,} thinking  "
        f"${tally.cost:,.4f}  {time_left}{failed}"
    ).rstrip()


def duration(seconds: float) -> str:
    """Return a time in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes else f"{rest} s"


def print_results(results: "Results") -> None:
    """Print the table, what is recommended, and on a terminal the plot."""
    echo(results.table())
    print_plot(results)


def print_plot(results: "Results") -> None:
    """Print accuracy against cost, if this is a terminal; arms that nothing beats are filled."""
    from ..sweep import measure_of

    known = [arm for arm in results.arms if arm.accuracy is not None]
    if not sys.stdout.isatty() or len(known) < 2:
        return
    try:
        import plotext
    except ImportError:
        echo("a plot needs plotext: pip install 'pondero[tui]'", err=True)
        return
    measure, best = measure_of(known), results.pareto()
    figure = plotext.figure
    figure.clear()
    figure.plot_size(min(90, shutil.get_terminal_size().columns), 18)
    places = [(measure.get(arm), 100 * (arm.accuracy or 0.0), arm) for arm in known]
    for across, up, arm in places:
        mark = "●" if arm in best else "○"
        figure.draw(figure.text(across, up, f"{mark} {arm.level}", alignment="left"))
    figure.ruler("x").lim(0, 1.15 * max(across for across, _, _ in places) or 1)
    figure.ruler("y").lim(max(0, min(up for _, up, _ in places) - 5), 102)
    figure.title(f"right answers in percent against {measure.name} of an answer")
    # The marks tell the arms apart; plotext's colours would bring a background of their own.
    echo(figure.build().string(colorless=True))
