"""Watches whether the dial works: routes whose levels do not differ, that think though off, or cut.

This is observational: clients choose levels for other questions, so an alarm is a suspicion, and
``pondero probe`` decides. There is no alarm from fewer than ``ENOUGH`` requests. Each process
watches its own requests; the counters in the metrics are those of all processes.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from math import exp, log, sqrt

from msgspec import Struct

from ...thinking import LEVELS
from .receipt import Receipt
from .request_row import level_bucket

LOG = logging.getLogger("pondero.gateway")

ENOUGH = 50
"""Requests at each of two levels, or at a route, before any alarm about them."""
WINDOW = 600
"""The latest requests at each level that are compared."""
SAME = 1.25
"""Levels whose thinking certainly differs by less than this factor are suspected to be deaf."""
SHARE = 0.1
"""The share of a route's answers from which exhausted or thinking ones raise an alarm."""
_SURE = 3.0  # standard errors: a route is looked at many times
_NORMAL = 1.96  # of the interval of a median
_WHOLE = ("stop", "tool_calls")  # one that was cut says only how much room there was
_MOST = 512  # routes with models; a client cannot invent either, but a glob can match many

Place = tuple[str, str]
"""A route and the model that answers."""


class Alarm(Struct, frozen=True, kw_only=True):
    """What is suspected of a route and a model; ``is_over``: the suspicion is gone.

    ``kind``: dial_deaf, thinks_though_off or exhausted. ``requests``: those that it is based on.
    ``wasted``: thinking tokens of answers that had nothing else.
    """

    kind: str
    route: str
    model: str
    text: str
    at: float
    requests: int
    wasted: int = 0
    is_over: bool = False


class LevelComparison(Struct, frozen=True):
    """How much more one sample has than another: a ratio of medians, with its interval."""

    ratio: float
    low: float
    high: float


def compare_logs(lower: Sequence[float], higher: Sequence[float]) -> LevelComparison | None:
    """Compare two samples on the log scale by their medians; None if both medians are zero.

    The intervals are those of order statistics, so that no distribution is assumed and a few
    extreme answers change nothing.
    """
    one, low_error = _find_median(sorted(lower))
    two, high_error = _find_median(sorted(higher))
    if one == two == 0:
        return None  # nothing thinks, so there is nothing to compare
    error = _SURE * sqrt(low_error**2 + high_error**2)
    return LevelComparison(exp(two - one), exp(two - one - error), exp(two - one + error))


def _find_median(values: Sequence[float]) -> tuple[float, float]:
    """Return the median of sorted values, and its standard error."""
    count = len(values)
    middle = (values[(count - 1) // 2] + values[count // 2]) / 2
    reach = _NORMAL * sqrt(count) / 2
    low = values[max(0, round(count / 2 - reach) - 1)]
    high = values[min(count - 1, round(count / 2 + reach))]
    return middle, (high - low) / (2 * _NORMAL)


class _Answers:
    """The latest answers of one model on one route."""

    __slots__ = ("depths", "exhausted", "off", "raised", "seen", "wasted")

    def __init__(self) -> None:
        self.seen = 0
        self.depths: dict[str, deque[float]] = {}
        self.off: deque[bool] = deque(maxlen=WINDOW)
        self.exhausted: deque[bool] = deque(maxlen=WINDOW)
        self.wasted = 0
        self.raised: dict[str, Alarm] = {}

    def note(self, receipt: Receipt) -> None:
        self.seen += 1
        level, thought = level_bucket(receipt.sent), receipt.usage.thinking
        is_exhausted = receipt.verdict == "exhausted"
        self.exhausted.append(is_exhausted)
        if is_exhausted:
            self.wasted += thought or 0
        if level == "off":
            self.off.append(receipt.verdict == "thought_though_off")
        elif level is None or thought is None or receipt.estimated:
            return
        elif receipt.finish in _WHOLE:
            self.depths.setdefault(level, deque(maxlen=WINDOW)).append(log(1 + max(0, thought)))


class DialWatch:
    """Looks at finished requests; ``told`` are called with each new alarm, and with its end."""

    def __init__(self) -> None:
        self.told: list[Callable[[Alarm], None]] = [_log]
        self._places: dict[Place, _Answers] = {}

    def note(self, receipt: Receipt) -> None:
        """Count a conversation; every ``ENOUGH`` requests of a route are a look at it."""
        if receipt.end != "done" or receipt.model is None or receipt.sent is None:
            return
        place = (receipt.route or "", str(receipt.answered_by))
        answers = self._places.get(place)
        if answers is None:
            if len(self._places) == _MOST:
                del self._places[next(iter(self._places))]
            answers = self._places[place] = _Answers()
        answers.note(receipt)
        if answers.seen % ENOUGH == 0:
            self._look(place, answers, receipt.at)

    @property
    def alarms(self) -> list[Alarm]:
        """Return the alarms that are raised now."""
        return [alarm for each in self._places.values() for alarm in each.raised.values()]

    def _look(self, place: Place, answers: _Answers, now: float) -> None:
        for kind, judge in _JUDGES.items():
            found = judge(answers)
            before = answers.raised.get(kind)
            if found is None or found.is_raised is (before is not None):
                continue
            alarm = Alarm(
                kind=kind,
                route=place[0],
                model=place[1],
                text=found.text.format(model=place[1]),
                at=now,
                requests=found.requests,
                wasted=answers.wasted,
                is_over=not found.is_raised,
            )
            if found.is_raised:
                answers.raised[kind] = alarm
            else:
                del answers.raised[kind]
            for tell in self.told:
                tell(alarm)


class _Judgement(Struct, frozen=True):
    is_raised: bool
    text: str
    requests: int


def _judge_levels(answers: _Answers) -> _Judgement | None:
    """Compare the lowest and the highest level with enough requests; None if it is not certain."""
    levels = [each for each in LEVELS if len(answers.depths.get(each, ())) >= ENOUGH]
    if len(levels) < 2:
        return None
    lowest, highest = levels[0], levels[-1]
    samples = answers.depths[lowest], answers.depths[highest]
    found = compare_logs(*samples)
    if found is None or found.low < SAME <= found.high:
        return None
    figures = f"{found.ratio:.2f}x ({found.low:.2f}-{found.high:.2f})"
    text = (
        f"{lowest} and {highest} of {{model}} differ by {figures}; suspect: "
        "`pondero probe {model}` decides"
    )
    return _Judgement(found.high < SAME, text, sum(map(len, samples)))


def _judge_off(answers: _Answers) -> _Judgement | None:
    return _judge_share(answers.off, "{share} of {count} answers of {{model}} think though off")


def _judge_exhausted(answers: _Answers) -> _Judgement | None:
    text = "{share} of {count} answers of {{model}} are all thinking: max_tokens leaves no room"
    return _judge_share(answers.exhausted, text)


def _judge_share(answers: Sequence[bool], text: str) -> _Judgement | None:
    """Judge a share of enough answers; between the share and its half, nothing changes."""
    count = len(answers)
    if count < ENOUGH:
        return None
    share = sum(answers) / count
    if SHARE / 2 < share < SHARE:
        return None
    return _Judgement(share >= SHARE, text.format(share=f"{share:.0%}", count=count), count)


_JUDGES: dict[str, Callable[[_Answers], _Judgement | None]] = {
    "dial_deaf": _judge_levels,
    "thinks_though_off": _judge_off,
    "exhausted": _judge_exhausted,
}
ALARMS = tuple(_JUDGES)
"""The kinds of alarms."""


def _log(alarm: Alarm) -> None:
    state = "is over" if alarm.is_over else "raised"
    route = f" on route {alarm.route}" if alarm.route else ""
    LOG.warning("%s %s%s: %s", alarm.kind, state, route, alarm.text)
