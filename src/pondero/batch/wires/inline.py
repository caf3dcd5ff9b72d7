"""The shape ``inline``: asks go into the request that makes the batch, results into its state.

The service reads ``endpoint`` and ``model`` before it has the whole, so they stand first. A batch
has no name there: one of ours is known by the ids in its results.
"""

from collections.abc import Sequence

from ...canon import HttpRequest, Json
from ..service_api import (
    BatchChunk,
    BatchEndpoint,
    BatchLine,
    BatchWire,
    endpoint_url,
    get_request,
    post,
    segment,
    text_at,
    without_model,
)
from .files import parse_outcome, parse_page, parse_status


def _create(desk: BatchEndpoint, lot: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    made = {
        "endpoint": f"/v1{lot.endpoint}",
        "model": lot.model,
        "requests": [{"custom_id": line.id, "body": without_model(line)} for line in lines],
    }
    return post(desk, "/batches", made)


def _inline(body: Json) -> Sequence[Json]:
    return endpoint_url(body, "results") or ()


INLINE = BatchWire(
    create=_create,
    created=lambda body: text_at(body, "id"),
    look=lambda desk, id: get_request(desk, f"/batches/{segment(id)}"),
    seen=parse_status,
    inline=_inline,
    outcome=parse_outcome,
    listing=lambda desk, after: get_request(desk, "/batches", limit=100, after=after),
    page=parse_page,
    cancel=lambda desk, id: post(desk, f"/batches/{segment(id)}/cancel", {}),
    names=False,
)
