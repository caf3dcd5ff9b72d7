"""Repairs a rejected request: its signatures, its level, or the request for readable thinking."""

import re
from collections.abc import Callable, Iterator

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair, get_path
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

from .input import UNSIGNED

_BAD_SIGNATURE = re.compile(r"thought.?signature", re.IGNORECASE)
_SUMMARIES = "thinking_summaries"
_LEVEL = "thinking_level"


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was rejected; None if the error suggests no repair."""
    body = msgspec.json.decode(request.body)
    level = get_path(body, ("generation_config", _LEVEL))
    offered = _find_repairs(error.message, level)
    return next(filter(None, (reapply_repair(request, each) for each in offered)), None)


def reapply_repair(request: HttpRequest, saved: SavedRepair) -> Repair | None:
    """Return the request with a known repair; None if it does not apply."""
    change = _REPAIRS.get(saved.kind)
    return None if change is None else change(request, saved)


def _find_repairs(message: str, level: Json) -> Iterator[SavedRepair]:
    if _BAD_SIGNATURE.search(message):
        yield SavedRepair("unseal")
    if _SUMMARIES in message:
        yield SavedRepair("hide thoughts")
    if _LEVEL in message and f"'{level}'" in message and (words := parse_offered_levels(message)):
        yield SavedRepair("lower", words)


def _remove_signatures(request: HttpRequest, saved: SavedRepair) -> Repair | None:
    body = msgspec.json.decode(request.body)
    steps = body.get("input")
    if not isinstance(steps, list):
        return None
    dropped = [each for step in steps if (each := step.get("signature")) and each != UNSIGNED]
    body["input"] = list(_iter_unsigned(steps))
    why = "a thought signature was rejected; the known placeholder replaces it"
    note = Adjustment("seal_refused", "thinking", "replayed", "dropped", why)
    return Repair(_rebuild(request, body), note, saved, "thread", tuple(map(str, dropped)))


def _iter_unsigned(steps: list[Json]) -> Iterator[Json]:
    signed = False
    for step in steps:
        if step.get("type") == "thought":
            continue
        if step.get("type") == "user_input":
            signed = False
        if step.get("type") == "function_call" and not signed:
            signed = True
            yield {"type": "thought", "signature": UNSIGNED}
        yield {key: value for key, value in step.items() if key != "signature"}


def _hide(request: HttpRequest, saved: SavedRepair) -> Repair | None:
    body = msgspec.json.decode(request.body)
    config = body.get("generation_config") or {}
    asked = config.pop(_SUMMARIES, None)
    if asked is None:
        return None
    if not config:
        del body["generation_config"]
    why = "this model has no control for readable thinking here"
    note = Adjustment(
        "summary_refused", "show", "none" if asked == "none" else "summary", None, why
    )
    return Repair(_rebuild(request, body), note, saved, "model")


def _lower(request: HttpRequest, saved: SavedRepair) -> Repair | None:
    body = msgspec.json.decode(request.body)
    config, words = body.get("generation_config") or {}, saved.words
    requested = config.get(_LEVEL)
    if requested is None or requested in words:
        return None
    got = config[_LEVEL] = closest_word(requested, words)
    substitute = explain_substitute(got, requested, words)
    why = f"the service takes {' '.join(words)} for this model; {substitute}"
    note = Adjustment("unsupported_level", "level", requested, got, why)
    return Repair(_rebuild(request, body), note, saved, "model")


def _rebuild(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


_REPAIRS: dict[str, Callable[[HttpRequest, SavedRepair], Repair | None]] = {
    "unseal": _remove_signatures,
    "hide thoughts": _hide,
    "lower": _lower,
}
