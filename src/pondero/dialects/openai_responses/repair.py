"""Refusals of this wire that name their own cure, and the request as it is then taken."""

import re

import msgspec

from ...canon import HttpRequest, Json
from ...errors import ServiceError
from ...thinking import Adjustment, closest, listed
from ..contract import Repair

_UNVERIFIED = re.compile(r"must be verified.*reasoning summar", re.DOTALL | re.IGNORECASE)


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was refused; None where the refusal says no cure."""
    body = msgspec.json.decode(request.body)
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, dict):
        return None
    note = _unsummarised(reasoning, error.message) or _lower(reasoning, error.message)
    if note is None:
        return None
    if not reasoning:
        del body["reasoning"]
    encoded = msgspec.json.encode(body)
    return Repair(HttpRequest(request.method, request.url, request.headers, encoded), note)


def _unsummarised(reasoning: dict[str, Json], message: str) -> Adjustment | None:
    if "summary" not in reasoning or not _UNVERIFIED.search(message):
        return None
    asked = reasoning.pop("summary")
    why = "the organisation of this key is not verified, and gets no readable thinking"
    return Adjustment("summary_refused", "show", asked, None, why)


def _lower(reasoning: dict[str, Json], message: str) -> Adjustment | None:
    asked, words = reasoning.get("effort"), listed(message)
    if asked is None or not words or asked in words or f"'{asked}'" not in message:
        return None
    got = reasoning["effort"] = closest(asked, words)
    why = f"the service takes {' '.join(words)} of this model; {got} is the nearest to {asked}"
    return Adjustment("unsupported_level", "level", asked, got, why)
