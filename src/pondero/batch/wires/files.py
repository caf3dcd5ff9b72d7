"""The shape ``files``: asks are uploaded as a file, results come as one or two more files.

An ask that the service refused stands among the results with its HTTP status and ``error: null``;
one that was never tried stands in the error file (openai Python SDK, ``resources/batches``).
"""

from collections.abc import Sequence

import msgspec

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
    form,
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

LABEL = "pondero"
"""The key of the metadata that has a lot's name."""

ENDED: dict[str, Ending] = {
    "completed": "failed",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}
_UNTRIED: dict[str, Ending] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
_WINDOW = "24h"


def _upload(desk: BatchEndpoint, lot: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    url = f"/v1{lot.endpoint}"
    rows = (
        msgspec.json.encode({"custom_id": line.id, "method": "POST", "url": url, "body": raw(line)})
        for line in lines
    )
    return form(desk, "/files", {"purpose": "batch"}, b"\n".join(rows) + b"\n", lot.name)


def _create(desk: BatchEndpoint, lot: BatchChunk, _lines: Sequence[BatchLine]) -> HttpRequest:
    made = {
        "input_file_id": lot.file,
        "endpoint": f"/v1{lot.endpoint}",
        "completion_window": _WINDOW,
        "metadata": {LABEL: lot.name},
    }
    return post(desk, "/batches", made)


def parse_status(body: Json, _now: float = 0.0) -> ChunkStatus:
    """Return how a batch is by its status and counts."""
    status = text_at(body, "status")
    told = endpoint_url(body, "errors", "data") or ()
    said = endpoint_url(body, "error", "message")
    why = "; ".join(str(endpoint_url(each, "message")) for each in told) or (said or "")
    counts = [number_at(body, "request_counts", name) for name in ("completed", "failed")]
    return ChunkStatus(
        ended=status in ENDED,
        rest=ENDED.get(status, "failed"),
        done=sum(counts),
        asks=number_at(body, "request_counts", "total") or None,
        why=why,
    )


def _results(desk: BatchEndpoint, _id: str, body: Json) -> Sequence[HttpRequest]:
    files = (endpoint_url(body, name) for name in ("output_file_id", "error_file_id"))
    return [get_request(desk, f"/files/{segment(file)}/content") for file in files if file]


def parse_outcome(line: Json) -> BatchOutcome:
    """Return one result: a response with its status, or an error that has none."""
    id, response = text_at(line, "custom_id"), endpoint_url(line, "response")
    status, body = number_at(response, "status_code"), endpoint_url(response, "body")
    error = endpoint_url(line, "error")
    if response is None or (error and not status):
        ending = _UNTRIED.get(endpoint_url(error, "code") or "", "failed")
        told = BatchOutcome(id, ending, 500, msgspec.json.encode({"error": error}))
        return told if ending == "failed" else BatchOutcome(id, ending)
    if 200 <= status < 300:
        return success_outcome(id, body)
    return error_outcome(id, status, body)


def parse_page(body: Json, _: str | None) -> BatchPage:
    """Return a page of the list; the next one begins after its last batch."""
    found = endpoint_url(body, "data") or ()
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "id"),
            name=endpoint_url(each, "metadata", LABEL),
            file=endpoint_url(each, "input_file_id"),
            created=when(endpoint_url(each, "created_at")),
            count=number_at(each, "request_counts", "total") or None,
        )
        for each in found
    )
    last = endpoint_url(body, "last_id") or (batches[-1].remote if batches else None)
    return BatchPage(batches, last if endpoint_url(body, "has_more") else None)


FILES = BatchWire(
    upload=_upload,
    uploaded=lambda body: text_at(body, "id"),
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get_request(desk, f"/batches/{segment(id)}"),
    seen=parse_status,
    results=_results,
    lines=jsonl,
    outcome=parse_outcome,
    listing=lambda desk, after: get_request(desk, "/batches", limit=100, after=after),
    page=parse_page,
    cancel=lambda desk, id: post(desk, f"/batches/{segment(id)}/cancel", {}),
    names=True,
)
