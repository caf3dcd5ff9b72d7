"""Charts: accuracy against an amount, as SVG with text labels for screen readers."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ..results.axes import Axis, amount_axis, share_axis
from ..results.number_format import format_share_points, percent
from ..results.values import ArmResult, Measure, SweepResults
from .markup import Html, element, join_markup

_WIDTH, _HEIGHT = 440, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 14, 44
_LETTER, _LINE = 7.2, 15  # approximate width and height of a letter
_MARK = 6.0


class Plot(Struct, frozen=True):
    """One chart: its measure, heading and axis label; ``without``: the text if it is empty."""

    measure: Measure
    title: str
    unit: str
    without: str


class _Box(Struct, frozen=True):
    """An occupied part of the drawing."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, box: "_Box") -> bool:
        across = self.left < box.right and box.left < self.right
        return across and self.top < box.bottom and box.top < self.bottom


class _Spot(Struct, frozen=True):
    """An arm on the drawing: its place, the ends of its interval, and its number."""

    number: int
    arm: ArmResult
    x: float
    y: float
    high: float
    low: float


def scatter(results: SweepResults, plot: Plot) -> Html:
    """Return a chart of accuracy against a measure, or a sentence if there is nothing to draw."""
    known = _drawable(results, plot.measure)
    if not known:
        return element("p", plot.without, class_="none")
    across = amount_axis([plot.measure.value_of(arm) for _, arm in known])
    reference = results.reference.accuracy
    floor = [] if reference is None else [reference - results.facts.spec.margin]
    up = share_axis([*(arm.low or 0.0 for _, arm in known), *floor])
    spots = [_spot(number, arm, plot.measure, across, up) for number, arm in known]
    front = results.pareto(plot.measure)
    name = plot.unit.replace(" ", "-")
    drawing = join_markup(
        (
            element("title", f"Right answers against {plot.title}", id=f"title-{name}"),
            element("desc", _describe(results, plot, known), id=f"desc-{name}"),
            _band(results, up),
            *_grid(across, up, plot),
            _front([spot for spot in spots if spot.arm in front]),
            *(_draw_arm(spot, results) for spot in spots),
            *_labels(spots, results, front),
        )
    )
    return element(
        "svg", drawing, viewbox=f"0 0 {_WIDTH} {_HEIGHT}", class_="chart", role="img",
        aria_labelledby=f"title-{name} desc-{name}",
    )  # fmt: skip


def undrawn(results: SweepResults, plot: Plot) -> str:
    """Return which arms a chart leaves out, in words."""
    drawn = {number for number, _ in _drawable(results, plot.measure)}
    left_out = [name for n, name in enumerate(results.labels()) if n not in drawn]
    if not left_out or not drawn:
        return ""
    return f"Not drawn, because this is not known of them: {', '.join(left_out)}."


def _drawable(results: SweepResults, measure: Measure) -> list[tuple[int, ArmResult]]:
    return [
        (number, arm)
        for number, arm in enumerate(results.arms)
        if arm.accuracy is not None and measure.get(arm) is not None
    ]


def _describe(results: SweepResults, plot: Plot, known: Sequence[tuple[int, ArmResult]]) -> str:
    names = results.labels()
    measure = plot.measure
    return "; ".join(
        f"{names[number]} {percent(arm.accuracy)} at {measure.write(measure.value_of(arm))}"
        for number, arm in known
    )


# -- places ----------------------------------------------------------------------------------------


def _x(axis: Axis, value: float) -> float:
    return _LEFT + axis.place(value) * (_WIDTH - _LEFT - _RIGHT)


def _y(axis: Axis, value: float) -> float:
    return _TOP + (1 - axis.place(value)) * (_HEIGHT - _TOP - _BOTTOM)


def _spot(number: int, arm: ArmResult, measure: Measure, across: Axis, up: Axis) -> _Spot:
    share = arm.accuracy or 0.0
    ends = (share if end is None else end for end in (arm.high, arm.low))
    x = _x(across, measure.value_of(arm))
    return _Spot(number, arm, x, _y(up, share), *(_y(up, end) for end in ends))


# -- the frame -------------------------------------------------------------------------------------


def _band(results: SweepResults, up: Axis) -> Html:
    share = results.reference.accuracy
    if share is None:
        return Html()
    top, bottom = _y(up, share), _y(up, max(up.low, share - results.facts.spec.margin))
    right = _WIDTH - _RIGHT
    return join_markup(
        (
            element(
                "rect", class_="band", x=_LEFT, y=top, width=right - _LEFT, height=bottom - top
            ),
            element("line", class_="level-line", x1=_LEFT, x2=right, y1=top, y2=top),
        )
    )


def _grid(across: Axis, up: Axis, plot: Plot) -> Iterator[Html]:
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for tick in up.ticks:
        y = _y(up, tick)
        yield element("line", class_="rule", x1=_LEFT, x2=right, y1=y, y2=y)
        yield element("text", f"{100 * tick:.0f}%", class_="tick end", x=_LEFT - 7, y=y + 4)
    for tick in across.ticks:
        x = _x(across, tick)
        yield element("line", class_="rule", x1=x, x2=x, y1=floor, y2=floor + 4)
        yield element("text", plot.measure.write(tick), class_="tick middle", x=x, y=floor + 18)
    scale = ", logarithmic" if across.unit is not None else ""
    words = f"{plot.unit} of one answer{scale}"
    middle = (_LEFT + right) / 2
    yield element("text", words, class_="axis middle", x=middle, y=_HEIGHT - 6)


def _front(spots: Sequence[_Spot]) -> Html:
    if len(spots) < 2:
        return Html()
    steps = sorted(spots, key=lambda spot: spot.x)
    path = f"M{steps[0].x:.1f} {steps[0].y:.1f}"
    path += "".join(f"H{spot.x:.1f}V{spot.y:.1f}" for spot in steps[1:])
    return element("path", class_="front", d=f"{path}H{_WIDTH - _RIGHT}")


# -- arms ------------------------------------------------------------------------------------------


def _draw_arm(spot: _Spot, results: SweepResults) -> Html:
    arm, tone = spot.arm, tone_of(results, spot.number)
    said = f"{arm.name}: {percent(arm.accuracy)} ({percent(arm.low)} to {percent(arm.high)})"
    return element(
        "g",
        element("title", said),
        element("line", class_="whisker", x1=spot.x, x2=spot.x, y1=spot.high, y2=spot.low),
        *(
            element("line", class_="whisker", x1=spot.x - 4, x2=spot.x + 4, y1=end, y2=end)
            for end in (spot.high, spot.low)
        ),
        draw_marker(results.model_number(spot.number), spot.x, spot.y, f"mark tone-{tone}"),
    )


_TONES = 7  # colours from pale to deep, in style.css


def tone_of(results: SweepResults, number: int) -> int:
    """Return the colour of an arm: the higher its level, the deeper."""
    own = [n for n, arm in enumerate(results.arms) if arm.model == results.arms[number].model]
    steps = max(1, len(own) - 1)
    return round((_TONES - 1) * own.index(number) / steps) if len(own) > 1 else _TONES - 2


def draw_marker(model: int, x: float, y: float, tone: str) -> Html:
    """Return the mark of an arm: every model has its own shape."""
    r, wide = _MARK, 1.3 * _MARK
    shapes: tuple[Callable[[], Html], ...] = (
        lambda: element("circle", class_=tone, cx=x, cy=y, r=r),
        lambda: element(
            "rect", class_=tone, x=x - 0.9 * r, y=y - 0.9 * r, width=1.8 * r, height=1.8 * r
        ),
        lambda: _polygon(tone, (x, y - wide), (x + wide, y), (x, y + wide), (x - wide, y)),
        lambda: _polygon(tone, (x, y - 1.2 * r), (x + 1.15 * r, y + r), (x - 1.15 * r, y + r)),
    )  # fmt: skip
    return shapes[model % len(shapes)]()


def _polygon(tone: str, *corners: tuple[float, float]) -> Html:
    return element("polygon", class_=tone, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners))


def _labels(
    spots: Sequence[_Spot], results: SweepResults, front: Sequence[ArmResult]
) -> Iterator[Html]:
    names, written = results.labels(), list[_Box]()
    drawn = [_Box(s.x - 7, s.y - 7, s.x + 7, s.y + 7) for s in spots]
    drawn += [_Box(s.x - 4, s.high, s.x + 4, s.low) for s in spots]
    drawn += _line_boxes([spot for spot in spots if spot.arm in front])
    for spot in sorted(spots, key=lambda each: (each.x, each.y)):
        name = names[spot.number]
        places = list(_places(spot, _LETTER * len(name)))
        fits = [box for box in places if box.left >= _LEFT and box.right <= _WIDTH - 2]
        # On a line of the drawing a label can still be read; on another label it cannot.
        readable = [box for box in fits or places if not any(map(box.meets, written))]
        free = (box for box in readable if not any(map(box.meets, drawn)))
        box = next(free, (readable or fits or places)[0])
        written.append(box)
        if not _Box(spot.x - 9, spot.y - 20, spot.x + 9, spot.y + 20).meets(box):
            near = box.left if box.left > spot.x else box.right
            middle = (box.top + box.bottom) / 2
            yield element("line", class_="lead", x1=spot.x, y1=spot.y, x2=near, y2=middle)
        yield element("text", name, class_="label", x=box.left + 2, y=box.bottom - 4)


def _line_boxes(front: Sequence[_Spot]) -> list[_Box]:
    steps = sorted(front, key=lambda spot: spot.x)
    level = [_Box(a.x, a.y - 1, b.x, a.y + 1) for a, b in pairwise(steps)]
    return level + [_Box(b.x - 1, b.y, b.x + 1, a.y) for a, b in pairwise(steps)]


def _places(spot: _Spot, width: float) -> Iterator[_Box]:
    for down in (12, -12, 0, 27, -27, 42, -42, 57, -57, 72, -72, 87, -87):
        for left in (spot.x + 8, spot.x - 10 - width):
            top = spot.y + down - _LINE / 2
            if top >= 0 and top + _LINE <= _HEIGHT - _BOTTOM:
                yield _Box(left, top, left + width + 4, top + _LINE)
    yield _Box(spot.x + 8, spot.y - 8, spot.x + 12 + width, spot.y + 7)


# -- one difference --------------------------------------------------------------------------------

_SPAN, _SPAN_HEIGHT = 180, 22


def span(arm: ArmResult, *, margin: float, reach: float) -> Html:
    """Return a measured difference as a dot; the band is the margin."""
    if arm.difference is None:
        return Html()
    middle = _SPAN_HEIGHT / 2

    def at(value: float) -> float:
        return _SPAN / 2 + max(-reach, min(reach, value)) / reach * (_SPAN / 2 - 5)

    said = f"measured {format_share_points(arm.difference)} points"
    return element(
        "svg",
        element("title", said),
        element("rect", class_="band", x=at(-margin), y=0, width=_SPAN - at(-margin), height=22),
        element("line", class_="limit", x1=at(-margin), x2=at(-margin), y1=0, y2=22),
        element("line", class_="zero", x1=at(0), x2=at(0), y1=3, y2=19),
        _dot(at(arm.difference), middle, beyond=abs(arm.difference) > reach),
        viewbox=f"0 0 {_SPAN} {_SPAN_HEIGHT}", class_="span", role="img",
    )  # fmt: skip


def _dot(x: float, y: float, *, beyond: bool) -> Html:
    if not beyond:
        return element("circle", class_="dot", cx=x, cy=y, r=4)
    tip, back = (x - 4, x + 5) if x < _SPAN / 2 else (x + 4, x - 5)
    return _polygon("dot", (tip, y), (back, y - 5), (back, y + 5))
