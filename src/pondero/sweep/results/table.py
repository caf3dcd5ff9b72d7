"""The results as text: the headline, the table of arms, their capital as a line, the findings."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .findings import Finding, iter_details, iter_headline
from .number_format import format_cost, format_share_points, many, percent

if TYPE_CHECKING:
    from .values import ArmResult, SweepResults

_HEAD = (
    "arm", "n", "right", "95%", "thinking", "cost", "seconds", "difference", "compared", "capital",
    "verdict",
)  # fmt: skip
_LEAST = ("seconds", "95%", "n", "capital", "thinking", "output", "compared", "difference")
_INDENT = 11
_NO_BREAK = "\u00a0%"  # a figure and its percent sign stay on one line
_BARS = "▁▂▃▄▅▆▇█"
_BARS_LEAST, _BARS_MOST = 12, 40  # characters, next to the figures
_POOREST = 0.05  # the capital of the lowest bar


def render_table(results: "SweepResults", width: int | None = None) -> str:
    """Return what a run found, as text that fits a width: words are wrapped, columns left out."""
    parts = (
        write_findings(iter_headline(results), width),
        [*_iter_table(results, width), *_iter_capital(results, width)],
        write_findings(iter_details(results), width),
    )
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def write_findings(findings: Iterable[Finding], width: int | None = None) -> list[str]:
    """Return findings, one a line, or wrapped with the words below each other."""
    lines = []
    for label, words in findings:
        line = f"{label:<{_INDENT}}{words}"
        if width is None:
            lines.append(line)
        else:
            whole = line.replace(" %", _NO_BREAK)
            wrapped = textwrap.wrap(whole, width, subsequent_indent=" " * _INDENT)
            lines += [each.replace(_NO_BREAK, " %") for each in wrapped]
    return lines


def _iter_table(results: "SweepResults", width: int | None) -> Iterator[str]:
    rows = zip(*(_row(arm, results.tokens_shown) for arm in results.arms), strict=True)
    head = (results.tokens_shown if name == "thinking" else name for name in _HEAD)
    columns = dict(zip(head, rows, strict=True))
    if not results.has_bets:
        del columns["capital"]
    if width is not None and _width(columns) > width and len(results.models()) == 1:
        columns["arm"] = tuple(map(_levels, results.arms))
    for least in _LEAST:
        if width is not None and _width(columns) > width:
            columns.pop(least, None)
    if width is not None and _width(columns) > width:
        columns["arm"] = results.labels()
    if width is not None and _width(columns) > width:
        del columns["cost"]
    sizes = [max(map(len, (name, *cells))) for name, cells in columns.items()]
    for row in (tuple(columns), *zip(*columns.values(), strict=True)):
        cells = (
            cell.ljust(size) if not number else cell.rjust(size)
            for number, (cell, size) in enumerate(zip(row, sizes, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _width(columns: Mapping[str, Iterable[str]]) -> int:
    return sum(max(map(len, (name, *cells))) + 2 for name, cells in columns.items()) - 2


def _levels(arm: "ArmResult") -> str:
    return "=".join(dict.fromkeys((arm.level, *arm.levels)))


def _row(arm: "ArmResult", shown: str) -> tuple[str, ...]:
    tokens = arm.thinking_tokens if shown == "thinking" else arm.output_tokens
    between = arm.low is not None and arm.high is not None
    return (
        f"{arm.model}/{_levels(arm)}",
        f"{arm.n:,}",
        percent(arm.accuracy),
        f"{percent(arm.low)}..{percent(arm.high)}" if between else "-",
        "unknown" if tokens is None else f"{tokens:,.0f}",
        format_cost(arm.cost),
        "-" if arm.seconds is None else f"{arm.seconds:.1f}",
        format_share_points(arm.difference),
        "-" if arm.difference is None else f"{arm.units:,}",
        "-" if not arm.history else f"{arm.capital or 0:.3g}",
        arm.verdict.replace("_", " "),
    )


# -- the capital -----------------------------------------------------------------------------------


def _iter_capital(results: "SweepResults", width: int | None) -> Iterator[str]:
    """Yield a line for each arm that bet: its capital from the first question to the last."""
    names = results.labels()
    bet = [(name, arm) for name, arm in zip(names, results.arms, strict=True) if arm.history]
    if not bet or not results.has_bets:
        return
    yield ""
    longest = max(len(name) for name, _ in bet)
    said = [
        f"{arm.capital or 0:.3g} of 20, {len(arm.history):,} {many(len(arm.history), 'bet')}"
        for _, arm in bet
    ]
    room = (_INDENT + longest + 4 + _BARS_MOST + max(map(len, said))) if width is None else width
    room -= _INDENT + longest + 2
    beside = room - 2 - max(map(len, said))
    yield from (f"{'':<{_INDENT}}{line}" for line in results.legend())
    for number, (name, arm) in enumerate(bet):
        start = f"{'' if number else 'capital':<{_INDENT}}{name:<{longest}}  "
        if beside >= _BARS_LEAST:
            bars = draw_capital(arm.history, min(beside, _BARS_MOST))
            yield f"{start}{bars}  {said[number]}"
        else:
            yield f"{start}{draw_capital(arm.history, max(1, room))}"
            yield f"{'':<{_INDENT}}{said[number]}"


def draw_capital(history: Sequence[float], columns: int) -> str:
    """Return a capital over the questions as bars, by its logarithm; the highest is 20."""
    columns = min(columns, len(history))
    low, high = math.log(_POOREST), math.log(20)
    ends = (history[(n + 1) * len(history) // columns - 1] for n in range(columns))
    shares = ((math.log(max(each, _POOREST)) - low) / (high - low) for each in ends)
    return "".join(_BARS[min(len(_BARS) - 1, int(share * (len(_BARS) - 1)))] for share in shares)
