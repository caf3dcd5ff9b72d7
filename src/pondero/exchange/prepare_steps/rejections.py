"""What services refused once, so that it is not sent to them again.

A refusal is a value. ``make_rejection`` makes it when a repaired request was taken, chats and
threads keep it, and ``without_refused`` leaves out what it names when the next request is prepared.
"""

from collections.abc import Iterable

import msgspec

from ...canon import HttpRequest, Origin
from ...catalog import ModelEntry
from ...dialects import Caller, Repair, get_dialect
from ...errors import BadRequest
from ...handoff import REFUSED, UNSEEN, Manifest, Rejection, signature_digest
from ...thinking import Adjustment, Plan


def make_rejection(origin: Origin, repair: Repair) -> Rejection:
    """Return what to remember of a refusal whose repair was taken."""
    if repair.unsealed:
        marks = tuple(dict.fromkeys(map(signature_digest, repair.unsealed)))
        return Rejection(origin.provider, origin.model, signatures=marks)
    return Rejection(origin.provider, origin.model, cure=repair.cure)


def rejections_for(entry: ModelEntry, refusals: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """Return the refusals of one model at one provider."""
    here = (entry.provider.name, entry.model)
    return tuple(each for each in refusals if (each.provider, each.model) == here)


def rejected_signatures(refusals: Iterable[Rejection]) -> frozenset[str]:
    """Return the marks of all refused seals."""
    return frozenset(seal for each in refusals for seal in each.signatures)


def without_refused(
    name: str, http: HttpRequest, plan: Plan, refusals: Iterable[Rejection]
) -> tuple[HttpRequest, Plan]:
    """Return a request of this dialect without what was refused before; the plan says what."""
    for each in refusals:  # seals among them were withheld by the handoff
        made = _repaired(get_dialect(name).caller(), http, each)
        if made is not None:
            http = made.request
            plan = msgspec.structs.replace(plan, adjustments=(*plan.adjustments, made.adjustment))
    return http, plan


def note_withheld(plan: Plan, manifest: Manifest) -> Plan:
    """Return the plan with adjustments for what the service's rules withheld from the model.

    Another model's thinking is not among it: the manifest lists that.
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


def _repaired(wire: Caller, http: HttpRequest, refusal: Rejection) -> Repair | None:
    """Return a request without what was refused; None where it has nothing of it."""
    if refusal.cure is not None and wire.reapply_repair is not None:
        return wire.reapply_repair(http, refusal.cure)
    if refusal.message and wire.repair is not None:
        return wire.repair(http, BadRequest(refusal.message, status=400))
    return None
