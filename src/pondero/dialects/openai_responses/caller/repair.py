"""Changes a refused request where the refusal says what would be taken.

The exchange sends what ``repair`` returns once more.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

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
    asked = (msgspec.json.decode(request.body).get("reasoning") or {}).get("effort")
    named = _cures(error.message, asked)
    return next(filter(None, (reapply_repair(request, each) for each in named)), None)


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Return the request as the service takes it; None where nothing in it is refused."""
    body = msgspec.json.decode(request.body)
    if cure.kind == "unseal":
        unsealed = _unsealed(body)
        made = Repair(_sent(request, body), _DROPPED, cure, "thread", tuple(unsealed))
        return made if unsealed else None
    note = _dialled(body, cure)
    return None if note is None else Repair(_sent(request, body), note, cure, "model")


def _cures(message: str, effort: str | None) -> Iterator[SavedRepair]:
    """Yield the cures that a refusal names; a list of words is about the level it quotes."""
    if _UNREADABLE.search(message):
        yield SavedRepair("unseal")
    if _UNVERIFIED.search(message):
        yield SavedRepair("ask for no summary")
    if (words := parse_offered_levels(message)) and f"'{effort}'" in message:
        yield SavedRepair("lower", words)


def _sent(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


def _unsealed(body: dict[str, Json]) -> list[str]:
    """Remove thinking that the service cannot read, and the ids of items that would require it."""
    items = body.get("input")
    if not isinstance(items, list):
        return []
    thinking = [item for item in items if item.get("type") == "reasoning"]
    body["input"] = [_nameless(item) for item in items if item.get("type") != "reasoning"]
    return [str(item.get("encrypted_content") or item.get("id") or "") for item in thinking]


def _nameless(item: dict[str, Json]) -> dict[str, Json]:
    if item.get("type", "message") not in _NAMELESS:
        return item
    return {key: value for key, value in item.items() if key != "id"}


def _dialled(body: dict[str, Json], cure: SavedRepair) -> Adjustment | None:
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, dict):
        return None
    mend = _CURES.get(cure.kind)
    note = None if mend is None else mend(reasoning, cure)
    if note is not None and not reasoning:
        del body["reasoning"]
    return note


def _unsummarised(reasoning: dict[str, Json], _cure: SavedRepair) -> Adjustment | None:
    if "summary" not in reasoning:
        return None
    asked = reasoning.pop("summary")
    why = "the organisation of this key is not verified, and gets no readable thinking"
    return Adjustment("summary_refused", "show", asked, None, why)


def _lower(reasoning: dict[str, Json], cure: SavedRepair) -> Adjustment | None:
    asked, words = reasoning.get("effort"), cure.words
    if asked is None or asked in words:
        return None
    got = reasoning["effort"] = closest_word(asked, words)
    substitute = explain_substitute(got, asked, words)
    why = f"the service takes {' '.join(words)} of this model; {substitute}"
    return Adjustment("unsupported_level", "level", asked, got, why)


_CURES: dict[str, Callable[[dict[str, Json], SavedRepair], Adjustment | None]] = {
    "ask for no summary": _unsummarised,
    "lower": _lower,
}
