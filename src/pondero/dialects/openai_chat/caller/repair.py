"""Repairs a rejected request, once, if the rejection says what the service takes."""

import re
from collections.abc import Callable, Iterator

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair, decode_json
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

_UNREADABLE = re.compile(r"signature|encrypted content", re.IGNORECASE)
_SIGNED = "reasoning_details"
_OPAQUE = ("signature", "data")
_WORDS = ("text", "summary")
_UNKNOWN = re.compile(
    r"(?:unrecognized|unsupported|unknown|unexpected|does not support)\W[^.]{0,60}?"
    r"\breasoning_?effort\b"
    r"|\breasoning_?effort\b\W{0,3}(?:is not (?:supported|allowed|permitted)|extra inputs)",
    re.IGNORECASE,
)
_DROPPED = Adjustment(
    "seal_refused",
    "thinking",
    "replayed",
    "dropped",
    "the upstream rejected the signature of earlier thinking, as after a change of upstream",
)


class _Metadata(msgspec.Struct):
    raw: str | None = None


class _Error(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _RouterError(msgspec.Struct):
    error: _Error


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the repaired request; None if the rejection names no repair."""
    return next(
        filter(None, (reapply_repair(request, each) for each in _find_repairs(error))), None
    )


def reapply_repair(request: HttpRequest, saved: SavedRepair) -> Repair | None:
    """Apply a saved repair; None if the request does not need it."""
    body = msgspec.json.decode(request.body)
    if saved.kind == "unseal":
        dropped = _drop_thinking(body)
        repaired = Repair(_replace_body(request, body), _DROPPED, saved, "thread", tuple(dropped))
        return repaired if dropped else None
    change = _REPAIRS.get(saved.kind)
    note = None if change is None else change(body, saved)
    return None if note is None else Repair(_replace_body(request, body), note, saved, "model")


def _find_repairs(error: ServiceError) -> Iterator[SavedRepair]:
    if _UNREADABLE.search(f"{error.message} {_upstream(error)}"):
        yield SavedRepair("unseal")
    if (words := parse_offered_levels(error.message)) and "effort" in error.message:
        yield SavedRepair("lower", words)
    if _UNKNOWN.search(error.message):
        yield SavedRepair("leave out effort")


def _upstream(error: ServiceError) -> str:
    try:
        said = decode_json(error.body, _RouterError)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return said.error.metadata.raw or ""


def _replace_body(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


def _drop_thinking(body: dict[str, Json]) -> list[str]:
    messages = (each for each in body.get("messages") or () if isinstance(each, dict))
    signed = [each for each in messages if each.get(_SIGNED)]
    return [found for each in signed for found in _iter_signatures(each.pop(_SIGNED))]


def _iter_signatures(details: list[Json]) -> Iterator[str]:
    for detail in details:
        opaque = [detail[key] for key in _OPAQUE if isinstance(detail.get(key), str)]
        yield from opaque or [detail[key] for key in _WORDS if isinstance(detail.get(key), str)]


def _lower(body: dict[str, Json], saved: SavedRepair) -> Adjustment | None:
    holder, key = _effort(body)
    requested, words = holder.get(key), saved.words
    if not isinstance(requested, str) or requested in words:
        return None
    got = holder[key] = closest_word(requested, words)
    substitute = explain_substitute(got, requested, words)
    why = f"the service takes {' '.join(words)} for this model; {substitute}"
    return Adjustment("unsupported_level", "level", requested, got, why)


def _drop_effort(body: dict[str, Json], _cure: SavedRepair) -> Adjustment | None:
    requested = body.get("reasoning_effort")
    if requested is None:
        return None
    del body["reasoning_effort"]
    why = "the service takes no thinking level for this model; the model's default applies"
    return Adjustment("no_control", "level", requested, None, why)


def _effort(body: dict[str, Json]) -> tuple[dict[str, Json], str]:
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and "effort" in reasoning:
        return reasoning, "effort"
    return body, "reasoning_effort"


_REPAIRS: dict[str, Callable[[dict[str, Json], SavedRepair], Adjustment | None]] = {
    "lower": _lower,
    "leave out effort": _drop_effort,
}
