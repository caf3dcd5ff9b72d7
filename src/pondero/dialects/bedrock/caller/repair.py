"""Repairs a rejected request if the rejection says how; the exchange sends it again."""

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
    """Return the repaired request; None if the rejection does not say how."""
    return next(
        filter(None, (reapply_repair(request, each) for each in _iter_repairs(error.message))), None
    )


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Apply a saved repair; return None if the request does not need it."""
    apply = _REPAIRS.get(cure.kind)
    return None if apply is None else apply(request, msgspec.json.decode(request.body), cure)


def _iter_repairs(message: str) -> Iterator[SavedRepair]:
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


def _remove_display(
    request: HttpRequest, body: dict[str, Json], cure: SavedRepair
) -> Repair | None:
    # AWS, GovCloud: no thinking.display (pi-ai 1.5.0, 2026-11-15)
    thinking = (body.get(_OWN) or {}).get("thinking")
    if not isinstance(thinking, dict) or "display" not in thinking:
        return None
    asked = thinking.pop("display")
    why = "this region of the service has no option to show the thinking"
    note = Adjustment("summary_refused", "show", asked, None, why)
    return Repair(_with_body(request, body), note, cure, "model")


def _drop_bound_blocks(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    # Anthropic, preserved thinking: drop_block is valid only with adaptive (SDK, 2026-11-10)
    own = body.get(_OWN) or {}
    thinking = own.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "adaptive":
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        own["anthropic_beta"] = [*(own.get("anthropic_beta") or []), _BETA]
        removed = []
    else:
        removed = _strip_thinking(body["messages"][cure.at :])
    why = "thinking of earlier turns is bound to another beginning of this conversation"
    return Repair(_with_body(request, body), _note_dropped(why), cure, "thread", tuple(removed))


def _remove_thinking(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    # Later blocks can be bound to the bad one, so all thinking from there on is removed.
    removed = _strip_thinking(body["messages"][cure.at :])
    why = "earlier thinking was not accepted; the conversation continues without it"
    own = body.get(_OWN) or {}
    thinking = own.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and _is_open(body):
        # Anthropic, extended thinking: an open tool loop must begin with thinking if enabled
        own["thinking"] = {"type": "disabled"}
        why += ", and with none until its tools have answered"
    return Repair(_with_body(request, body), _note_dropped(why), cure, "thread", tuple(removed))


def _note_dropped(why: str) -> Adjustment:
    return Adjustment("seal_refused", "thinking", "replayed", "dropped", why)


def _is_open(body: dict[str, Json]) -> bool:
    return any("toolResult" in block for block in body["messages"][-1]["content"])


def _strip_thinking(messages: list[Json]) -> list[str]:
    removed = []
    for message in messages:
        content = message["content"]
        bare = [block for block in content if "reasoningContent" not in block]
        if bare and len(bare) < len(content):
            thoughts = [block["reasoningContent"] for block in content if block not in bare]
            removed += [
                signature for thought in thoughts if (signature := _read_signature(thought))
            ]
            message["content"] = bare
    return removed


def _read_signature(thought: dict[str, Json]) -> str:
    text = thought.get("reasoningText") or {}
    return str(text.get("signature") or thought.get("redactedContent") or "")


def _lower(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair | None:
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
    return Repair(_with_body(request, body), note, cure, "model")


def _word(own: dict[str, Json]) -> tuple[str, Callable[[str], None]] | None:
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


def _with_body(request: HttpRequest, body: Json) -> HttpRequest:
    return HttpRequest(request.method, request.url, request.headers, msgspec.json.encode(body))


_REPAIRS: dict[str, Callable[[HttpRequest, dict[str, Json], SavedRepair], Repair | None]] = {
    "drop bound blocks": _drop_bound_blocks,
    "unseal": _remove_thinking,
    "leave out display": _remove_display,
    "lower": _lower,
}
