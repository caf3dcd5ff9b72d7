"""The shape ``files``: requests are uploaded as a file, results are one or two other files.

Rejected requests have ``error: null``, untried ones an error file (openai, ``resources/batches``).
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

LABEL = "pondero"
"""The metadata key of a chunk's name."""

_UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")
_ENDED: dict[str, Ending] = {
    "completed": "lost",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}
_UNTRIED: dict[str, Ending] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
_WINDOW = "24h"


def _upload(endpoint: BatchEndpoint, chunk: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    url = f"/v1{chunk.endpoint}"
    rows = (
        msgspec.json.encode({"custom_id": line.id, "method": "POST", "url": url, "body": line.raw})
        for line in lines
    )
    return endpoint.post_form("/files", {"purpose": "batch"}, b"\n".join(rows) + b"\n", chunk.name)


def _create(endpoint: BatchEndpoint, chunk: BatchChunk, _lines: Sequence[BatchLine]) -> HttpRequest:
    made = {
        "input_file_id": chunk.file,
        "endpoint": f"/v1{chunk.endpoint}",
        "completion_window": _WINDOW,
        "metadata": {LABEL: chunk.name},
    }
    return endpoint.post("/batches", made)


def _parse_status(body: Json, _now: float = 0.0) -> ChunkStatus:
    status = text_at(body, "status")
    told = value_at(body, "errors", "data") or ()
    said = value_at(body, "error", "message")
    why = "; ".join(str(value_at(each, "message")) for each in told) or (said or "")
    counts = count_endings(body, "request_counts", answered="completed", failed="failed")
    return ChunkStatus(
        ended=status in _ENDED,
        rest=_ENDED.get(status, "lost"),
        done=sum(counts.values()),
        asks=number_at(body, "request_counts", "total") or None,
        counts=counts,
        odd="" if status in (*_ENDED, *_UNDER_WAY) else status,
        why=why,
    )


def _results(endpoint: BatchEndpoint, _id: str, body: Json) -> Sequence[HttpRequest]:
    files = (value_at(body, name) for name in ("output_file_id", "error_file_id"))
    return [endpoint.get(f"/files/{segment(file)}/content") for file in files if file]


def parse_outcome(line: Json) -> BatchOutcome:
    """Return one result: a response with its status, or an error without one."""
    id, response = text_at(line, "custom_id"), value_at(line, "response")
    status, body = number_at(response, "status_code"), value_at(response, "body")
    error = value_at(line, "error")
    if response is None or (error and not status):
        ending = _UNTRIED.get(value_at(error, "code") or "", "failed")
        told = BatchOutcome(id, ending, 500, msgspec.json.encode({"error": error}))
        return told if ending == "failed" else BatchOutcome(id, ending)
    if 200 <= status < 300:
        return success_outcome(id, body)
    return error_outcome(id, status, body)


def _parse_page(body: Json, _: str | None) -> BatchPage:
    found = value_at(body, "data") or ()
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "id"),
            name=value_at(each, "metadata", LABEL),
            file=value_at(each, "input_file_id"),
            created=when(value_at(each, "created_at")),
            count=number_at(each, "request_counts", "total") or None,
        )
        for each in found
    )
    last = value_at(body, "last_id") or (batches[-1].remote if batches else None)
    return BatchPage(batches, last if value_at(body, "has_more") else None)


FILES = BatchWire(
    upload=_upload,
    parse_uploaded=lambda body: text_at(body, "id"),
    create=_create,
    parse_created=lambda body: text_at(body, "id"),
    poll=lambda endpoint, id: endpoint.get(f"/batches/{segment(id)}"),
    parse_status=_parse_status,
    results=_results,
    lines=jsonl,
    outcome=parse_outcome,
    listing=lambda endpoint, after: endpoint.get("/batches", limit=100, after=after),
    page=_parse_page,
    cancel=lambda endpoint, id: endpoint.post(f"/batches/{segment(id)}/cancel", {}),
    names=True,
)
