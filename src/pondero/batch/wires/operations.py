"""The shape ``operations``: a batch is a long-running operation of one model.

States occur with two prefixes, results stand in ``response`` or in ``metadata.output``, inline or
as the name of a file (google-genai Python SDK, ``batches``).
"""

from collections.abc import Sequence

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
    get,
    jsonl,
    number_at,
    post,
    raw,
    segment,
    status_of,
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


def _create(desk: Desk, lot: Lot, lines: Sequence[Line]) -> HttpRequest:
    asks = [{"request": raw(line), "metadata": {"key": line.id}} for line in lines]
    batch = {"displayName": lot.name, "inputConfig": {"requests": {"requests": asks}}}
    return post(desk, f"/models/{segment(lot.model)}:batchGenerateContent", {"batch": batch})


def _state(body: Json) -> str:
    """Return the state without its prefix, of which there are two."""
    said = at(body, "metadata", "state") or ""
    return said.removeprefix("JOB_STATE_").removeprefix("BATCH_STATE_")


def _seen(body: Json, _now: float = 0.0) -> Seen:
    state, counts = _state(body), ("metadata", "batchStats")
    done = ("successfulRequestCount", "failedRequestCount")
    return Seen(
        ended=state in _ENDED,
        rest=_ENDED.get(state, "failed"),
        done=sum(number_at(body, *counts, name) for name in done),
        asks=number_at(body, *counts, "requestCount") or None,
        why=at(body, "error", "message") or "",
    )


def _output(body: Json) -> Json:
    return at(body, "response") or at(body, "metadata", "output")


def _inline(body: Json) -> Sequence[Json]:
    found = at(_output(body), "inlinedResponses")
    if isinstance(found, dict):
        found = at(found, "inlinedResponses")
    return found or ()


def _results(desk: Desk, _id: str, body: Json) -> Sequence[HttpRequest]:
    file = at(_output(body), "responsesFile")
    return [get(desk, f"/{segment(file)}:download", alt="media")] if file else []


def _outcome(line: Json) -> Outcome:
    id = at(line, "key") or text_at(line, "metadata", "key")
    error = at(line, "error")
    if error is None:
        return answered(id, at(line, "response"))
    status = status_of(at(error, "code"))
    return failed(id, status, {"error": {**error, "code": status}})


def _page(body: Json, _: str | None) -> Page:
    batches = tuple(
        Listed(
            remote=text_at(each, "name"),
            name=at(each, "metadata", "displayName"),
            created=when(at(each, "metadata", "createTime")),
        )
        for each in at(body, "operations") or ()
    )
    return Page(batches, at(body, "nextPageToken") or None)


OPERATIONS = Wire(
    create=_create,
    created=lambda body: text_at(body, "name"),
    look=lambda desk, id: get(desk, f"/{segment(id)}"),
    seen=_seen,
    inline=_inline,
    results=_results,
    lines=jsonl,
    outcome=_outcome,
    listing=lambda desk, after: get(desk, "/batches", pageSize=100, pageToken=after),
    page=_page,
    cancel=lambda desk, id: post(desk, f"/{segment(id)}:cancel", {}),
    names=True,
)
