"""Repairs a rejected request if the error says what the server takes."""

import re
from collections.abc import Callable

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

_CANNOT_THINK = re.compile(r"does not support thinking")
_BAD_WORD = re.compile(r"invalid think value")


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the repaired request; None if the error suggests no repair."""
    if _CANNOT_THINK.search(error.message):
        return reapply_repair(request, SavedRepair("do not think"))
    words = parse_offered_levels(error.message.replace("must be", "must be one of"))
    if not words or not _BAD_WORD.search(error.message):
        return None
    return reapply_repair(request, SavedRepair("lower", words))


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Return the request with a known repair; None if it does not apply."""
    body = msgspec.json.decode(request.body)
    mend = _CURES.get(cure.kind)
    note = None if mend is None else mend(body, cure)
    if note is None:
        return None
    encoded = msgspec.json.encode(body)
    sent = HttpRequest(request.method, request.url, request.headers, encoded)
    return Repair(sent, note, cure, "model")


def _silent(body: dict[str, Json], _cure: SavedRepair) -> Adjustment | None:
    if not body.get("think"):
        return None
    asked = body.pop("think")
    why = "the server says that this model cannot think"
    return Adjustment("no_thinking", "level", "on" if asked is True else asked, "off", why)


def _lower(body: dict[str, Json], cure: SavedRepair) -> Adjustment | None:
    asked, words = body.get("think"), cure.words
    if not isinstance(asked, str) or asked in words:
        return None
    got = body["think"] = closest_word(asked, words)
    why = f"the server takes {' '.join(words)}; {explain_substitute(got, asked, words)}"
    return Adjustment("unsupported_level", "level", asked, got, why)


_CURES: dict[str, Callable[[dict[str, Json], SavedRepair], Adjustment | None]] = {
    "do not think": _silent,
    "lower": _lower,
}
