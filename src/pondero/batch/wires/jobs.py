"""The shape ``jobs``: a job of one model, with its asks in the request that makes it.

Results are in the job itself where it is asked for them inline, else in its output file; what
failed is in the error file (mistralai Python SDK, ``models/batchjob``).
"""

from collections.abc import Sequence

from ...canon import HttpRequest, Json
from ..wire import (
    Desk,
    Ending,
    Line,
    Listed,
    Lot,
    Page,
    Seen,
    Wire,
    at,
    get,
    jsonl,
    number_at,
    post,
    segment,
    text_at,
    unnamed,
    when,
)
from .files import LABEL, outcome

_HOME = "/batch/jobs"
_ENDED: dict[str, Ending] = {
    "SUCCESS": "failed",
    "FAILED": "failed",
    "TIMEOUT_EXCEEDED": "expired",
    "CANCELLED": "cancelled",
}
_HOURS = 24
_PAGE = 100


def _create(desk: Desk, lot: Lot, lines: Sequence[Line]) -> HttpRequest:
    made = {
        "endpoint": f"/v1{lot.endpoint}",
        "model": lot.model,
        "metadata": {LABEL: lot.name},
        "timeout_hours": _HOURS,
        "requests": [{"custom_id": line.id, "body": unnamed(line)} for line in lines],
    }
    return post(desk, _HOME, made)


def _seen(body: Json, _now: float = 0.0) -> Seen:
    status = text_at(body, "status")
    why = "; ".join(str(at(each, "message")) for each in at(body, "errors") or ())
    return Seen(
        ended=status in _ENDED,
        rest=_ENDED.get(status, "failed"),
        done=number_at(body, "completed_requests"),
        asks=number_at(body, "total_requests") or None,
        why=why,
    )


def _inline(body: Json) -> Sequence[Json]:
    return at(body, "outputs") or ()


def _results(desk: Desk, _id: str, body: Json) -> Sequence[HttpRequest]:
    names = ("error_file",) if _inline(body) else ("output_file", "error_file")
    files = (at(body, name) for name in names)
    return [get(desk, f"/files/{segment(file)}/content") for file in files if file]


def _listing(desk: Desk, number: str | None) -> HttpRequest:
    return get(desk, _HOME, page=number or 0, page_size=_PAGE, created_by_me="true")


def _page(body: Json, number: str | None) -> Page:
    batches = tuple(
        Listed(
            remote=text_at(each, "id"),
            name=at(each, "metadata", LABEL),
            created=when(at(each, "created_at")),
            count=number_at(each, "total_requests") or None,
        )
        for each in at(body, "data") or ()
    )
    return Page(batches, str(int(number or 0) + 1) if len(batches) == _PAGE else None)


JOBS = Wire(
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get(desk, f"{_HOME}/{segment(id)}", inline="true"),
    seen=_seen,
    inline=_inline,
    results=_results,
    lines=jsonl,
    outcome=outcome,
    listing=_listing,
    page=_page,
    cancel=lambda desk, id: post(desk, f"{_HOME}/{segment(id)}/cancel", {}),
    names=True,
)
