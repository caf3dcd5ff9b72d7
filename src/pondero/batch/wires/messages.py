"""The shape ``messages``: a batch of Messages requests, made and read in one piece each.

Nothing in a batch says who made it, so that one of ours is known only by the ids in its results
(anthropic Python SDK, ``resources/messages/batches``).
"""

from collections.abc import Sequence

from ...canon import HttpRequest, Json
from ..wire import (
    Desk,
    Line,
    Listed,
    Lot,
    Outcome,
    Page,
    Seen,
    Wire,
    answered,
    at,
    failed,
    get,
    jsonl,
    number_at,
    post,
    raw,
    segment,
    text_at,
    when,
)

_HOME = "/v1/messages/batches"
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def _create(desk: Desk, _lot: Lot, lines: Sequence[Line]) -> HttpRequest:
    asks = [{"custom_id": line.id, "params": raw(line)} for line in lines]
    return post(desk, _HOME, {"requests": asks})


def _seen(body: Json, _now: float = 0.0) -> Seen:
    counts = {name: number_at(body, "request_counts", name) for name in _COUNTS}
    return Seen(
        ended=at(body, "processing_status") == "ended",
        rest="cancelled" if at(body, "cancel_initiated_at") else "expired",
        done=sum(counts.values()) - counts["processing"],
        asks=sum(counts.values()),
    )


def _results(desk: Desk, id: str, _body: Json) -> Sequence[HttpRequest]:
    # Not by ``results_url``: it names the service's own host, where a proxy may stand between.
    return [get(desk, f"{_HOME}/{segment(id)}/results")]


def _outcome(line: Json) -> Outcome:
    id, result = text_at(line, "custom_id"), at(line, "result")
    match kind := text_at(result, "type"):
        case "succeeded":
            return answered(id, at(result, "message"))
        case "expired":
            return Outcome(id, "expired")
        case "canceled":
            return Outcome(id, "cancelled")
        case _:
            error = at(result, "error") or {"error": {"message": f"the ask ended as {kind!r}"}}
            status = _STATUSES.get(at(error, "error", "type") or "", 500)
            return failed(id, status, error)


def _page(body: Json, _: str | None) -> Page:
    found = at(body, "data") or ()
    batches = tuple(
        Listed(
            remote=text_at(each, "id"),
            created=when(at(each, "created_at")),
            count=_seen(each).asks,
        )
        for each in found
    )
    return Page(batches, at(body, "last_id") if at(body, "has_more") else None)


MESSAGES = Wire(
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get(desk, f"{_HOME}/{segment(id)}"),
    seen=_seen,
    results=_results,
    lines=jsonl,
    outcome=_outcome,
    listing=lambda desk, after: get(desk, _HOME, limit=100, after_id=after),
    page=_page,
    cancel=lambda desk, id: post(desk, f"{_HOME}/{segment(id)}/cancel", {}),
    names=False,
)
