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
    error_outcome,
    jsonl,
    number_at,
    parse_error_code,
    segment,
    success_outcome,
    text_at,
    value_at,
    when,
)

_ENDED: dict[str, Ending] = {
    "SUCCEEDED": "failed",
    "PARTIALLY_SUCCEEDED": "failed",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}


def _create(endpoint: BatchEndpoint, chunk: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    requests = [{"request": line.raw, "metadata": {"key": line.id}} for line in lines]
    batch = {"displayName": chunk.name, "inputConfig": {"requests": {"requests": requests}}}
    return endpoint.post(f"/models/{segment(chunk.model)}:batchGenerateContent", {"batch": batch})


def _state(body: Json) -> str:
    said = value_at(body, "metadata", "state") or ""
    return said.removeprefix("JOB_STATE_").removeprefix("BATCH_STATE_")


def _parse_status(body: Json, _now: float = 0.0) -> ChunkStatus:
    state, counts = _state(body), ("metadata", "batchStats")
    done = ("successfulRequestCount", "failedRequestCount")
    return ChunkStatus(
        ended=state in _ENDED,
        rest=_ENDED.get(state, "failed"),
        done=sum(number_at(body, *counts, name) for name in done),
        asks=number_at(body, *counts, "requestCount") or None,
        why=value_at(body, "error", "message") or "",
    )


def _output(body: Json) -> Json:
    return value_at(body, "response") or value_at(body, "metadata", "output")


def _inline(body: Json) -> Sequence[Json]:
    found = value_at(_output(body), "inlinedResponses")
    if isinstance(found, dict):
        found = value_at(found, "inlinedResponses")
    return found or ()


def _results(endpoint: BatchEndpoint, _id: str, body: Json) -> Sequence[HttpRequest]:
    file = value_at(_output(body), "responsesFile")
    return [endpoint.get(f"/{segment(file)}:download", alt="media")] if file else []


def _outcome(line: Json) -> BatchOutcome:
    id = value_at(line, "key") or text_at(line, "metadata", "key")
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
    poll=lambda endpoint, id: endpoint.get(f"/{segment(id)}"),
    parse_status=_parse_status,
    inline=_inline,
    results=_results,
    lines=jsonl,
    outcome=_outcome,
    listing=lambda endpoint, after: endpoint.get("/batches", pageSize=100, pageToken=after),
    page=_page,
    cancel=lambda endpoint, id: endpoint.post(f"/{segment(id)}:cancel", {}),
    names=True,
)
