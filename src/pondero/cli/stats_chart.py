"""The chart of ``stats``: an SVG for light and dark pages, or bars on the terminal."""

import shutil
import sys
from collections.abc import Sequence
from html import escape

from ..store import dollars
from .output import echo
from .stats import Row

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 760, 250, 150, 64, 30, 16
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1a1f26}"
    ".dim{fill:#5b6470}.back{fill:#fff}.thinking{fill:#7c5cd6}.answer{fill:#2a9d8f}"
    "@media(prefers-color-scheme:dark){text{fill:#dfe5ec}.dim{fill:#9aa4b1}.back{fill:#14181d}"
    ".thinking{fill:#a78bfa}.answer{fill:#4fd1c5}}"
)


def chart(rows: Sequence[Row], title: str) -> str:
    """Return thinking and answer tokens as stacked bars, one for each row."""
    height = _TOP + _ROW * max(1, len(rows)) + 12
    most = max((_tokens(row) for row in rows), default=0) or 1
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" aria-label="{escape(title)}">'
    )
    lines = [
        head,
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{_WIDTH}" height="{height}" rx="8"/>',
        f'<text x="16" y="26" font-weight="600">{escape(title)}</text>',
        _key(16, "thinking"),
        _key(100, "answer"),
        *(_line(row, most, _TOP + _ROW * n) for n, row in enumerate(rows)),
    ]
    if not rows:
        lines.append(f'<text class="dim" x="16" y="{_TOP + 16}">nothing yet</text>')
    return "\n".join((*lines, "</svg>", ""))


def _key(x: int, name: str) -> str:
    return (
        f'<rect class="{name}" x="{x}" y="38" width="10" height="10" rx="2"/>'
        f'<text class="dim" x="{x + 15}" y="47">{name}</text>'
    )


def _line(row: Row, most: int, y: int) -> str:
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    thinking, answer = (row.thinking or 0) * scale, (row.output or 0) * scale
    said = f"{_tokens(row):,}" + ("" if row.cost is None else f" · {dollars(row.cost)}")
    return (
        f'<text x="{_LEFT - 10}" y="{y + 12}" text-anchor="end">{escape(_short(row.name))}</text>'
        f'<rect class="thinking" x="{_LEFT}" y="{y}" width="{thinking:.1f}" height="{_BAR}"/>'
        f'<rect class="answer" x="{_LEFT + thinking:.1f}" y="{y}" width="{answer:.1f}" '
        f'height="{_BAR}"/>'
        f'<text class="dim" x="{_LEFT + thinking + answer + 8:.1f}" y="{y + 12}">'
        f"{escape(said)}</text>"
    )


def _tokens(row: Row) -> int:
    return (row.thinking or 0) + (row.output or 0)


def _short(name: str) -> str:
    return name if len(name) <= 38 else f"…{name[-37:]}"


_MOST = 10
_MARKS = ("█", "▒")


def print_plot(rows: Sequence[Row], title: str) -> None:
    """Print thinking and answer tokens as stacked bars, if this is a terminal."""
    if not sys.stdout.isatty():
        return
    try:
        import plotext
    except ImportError:
        echo("a plot needs plotext: pip install 'pondero[tui]'", err=True)
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
    echo(figure.build().string(colorless=True))
