"""Repairs a rejected request, once, if the rejection says what the service takes."""

import re
from collections.abc import Callable, Iterator

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair, get_path
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

_UNVERIFIED = re.compile(r"must be verified.*reasoning summar", re.DOTALL | re.IGNORECASE)
_UNREADABLE = re.compile(
    r"encrypted content.* could not be verified"
    # Without the words before it (openai/codex#13724), and xAI's (Wei-Shaw/sub2api#4535).
    r"|encrypted content organization_id did not match|could not decrypt .*encrypted_content",
    re.DOTALL | re.IGNORECASE,
)
_UNREADABLE_CODE = "invalid_encrypted_content"
_DROPPED = Adjustment(
    "seal_refused",
    "thinking",
    "replayed",
    "dropped",
    "the service could not read its encrypted thinking, as after a change of account",
)
_ID_OPTIONAL = ("message", "function_call", "custom_tool_call")


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the repaired request; None if the rejection names no repair."""
    requested = get_path(msgspec.json.decode(request.body), ("reasoning", "effort"))
    offered = _find_repairs(error, requested)
    return next(filter(None, (reapply_repair(request, each) for each in offered)), None)


def reapply_repair(request: HttpRequest, saved: SavedRepair) -> Repair | None:
    """Apply a saved repair; None if the request does not need it."""
    body = msgspec.json.decode(request.body)
    if saved.kind == "unseal":
        dropped = _drop_thinking(body)
        repaired = Repair(_replace_body(request, body), _DROPPED, saved, "thread", tuple(dropped))
        return repaired if dropped else None
    note = _change_reasoning(body, saved)
    return None if note is None else Repair(_replace_body(request, body), note, saved, "model")


def _find_repairs(error: ServiceError, effort: str | None) -> Iterator[SavedRepair]:
    message = error.message
    if error.code == _UNREADABLE_CODE or _UNREADABLE.search(message):
        yield SavedRepair("unseal")
    if _UNVERIFIED.search(message):
        yield SavedRepair("ask for no summary")
    if (words := parse_offered_levels(message)) and f"'{effort}'" in message:
        yield SavedRepair("lower", words)


def _replace_body(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


def _drop_thinking(body: dict[str, Json]) -> list[str]:
    items = body.get("input")
    if not isinstance(items, list):
        return []
    thinking = [item for item in items if item.get("type") == "reasoning"]
    body["input"] = [_drop_id(item) for item in items if item.get("type") != "reasoning"]
    return [str(item.get("encrypted_content") or item.get("id") or "") for item in thinking]


def _drop_id(item: dict[str, Json]) -> dict[str, Json]:
    if item.get("type", "message") not in _ID_OPTIONAL:
        return item
    return {key: value for key, value in item.items() if key != "id"}


def _change_reasoning(body: dict[str, Json], saved: SavedRepair) -> Adjustment | None:
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, dict):
        return None
    change = _REPAIRS.get(saved.kind)
    note = None if change is None else change(reasoning, saved)
    if note is not None and not reasoning:
        del body["reasoning"]
    return note


def _drop_summary(reasoning: dict[str, Json], _cure: SavedRepair) -> Adjustment | None:
    if "summary" not in reasoning:
        return None
    requested = reasoning.pop("summary")
    why = "the organisation of this key is not verified, so it gets no readable thinking"
    return Adjustment("summary_refused", "show", requested, None, why)


def _lower(reasoning: dict[str, Json], saved: SavedRepair) -> Adjustment | None:
    requested, words = reasoning.get("effort"), saved.words
    if requested is None or requested in words:
        return None
    got = reasoning["effort"] = closest_word(requested, words)
    substitute = explain_substitute(got, requested, words)
    why = f"the service takes {' '.join(words)} for this model; {substitute}"
    return Adjustment("unsupported_level", "level", requested, got, why)


_REPAIRS: dict[str, Callable[[dict[str, Json], SavedRepair], Adjustment | None]] = {
    "ask for no summary": _drop_summary,
    "lower": _lower,
}
