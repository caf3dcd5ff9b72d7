"""The shape ``operations``: a batch is a long-running operation of one model.

States occur with two prefixes, results stand in ``response`` or in ``metadata.output``, inline or
as the name of a file (google-genai Python SDK, ``batches``).
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
    Ending,
    ListedBatch,
    endpoint_url,
    error_outcome,
    get_request,
    jsonl,
    number_at,
    parse_status,
    post,
    raw,
    segment,
    success_outcome,
    text_at,
    when,
)

_ENDED: dict[str, Ending] = {
    "SUCCEEDED": "failed",
    "PARTIALLY_SUCCEEDED": "failed",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}


def _create(desk: BatchEndpoint, lot: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    asks = [{"request": raw(line), "metadata": {"key": line.id}} for line in lines]
    batch = {"displayName": lot.name, "inputConfig": {"requests": {"requests": asks}}}
    return post(desk, f"/models/{segment(lot.model)}:batchGenerateContent", {"batch": batch})


def _state(body: Json) -> str:
    """Return the state without its prefix, of which there are two."""
    said = endpoint_url(body, "metadata", "state") or ""
    return said.removeprefix("JOB_STATE_").removeprefix("BATCH_STATE_")


def _seen(body: Json, _now: float = 0.0) -> ChunkStatus:
    state, counts = _state(body), ("metadata", "batchStats")
    done = ("successfulRequestCount", "failedRequestCount")
    return ChunkStatus(
        ended=state in _ENDED,
        rest=_ENDED.get(state, "failed"),
        done=sum(number_at(body, *counts, name) for name in done),
        asks=number_at(body, *counts, "requestCount") or None,
        why=endpoint_url(body, "error", "message") or "",
    )


def _output(body: Json) -> Json:
    return endpoint_url(body, "response") or endpoint_url(body, "metadata", "output")


def _inline(body: Json) -> Sequence[Json]:
    found = endpoint_url(_output(body), "inlinedResponses")
    if isinstance(found, dict):
        found = endpoint_url(found, "inlinedResponses")
    return found or ()


def _results(desk: BatchEndpoint, _id: str, body: Json) -> Sequence[HttpRequest]:
    file = endpoint_url(_output(body), "responsesFile")
    return [get_request(desk, f"/{segment(file)}:download", alt="media")] if file else []


def _outcome(line: Json) -> BatchOutcome:
    id = endpoint_url(line, "key") or text_at(line, "metadata", "key")
    error = endpoint_url(line, "error")
    if error is None:
        return success_outcome(id, endpoint_url(line, "response"))
    status = parse_status(endpoint_url(error, "code"))
    return error_outcome(id, status, {"error": {**error, "code": status}})


def _page(body: Json, _: str | None) -> BatchPage:
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "name"),
            name=endpoint_url(each, "metadata", "displayName"),
            created=when(endpoint_url(each, "metadata", "createTime")),
        )
        for each in endpoint_url(body, "operations") or ()
    )
    return BatchPage(batches, endpoint_url(body, "nextPageToken") or None)


OPERATIONS = BatchWire(
    create=_create,
    created=lambda body: text_at(body, "name"),
    look=lambda desk, id: get_request(desk, f"/{segment(id)}"),
    seen=_seen,
    inline=_inline,
    results=_results,
    lines=jsonl,
    outcome=_outcome,
    listing=lambda desk, after: get_request(desk, "/batches", pageSize=100, pageToken=after),
    page=_page,
    cancel=lambda desk, id: post(desk, f"/{segment(id)}:cancel", {}),
    names=True,
)
