"""Refusals of this wire that name their own cure, and the request as it is then taken."""

import re

import msgspec

from ...canon import HttpRequest, Json
from ...errors import ServiceError
from ...thinking import Adjustment, closest, listed
from ..contract import Repair

_UNREADABLE = re.compile(r"signature|encrypted content", re.IGNORECASE)
_SEALED = "reasoning_details"


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was refused; None where the refusal says no cure."""
    body = msgspec.json.decode(request.body)
    note = _unsealed(body, error.message) or _lower(body, error.message)
    if note is None:
        return None
    encoded = msgspec.json.encode(body)
    return Repair(HttpRequest(request.method, request.url, request.headers, encoded), note)


def _unsealed(body: dict[str, Json], message: str) -> Adjustment | None:
    """Take out thinking that whoever a router asks now cannot read."""
    sealed = [each for each in body.get("messages") or () if _SEALED in each]
    if not sealed or not _UNREADABLE.search(message):
        return None
    for each in sealed:
        del each[_SEALED]
    why = "sealed thinking was not accepted, as where another upstream answers than before"
    return Adjustment("seal_refused", "thinking", "replayed", "dropped", why)


def _lower(body: dict[str, Json], message: str) -> Adjustment | None:
    holder, key = _effort(body)
    asked, words = holder.get(key), listed(message)
    if not isinstance(asked, str) or not words or asked in words or "effort" not in message:
        return None
    got = holder[key] = closest(asked, words)
    why = f"the service takes {' '.join(words)} of this model; {got} is the nearest to {asked}"
    return Adjustment("unsupported_level", "level", asked, got, why)


def _effort(body: dict[str, Json]) -> tuple[dict[str, Json], str]:
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and "effort" in reasoning:
        return reasoning, "effort"
    return body, "reasoning_effort"
