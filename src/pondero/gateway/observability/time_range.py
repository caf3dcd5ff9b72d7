"""The time that the console's figures are about, and the steps of their chart."""

from msgspec import Struct

from ...errors import BadParameter

SPANS = {"hour": 60, "day": 1_440, "week": 10_080, "month": 43_200}
"""Minutes in a span."""
MOST_STEPS = 60
_YEAR = 525_600  # minutes
_STEPS = (
    *(1, 2, 5, 10, 15, 30, 60, 180, 360, 720, 1_440, 10_080, 43_200),
    *(_YEAR, 10 * _YEAR, 100 * _YEAR),
)
_LEAST = 15  # minutes of a chart


class TimeRange(Struct, frozen=True):
    """From one minute to another since 1970, in steps of minutes."""

    since: int
    until: int
    step: int

    @property
    def steps(self) -> int:
        """Return the number of steps."""
        return (self.until - self.since) // self.step


def find_span(span: str, *, now: float, oldest: float | None = None) -> TimeRange:
    """Return a span up to now; if all records are newer, from the ``oldest``, in finer steps.

    Raises BadParameter.
    """
    if span not in SPANS:
        message = f"invalid span {span[:20]!r}; use {' '.join(SPANS)}"
        raise BadParameter(message)
    minute, length = int(now // 60), SPANS[span]
    whole = next(step for step in _STEPS if length // step <= MOST_STEPS)
    until = (minute // whole + 1) * whole
    if oldest is None or not until - length < (first := int(oldest // 60)) <= minute:
        return TimeRange(until - length, until, whole)
    return _cut(min(first, minute + 1 - min(_LEAST, length)), minute + 1)


def cut_range(since: float, until: float) -> TimeRange:
    """Return a range of any length; raises BadParameter if it ends before it begins."""
    if until <= since:
        raise BadParameter("invalid until: it is not after since")
    return _cut(int(since // 60), int(-(-until // 60)))


def _cut(since: int, until: int) -> TimeRange:
    made = [TimeRange(since // step * step, -(-until // step) * step, step) for step in _STEPS]
    return next((each for each in made if each.steps <= MOST_STEPS), made[-1])
