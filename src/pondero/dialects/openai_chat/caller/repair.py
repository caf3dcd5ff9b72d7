"""Changes a refused request where the refusal says what would be taken.

The exchange sends what ``repair`` returns once more.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair, decode_json
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

_UNREADABLE = re.compile(r"signature|encrypted content", re.IGNORECASE)
_SEALED = "reasoning_details"
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
    "sealed thinking was not accepted, as where another upstream answers than before",
)


class _Metadata(msgspec.Struct):
    raw: str | None = None


class _Error(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Routed(msgspec.Struct):
    error: _Error


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was refused; None where the refusal names no cure."""
    return next(filter(None, (reapply_repair(request, each) for each in _cures(error))), None)


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Return the request as the service takes it; None where nothing in it is refused."""
    body = msgspec.json.decode(request.body)
    if cure.kind == "unseal":
        unsealed = _unsealed(body)
        made = Repair(_sent(request, body), _DROPPED, cure, "thread", tuple(unsealed))
        return made if unsealed else None
    mend = _CURES.get(cure.kind)
    note = None if mend is None else mend(body, cure)
    return None if note is None else Repair(_sent(request, body), note, cure, "model")


def _cures(error: ServiceError) -> Iterator[SavedRepair]:
    """Yield the cures that a refusal names, the likeliest first."""
    if _UNREADABLE.search(f"{error.message} {_upstream(error)}"):
        yield SavedRepair("unseal")
    if (words := parse_offered_levels(error.message)) and "effort" in error.message:
        yield SavedRepair("lower", words)
    if _UNKNOWN.search(error.message):
        yield SavedRepair("leave out effort")


def _upstream(error: ServiceError) -> str:
    """Return the upstream's error that a router passes on; the router's own message omits it."""
    try:
        said = decode_json(error.body, _Routed)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return said.error.metadata.raw or ""


def _sent(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


def _unsealed(body: dict[str, Json]) -> list[str]:
    """Take out thinking that the upstream cannot verify; return its seals."""
    messages = (each for each in body.get("messages") or () if isinstance(each, dict))
    sealed = [each for each in messages if each.get(_SEALED)]
    return [seal for each in sealed for seal in _seals(each.pop(_SEALED))]


def _seals(details: list[Json]) -> Iterator[str]:
    """Yield the opaque values of these details; the text of those that have none."""
    for detail in details:
        opaque = [detail[key] for key in _OPAQUE if isinstance(detail.get(key), str)]
        yield from opaque or [detail[key] for key in _WORDS if isinstance(detail.get(key), str)]


def _lower(body: dict[str, Json], cure: SavedRepair) -> Adjustment | None:
    holder, key = _effort(body)
    asked, words = holder.get(key), cure.words
    if not isinstance(asked, str) or asked in words:
        return None
    got = holder[key] = closest_word(asked, words)
    substitute = explain_substitute(got, asked, words)
    why = f"the service takes {' '.join(words)} of this model; {substitute}"
    return Adjustment("unsupported_level", "level", asked, got, why)


def _unsaid(body: dict[str, Json], _cure: SavedRepair) -> Adjustment | None:
    """Leave out the effort where the service does not know the field, as for unknown models."""
    asked = body.get("reasoning_effort")
    if asked is None:
        return None
    del body["reasoning_effort"]
    why = "the service takes no word about thinking for this model; it thinks as it likes"
    return Adjustment("no_control", "level", asked, None, why)


def _effort(body: dict[str, Json]) -> tuple[dict[str, Json], str]:
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and "effort" in reasoning:
        return reasoning, "effort"
    return body, "reasoning_effort"


_CURES: dict[str, Callable[[dict[str, Json], SavedRepair], Adjustment | None]] = {
    "lower": _lower,
    "leave out effort": _unsaid,
}
