"""The shape ``jobs``: a job of one model (mistralai Python SDK, ``models/batchjob``)."""

from collections.abc import Sequence

from ...canon import HttpRequest, Json
from ..service_api import (
    BatchChunk,
    BatchEndpoint,
    BatchLine,
    BatchPage,
    BatchWire,
    ChunkStatus,
    Ending,
    ListedBatch,
    count_endings,
    jsonl,
    number_at,
    segment,
    text_at,
    value_at,
    when,
)
from .files import LABEL, parse_outcome

_HOME = "/batch/jobs"
_UNDER_WAY = ("QUEUED", "RUNNING", "CANCELLATION_REQUESTED")
_ENDED: dict[str, Ending] = {
    "SUCCESS": "lost",
    "FAILED": "failed",
    "TIMEOUT_EXCEEDED": "expired",
    "CANCELLED": "cancelled",
}
_HOURS = 24
_PAGE = 100


def _create(endpoint: BatchEndpoint, chunk: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    made = {
        "endpoint": f"/v1{chunk.endpoint}",
        "model": chunk.model,
        "metadata": {LABEL: chunk.name},
        "timeout_hours": _HOURS,
        "requests": [{"custom_id": line.id, "body": line.without_model} for line in lines],
    }
    return endpoint.post(_HOME, made)


def _parse_status(body: Json, _now: float = 0.0) -> ChunkStatus:
    status = text_at(body, "status")
    why = "; ".join(str(value_at(each, "message")) for each in value_at(body, "errors") or ())
    return ChunkStatus(
        ended=status in _ENDED,
        rest=_ENDED.get(status, "lost"),
        done=number_at(body, "completed_requests"),
        asks=number_at(body, "total_requests") or None,
        counts=count_endings(body, answered="succeeded_requests", failed="failed_requests"),
        odd="" if status in (*_ENDED, *_UNDER_WAY) else status,
        why=why,
    )


def _inline(body: Json, _ids: Sequence[str] = ()) -> Sequence[Json]:
    return value_at(body, "outputs") or ()


def _results(endpoint: BatchEndpoint, _id: str, body: Json) -> Sequence[HttpRequest]:
    names = ("error_file",) if _inline(body) else ("output_file", "error_file")
    files = (value_at(body, name) for name in names)
    return [endpoint.get(f"/files/{segment(file)}/content") for file in files if file]


def _listing(endpoint: BatchEndpoint, number: str | None) -> HttpRequest:
    return endpoint.get(_HOME, page=number or 0, page_size=_PAGE, created_by_me="true")


def _page(body: Json, number: str | None) -> BatchPage:
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "id"),
            name=value_at(each, "metadata", LABEL),
            created=when(value_at(each, "created_at")),
            count=number_at(each, "total_requests") or None,
        )
        for each in value_at(body, "data") or ()
    )
    return BatchPage(batches, str(int(number or 0) + 1) if len(batches) == _PAGE else None)


JOBS = BatchWire(
    create=_create,
    parse_created=lambda body: text_at(body, "id"),
    poll=lambda endpoint, id: endpoint.get(f"{_HOME}/{segment(id)}", inline="true"),
    parse_status=_parse_status,
    inline=_inline,
    results=_results,
    lines=jsonl,
    outcome=parse_outcome,
    listing=_listing,
    page=_page,
    cancel=lambda endpoint, id: endpoint.post(f"{_HOME}/{segment(id)}/cancel", {}),
    names=True,
)
