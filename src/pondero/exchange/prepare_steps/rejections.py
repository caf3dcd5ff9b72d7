"""Rejections of services, remembered so that the same field is not sent to them again."""

from collections.abc import Iterable

from ...canon import HttpRequest, Origin
from ...catalog import ModelEntry
from ...dialects import Caller, Repair
from ...errors import BadRequest
from ...handoff import Rejection, signature_digest
from .draft import RequestDraft


def make_rejection(origin: Origin, repair: Repair) -> Rejection:
    """Return the rejection to remember after its repair was accepted."""
    if repair.unsealed:
        digests = tuple(dict.fromkeys(map(signature_digest, repair.unsealed)))
        return Rejection(origin.provider, origin.model, signatures=digests)
    return Rejection(origin.provider, origin.model, cure=repair.cure)


def rejections_for(entry: ModelEntry, refusals: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """Return the rejections by one model at one provider."""
    here = (entry.provider.name, entry.model)
    return tuple(each for each in refusals if (each.provider, each.model) == here)


def rejected_signatures(refusals: Iterable[Rejection]) -> frozenset[str]:
    """Return the digests of all rejected signatures."""
    return frozenset(digest for each in refusals for digest in each.signatures)


def omit_rejected(draft: RequestDraft) -> RequestDraft:
    """Leave out fields that the service rejected before; the handoff withheld the signatures."""
    for rejection in draft.rejections:
        repair = _reapply_repair(draft.caller, draft.http, rejection)
        if repair is not None:
            draft = draft.but(http=repair.request).note(repair.adjustment)
    return draft


def _reapply_repair(caller: Caller, http: HttpRequest, rejection: Rejection) -> Repair | None:
    if rejection.cure is not None and caller.reapply_repair is not None:
        return caller.reapply_repair(http, rejection.cure)
    if rejection.message and caller.repair is not None:  # saved by a version before SavedRepair
        return caller.repair(http, BadRequest(rejection.message, status=400))
    return None
