"""Mends a refused request where the refusal names the cure: thinking dropped, effort lowered.

The exchange sends what ``repair`` returns once more.
"""

import re
from collections.abc import Callable, Mapping

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

_BOUND = re.compile(r"messages\.(\d+)\..*bound to a different conversation", re.DOTALL)
_INVALID = re.compile(r"messages\.(\d+)\..*Invalid `(?:signature|data)` in `", re.DOTALL)
_BETA = "thinking-binding-controls-2026-08-01"
_SEALED = ("thinking", "redacted_thinking")


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was refused; None where the refusal names no cure."""
    cure = _cure(error.message)
    return None if cure is None else reapply_repair(request, cure)


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Return the request as the service takes it; None where nothing in it is refused."""
    mend = _CURES.get(cure.kind)
    return None if mend is None else mend(request, msgspec.json.decode(request.body), cure)


def _cure(message: str) -> SavedRepair | None:
    if bound := _BOUND.search(message):
        return SavedRepair("drop bound blocks", at=int(bound[1]))
    if invalid := _INVALID.search(message):
        return SavedRepair("unseal", at=int(invalid[1]))
    words = parse_offered_levels(message)
    return SavedRepair("lower", words) if words and "effort" in message else None


def _unbound(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    """Return the request with ``drop_block`` set, which the service takes beside adaptive alone.

    It stays set for the rest of the thread, and the blocks stay in: blocks made later are bound to
    them (Messages API, read 2026-11-10).
    """
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "adaptive":
        return _bare(request, body, cure)
    thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    headers = _with_beta(request.headers)
    why = "thinking of earlier turns is bound to another beginning of this conversation"
    note = Adjustment("seal_refused", "thinking", "replayed", "dropped", why)
    return Repair(_sent(request, body, headers), note, cure, "thread")


def _bare(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    """Return the request without thinking from the bad block on: the rest may be bound to it."""
    unsealed = _unseal(body["messages"][cure.at :])
    why = "a thinking signature was not accepted; the conversation goes on without that thinking"
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and _is_open(body):
        body["thinking"] = {"type": "disabled"}  # enabled, an open tool loop must begin with it
        why += ", and with none until its tools have answered"
    note = Adjustment("seal_refused", "thinking", "replayed", "dropped", why)
    return Repair(_sent(request, body, request.headers), note, cure, "thread", tuple(unsealed))


def _is_open(body: dict[str, Json]) -> bool:
    last = body["messages"][-1]["content"]
    return not isinstance(last, str) and any(block["type"] == "tool_result" for block in last)


def _unseal(messages: list[Json]) -> list[str]:
    """Take thinking out of these messages; return the seals that were on it."""
    unsealed = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            continue
        bare = [block for block in content if _seal(block) is None]
        if bare and len(bare) < len(content):
            unsealed += [seal for block in content if (seal := _seal(block)) is not None]
            message["content"] = bare
    return unsealed


def _seal(block: dict[str, Json]) -> str | None:
    """Return the seal of a block of thinking, None for any other block."""
    if block.get("type") not in _SEALED:
        return None
    return str(block.get("signature") or block.get("data") or "")


def _with_beta(headers: Mapping[str, str]) -> dict[str, str]:
    before = headers.get("anthropic-beta")
    return {**headers, "anthropic-beta": f"{before},{_BETA}" if before else _BETA}


def _lower(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair | None:
    asked = (body.get("output_config") or {}).get("effort")
    words = cure.words
    if asked is None or asked in words:
        return None
    got = closest_word(asked, words)
    body["output_config"]["effort"] = got
    substitute = explain_substitute(got, asked, words)
    why = f"the service takes {' '.join(words)} of this model; {substitute}"
    note = Adjustment("unsupported_level", "level", asked, got, why)
    return Repair(_sent(request, body, request.headers), note, cure, "model")


def _sent(request: HttpRequest, body: Json, headers: Mapping[str, str]) -> HttpRequest:
    return HttpRequest(request.method, request.url, headers, msgspec.json.encode(body))


_CURES: dict[str, Callable[[HttpRequest, dict[str, Json], SavedRepair], Repair | None]] = {
    "drop bound blocks": _unbound,
    "unseal": _bare,
    "lower": _lower,
}
