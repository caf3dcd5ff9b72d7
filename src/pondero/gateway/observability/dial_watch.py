"""Watches whether the dial works: routes whose levels do not differ, that think though off, or cut.

This is observational: clients choose levels for other questions, so an alarm is a suspicion, and
``pondero probe`` decides. There is no alarm from fewer than ``ENOUGH`` requests. Each process
watches its own requests; the counters in the metrics are those of all processes.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from math import log

from msgspec import Struct

from .level_test import ENOUGH, SAME, LevelPair, LevelTest, LevelWatch
from .receipt import Receipt
from .request_row import level_bucket

LOG = logging.getLogger("pondero.gateway")

WINDOW = 600
"""The latest answers of which shares are judged."""
SHARE = 0.1
"""The share of a route's answers from which exhausted or thinking ones raise an alarm."""
_WHOLE = ("stop", "tool_calls")  # one that was cut says only how much room there was
_MOST = 512  # routes with models; a client cannot invent either, but a glob can match many

Place = tuple[str, str]
"""A route and the model that answers."""


class Alarm(Struct, frozen=True, kw_only=True):
    """What is suspected of a route and a model; ``is_over``: the suspicion is gone.

    ``kind``: dial_deaf, thinks_though_off or exhausted. ``requests``: those that it is based on.
    ``wasted``: thinking tokens of answers that had nothing else. An alert of another kind may be
    about a ``key`` or a ``group``, and have neither route nor model.
    """

    kind: str
    route: str
    model: str
    text: str
    at: float
    requests: int
    wasted: int = 0
    is_over: bool = False
    key: str = ""
    group: str = ""


class _Answers:
    """The latest answers of one model on one route."""

    __slots__ = ("compared", "exhausted", "levels", "off", "raised", "seen", "wasted")

    def __init__(self) -> None:
        self.seen = 0
        self.levels = LevelWatch()
        self.compared: tuple[LevelPair, LevelTest] | None = None
        self.off: deque[bool] = deque(maxlen=WINDOW)
        self.exhausted: deque[bool] = deque(maxlen=WINDOW)
        self.wasted = 0
        self.raised: dict[str, Alarm] = {}

    def note(self, receipt: Receipt) -> None:
        self.seen += 1
        self.compared = None
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
            self.compared = self.levels.add(level, log(1 + max(0, thought)))


class DialWatch:
    """Looks at finished requests; ``told`` are called with each new alarm, and with its end."""

    def __init__(self) -> None:
        self.told: list[Callable[[Alarm], None]] = [_log]
        self._places: dict[Place, _Answers] = {}

    def note(self, receipt: Receipt) -> None:
        """Count a conversation; levels are looked at each time, shares every ``ENOUGH`` times."""
        if receipt.end != "done" or receipt.model is None or receipt.sent is None:
            return
        place = (receipt.route or "", str(receipt.answered_by))
        answers = self._places.get(place)
        if answers is None:
            if len(self._places) == _MOST:
                del self._places[next(iter(self._places))]
            answers = self._places[place] = _Answers()
        answers.note(receipt)
        if answers.compared is not None or answers.seen % ENOUGH == 0:
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
    """Say what is shown of the lowest and the highest level in use; None if nothing is."""
    if answers.compared is None:
        return None
    (lowest, highest), test = answers.compared
    if not test.is_deaf and not test.is_live:
        return None
    bound = f"less than {SAME}x" if test.is_deaf else f"more than {SAME}x"
    text = (
        f"{lowest} and {highest} of {{model}} differ by {test.ratio:.2f}x, {bound}; suspect: "
        "`pondero probe {model}` decides"
    )
    return _Judgement(test.is_deaf, text, 2 * test.count)


def _judge_off(answers: _Answers) -> _Judgement | None:
    return _judge_share(
        answers, answers.off, "{share} of {count} answers of {{model}} think though off"
    )


def _judge_exhausted(answers: _Answers) -> _Judgement | None:
    text = "{share} of {count} answers of {{model}} are all thinking: max_tokens leaves no room"
    return _judge_share(answers, answers.exhausted, text)


def _judge_share(answers: _Answers, odd: Sequence[bool], text: str) -> _Judgement | None:
    """Judge a share of enough answers; between the share and its half, nothing changes."""
    count = len(odd)
    if count < ENOUGH or answers.seen % ENOUGH:
        return None
    share = sum(odd) / count
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
