"""The shape ``files``: asks are uploaded as a file, results come as one or two more files.

An ask that the service refused stands among the results with its HTTP status and ``error: null``;
one that was never tried stands in the error file (openai Python SDK, ``resources/batches``).
"""

from collections.abc import Sequence

import msgspec

from ...canon import HttpRequest, Json
from ..wire import (
    Desk,
    Ending,
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
    form,
    get,
    jsonl,
    number_at,
    post,
    raw,
    segment,
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


def _upload(desk: Desk, lot: Lot, lines: Sequence[Line]) -> HttpRequest:
    url = f"/v1{lot.endpoint}"
    rows = (
        msgspec.json.encode({"custom_id": line.id, "method": "POST", "url": url, "body": raw(line)})
        for line in lines
    )
    return form(desk, "/files", {"purpose": "batch"}, b"\n".join(rows) + b"\n", lot.name)


def _create(desk: Desk, lot: Lot, _lines: Sequence[Line]) -> HttpRequest:
    made = {
        "input_file_id": lot.file,
        "endpoint": f"/v1{lot.endpoint}",
        "completion_window": _WINDOW,
        "metadata": {LABEL: lot.name},
    }
    return post(desk, "/batches", made)


def seen(body: Json, _now: float = 0.0) -> Seen:
    """Return how a batch is by its status and counts."""
    status = text_at(body, "status")
    told = at(body, "errors", "data") or ()
    said = at(body, "error", "message")
    why = "; ".join(str(at(each, "message")) for each in told) or (said or "")
    counts = [number_at(body, "request_counts", name) for name in ("completed", "failed")]
    return Seen(
        ended=status in ENDED,
        rest=ENDED.get(status, "failed"),
        done=sum(counts),
        asks=number_at(body, "request_counts", "total") or None,
        why=why,
    )


def _results(desk: Desk, _id: str, body: Json) -> Sequence[HttpRequest]:
    files = (at(body, name) for name in ("output_file_id", "error_file_id"))
    return [get(desk, f"/files/{segment(file)}/content") for file in files if file]


def outcome(line: Json) -> Outcome:
    """Return one result: a response with its status, or an error that has none."""
    id, response = text_at(line, "custom_id"), at(line, "response")
    status, body = number_at(response, "status_code"), at(response, "body")
    error = at(line, "error")
    if response is None or (error and not status):
        ending = _UNTRIED.get(at(error, "code") or "", "failed")
        told = Outcome(id, ending, 500, msgspec.json.encode({"error": error}))
        return told if ending == "failed" else Outcome(id, ending)
    if 200 <= status < 300:
        return answered(id, body)
    return failed(id, status, body)


def page(body: Json, _: str | None) -> Page:
    """Return a page of the list; the next one begins after its last batch."""
    found = at(body, "data") or ()
    batches = tuple(
        Listed(
            remote=text_at(each, "id"),
            name=at(each, "metadata", LABEL),
            file=at(each, "input_file_id"),
            created=when(at(each, "created_at")),
            count=number_at(each, "request_counts", "total") or None,
        )
        for each in found
    )
    last = at(body, "last_id") or (batches[-1].remote if batches else None)
    return Page(batches, last if at(body, "has_more") else None)


FILES = Wire(
    upload=_upload,
    uploaded=lambda body: text_at(body, "id"),
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get(desk, f"/batches/{segment(id)}"),
    seen=seen,
    results=_results,
    lines=jsonl,
    outcome=outcome,
    listing=lambda desk, after: get(desk, "/batches", limit=100, after=after),
    page=page,
    cancel=lambda desk, id: post(desk, f"/batches/{segment(id)}/cancel", {}),
    names=True,
)
