"""The shape ``inline``: asks go into the request that makes the batch, results into its state.

The service reads ``endpoint`` and ``model`` before it has the whole, so they stand first. A batch
has no name there: one of ours is known by the ids in its results.
"""

from collections.abc import Sequence

from ...canon import HttpRequest, Json
from ..wire import Desk, Line, Lot, Wire, at, get, post, segment, text_at, unnamed
from .files import outcome, page, seen


def _create(desk: Desk, lot: Lot, lines: Sequence[Line]) -> HttpRequest:
    made = {
        "endpoint": f"/v1{lot.endpoint}",
        "model": lot.model,
        "requests": [{"custom_id": line.id, "body": unnamed(line)} for line in lines],
    }
    return post(desk, "/batches", made)


def _inline(body: Json) -> Sequence[Json]:
    return at(body, "results") or ()


INLINE = Wire(
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get(desk, f"/batches/{segment(id)}"),
    seen=seen,
    inline=_inline,
    outcome=outcome,
    listing=lambda desk, after: get(desk, "/batches", limit=100, after=after),
    page=page,
    cancel=lambda desk, id: post(desk, f"/batches/{segment(id)}/cancel", {}),
    names=False,
)
