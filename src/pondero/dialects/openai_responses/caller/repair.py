"""Changes a refused request where the refusal says what would be taken.

The exchange sends what ``repair`` returns once more.
"""

import re

import msgspec

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest, offered_levels, why_substituted

_UNVERIFIED = re.compile(r"must be verified.*reasoning summar", re.DOTALL | re.IGNORECASE)

_UNREADABLE = re.compile(r"encrypted content.* could not be verified", re.DOTALL | re.IGNORECASE)
_DROPPED = Adjustment(
    "seal_refused",
    "thinking",
    "replayed",
    "dropped",
    "sealed thinking could not be read by the service, as after a change of account",
)
_NAMELESS = ("message", "function_call", "custom_tool_call")  # items that are taken without an id


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was refused; None where the refusal names no cure."""
    body = msgspec.json.decode(request.body)
    if unsealed := _unsealed(body, error.message):
        return Repair(_sent(request, body), _DROPPED, "thread", tuple(unsealed))
    if (note := _dialled(body, error.message)) is not None:
        return Repair(_sent(request, body), note, "model")
    return None


def _sent(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


def _unsealed(body: dict[str, Json], message: str) -> list[str]:
    """Remove thinking that the service cannot read, and the ids of items that would require it."""
    items = body.get("input")
    if not isinstance(items, list) or not _UNREADABLE.search(message):
        return []
    thinking = [item for item in items if item.get("type") == "reasoning"]
    body["input"] = [_nameless(item) for item in items if item.get("type") != "reasoning"]
    return [str(item.get("encrypted_content") or item.get("id") or "") for item in thinking]


def _nameless(item: dict[str, Json]) -> dict[str, Json]:
    if item.get("type", "message") not in _NAMELESS:
        return item
    return {key: value for key, value in item.items() if key != "id"}


def _dialled(body: dict[str, Json], message: str) -> Adjustment | None:
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, dict):
        return None
    note = _unsummarised(reasoning, message) or _lower(reasoning, message)
    if note is not None and not reasoning:
        del body["reasoning"]
    return note


def _unsummarised(reasoning: dict[str, Json], message: str) -> Adjustment | None:
    if "summary" not in reasoning or not _UNVERIFIED.search(message):
        return None
    asked = reasoning.pop("summary")
    why = "the organisation of this key is not verified, and gets no readable thinking"
    return Adjustment("summary_refused", "show", asked, None, why)


def _lower(reasoning: dict[str, Json], message: str) -> Adjustment | None:
    asked, words = reasoning.get("effort"), offered_levels(message)
    if asked is None or not words or asked in words or f"'{asked}'" not in message:
        return None
    got = reasoning["effort"] = closest(asked, words)
    why = f"the service takes {' '.join(words)} of this model; {why_substituted(got, asked, words)}"
    return Adjustment("unsupported_level", "level", asked, got, why)
