"""The shape ``requests``: a batch is made empty, with a name; asks are added, results are paged.

There is no state: a batch has ended when it has asks and none is pending, when its time is over, or
when the service rejects it (xAI's documentation, and clients of others where it is silent).
"""

from collections.abc import Sequence

import msgspec

from ...canon import HttpRequest, Json
from ...errors import Malformed
from ..wire import (
    Desk,
    Line,
    Listed,
    Outcome,
    Page,
    Seen,
    Wire,
    answered,
    at,
    failed,
    get,
    number_at,
    post,
    raw,
    segment,
    status_of,
    text_at,
    when,
)

_CHAT = "chat_get_completion"
_PAGE = 100
_CANCELLED = 1  # of gRPC's codes


def _add(desk: Desk, id: str, lines: Sequence[Line]) -> HttpRequest:
    asks = [{"batch_request_id": line.id, "batch_request": {_CHAT: raw(line)}} for line in lines]
    return post(desk, f"/batches/{segment(id)}/requests", {"batch_requests": asks})


def _seen(body: Json, now: float = 0.0) -> Seen:
    asks, pending = (number_at(body, "state", name) for name in ("num_requests", "num_pending"))
    rejected = at(body, "cancel_by_xai_message")
    cancelled = at(body, "cancel_time")
    expired = (when(at(body, "expire_time")) or now) < now
    return Seen(
        ended=bool(rejected or expired) or (bool(asks) and pending == 0),
        rest="failed" if rejected else "cancelled" if cancelled else "expired",
        done=asks - pending,
        asks=asks,
        closed=bool(rejected or expired or cancelled),
        why=rejected or "",
    )


def _results(desk: Desk, id: str, _body: Json) -> Sequence[HttpRequest]:
    return [_after(desk, id, None)]


def _after(desk: Desk, id: str, token: str | None) -> HttpRequest:
    return get(desk, f"/batches/{segment(id)}/results", limit=_PAGE, pagination_token=token)


def _body(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"a page of results is no JSON: {error}"
        raise Malformed(message) from None


def _more(desk: Desk, id: str, body: bytes) -> HttpRequest | None:
    token = at(_body(body), "pagination_token")
    return _after(desk, id, token) if token else None


def _outcome(line: Json) -> Outcome:
    id, result = text_at(line, "batch_request_id"), at(line, "batch_result")
    if (found := at(result, "response", _CHAT)) is not None:
        return answered(id, found)
    error = at(result, "error") or at(line, "error") or {"message": at(line, "error_message")}
    if isinstance(error, str):
        error = {"message": error}
    if at(error, "code") == _CANCELLED:
        return Outcome(id, "cancelled")
    return failed(id, status_of(at(error, "code")), {"error": error})


def _page(body: Json, _: str | None) -> Page:
    batches = tuple(
        Listed(
            remote=text_at(each, "batch_id"),
            name=at(each, "name"),
            created=when(at(each, "create_time")),
            count=number_at(each, "state", "num_requests"),
        )
        for each in at(body, "batches") or ()
    )
    return Page(batches, at(body, "pagination_token") or None)


REQUESTS = Wire(
    create=lambda desk, lot, _lines: post(desk, "/batches", {"name": lot.name}),
    created=lambda body: text_at(body, "batch_id"),
    add=_add,
    adds=_PAGE,
    look=lambda desk, id: get(desk, f"/batches/{segment(id)}"),
    seen=_seen,
    results=_results,
    lines=lambda body: at(_body(body), "results") or (),
    more=_more,
    outcome=_outcome,
    listing=lambda desk, token: get(desk, "/batches", limit=_PAGE, pagination_token=token),
    page=_page,
    cancel=lambda desk, id: post(desk, f"/batches/{segment(id)}:cancel", {}),
    names=True,
)
