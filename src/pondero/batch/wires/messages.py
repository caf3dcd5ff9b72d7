"""The shape ``messages``: batches without names (anthropic SDK, ``resources/messages/batches``)."""

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
    count_endings,
    error_outcome,
    jsonl,
    number_at,
    segment,
    success_outcome,
    text_at,
    value_at,
    when,
)

_HOME = "/v1/messages/batches"
_UNDER_WAY = ("in_progress", "canceling")
_COUNTS = {
    "answered": "succeeded",
    "failed": "errored",
    "cancelled": "canceled",
    "expired": "expired",
}
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


def _create(endpoint: BatchEndpoint, _chunk: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    requests = [{"custom_id": line.id, "params": line.raw} for line in lines]
    return endpoint.post(_HOME, {"requests": requests})


def _parse_status(body: Json, _now: float = 0.0) -> ChunkStatus:
    counts = count_endings(body, "request_counts", **_COUNTS)
    status, done = text_at(body, "processing_status"), sum(counts.values())
    return ChunkStatus(
        ended=status == "ended",
        rest="cancelled" if value_at(body, "cancel_initiated_at") else "lost",
        done=done,
        asks=done + number_at(body, "request_counts", "processing"),
        counts=counts,
        odd="" if status in ("ended", *_UNDER_WAY) else status,
    )


def _outcome(line: Json) -> BatchOutcome:
    id, result = text_at(line, "custom_id"), value_at(line, "result")
    match kind := text_at(result, "type"):
        case "succeeded":
            return success_outcome(id, value_at(result, "message"))
        case "expired":
            return BatchOutcome(id, "expired")
        case "canceled":
            return BatchOutcome(id, "cancelled")
        case _:
            error = value_at(result, "error") or {
                "error": {"message": f"the request ended as {kind!r}"}
            }
            status = _STATUSES.get(value_at(error, "error", "type") or "", 500)
            return error_outcome(id, status, error)


def _page(body: Json, _: str | None) -> BatchPage:
    found = value_at(body, "data") or ()
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "id"),
            created=when(value_at(each, "created_at")),
            count=_parse_status(each).asks or None,
        )
        for each in found
    )
    return BatchPage(batches, value_at(body, "last_id") if value_at(body, "has_more") else None)


MESSAGES = BatchWire(
    create=_create,
    parse_created=lambda body: text_at(body, "id"),
    poll=lambda endpoint, id: endpoint.get(f"{_HOME}/{segment(id)}"),
    parse_status=_parse_status,
    # Not ``results_url``: it has the service's own host, and the client may use a proxy.
    results=lambda endpoint, id, _body: [endpoint.get(f"{_HOME}/{segment(id)}/results")],
    lines=jsonl,
    outcome=_outcome,
    listing=lambda endpoint, after: endpoint.get(_HOME, limit=100, after_id=after),
    page=_page,
    cancel=lambda endpoint, id: endpoint.post(f"{_HOME}/{segment(id)}/cancel", {}),
    names=False,
)
