"""Changes a refused request where the refusal's message says what would be taken.

The exchange sends what ``repair`` returns once more.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

_BOUND = re.compile(r"messages\.(\d+)\..*bound to a different conversation", re.DOTALL)
_INVALID = re.compile(
    r"messages\.(\d+)\..*(?:Invalid `(?:signature|data)` in `|thinking\.signature: Field required)",
    re.DOTALL,
)
_DISPLAY = re.compile(r"thinking\.(?:\w+\.)?display\b")
_UNSIGNED = re.compile(r"doesn't support the reasoningContent")
_BETA = "thinking-binding-controls-2026-08-01"
_OWN = "additionalModelRequestFields"


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request without what was refused; None where the refusal names no cure."""
    return next(
        filter(None, (reapply_repair(request, each) for each in _cures(error.message))), None
    )


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Return the request as the service takes it; None where nothing in it is refused."""
    mend = _CURES.get(cure.kind)
    return None if mend is None else mend(request, msgspec.json.decode(request.body), cure)


def _cures(message: str) -> Iterator[SavedRepair]:
    """Yield the cures that a refusal names, the likeliest first."""
    if bound := _BOUND.search(message):
        yield SavedRepair("drop bound blocks", at=int(bound[1]))
    if invalid := _INVALID.search(message):
        yield SavedRepair("unseal", at=int(invalid[1]))
    if _UNSIGNED.search(message):
        yield SavedRepair("unseal")
    if _DISPLAY.search(message):
        yield SavedRepair("leave out display")
    if words := parse_offered_levels(message):
        yield SavedRepair("lower", words)


def _unshown(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair | None:
    """Return it without ``display``, which GovCloud does not know."""
    thinking = (body.get(_OWN) or {}).get("thinking")
    if not isinstance(thinking, dict) or "display" not in thinking:
        return None
    asked = thinking.pop("display")
    why = "this region of the service does not take a wish to be shown the thinking"
    note = Adjustment("summary_refused", "show", asked, None, why)
    return Repair(_sent(request, body), note, cure, "model")


def _unbound(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    """Return it asking the service to drop such blocks; only adaptive thinking can ask so."""
    own = body.get(_OWN) or {}
    thinking = own.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "adaptive":
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        own["anthropic_beta"] = [*(own.get("anthropic_beta") or []), _BETA]
        unsealed = []
    else:
        unsealed = _unthink(body["messages"][cure.at :])
    why = "thinking of earlier turns is bound to another beginning of this conversation"
    return Repair(_sent(request, body), _dropped(why), cure, "thread", tuple(unsealed))


def _bare(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    """Return it without thinking from the bad block on: later blocks may be bound to it."""
    unsealed = _unthink(body["messages"][cure.at :])
    why = "earlier thinking was not accepted; the conversation goes on without that thinking"
    own = body.get(_OWN) or {}
    thinking = own.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and _is_open(body):
        own["thinking"] = {"type": "disabled"}  # enabled thinking must begin an open tool loop
        why += ", and with none until its tools have answered"
    return Repair(_sent(request, body), _dropped(why), cure, "thread", tuple(unsealed))


def _dropped(why: str) -> Adjustment:
    return Adjustment("seal_refused", "thinking", "replayed", "dropped", why)


def _is_open(body: dict[str, Json]) -> bool:
    return any("toolResult" in block for block in body["messages"][-1]["content"])


def _unthink(messages: list[Json]) -> list[str]:
    """Remove the thinking of these messages; return its seals."""
    unsealed = []
    for message in messages:
        content = message["content"]
        bare = [block for block in content if "reasoningContent" not in block]
        if bare and len(bare) < len(content):
            thoughts = [block["reasoningContent"] for block in content if block not in bare]
            unsealed += [seal for thought in thoughts if (seal := _seal(thought))]
            message["content"] = bare
    return unsealed


def _seal(thought: dict[str, Json]) -> str:
    text = thought.get("reasoningText") or {}
    return str(text.get("signature") or thought.get("redactedContent") or "")


def _lower(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair | None:
    """Return it with the next of the levels that the refusal lists, in its maker's field."""
    words = cure.words
    found = _word(body.get(_OWN) or {})
    if found is None:
        return None
    asked, put = found
    if asked in words:
        return None
    got = closest_word(asked, words)
    put(got)
    substitute = explain_substitute(got, asked, words)
    why = f"the service takes {' '.join(words)} of this model; {substitute}"
    note = Adjustment("unsupported_level", "level", asked, got, why)
    return Repair(_sent(request, body), note, cure, "model")


def _word(own: dict[str, Json]) -> tuple[str, Callable[[str], None]] | None:
    """Return the level's word, and a function that puts another in its place."""
    for *path, key in _WORDS:
        within: Any = own
        for name in path:
            within = within.get(name) if isinstance(within, dict) else None
        if isinstance(within, dict) and isinstance(within.get(key), str):
            return within[key], lambda word, at=within, name=key: at.update({name: word})
    return None


_WORDS = (
    ("output_config", "effort"),
    ("reasoningConfig", "maxReasoningEffort"),
    ("reasoning_effort",),
    ("reasoning", "effort"),
    ("reasoning_config",),
)


def _sent(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


_CURES: dict[str, Callable[[HttpRequest, dict[str, Json], SavedRepair], Repair | None]] = {
    "drop bound blocks": _unbound,
    "unseal": _bare,
    "leave out display": _unshown,
    "lower": _lower,
}
