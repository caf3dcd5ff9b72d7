"""Prometheus metrics, summed over processes; no label has a name that only a client sent."""

import os
from asyncio import all_tasks
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TypeVar, cast

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
M = TypeVar("M", Counter, Histogram)
_KINDS = ("input", "cache_read", "cache_write", "output", "thinking")


class Metrics:
    """Counts receipts. ``breakers`` returns the state of each deployment by name."""

    def __init__(self, breakers: Callable[[], Mapping[str, str]] = dict) -> None:
        self.breakers = breakers
        self.lost_records: Callable[[], int] = int
        self._counted_lost = 0
        self._registry = CollectorRegistry()
        self._seen: set[str] = set()
        self._known_breakers: set[str] = set()
        self._known: dict[tuple[object, ...], Counter | Histogram] = {}
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
        """Count a request."""
        model, key = self._model(receipt), receipt.key
        self._find_series(
            self._requests, receipt.front, model, key, receipt.status, receipt.end
        ).inc()
        self._count_use(receipt, model)
        for code in receipt.adjustments:
            self._find_series(self._changes, model, code).inc()
        if receipt.why and receipt.asked != receipt.sent:
            self._find_series(self._levels_changed, model, key, receipt.why).inc()
        self._count_group(receipt)
        if receipt.purpose is not None:
            self._find_series(self._purposes, receipt.purpose, key).inc()
        if receipt.endpoint is not None:
            self._find_series(self._endpoints, receipt.endpoint, key, receipt.status).inc()
        if receipt.deployment is not None:
            self._count_deployment(receipt, model)
        if receipt.end == "done" and receipt.sent is not None:
            self._count_answer(receipt, model)
        self._find_series(self._seconds, model, receipt.road).observe(receipt.seconds)
        if receipt.first is not None:
            self._find_series(self._first, model, receipt.road).observe(receipt.first)
        self._update_breakers()
        self._count_tasks()
        self._count_lost()

    def _count_use(self, receipt: Receipt, model: str) -> None:
        usage, key = receipt.usage, receipt.key
        counts = (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.thinking)
        for kind, count in zip(_KINDS, counts, strict=True):
            if count and count > 0:
                self._find_series(self._tokens, model, key, kind).inc(count)
        if usage.thinking and usage.thinking > 0:
            self._find_series(self._thinking, model, _level(receipt.sent), key).inc(usage.thinking)
        if receipt.estimated:
            self._find_series(self._estimated, model, key).inc(usage.known_total)
        if receipt.cost:
            self._find_series(self._cost, model, key).inc(float(receipt.cost))

    def _count_deployment(self, receipt: Receipt, model: str) -> None:
        name = receipt.deployment
        self._find_series(self._of_deployment, name, model, receipt.status, receipt.end).inc()
        if tokens := receipt.usage.known_total:
            self._find_series(self._tokens_of_deployment, name, model).inc(tokens)

    def _count_group(self, receipt: Receipt) -> None:
        if receipt.group is None:
            return
        self._find_series(self._group_requests, receipt.group, receipt.end).inc()
        if receipt.cost:
            self._find_series(self._group_cost, receipt.group).inc(float(receipt.cost))

    def _count_answer(self, receipt: Receipt, model: str) -> None:
        place = (receipt.route or "", model, _level(receipt.sent), receipt.key)
        self._find_series(self._answers, *place).inc()
        if receipt.verdict == "exhausted":
            self._find_series(self._exhausted, *place).inc()
            self._find_series(self._wasted, *place).inc(max(0, receipt.usage.thinking or 0))
        elif receipt.verdict == "thought_though_off":
            self._find_series(self._though_off, *place).inc()

    def note_alarm(self, alarm: Alarm) -> None:
        """Set the gauge of an alarm; when it is over, to 0."""
        self._alarms.labels(alarm.kind, alarm.route, alarm.model).set(int(not alarm.is_over))

    def page(self) -> HttpResponse:
        """Return the metrics of all processes that share them."""
        self._update_breakers()
        self._count_lost()
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

    def _histogram(self, name: str, description: str) -> Histogram:
        labels = ("model", "road")
        return Histogram(
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
