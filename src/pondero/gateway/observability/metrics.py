"""Prometheus metrics, summed over processes; no label has a name that only a client sent."""

import os
from asyncio import all_tasks
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from tempfile import TemporaryDirectory
from threading import Lock
from time import monotonic
from typing import NamedTuple, TypeVar, cast

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    values,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from ...canon import HttpResponse
from .dial_watch import Alarm
from .receipt import Receipt

OTHER = "other"
"""The label of a model that never answered: clients can invent names."""
TOKENS = "tokens"
"""The label of a level given as a number of tokens."""

_IN_MEMORY = "/dev/shm"  # noqa: S108 - the folder in it is private, with a name of its own
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_BREAKERS = {"closed": 0, "probing": 1, "open": 2, "paused": 3}
_KINDS = ("input", "cache_read", "cache_write", "output", "thinking")
_TALLIES = 4_096  # sets of labels that are counted apart until they are added up
_TIMES = 64  # of requests with the same labels, until they are added up


class _Labels(NamedTuple):
    """What requests are counted by; ``changed_by``: the rule that changed their level."""

    front: str
    model: str
    key: str
    status: int
    end: str
    road: str
    level: str | None
    changed_by: str | None
    adjustments: tuple[str, ...]
    group: str | None
    purpose: str | None
    endpoint: str | None
    deployment: str | None
    route: str | None
    verdict: str | None


class _Histogram(Histogram):
    """A histogram that takes several values at once: for each alone it would take two locks."""

    def observe_all(self, amounts: Sequence[float]) -> None:
        """Observe these values."""
        self._sum.inc(sum(amounts))
        places = sorted([bisect_left(self._upper_bounds, amount) for amount in amounts])
        for place, same in groupby(places):
            self._buckets[place].inc(len(list(same)))


M = TypeVar("M", Counter, _Histogram)


class _Tally:
    """Counts of requests with the same labels that their series do not have yet.

    ``seconds`` and ``first`` are the times of these requests.
    """

    __slots__ = (*_KINDS, "cost", "estimated", "first", "requests", "seconds")

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.first: list[float] = []
        self.requests = self.estimated = 0
        self.input = self.cache_read = self.cache_write = self.output = self.thinking = 0
        self.cost = 0.0

    @property
    def total(self) -> int:
        """Return the sum of all tokens."""
        return self.input + self.cache_read + self.cache_write + self.output + self.thinking


class Metrics:
    """Counts receipts. ``breakers`` returns the state of each deployment by name."""

    def __init__(self, breakers: Callable[[], Mapping[str, str]] = dict) -> None:
        self.breakers = breakers
        self.lost_records: Callable[[], int] = int
        self._counted_lost = 0
        self._registry = CollectorRegistry()
        self._seen: set[str] = set()
        self._known_breakers: set[str] = set()
        self._known: dict[tuple[object, ...], Counter | _Histogram] = {}
        self._tallies: dict[_Labels, _Tally] = {}
        self._lock = Lock()  # the ledger's thread counts requests of killed processes
        self._is_shared = _FOLDER in os.environ
        counter = self._counter
        self._requests = counter("requests", "Requests", "front model key status end")
        self._tokens = counter("tokens", "Tokens by kind", "model key kind")
        self._estimated = counter(
            "estimated_tokens", "Tokens that the service did not report", "model key"
        )
        self._thinking = counter("thinking_tokens", "Tokens of thinking", "model level key")
        self._cost = counter("cost_dollars", "Dollars, where a price is known", "model key")
        self._changes = counter("adjustments", "Adjustments by code", "model code")
        self._levels_changed = counter(
            "dial", "Levels that were not sent as asked", "model key why"
        )
        self._group_requests = counter("group_requests", "Requests of keys in a group", "group end")
        self._group_cost = counter("group_cost_dollars", "Dollars of keys in a group", "group")
        self._purposes = counter("purposes", "Requests by purpose", "purpose key")
        self._endpoints = counter(
            "endpoints", "Requests that are no conversation, by endpoint", "endpoint key status"
        )
        self._of_deployment = counter(
            "deployment_requests",
            "Requests that one of several deployments answered",
            "deployment model status end",
        )
        self._tokens_of_deployment = counter(
            "deployment_tokens", "Tokens that one of several deployments took", "deployment model"
        )
        places = "route model level key"
        self._answers = counter("answers", "Answers at each level", places)
        self._exhausted = counter("exhausted", "Answers that were all thinking", places)
        self._wasted = counter(
            "wasted_thinking_tokens", "Thinking tokens of answers that were all thinking", places
        )
        self._though_off = counter("thought_though_off", "Answers that thought though off", places)
        self._alarms = Gauge(
            "pondero_alarm",
            "Whether something is suspected of a route: dial_deaf, thinks_though_off, exhausted.",
            ["alarm", "route", "model"],
            registry=self._registry,
            multiprocess_mode="livemax",
        )
        self._seconds = self._histogram("request_seconds", "Seconds to the end of an answer")
        self._first = self._histogram(
            "first_event_seconds", "Seconds to the first piece of an answer"
        )
        self._tasks = Gauge(
            "pondero_tasks",
            "Asyncio tasks of all processes, at the last request of each.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._tasks_counted = 0.0
        self._lost = Counter(
            "pondero_lost_records",
            "Records that found no room on disk or in memory.",
            registry=self._registry,
        )
        self._breaker = Gauge(
            "pondero_breaker",
            "Whether a deployment rests: 0 closed, 1 probing, 2 open, 3 paused by its service",
            ["deployment"],
            registry=self._registry,
            multiprocess_mode="livemax",
        )

    def note(self, receipt: Receipt) -> None:
        """Count a request; what its labels share is added to their series by ``_add_up``."""
        model, sent, usage = self._model(receipt), receipt.sent, receipt.usage
        labels = (
            receipt.front,
            model,
            receipt.key,
            receipt.status,
            receipt.end,
            receipt.road,
            None if sent is None else _level(sent),
            receipt.why if receipt.asked != sent else None,
            receipt.adjustments,
            receipt.group,
            receipt.purpose,
            receipt.endpoint,
            receipt.deployment,
            receipt.route,
            receipt.verdict,
        )
        with self._lock:
            tally = self._tallies.get(labels)  # type: ignore[call-overload]  # such a tuple is equal
            if tally is None:
                tally = self._begin_tally(_Labels(*labels))
            tally.requests += 1
            tally.input += usage.input or 0
            tally.cache_read += usage.cache_read or 0
            tally.cache_write += usage.cache_write or 0
            tally.output += usage.output or 0
            tally.thinking += usage.thinking or 0
            if receipt.estimated:
                tally.estimated += usage.known_total
            if receipt.cost:
                tally.cost += float(receipt.cost)
            tally.seconds.append(receipt.seconds)
            if receipt.first is not None:
                tally.first.append(receipt.first)
            if len(tally.seconds) >= _TIMES:
                self._count_times(model, receipt.road, tally)
        self._count_tasks()
        if self._is_shared:  # another process may be asked for the page
            self._refresh()

    def _begin_tally(self, labels: _Labels) -> _Tally:
        if len(self._tallies) >= _TALLIES:
            self._add_up()
        tally = self._tallies[labels] = _Tally()
        return tally

    def _refresh(self) -> None:
        """Bring all series up to date."""
        with self._lock:
            self._add_up()
        self._update_breakers()
        self._count_lost()

    def _add_up(self) -> None:
        """Add what was counted since the last time to its series."""
        for labels, tally in self._tallies.items():
            self._count_requests(labels, tally)
            self._count_use(labels, tally)
            self._count_times(labels.model, labels.road, tally)
        self._tallies.clear()

    def _count_requests(self, labels: _Labels, tally: _Tally) -> None:
        _, model, key, status, end, *_ = labels

        def count(metric: Counter, *places: object) -> None:
            self._find_series(metric, *places).inc(tally.requests)

        count(self._requests, labels.front, model, key, status, end)
        for code in labels.adjustments:
            count(self._changes, model, code)
        if labels.changed_by:
            count(self._levels_changed, model, key, labels.changed_by)
        if labels.group is not None:
            count(self._group_requests, labels.group, end)
        if labels.purpose is not None:
            count(self._purposes, labels.purpose, key)
        if labels.endpoint is not None:
            count(self._endpoints, labels.endpoint, key, status)
        if labels.deployment is not None:
            count(self._of_deployment, labels.deployment, model, status, end)
        if end == "done" and labels.level is not None:
            place = (labels.route or "", model, labels.level, key)
            count(self._answers, *place)
            if labels.verdict == "exhausted":
                count(self._exhausted, *place)
                self._find_series(self._wasted, *place).inc(tally.thinking)
            elif labels.verdict == "thought_though_off":
                count(self._though_off, *place)

    def _count_use(self, labels: _Labels, tally: _Tally) -> None:
        model, key = labels.model, labels.key
        for kind in _KINDS:
            if (tokens := getattr(tally, kind)) > 0:
                self._find_series(self._tokens, model, key, kind).inc(tokens)
        if tally.thinking > 0:
            level = TOKENS if labels.level is None else labels.level
            self._find_series(self._thinking, model, level, key).inc(tally.thinking)
        if tally.estimated:
            self._find_series(self._estimated, model, key).inc(tally.estimated)
        if tally.cost:
            self._find_series(self._cost, model, key).inc(tally.cost)
            if labels.group is not None:
                self._find_series(self._group_cost, labels.group).inc(tally.cost)
        if labels.deployment is not None and (tokens := tally.total):
            place = (labels.deployment, model)
            self._find_series(self._tokens_of_deployment, *place).inc(tokens)

    def _count_times(self, model: str, road: str, tally: _Tally) -> None:
        for metric, times in ((self._seconds, tally.seconds), (self._first, tally.first)):
            if times:
                self._find_series(metric, model, road).observe_all(times)
                times.clear()

    def note_alarm(self, alarm: Alarm) -> None:
        """Set the gauge of an alarm; when it is over, to 0."""
        self._alarms.labels(alarm.kind, alarm.route, alarm.model).set(int(not alarm.is_over))

    def page(self) -> HttpResponse:
        """Return the metrics of all processes that share them."""
        self._refresh()
        registry = self._registry
        if _FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library has no types
        return HttpResponse(200, {"content-type": CONTENT_TYPE_LATEST}, generate_latest(registry))

    def _model(self, receipt: Receipt) -> str:
        name = receipt.answered_by or ""
        if receipt.end == "done":
            self._seen.add(name)
        return name if name in self._seen or not name else OTHER

    def _find_series(self, metric: M, *labels: object) -> M:
        """Return the series with these labels, cached because the library is slow at it."""
        known = self._known.get((metric, labels))
        if known is None:
            known = self._known[metric, labels] = metric.labels(*labels)
        return cast("M", known)

    def _update_breakers(self) -> None:
        """Set the breaker gauges; a deployment without a state is closed."""
        states = self.breakers()
        if not states and not self._known_breakers:
            return
        for name in self._known_breakers - states.keys():
            self._breaker.labels(name).set(0)
        for name, state in states.items():
            self._breaker.labels(name).set(_BREAKERS[state])
        self._known_breakers = set(states)

    def _count_tasks(self) -> None:
        """Set the gauge of tasks at most once a second: counting them takes time."""
        now = monotonic()
        if now - self._tasks_counted >= 1:
            self._tasks_counted = now
            with suppress(RuntimeError):  # no loop runs, in a test
                self._tasks.set(len(all_tasks()))

    def _count_lost(self) -> None:
        if (lost := self.lost_records()) > self._counted_lost:
            self._lost.inc(lost - self._counted_lost)
            self._counted_lost = lost

    def _counter(self, name: str, description: str, labels: str) -> Counter:
        return Counter(
            f"pondero_{name}", f"{description}.", labels.split(), registry=self._registry
        )

    def _histogram(self, name: str, description: str) -> _Histogram:
        labels = ("model", "road")
        return _Histogram(
            f"pondero_{name}", f"{description}.", labels, registry=self._registry, buckets=_SECONDS
        )


def _level(sent: str | None) -> str:
    return TOKENS if sent is None or sent.isdigit() else sent


@contextmanager
def share_between_processes() -> Iterator[None]:
    """Let processes forked in this block share metrics, in files of a folder.

    The files are mapped into memory: on a full disk, a write to them would kill the process. So
    they are in memory where the system has a folder for that.
    """
    folder_in_memory = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="pondero-metrics-", dir=folder_in_memory) as folder:
        before, os.environ[_FOLDER] = values.ValueClass, folder
        # The library chose its value class at import, before the variable was set.
        values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]  # the library has no types
        try:
            yield
        finally:
            values.ValueClass = before
            del os.environ[_FOLDER]


def forget(process: int) -> None:
    """Remove an ended process from the gauges; its counters stay."""
    if _FOLDER in os.environ:
        mark_process_dead(process)  # type: ignore[no-untyped-call]  # the library has no types
