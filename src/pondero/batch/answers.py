"""The answers of a batch: each result is decoded like the answer to a live request."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from ..canon import Reply, ResponseHead
from ..errors import PonderoError, ServiceError, ServiceTimeout
from ..exchange import read_reply
from ..store import price_usage
from .service_api import BatchOutcome, Ending
from .store import BatchFile, StoredRequest


class BatchAnswer(Struct, frozen=True):
    """How one request of a batch ended: with a reply, or with an error.

    ``cost`` is in dollars, at the batch's price, or None if no price is known. Requests that
    expired or were cancelled are not billed.

    >>> batch = client.batch([{"id": "sum", "prompt": "What is 17 * 23?"}], "claude-opus-5/low")
    >>> answer = batch.wait()["sum"]
    >>> answer.ending, answer.text
    ('answered', '17 * 23 = 391')
    """

    id: str
    ending: Ending
    reply: Reply | None = None
    error: PonderoError | None = None
    cost: str | None = None

    @property
    def text(self) -> str:
        """Return the text of the reply; raise the error if there is no reply."""
        if self.reply is None:
            raise self.error or ServiceError("there is no reply")
        return self.reply.text

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain JSON values; the keys are a stable contract."""
        reply, plan = self.reply, self.reply.plan if self.reply else None
        return {
            "id": self.id,
            "ending": self.ending,
            "model": plan.model if plan else None,
            "level": plan.level if plan else None,
            "text": reply.text if reply else None,
            "thinking": list(reply.thinking) if reply else [],
            "tool_calls": [msgspec.to_builtins(each) for each in reply.tool_calls] if reply else [],
            "finish": reply.finish if reply else None,
            "verdict": reply.verdict if reply else None,
            "usage": msgspec.to_builtins(reply.usage) if reply else None,
            "cost": self.cost,
            "error": _describe_error(self.error),
        }


def iter_answers(file: BatchFile) -> Iterator[BatchAnswer]:
    """Yield the answers that have arrived, in the order of the requests."""
    factors = {chunk.number: Decimal(chunk.factor) for chunk in file.lots()}
    for request, outcome in file.asks():
        if outcome is not None:
            yield _answer(request, outcome, factors[request.chunk])


def _answer(request: StoredRequest, outcome: BatchOutcome, factor: Decimal) -> BatchAnswer:
    if outcome.ending == "expired":
        message = "the batch expired before this was answered; it was not billed, and can be asked"
        return BatchAnswer(request.id, "expired", error=ServiceTimeout(f"{message} again"))
    if outcome.ending == "cancelled":
        error = ServiceError("the batch was cancelled before this was answered; it was not billed")
        return BatchAnswer(request.id, "cancelled", error=error)
    try:
        reply = read_reply(request.exchange, ResponseHead(outcome.status), outcome.body)
    except PonderoError as error:
        ending: Ending = "lost" if outcome.ending == "lost" else "failed"
        return BatchAnswer(request.id, ending, error=error)
    return BatchAnswer(request.id, "answered", reply, cost=_cost(request, reply, factor))


def _cost(request: StoredRequest, reply: Reply, factor: Decimal) -> str | None:
    origin = request.exchange.origin
    price = price_usage(origin.provider, origin.model, reply.usage)
    return None if price is None else f"{(price * factor).normalize():f}"


def _describe_error(error: PonderoError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    status = error.status if isinstance(error, ServiceError) else None
    return {
        "type": type(error).__name__,
        "category": error.category,
        "status": status,
        "message": str(error),
    }
