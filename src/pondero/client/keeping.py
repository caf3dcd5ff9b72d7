"""What of a turn is kept: its messages, each reply with its plan, counts, time and price."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ..canon import Message, Reply
from ..store import Kept
from ..thinking import Plan
from .prices import cost


def kept_of(
    reply: Reply, *, seconds: float | None = None, first: float | None = None, paid: bool = True
) -> Kept:
    """Return a reply as it is kept; ``paid`` is whether a service, and no emulator, gave it."""
    plan = reply.plan
    return Kept(
        reply.message,
        plan=plan.to_json() if isinstance(plan, Plan) else plan,
        usage=reply.usage,
        verdict=reply.verdict,
        finish=reply.finish,
        seconds=seconds,
        first=first,
        cost=cost_of(reply) if paid else None,
    )


def cost_of(reply: Reply) -> str | None:
    """Return what a reply cost, in dollars; None where that is not known."""
    origin = reply.message.origin
    price = cost(origin.provider, origin.model, reply.usage) if origin else None
    return None if price is None else f"{price.normalize():f}"


def kept_turn(
    messages: Iterable[Message],
    replies: Sequence[Reply],
    *,
    seconds: float | None = None,
    first: float | None = None,
    paid: bool = True,
) -> tuple[Kept, ...]:
    """Return the messages of a turn as they are kept; an answer that is no reply was cut off.

    The time is that of the whole turn, and stands with its last answer.
    """
    known = {id(reply.message): reply for reply in replies}
    given = tuple(messages)
    last = max((n for n, each in enumerate(given) if each.role == "assistant"), default=None)
    kept = []
    for number, message in enumerate(given):
        if (reply := known.get(id(message))) is not None:
            each = kept_of(reply, paid=paid)
        else:
            each = Kept(message, partial=message.role == "assistant")
        kept.append(replace(each, seconds=seconds, first=first) if number == last else each)
    return tuple(kept)
