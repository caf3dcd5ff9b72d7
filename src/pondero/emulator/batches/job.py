"""One batch: its requests, its progress, its results. Polls advance it, not time."""

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal

from msgspec import Struct

from ...canon import HttpRequest, HttpResponse, Json
from ..faults import Fault

Outcome = Literal["succeeded", "errored", "expired", "cancelled"]
Stage = Literal["made", "running", "cancelling", "ended"]
End = Literal["completed", "failed", "expired", "cancelled"]
_PARTIAL: tuple[Outcome, ...] = ("errored", "succeeded", "expired")


class BatchItem(Struct, frozen=True):
    """One request of a batch, as if sent alone; ``id`` is the caller's."""

    id: str
    request: HttpRequest


class ItemResult(Struct, frozen=True):
    """The outcome of one request, and its response as if sent alone."""

    id: str
    outcome: Outcome
    response: HttpResponse | None = None


class ValidationProblem(Struct, frozen=True):
    """Why a batch is invalid; ``line`` counts from 1."""

    message: str
    code: str = "invalid_request"
    line: int | None = None
    param: str | None = None


class BatchJob(Struct, kw_only=True):
    """One batch; ``facts`` are values that its shape repeats."""

    id: str
    owner: str
    provider: str
    created: int
    length: float
    items: list[BatchItem] = []
    facts: dict[str, Json] = {}
    fault: Fault | None = None
    complaints: tuple[ValidationProblem, ...] = ()
    looks: int = 0
    cancelled_at: int | None = None
    ended_at: int | None = None
    end: End | None = None
    rows: tuple[ItemResult, ...] = ()

    @property
    def stage(self) -> Stage:
        """Return its progress."""
        if self.end is not None:
            return "ended"
        if self.cancelled_at is not None:
            return "cancelling"
        return "running" if self.looks else "made"

    @property
    def due(self) -> bool:
        """Return whether this poll ends it."""
        return bool(self.complaints) or self.cancelled_at is not None or self.looks >= self.length

    def count(self, *outcomes: Outcome) -> int:
        """Count the requests with these outcomes."""
        return sum(row.outcome in outcomes for row in self.rows)


def length_of(looks: int, fault: Fault | None) -> float:
    """Return the number of polls that end a job."""
    if fault is None or fault.kind != "stuck":
        return looks
    return math.inf if fault.at is None else looks + fault.at


def shuffle_results(job: BatchJob) -> list[BatchItem]:
    """Return the requests in another order, always the same for one job."""
    order = list(job.items)
    Random(job.id).shuffle(order)  # noqa: S311 - an order, not a secret
    if len(order) > 1 and order == job.items:
        order.append(order.pop(0))
    return order


def plan_outcomes(job: BatchJob, order: Sequence[BatchItem]) -> Mapping[str, Outcome]:
    """Return outcomes by request id; requests without one are answered."""
    kind = job.fault.kind if job.fault is not None else None
    if job.cancelled_at is not None or kind == "cancelled":
        done = len(order) // 2 if job.looks > 1 else 0
        return {item.id: "cancelled" for item in order[done:]}
    if job.complaints:
        return {item.id: "errored" for item in order}
    if kind == "expired":
        return {item.id: "expired" for item in order}
    if kind == "partial":
        ends = ((item.id, _PARTIAL[at % len(_PARTIAL)]) for at, item in enumerate(order))
        return {id: end for id, end in ends if end != "succeeded"}
    return {}


def end_of(job: BatchJob) -> End:
    """Return how a job ended, from the outcomes of its requests."""
    if job.complaints:
        return "failed"
    if job.cancelled_at is not None:
        return "cancelled"
    return "expired" if job.count("expired") else "completed"
