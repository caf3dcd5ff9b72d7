"""The plot of ``sweep``: accuracy against cost, without colours; a line if plotext is missing."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ...extras import install_hint
from ..output.echo import echo

if TYPE_CHECKING:
    from ...sweep import Axis, Measure, SweepResults

_MOST, _LEAST, _HEIGHT = 100, 40, 19
_FRAME = (6, 3)  # columns and lines around what is drawn: figures, rules
_BEATEN, _BEST = "○", "●"


class Spot(Struct):
    """One place of the plot: its column and row, the names of the arms there, and its mark."""

    column: int
    row: int
    names: list[str]
    mark: str


def print_plot(results: "SweepResults") -> None:
    """Print accuracy against cost, if this is a terminal; arms that nothing beats are filled."""
    from ...sweep import amount_axis, choose_measure, share_axis

    known = [arm for arm in results.arms if arm.accuracy is not None]
    if not sys.stdout.isatty() or len(known) < 2:
        return
    try:
        import plotext
    except ImportError:
        echo(f"a plot needs plotext: {install_hint('tui')}", err=True)
        return
    width = min(_MOST, shutil.get_terminal_size().columns)
    if width < _LEAST:
        echo(f"a plot needs {_LEAST} columns, and there are {width}", err=True)
        return
    measure = choose_measure(known)
    across = amount_axis([measure.value_of(arm) for arm in known])
    up = share_axis([arm.accuracy or 0.0 for arm in known])
    columns, rows = width - _FRAME[0], _HEIGHT - _FRAME[1]
    figure = plotext.figure
    figure.clear()
    figure.plot_size(width, _HEIGHT)
    for column, row, words in texts(
        spots(results, measure, across, up, columns, rows), columns, rows
    ):
        place = (column / (columns - 1), 1 - row / (rows - 1))
        figure.draw(figure.text(*place, words, alignment="left"))
    for side, axis, write in (("x", across, measure.write), ("y", up, _percent)):
        figure.ruler(side).lim(0, 1)
        figure.ruler(side).ticks(
            [axis.place(tick) for tick in axis.ticks], list(map(write, axis.ticks))
        )
    told = f"right answers against {measure.name} of an answer"
    echo(f"{told}; {_BEST} no arm beats it, {_BEATEN} one does")
    # The marks tell the arms apart; plotext's colours would bring a background of their own.
    echo(figure.build().string(colorless=True))
    echo(*(f"{line}\n" for line in results.legend()), nl=False)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def spots(
    results: "SweepResults", measure: "Measure", across: "Axis", up: "Axis", columns: int, rows: int
) -> list[Spot]:
    """Return the places of the arms; arms that fall on one place share it."""
    best = results.pareto(measure)
    found: list[Spot] = []
    for name, arm in zip(results.labels(), results.arms, strict=True):
        if arm.accuracy is None or measure.get(arm) is None:
            continue
        column = round(across.place(measure.value_of(arm)) * (columns - 1))
        row = round((1 - up.place(arm.accuracy)) * (rows - 1))
        here = next((s for s in found if s.row == row and abs(s.column - column) < 2), None)
        if here is None:
            found.append(here := Spot(column, row, [], _BEATEN))
        here.names.append(name)
        here.mark = _BEST if arm in best else here.mark
    return found


def texts(places: Sequence[Spot], columns: int, rows: int) -> Iterator[tuple[int, int, str]]:
    """Yield what is written where: every mark at its place, its names at the nearest free one."""
    taken = {(spot.column, spot.row) for spot in places}
    for spot in places:
        yield spot.column, spot.row, spot.mark
    for spot in places:
        name = ", ".join(spot.names)
        for column, row in _iter_places(spot, len(name), columns):
            cells = {(column + n, row) for n in range(-1, len(name) + 1)}
            inside = column >= 0 and column + len(name) <= columns and 0 <= row < rows
            if inside and not cells & (taken - {(spot.column, spot.row)}):
                taken |= cells
                yield column, row, name
                break


def _iter_places(spot: Spot, width: int, columns: int) -> Iterator[tuple[int, int]]:
    under = min(spot.column - width // 2, columns - width)
    for down in (0, 1, -1, 2, -2, 3, -3):
        for column in (spot.column + 2, under) if down else (spot.column + 2,):
            yield column, spot.row + down
        yield spot.column - width - 1, spot.row + down
