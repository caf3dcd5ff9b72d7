"""``stats``: tokens, cost and time of thinking, by model and level."""

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import PonderoError
from ...extras import install_hint
from ...store import NOTHING_PAID, UsageTotal, format_dollars, load_catalog, write_atomic
from ..command import (
    check_free,
    check_writable,
    config_option,
    examples,
    force_option,
    json_option,
    print_json,
    warn,
)
from ..output.echo import echo, narrow, say_error
from ..output.thread_tables import open_threads

if TYPE_CHECKING:
    from rich.table import Table

_UNSAID = "unset"
_THREADS = "threads"
_NO_GROUP = "no group"
_LEAST = ("share", "seconds", "in")
"""Columns that a narrow screen does without, the first of them first."""
_LAST = "turns"
"""The column that goes only where not even names in two lines make room."""


class StatsRow(Struct, frozen=True):
    """One line: the usage of a model, a level, both, a key or a group; None is unknown."""

    model: str | None
    level: str | None
    turns: int
    replies: int
    input: int | None
    cached: int | None
    thinking: int | None
    output: int | None
    cost: str | None
    priced: int
    seconds: float | None
    timed: int
    key: str | None = None
    group: str | None = None

    @property
    def name(self) -> str:
        """Return the model and the level, or the key, or the group."""
        names = (self.model, self.level, self.key, self.group)
        return "/".join(word for word in names if word)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values; the keys are a stable contract."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("key", "group"):
            if made[name] is None:
                del made[name]
        return made


class _Names(Struct, frozen=True):
    """What a line is about; None if the lines do not tell it apart."""

    model: str | None = None
    level: str | None = None
    key: str | None = None
    group: str | None = None


@click.command(
    epilog=examples(
        "pondero stats",
        "pondero stats --days 7 --by level",
        "pondero stats --only gateway --by key    by client; --by group: by its group",
        "pondero stats --svg thinking.svg",
        "pondero stats --json | jq '.rows[] | {model, thinking}'",
    )
)
@click.option(
    "--days", type=click.FloatRange(0, min_open=True), metavar="N", help="Only the last N days."
)
@click.option(
    "--by",
    type=click.Choice(["model", "level", "key", "group"]),
    help="Sum by model, level, gateway key, or group of keys.",
)
@click.option(
    "--only",
    type=click.Choice([_THREADS, "gateway"]),
    help="Only local threads, or only gateway requests.",
)
@config_option
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the chart to this file.",
)
@force_option
@click.option(
    "--offline",
    is_flag=True,
    help="Count the answers of the emulator and of recordings instead of those of services.",
)
@json_option
def stats(
    *,
    days: float | None,
    by: str | None,
    only: str | None,
    file: str | None,
    svg: Path | None,
    force: bool,
    offline: bool,
    as_json: bool,
) -> None:
    """Show thinking and answer tokens, cost and time.

    There is one line per model and level, for local threads and gateway requests together. All
    figures are sums; share is the part of the output that is thinking. Offline runs are counted
    only with --offline, and without their cost: nothing is paid for them.
    """
    check_free(svg, force=force)
    check_writable(svg)
    spent = _load_usage(days, only, file)
    rows = load_rows((each for each in spent if each.offline == offline), by=by)
    if offline:  # a gateway has list prices for them, threads have none
        rows = [replace(row, cost=None, priced=0) for row in rows]
    left_out = 0 if offline else sum(each.replies for each in spent if each.offline)
    if svg is not None:
        write_atomic(svg, chart(rows, _title(days)))
        echo(f"wrote the chart to {svg}", err=True)
    if as_json:
        print_json({"days": days, "by": by, "rows": [row.to_json() for row in rows]})
        return
    if not rows:
        when = "yet" if days is None else f"in {days:g} days"
        echo(f"no answers of {'offline runs' if offline else 'services'} {when}", err=True)
    elif svg is None:
        _show(rows, _title(days), paid=not offline)
    if left_out:
        answers = "1 offline answer is" if left_out == 1 else f"{left_out:,} offline answers are"
        echo(f"{answers} not counted (--offline shows them)", err=True)


def _load_usage(days: float | None, only: str | None, file: str | None) -> list[UsageTotal]:
    spent: list[UsageTotal] = []
    if only != "gateway":
        with open_threads() as threads:
            spent += threads.stats(days=days)
    if only != _THREADS:
        spent += _load_gateway_usage(days, file)
    return spent


def _load_gateway_usage(days: float | None, file: str | None) -> list[UsageTotal]:
    from ...gateway import load_config, load_usage

    try:
        ledger = load_config(file, load_catalog(), offline=True).server.ledger
        return load_usage(ledger, days=days)
    except PonderoError as error:
        if file is not None:
            raise
        warn(f"without the gateway's ledger: {error}")
        return []


def _show(rows: list[StatsRow], title: str, *, paid: bool) -> None:
    print_rows(rows, paid=paid)
    print_plot(rows, title)


def _title(days: float | None) -> str:
    return "Thinking and answer tokens" + ("" if days is None else f", last {days:g} days")


def load_rows(spent: Iterable[UsageTotal], *, by: str | None) -> list[StatsRow]:
    """Return the lines, by one of the choices or by model and level, most tokens first."""
    chosen = ("model", "level") if by is None else (by,)
    groups: dict[_Names, list[UsageTotal]] = {}
    for each in spent:
        names = {
            "model": each.model,
            "level": each.level or _UNSAID,
            "key": each.key or _THREADS,
            "group": each.group or (_THREADS if each.key is None else _NO_GROUP),
        }
        found = {name: value for name, value in names.items() if name in chosen}
        groups.setdefault(_Names(**found), []).append(each)
    rows = [_row(names, group) for names, group in groups.items()]
    return sorted(rows, key=lambda row: -((row.thinking or 0) + (row.output or 0)))


def print_rows(rows: Iterable[StatsRow], *, paid: bool = True) -> None:
    """Print the lines as a table; where it is narrow, without the columns that matter least.

    Where it would break a name, each line is a block of its own.
    """
    from ..output.tables import Screen, fit_tables

    screen = Screen()
    columns = _columns(list(rows))
    if not paid:
        del columns["cost"]
    fitting = dict(columns)
    left_out = _fit_columns(fitting, screen.width)
    if narrow() is not None and _width(fitting) > screen.width:
        left_out = []
        blocks = list(zip(*columns.values(), strict=True))
        screen.print(*fit_tables(screen, tuple(columns), [blocks]))
    else:
        screen.print(_make_table(fitting))
    if left_out:
        say_error(f"a wider terminal also shows: {', '.join(left_out)}")
    if not paid:
        say_error(NOTHING_PAID)


def _make_table(columns: Mapping[str, Sequence[str]]) -> "Table":
    from rich.text import Text

    from ..output.tables import table

    listed = table(*columns)
    for cells in zip(*columns.values(), strict=True):
        listed.add_row(*map(Text, cells))
    for column in listed.columns[1:]:
        column.justify = "right"
    return listed


def _fit_columns(columns: dict[str, list[str]], width: int) -> list[str]:
    """Remove what does not fit, and return the names of the columns that are gone."""
    before = list(columns)
    for least in _LEAST:
        if _width(columns) > width:
            del columns[least]
    if _width(columns) > width:
        columns["what"] = [name.replace(":", ":\n  ", 1) for name in columns["what"]]
    if _width(columns) > width:
        del columns[_LAST]
    return [name for name in before if name not in columns]


def _columns(rows: Sequence[StatsRow]) -> dict[str, list[str]]:
    seconds = ["" if row.seconds is None else f"{row.seconds:,.1f}" for row in rows]
    return {
        "what": [row.name for row in rows],
        "turns": [f"{row.turns:,}" for row in rows],
        "in": [_count(_sum_known(row.input, row.cached)) for row in rows],
        "thinking": [_count(row.thinking) for row in rows],
        "answer": [_count(row.output) for row in rows],
        "share": [_share(row) for row in rows],
        "cost": [_format_cost(row) for row in rows],
        "seconds": seconds,
    }


def _width(columns: Mapping[str, Iterable[str]]) -> int:
    lines = ([name, *"\n".join(cells).split("\n")] for name, cells in columns.items())
    return sum(max(map(len, column)) + 3 for column in lines) + 1


def _row(names: _Names, group: list[UsageTotal]) -> StatsRow:
    costs = _known_values(group, lambda each: each.cost)
    seconds = _known_values(group, lambda each: each.seconds)
    return StatsRow(
        names.model,
        names.level,
        turns=sum(each.turns for each in group),
        replies=sum(each.replies for each in group),
        input=_sum_known(*(each.input for each in group)),
        cached=_sum_known(*(each.cached for each in group)),
        thinking=_sum_known(*(each.thinking for each in group)),
        output=_sum_known(*(each.output for each in group)),
        cost=str(sum(map(Decimal, costs))) if costs else None,
        priced=sum(each.priced for each in group),
        seconds=sum(seconds) if seconds else None,
        timed=sum(each.timed for each in group),
        key=names.key,
        group=names.group,
    )


def _known_values(group: Iterable[UsageTotal], get: Callable[[UsageTotal], Any]) -> list[Any]:
    return [value for each in group if (value := get(each)) is not None]


def _sum_known(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _count(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _share(row: StatsRow) -> str:
    total = (row.thinking or 0) + (row.output or 0)
    return "" if row.thinking is None or not total else f"{row.thinking / total:.0%}"


def _format_cost(row: StatsRow) -> str:
    if row.cost is None:
        return "unknown"
    return f"{'' if row.priced == row.replies else 'at least '}{format_dollars(row.cost)}"


_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 760, 250, 150, 64, 30, 16
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1a1f26}"
    ".dim{fill:#5b6470}.back{fill:#fff}.thinking{fill:#7c5cd6}.answer{fill:#2a9d8f}"
    "@media(prefers-color-scheme:dark){text{fill:#dfe5ec}.dim{fill:#9aa4b1}.back{fill:#14181d}"
    ".thinking{fill:#a78bfa}.answer{fill:#4fd1c5}}"
)


def chart(rows: Sequence[StatsRow], title: str) -> str:
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


def _key(left: int, name: str) -> str:
    return (
        f'<rect class="{name}" x="{left}" y="38" width="10" height="10" rx="2"/>'
        f'<text class="dim" x="{left + 15}" y="47">{name}</text>'
    )


def _line(row: StatsRow, most: int, top: int) -> str:
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    thinking, answer = (row.thinking or 0) * scale, (row.output or 0) * scale
    said = f"{_tokens(row):,}" + ("" if row.cost is None else f" · {format_dollars(row.cost)}")
    return (
        f'<text x="{_LEFT - 10}" y="{top + 12}" text-anchor="end">{escape(_short(row.name))}</text>'
        f'<rect class="thinking" x="{_LEFT}" y="{top}" width="{thinking:.1f}" height="{_BAR}"/>'
        f'<rect class="answer" x="{_LEFT + thinking:.1f}" y="{top}" width="{answer:.1f}" '
        f'height="{_BAR}"/>'
        f'<text class="dim" x="{_LEFT + thinking + answer + 8:.1f}" y="{top + 12}">'
        f"{escape(said)}</text>"
    )


def _tokens(row: StatsRow) -> int:
    return (row.thinking or 0) + (row.output or 0)


def _short(name: str) -> str:
    return name if len(name) <= 38 else f"…{name[-37:]}"


_MOST = 10
_MARKS = ("█", "▒")


def print_plot(rows: Sequence[StatsRow], title: str) -> None:
    """Print thinking and answer tokens as stacked bars, if this is a terminal."""
    if not sys.stdout.isatty():
        return
    try:
        import plotext
    except ImportError:
        echo(f"a plot needs plotext: {install_hint('tui')}", err=True)
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
