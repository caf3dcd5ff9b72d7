"""Repairs a rejected request: removes its signatures, or the request for readable thinking."""

import re
from collections.abc import Callable, Iterator

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment

from .contents import UNSIGNED

_BAD_SIGNATURE = re.compile(
    r"(?:corrupted|invalid) thought.?signature|thought.?signature is not valid|TYPE_BYTES"
    r"|missing a thought_signature",
    re.IGNORECASE,
)
_NAMED = re.compile(r"include_?thoughts", re.IGNORECASE)
_KEYS = ("thoughtSignature", "thought_signature")


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was rejected; None if the error suggests no repair."""
    if _BAD_SIGNATURE.search(error.message):
        return _without_signatures(request, SavedRepair("unseal"))
    return (
        reapply_repair(request, SavedRepair("hide thoughts"))
        if _NAMED.search(error.message)
        else None
    )


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Return the request with a known repair; None if it does not apply."""
    mend = _CURES.get(cure.kind)
    return None if mend is None else mend(request, cure)


def _without_thoughts(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Return the request without includeThoughts (Cloud Code Assist never takes it, 2026-11-15)."""
    body = msgspec.json.decode(request.body)
    settings = body.get("request", body).get("generationConfig") or {}
    config = settings.get("thinkingConfig") or {}
    asked = config.pop("includeThoughts", None)
    if asked is None:
        return None
    if not config:
        del settings["thinkingConfig"]
    why = "this model has no control for readable thinking here"
    note = Adjustment("summary_refused", "show", "summary" if asked else "none", None, why)
    return Repair(_rebuild(request, body), note, cure, "model")


def _without_signatures(request: HttpRequest, cure: SavedRepair) -> Repair:
    body = msgspec.json.decode(request.body)
    inner = body.get("request", body)
    dropped = [
        signature for each in inner.get("contents", ()) for signature in _iter_signatures(each)
    ]
    for content in inner.get("contents", ()):
        content["parts"] = list(_iter_unsigned(content.get("parts", ())))
    inner["contents"] = [each for each in inner.get("contents", ()) if each["parts"]]
    why = "a thought signature was rejected; the documented placeholder replaces it"
    note = Adjustment("seal_refused", "thinking", "replayed", "dropped", why)
    return Repair(_rebuild(request, body), note, cure, "thread", tuple(dropped))


def _rebuild(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


def _iter_signatures(content: Json) -> Iterator[str]:
    for part in content.get("parts", ()):
        yield from (part[key] for key in _KEYS if key in part and part[key] != UNSIGNED)


def _iter_unsigned(parts: list[Json]) -> Iterator[Json]:
    called = False
    for part in parts:
        bare = {key: value for key, value in part.items() if key not in _KEYS}
        if "functionCall" in bare and not called:
            called = True
            bare["thoughtSignature"] = UNSIGNED
        if bare != {"text": ""}:
            yield bare


_CURES: dict[str, Callable[[HttpRequest, SavedRepair], Repair | None]] = {
    "unseal": _without_signatures,
    "hide thoughts": _without_thoughts,
}
