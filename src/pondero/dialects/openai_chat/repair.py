"""Refusals of this wire that name their own cure, and the request as it is then taken."""

import msgspec

from ...canon import HttpRequest, Json
from ...errors import ServiceError
from ...thinking import Adjustment, closest, listed
from ..contract import Repair


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request at a level the refusal lists; None where it lists none."""
    body = msgspec.json.decode(request.body)
    holder, key = _effort(body)
    asked, words = holder.get(key), listed(error.message)
    if not isinstance(asked, str) or not words or asked in words or "effort" not in error.message:
        return None
    got = holder[key] = closest(asked, words)
    why = f"the service takes {' '.join(words)} of this model; {got} is the nearest to {asked}"
    note = Adjustment("unsupported_level", "level", asked, got, why)
    encoded = msgspec.json.encode(body)
    return Repair(HttpRequest(request.method, request.url, request.headers, encoded), note)


def _effort(body: dict[str, Json]) -> tuple[dict[str, Json], str]:
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and "effort" in reasoning:
        return reasoning, "effort"
    return body, "reasoning_effort"
