"""What services refused once, so that it is not sent to them again.

A client remembers what is so of a model whoever asks it, a chat what is so of its own thread.
"""

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from ..canon import Message, Origin
from ..catalog import Entry
from ..dialects import Repair
from ..errors import BadRequest, ServiceError
from ..exchange import Exchange, cured
from ..handoff import REFUSED, UNSEEN, Manifest, Refusal, mark
from ..thinking import Adjustment, Plan

Learn = Callable[[Refusal], None]


class Thread(Struct, frozen=True):
    """Messages, what was refused of them before, and who is told what else is."""

    messages: tuple[Message, ...]
    refusals: tuple[Refusal, ...]
    learn: Learn


def refusal(origin: Origin, error: ServiceError, repair: Repair) -> Refusal:
    """Return what is to be remembered of a refusal and its cure."""
    if repair.unsealed:
        marks = tuple(dict.fromkeys(map(mark, repair.unsealed)))
        return Refusal(origin.provider, origin.model, seals=marks)
    return Refusal(origin.provider, origin.model, error.message)


def refused_by(entry: Entry, refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Return those of one model at one provider."""
    here = (entry.provider.name, entry.model)
    return tuple(each for each in refusals if (each.provider, each.model) == here)


def seals(refusals: Iterable[Refusal]) -> frozenset[str]:
    """Return the marks of all refused seals."""
    return frozenset(mark for each in refusals for mark in each.seals)


def noted(plan: Plan, manifest: Manifest) -> Plan:
    """Return the plan; it says what the model would have been shown, were it not for the service.

    What another model thought is not among it: that is the manifest's to tell.
    """
    whys = {change.why for change in manifest.changes}
    notes = tuple(note for why, note in _WITHHELD.items() if why in whys)
    if not notes:
        return plan
    return msgspec.structs.replace(plan, adjustments=(*plan.adjustments, *notes))


_WITHHELD = {
    REFUSED: Adjustment(
        "seal_refused",
        "thinking",
        "replayed",
        "dropped",
        "earlier thinking was not accepted by the service before; it is not sent again",
    ),
    UNSEEN: Adjustment(
        "medium_unseen",
        "media",
        "shown",
        "described",
        "this model takes no such picture or file; words stand in its place",
    ),
}


def heeded(exchange: Exchange, refusals: Iterable[Refusal]) -> Exchange:
    """Return the exchange without what such requests were refused for; its plan says what."""
    for each in refusals:
        if each.message:
            exchange = cured(exchange, BadRequest(each.message, status=400))
    return exchange
