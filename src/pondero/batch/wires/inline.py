"""The shape ``inline``: the request that makes the batch has the requests, its state the results.

The service reads ``endpoint`` and ``model`` before the whole body, so they are first.
"""

from collections.abc import Sequence

import msgspec

from ...canon import HttpRequest
from ..service_api import BatchChunk, BatchEndpoint, BatchLine, value_at
from .files import FILES


def _create(endpoint: BatchEndpoint, chunk: BatchChunk, lines: Sequence[BatchLine]) -> HttpRequest:
    made = {
        "endpoint": f"/v1{chunk.endpoint}",
        "model": chunk.model,
        "requests": [{"custom_id": line.id, "body": line.without_model} for line in lines],
    }
    return endpoint.post("/batches", made)


INLINE = msgspec.structs.replace(
    FILES,
    upload=None,
    parse_uploaded=None,
    create=_create,
    inline=lambda body, _ids: value_at(body, "results") or (),
    results=lambda *_: (),
    names=False,
)
