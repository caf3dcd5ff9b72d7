"""The shape ``requests``: a batch is made empty, with a name; requests are added, results paged.

It has ended if it has requests and none is pending, if it expired, or was rejected (xAI's docs).
"""

from collections.abc import Sequence

import msgspec

from ...canon import HttpRequest, Json
from ...errors import Malformed
from ..service_api import (
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
    number_at,
    parse_error_code,
    segment,
    success_outcome,
    text_at,
    value_at,
    when,
)

_CHAT = "chat_get_completion"
_PAGE = 100
_CANCELLED = 1  # of gRPC's codes


def _add(endpoint: BatchEndpoint, id: str, lines: Sequence[BatchLine]) -> HttpRequest:
    requests = [{"batch_request_id": line.id, "batch_request": {_CHAT: line.raw}} for line in lines]
    return endpoint.post(f"/batches/{segment(id)}/requests", {"batch_requests": requests})


def _parse_status(body: Json, now: float = 0.0) -> ChunkStatus:
    requests, pending = (number_at(body, "state", name) for name in ("num_requests", "num_pending"))
    rejected = value_at(body, "cancel_by_xai_message")
    cancelled = value_at(body, "cancel_time")
    expired = (when(value_at(body, "expire_time")) or now) < now
    return ChunkStatus(
        ended=bool(rejected or expired) or (bool(requests) and pending == 0),
        rest=_rest(rejected=rejected, cancelled=cancelled, expired=expired),
        done=requests - pending,
        asks=requests,
        counts=count_endings(
            body, "state", answered="num_success", failed="num_error", cancelled="num_cancelled"
        ),
        closed=bool(rejected or expired or cancelled),
        why=rejected or "",
    )


def _rest(*, rejected: Json, cancelled: Json, expired: bool) -> Ending:
    if rejected:
        return "failed"
    if cancelled:
        return "cancelled"
    return "expired" if expired else "lost"


def _request_results(endpoint: BatchEndpoint, id: str, token: str | None) -> HttpRequest:
    return endpoint.get(f"/batches/{segment(id)}/results", limit=_PAGE, pagination_token=token)


def _body(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"invalid JSON in a page of results: {error}"
        raise Malformed(message) from None


def _more(endpoint: BatchEndpoint, id: str, body: bytes) -> HttpRequest | None:
    token = value_at(_body(body), "pagination_token")
    return _request_results(endpoint, id, token) if token else None


def _outcome(line: Json) -> BatchOutcome:
    id, result = text_at(line, "batch_request_id"), value_at(line, "batch_result")
    if (found := value_at(result, "response", _CHAT)) is not None:
        return success_outcome(id, found)
    error = (
        value_at(result, "error")
        or value_at(line, "error")
        or {"message": value_at(line, "error_message")}
    )
    if isinstance(error, str):
        error = {"message": error}
    if value_at(error, "code") == _CANCELLED:
        return BatchOutcome(id, "cancelled")
    return error_outcome(id, parse_error_code(value_at(error, "code")), {"error": error})


def _page(body: Json, _: str | None) -> BatchPage:
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "batch_id"),
            name=value_at(each, "name"),
            created=when(value_at(each, "create_time")),
            count=number_at(each, "state", "num_requests"),
        )
        for each in value_at(body, "batches") or ()
    )
    return BatchPage(batches, value_at(body, "pagination_token") or None)


REQUESTS = BatchWire(
    create=lambda endpoint, chunk, _lines: endpoint.post("/batches", {"name": chunk.name}),
    parse_created=lambda body: text_at(body, "batch_id"),
    add=_add,
    adds=_PAGE,
    poll=lambda endpoint, id: endpoint.get(f"/batches/{segment(id)}"),
    parse_status=_parse_status,
    results=lambda endpoint, id, _body: [_request_results(endpoint, id, None)],
    lines=lambda body: value_at(_body(body), "results") or (),
    more=_more,
    outcome=_outcome,
    listing=lambda endpoint, token: endpoint.get("/batches", limit=_PAGE, pagination_token=token),
    page=_page,
    cancel=lambda endpoint, id: endpoint.post(f"/batches/{segment(id)}:cancel", {}),
    names=True,
)
