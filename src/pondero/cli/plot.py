"""A plot for the terminal; none where nobody looks, or plotext is not installed."""

import shutil
import sys
from collections.abc import Sequence

import click

from .ledger import Row

_MOST = 10
_MARKS = ("█", "▒")


def print_plot(rows: Sequence[Row], title: str) -> None:
    """Print thinking and answer tokens as stacked bars, if this is a terminal."""
    if not sys.stdout.isatty():
        return
    try:
        import plotext
    except ImportError:
        click.echo("a plot needs plotext: pip install 'pondero[tui]'", err=True)
        return
    shown = list(reversed(rows[:_MOST]))
    counts = [
        [float(row.thinking or 0) for row in shown],
        [float(row.output or 0) for row in shown],
    ]
    most = max(map(sum, zip(*counts, strict=True)))
    figure = plotext.figure
    figure.clear()
    figure.plot_size(min(100, shutil.get_terminal_size().columns), 2 * len(shown) + 4)
    names = [row.name for row in shown]
    bars = figure.bar(
        names, counts, marker=list(_MARKS), width=0.6, orientation="horizontal", stacked=True
    )
    figure.draw(bars)
    figure.ruler("x").lim(0, most or 1)
    figure.title(f"{title}   {_MARKS[0]} thinking  {_MARKS[1]} answer")
    # The marks tell the two apart; plotext's colours would bring a background of their own.
    click.echo(figure.build().string(colorless=True))
