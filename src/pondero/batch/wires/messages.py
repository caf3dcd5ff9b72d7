"""The shape ``messages``: a batch of Messages requests, made and read in one piece each.

Nothing in a batch says who made it, so that one of ours is known only by the ids in its results
(anthropic Python SDK, ``resources/messages/batches``).
"""

from collections.abc import Sequence

from ...canon import HttpRequest, Json
from ..service_api import (
    BatchChunk,
    BatchEndpoint,
    BatchLine,
    BatchOutcome,
    BatchPage,
    BatchWire,
    ChunkStatus,
    ListedBatch,
    endpoint_url,
    error_outcome,
    get_request,
    jsonl,
    number_at,
    post,
    raw,
    segment,
    success_outcome,
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


def _create(desk: BatchEndpoint, _lot: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    asks = [{"custom_id": line.id, "params": raw(line)} for line in lines]
    return post(desk, _HOME, {"requests": asks})


def _seen(body: Json, _now: float = 0.0) -> ChunkStatus:
    counts = {name: number_at(body, "request_counts", name) for name in _COUNTS}
    return ChunkStatus(
        ended=endpoint_url(body, "processing_status") == "ended",
        rest="cancelled" if endpoint_url(body, "cancel_initiated_at") else "expired",
        done=sum(counts.values()) - counts["processing"],
        asks=sum(counts.values()),
    )


def _results(desk: BatchEndpoint, id: str, _body: Json) -> Sequence[HttpRequest]:
    # Not by ``results_url``: it names the service's own host, where a proxy may stand between.
    return [get_request(desk, f"{_HOME}/{segment(id)}/results")]


def _outcome(line: Json) -> BatchOutcome:
    id, result = text_at(line, "custom_id"), endpoint_url(line, "result")
    match kind := text_at(result, "type"):
        case "succeeded":
            return success_outcome(id, endpoint_url(result, "message"))
        case "expired":
            return BatchOutcome(id, "expired")
        case "canceled":
            return BatchOutcome(id, "cancelled")
        case _:
            error = endpoint_url(result, "error") or {
                "error": {"message": f"the ask ended as {kind!r}"}
            }
            status = _STATUSES.get(endpoint_url(error, "error", "type") or "", 500)
            return error_outcome(id, status, error)


def _page(body: Json, _: str | None) -> BatchPage:
    found = endpoint_url(body, "data") or ()
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "id"),
            created=when(endpoint_url(each, "created_at")),
            count=_seen(each).asks,
        )
        for each in found
    )
    return BatchPage(
        batches, endpoint_url(body, "last_id") if endpoint_url(body, "has_more") else None
    )


MESSAGES = BatchWire(
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get_request(desk, f"{_HOME}/{segment(id)}"),
    seen=_seen,
    results=_results,
    lines=jsonl,
    outcome=_outcome,
    listing=lambda desk, after: get_request(desk, _HOME, limit=100, after_id=after),
    page=_page,
    cancel=lambda desk, id: post(desk, f"{_HOME}/{segment(id)}/cancel", {}),
    names=False,
)
