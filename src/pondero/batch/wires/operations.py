"""The shape ``operations``: a batch is a long-running operation (google-genai SDK, ``batches``)."""

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
    count_endings,
    error_outcome,
    jsonl,
    number_at,
    parse_error_code,
    resource,
    success_outcome,
    text_at,
    value_at,
    when,
)

_UNDER_WAY = ("", "UNSPECIFIED", "PENDING", "QUEUED", "RUNNING", "CANCELLING")
_ENDED: dict[str, Ending] = {
    "SUCCEEDED": "lost",
    "PARTIALLY_SUCCEEDED": "lost",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}


def _create(endpoint: BatchEndpoint, chunk: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    requests = [{"request": line.raw, "metadata": {"key": line.id}} for line in lines]
    batch = {"displayName": chunk.name, "inputConfig": {"requests": {"requests": requests}}}
    return endpoint.post(f"/models/{resource(chunk.model)}:batchGenerateContent", {"batch": batch})


def _state(body: Json) -> str:
    said = value_at(body, "metadata", "state") or ""
    return said.removeprefix("JOB_STATE_").removeprefix("BATCH_STATE_")


def _parse_status(body: Json, _now: float = 0.0) -> ChunkStatus:
    state, error, stats = _state(body), value_at(body, "error"), ("metadata", "batchStats")
    done = value_at(body, "done") is True  # of every long-running operation: nothing follows
    counts = count_endings(
        body, *stats, answered="successfulRequestCount", failed="failedRequestCount"
    )
    return ChunkStatus(
        ended=done or state in _ENDED,
        rest=_ENDED.get(state, "failed" if error else "lost"),
        done=sum(counts.values()),
        asks=number_at(body, *stats, "requestCount") or None,
        counts=counts,
        odd="" if done or state in (*_ENDED, *_UNDER_WAY) else state,
        why=value_at(error, "message") or "",
    )


def _output(body: Json) -> Json:
    return value_at(body, "response") or value_at(body, "metadata", "output")


def _inline(body: Json, ids: Sequence[str]) -> Sequence[Json]:
    found = value_at(_output(body), "inlinedResponses")
    if isinstance(found, dict):
        found = value_at(found, "inlinedResponses")
    rows = found or ()
    # They come in the order of the requests (Gemini API reference, batches), some without a key.
    keys = [_key(row) for row in rows]
    if len(keys) == len(ids) and all(key in (None, id) for key, id in zip(keys, ids, strict=True)):
        return [
            {**row, "key": id} for row, id in zip(rows, ids, strict=True) if isinstance(row, dict)
        ]
    return rows


def _key(line: Json) -> str | None:
    found: str | None = value_at(line, "key") or value_at(line, "metadata", "key")
    return found


def _results(endpoint: BatchEndpoint, _id: str, body: Json) -> Sequence[HttpRequest]:
    file = value_at(_output(body), "responsesFile")
    return [endpoint.get(f"/{resource(file)}:download", alt="media")] if file else []


def _outcome(line: Json) -> BatchOutcome:
    id = _key(line) or text_at(line, "key")
    error = value_at(line, "error")
    if error is None:
        return success_outcome(id, value_at(line, "response"))
    status = parse_error_code(value_at(error, "code"))
    return error_outcome(id, status, {"error": {**error, "code": status}})


def _page(body: Json, _: str | None) -> BatchPage:
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "name"),
            name=value_at(each, "metadata", "displayName"),
            created=when(value_at(each, "metadata", "createTime")),
        )
        for each in value_at(body, "operations") or ()
    )
    return BatchPage(batches, value_at(body, "nextPageToken") or None)


OPERATIONS = BatchWire(
    create=_create,
    parse_created=lambda body: text_at(body, "name"),
    poll=lambda endpoint, id: endpoint.get(f"/{resource(id)}"),
    parse_status=_parse_status,
    inline=_inline,
    results=_results,
    lines=jsonl,
    outcome=_outcome,
    listing=lambda endpoint, after: endpoint.get("/batches", pageSize=100, pageToken=after),
    page=_page,
    cancel=lambda endpoint, id: endpoint.post(f"/{resource(id)}:cancel", {}),
    names=True,
)
