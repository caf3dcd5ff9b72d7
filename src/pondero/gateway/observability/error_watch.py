"""Counts the requests of each model that fail, in the last minutes of this process."""

from collections import deque
from collections.abc import Mapping

from .receipt import Receipt

ENOUGH = 10
"""Requests to a model before there is an alert about those that failed."""
RECENT = 15
"""Minutes in which failed requests are counted."""
_MOST = 512  # models; a client cannot invent one, but a glob can match many


class _Minute:
    __slots__ = ("failed", "number", "requests")

    def __init__(self, number: int) -> None:
        self.number = number
        self.requests = 0
        self.failed = 0


class ErrorWatch:
    """The requests of the last minutes, by model."""

    def __init__(self) -> None:
        self._models: dict[str, deque[_Minute]] = {}

    def note(self, receipt: Receipt) -> None:
        """Count a request that a model answered, or failed to."""
        model = receipt.answered_by
        if model is None:
            return
        minutes = self._models.get(model)
        if minutes is None:
            if len(self._models) == _MOST:
                del self._models[next(iter(self._models))]
            minutes = self._models[model] = deque(maxlen=RECENT + 1)
        number = int(receipt.at // 60)
        if not minutes or minutes[-1].number < number:
            minutes.append(_Minute(number))
        minutes[-1].requests += 1
        minutes[-1].failed += receipt.end == "failed"

    def find_failing(self, share: float, now: float) -> Mapping[str, str]:
        """Return the models of which at least this share failed, each with a text about it."""
        since = int(now // 60) - RECENT
        found: dict[str, str] = {}
        for model, minutes in self._models.items():
            recent = [each for each in minutes if each.number > since]
            count = sum(each.requests for each in recent)
            failed = sum(each.failed for each in recent)
            if count >= ENOUGH and failed >= share * count:
                found[model] = describe_failed(failed, count)
        return found


def describe_failed(failed: int, count: int) -> str:
    """Return how many requests failed, in words."""
    return f"{failed / count:.0%} of {count:,} requests failed in the last {RECENT} minutes"
