"""The answers of a batch: each result is decoded like the answer to a live request."""

from collections.abc import Iterator
from time import time
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..canon import Cost, Reply, ResponseHead
from ..errors import PonderoError, ServiceError, ServiceTimeout
from ..exchange import read_reply
from ..store import Charge, TokenBill
from .service_api import BatchOutcome, Ending
from .store import BatchFile, StoredRequest


class BatchAnswer(Struct, frozen=True):
    """How one request of a batch ended: with a reply, or with an error.

    Requests that expired or were cancelled are not billed.

    >>> batch = client.batch([{"id": "sum", "prompt": "What is 17 * 23?"}], "claude-opus-5/low")
    >>> answer = batch.wait()["sum"]
    >>> answer.ending, answer.text
    ('answered', '17 * 23 = 391')
    """

    id: str
    ending: Ending
    reply: Reply | None = None
    error: PonderoError | None = None

    @property
    def cost(self) -> Cost | None:
        """Return the cost at the batch's price; None if no price is known or nothing was billed."""
        return self.reply.cost if self.reply is not None else None

    @property
    def text(self) -> str:
        """Return the text of the reply; raise the error if there is no reply."""
        if self.reply is None:
            raise self.error or ServiceError("there is no reply")
        return self.reply.text

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain JSON values; the keys are a stable contract."""
        reply, plan = self.reply, self.reply.plan if self.reply else None
        thoughts = reply.thinking_parts if reply else ()
        return {
            "id": self.id,
            "ending": self.ending,
            "model": plan.model if plan else None,
            "level": plan.level if plan else None,
            "text": reply.text if reply else None,
            "thinking": [part.text for part in thoughts if part.text],
            "tool_calls": [msgspec.to_builtins(each) for each in reply.tool_calls] if reply else [],
            "finish": reply.finish if reply else None,
            "verdict": reply.verdict if reply else None,
            "usage": reply.usage.to_json() if reply else None,
            "cost": None if self.cost is None else str(self.cost),
            "error": _describe_error(self.error),
        }


def iter_answers(file: BatchFile) -> Iterator[BatchAnswer]:
    """Yield the answers that have arrived, in the order of the requests."""
    factors = {chunk.number: chunk.factor for chunk in file.lots()}
    paid = not file.facts.offline
    for request, outcome in file.asks():
        if outcome is not None:
            yield _answer(request, outcome, factors[request.chunk], paid=paid)


def _answer(
    request: StoredRequest, outcome: BatchOutcome, factor: str, *, paid: bool
) -> BatchAnswer:
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
    asked = request.exchange.origin
    charge = Charge(asked.provider, asked.model, reply.usage, asked.at or time(), factor)
    return BatchAnswer(request.id, "answered", replace(reply, bill=TokenBill((charge,), paid=paid)))


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
