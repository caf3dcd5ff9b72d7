"""The shape ``jobs``: a job of one model, with its asks in the request that makes it.

Results are in the job itself where it is asked for them inline, else in its output file; what
failed is in the error file (mistralai Python SDK, ``models/batchjob``).
"""

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
    endpoint_url,
    get_request,
    jsonl,
    number_at,
    post,
    segment,
    text_at,
    when,
    without_model,
)
from .files import LABEL, parse_outcome

_HOME = "/batch/jobs"
_ENDED: dict[str, Ending] = {
    "SUCCESS": "failed",
    "FAILED": "failed",
    "TIMEOUT_EXCEEDED": "expired",
    "CANCELLED": "cancelled",
}
_HOURS = 24
_PAGE = 100


def _create(desk: BatchEndpoint, lot: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    made = {
        "endpoint": f"/v1{lot.endpoint}",
        "model": lot.model,
        "metadata": {LABEL: lot.name},
        "timeout_hours": _HOURS,
        "requests": [{"custom_id": line.id, "body": without_model(line)} for line in lines],
    }
    return post(desk, _HOME, made)


def _seen(body: Json, _now: float = 0.0) -> ChunkStatus:
    status = text_at(body, "status")
    why = "; ".join(
        str(endpoint_url(each, "message")) for each in endpoint_url(body, "errors") or ()
    )
    return ChunkStatus(
        ended=status in _ENDED,
        rest=_ENDED.get(status, "failed"),
        done=number_at(body, "completed_requests"),
        asks=number_at(body, "total_requests") or None,
        why=why,
    )


def _inline(body: Json) -> Sequence[Json]:
    return endpoint_url(body, "outputs") or ()


def _results(desk: BatchEndpoint, _id: str, body: Json) -> Sequence[HttpRequest]:
    names = ("error_file",) if _inline(body) else ("output_file", "error_file")
    files = (endpoint_url(body, name) for name in names)
    return [get_request(desk, f"/files/{segment(file)}/content") for file in files if file]


def _listing(desk: BatchEndpoint, number: str | None) -> HttpRequest:
    return get_request(desk, _HOME, page=number or 0, page_size=_PAGE, created_by_me="true")


def _page(body: Json, number: str | None) -> BatchPage:
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "id"),
            name=endpoint_url(each, "metadata", LABEL),
            created=when(endpoint_url(each, "created_at")),
            count=number_at(each, "total_requests") or None,
        )
        for each in endpoint_url(body, "data") or ()
    )
    return BatchPage(batches, str(int(number or 0) + 1) if len(batches) == _PAGE else None)


JOBS = BatchWire(
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get_request(desk, f"{_HOME}/{segment(id)}", inline="true"),
    seen=_seen,
    inline=_inline,
    results=_results,
    lines=jsonl,
    outcome=parse_outcome,
    listing=_listing,
    page=_page,
    cancel=lambda desk, id: post(desk, f"{_HOME}/{segment(id)}/cancel", {}),
    names=True,
)
