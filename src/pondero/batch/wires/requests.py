"""The shape ``requests``: a batch is made empty, with a name; asks are added, results are paged.

There is no state: a batch has ended when it has asks and none is pending, when its time is over, or
when the service rejects it (xAI's documentation, and clients of others where it is silent).
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
    ListedBatch,
    endpoint_url,
    error_outcome,
    get_request,
    number_at,
    parse_status,
    post,
    raw,
    segment,
    success_outcome,
    text_at,
    when,
)

_CHAT = "chat_get_completion"
_PAGE = 100
_CANCELLED = 1  # of gRPC's codes


def _add(desk: BatchEndpoint, id: str, lines: Sequence[BatchLine]) -> HttpRequest:
    asks = [{"batch_request_id": line.id, "batch_request": {_CHAT: raw(line)}} for line in lines]
    return post(desk, f"/batches/{segment(id)}/requests", {"batch_requests": asks})


def _seen(body: Json, now: float = 0.0) -> ChunkStatus:
    asks, pending = (number_at(body, "state", name) for name in ("num_requests", "num_pending"))
    rejected = endpoint_url(body, "cancel_by_xai_message")
    cancelled = endpoint_url(body, "cancel_time")
    expired = (when(endpoint_url(body, "expire_time")) or now) < now
    return ChunkStatus(
        ended=bool(rejected or expired) or (bool(asks) and pending == 0),
        rest="failed" if rejected else "cancelled" if cancelled else "expired",
        done=asks - pending,
        asks=asks,
        closed=bool(rejected or expired or cancelled),
        why=rejected or "",
    )


def _results(desk: BatchEndpoint, id: str, _body: Json) -> Sequence[HttpRequest]:
    return [_after(desk, id, None)]


def _after(desk: BatchEndpoint, id: str, token: str | None) -> HttpRequest:
    return get_request(desk, f"/batches/{segment(id)}/results", limit=_PAGE, pagination_token=token)


def _body(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"a page of results is no JSON: {error}"
        raise Malformed(message) from None


def _more(desk: BatchEndpoint, id: str, body: bytes) -> HttpRequest | None:
    token = endpoint_url(_body(body), "pagination_token")
    return _after(desk, id, token) if token else None


def _outcome(line: Json) -> BatchOutcome:
    id, result = text_at(line, "batch_request_id"), endpoint_url(line, "batch_result")
    if (found := endpoint_url(result, "response", _CHAT)) is not None:
        return success_outcome(id, found)
    error = (
        endpoint_url(result, "error")
        or endpoint_url(line, "error")
        or {"message": endpoint_url(line, "error_message")}
    )
    if isinstance(error, str):
        error = {"message": error}
    if endpoint_url(error, "code") == _CANCELLED:
        return BatchOutcome(id, "cancelled")
    return error_outcome(id, parse_status(endpoint_url(error, "code")), {"error": error})


def _page(body: Json, _: str | None) -> BatchPage:
    batches = tuple(
        ListedBatch(
            remote=text_at(each, "batch_id"),
            name=endpoint_url(each, "name"),
            created=when(endpoint_url(each, "create_time")),
            count=number_at(each, "state", "num_requests"),
        )
        for each in endpoint_url(body, "batches") or ()
    )
    return BatchPage(batches, endpoint_url(body, "pagination_token") or None)


REQUESTS = BatchWire(
    create=lambda desk, lot, _lines: post(desk, "/batches", {"name": lot.name}),
    created=lambda body: text_at(body, "batch_id"),
    add=_add,
    adds=_PAGE,
    look=lambda desk, id: get_request(desk, f"/batches/{segment(id)}"),
    seen=_seen,
    results=_results,
    lines=lambda body: endpoint_url(_body(body), "results") or (),
    more=_more,
    outcome=_outcome,
    listing=lambda desk, token: get_request(desk, "/batches", limit=_PAGE, pagination_token=token),
    page=_page,
    cancel=lambda desk, id: post(desk, f"/batches/{segment(id)}:cancel", {}),
    names=True,
)
