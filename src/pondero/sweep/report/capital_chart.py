"""The chart of capital over questions: it shows how each arm won, was given up, or waits."""

import math
from collections.abc import Iterator, Sequence

from ..results.axes import amount_axis
from ..results.values import ArmResult, SweepResults
from .charts import tone_of
from .markup import Html, element, join_markup

_WIDTH, _HEIGHT = 440, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 70, 18, 44
_LOWEST, _WON = 0.01, 20.0
_TICKS = (0.01, 0.1, 1.0, 20.0)
_POINTS = 300  # of one line; more cannot be told apart
_LINE = 15  # pixels between two names


def draw_capital_chart(results: SweepResults) -> Html:
    """Return the capital of every arm that bet, question by question; nothing if none did."""
    bet = [(n, arm) for n, arm in enumerate(results.arms) if arm.history]
    if not bet:
        return Html()
    last = max(results.pilot + len(arm.history) for _, arm in bet)
    names = results.labels()
    said = "; ".join(f"{names[n]} ends at {arm.capital or 0:.3g} of 20" for n, arm in bet)
    drawing = join_markup(
        (
            element("title", "Capital over questions", id="title-capital"),
            element("desc", said, id="desc-capital"),
            *_grid(results.pilot, last),
            *(_line(results, n, arm, last) for n, arm in bet),
            *_names(results, bet, last),
        )
    )
    return element(
        "svg", drawing, viewbox=f"0 0 {_WIDTH} {_HEIGHT}", class_="chart capital", role="img",
        aria_labelledby="title-capital desc-capital",
    )  # fmt: skip


def _x(question: float, last: int) -> float:
    return _LEFT + question / last * (_WIDTH - _LEFT - _RIGHT)


def _y(capital: float) -> float:
    low, high = math.log(_LOWEST), math.log(_WON)
    share = (math.log(min(max(capital, _LOWEST), _WON)) - low) / (high - low)
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _grid(pilot: int, last: int) -> Iterator[Html]:
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    if pilot:
        wide = _x(pilot, last) - _LEFT
        yield element("rect", class_="pilot", x=_LEFT, y=_TOP, width=wide, height=floor - _TOP)
    for tick in _TICKS:
        y = _y(tick)
        kind = "level-line" if tick == _WON else "rule"
        yield element("line", class_=kind, x1=_LEFT, x2=right, y1=y, y2=y)
        yield element("text", f"{tick:g}", class_="tick end", x=_LEFT - 7, y=y + 4)
    yield element("text", "shown", class_="tick", x=right + 6, y=_y(_WON) - 6)
    for tick in _questions(last):
        x = _x(tick, last)
        yield element("line", class_="rule", x1=x, x2=x, y1=floor, y2=floor + 4)
        yield element("text", f"{tick:,}", class_="tick middle", x=x, y=floor + 18)
    middle = (_LEFT + right) / 2
    words = "questions, in their order; the pilot is shaded" if pilot else "questions, in order"
    yield element("text", words, class_="axis middle", x=middle, y=_HEIGHT - 6)


def _questions(last: int) -> list[int]:
    return [round(tick) for tick in amount_axis([float(last)]).ticks if tick <= last]


def _line(results: SweepResults, number: int, arm: ArmResult, last: int) -> Html:
    count, first = len(arm.history), results.pilot
    step = max(1, count // _POINTS)
    places = sorted({*range(0, count, step), count - 1})
    path = f"M{_x(first, last):.1f} {_y(arm.share):.1f}" + "".join(
        f"L{_x(first + at + 1, last):.1f} {_y(arm.history[at]):.1f}" for at in places
    )
    tone = tone_of(results, number)
    end = _x(first + count, last), _y(arm.history[-1])
    mark = element("circle", class_=f"mark tone-{tone}", cx=end[0], cy=end[1], r=5)
    return join_markup((element("path", class_=f"bet stroke-{tone}", d=path), mark))


def _names(
    results: SweepResults, bet: Sequence[tuple[int, ArmResult]], last: int
) -> Iterator[Html]:
    """Yield the name of each line at its end, none on another."""
    labels, taken = results.labels(), list[tuple[float, float]]()
    for number, arm in sorted(bet, key=lambda each: _y(each[1].history[-1])):
        x = _x(results.pilot + len(arm.history), last) + 9
        y = _y(arm.history[-1]) + (14 if arm.history[-1] >= _WON else 4)
        while any(abs(y - other) < _LINE and abs(x - at) < 90 for at, other in taken):
            y -= _LINE
        taken.append((x, y))
        yield element("text", labels[number], class_="label line-name", x=x, y=y)
