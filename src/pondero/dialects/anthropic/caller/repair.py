"""Repairs a rejected request if the rejection says how: drops thinking, lowers the effort ..."""

import re
from collections.abc import Callable, Mapping

import msgspec

from pondero.canon import HttpRequest, Json, SavedRepair
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest_word, explain_substitute, parse_offered_levels

_BOUND = re.compile(r"messages\.(\d+)\..*bound to a different conversation", re.DOTALL)
_INVALID = re.compile(r"messages\.(\d+)\..*Invalid `(?:signature|data)` in `", re.DOTALL)
# Limits that no count predicts: pydantic-ai 2.66.0, @ai-sdk/anthropic (wires/strict-schemas)
_TOO_COMPLEX = re.compile(r"schema is too complex|compiled grammar is too large", re.IGNORECASE)
_BETA = "thinking-binding-controls-2026-08-01"
_THINKING_EDIT = "clear_thinking_"  # a date follows
_THOUGHTS = ("thinking", "redacted_thinking")


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the repaired request; None if the rejection does not say how."""
    cure = _find_repair(error.message)
    return None if cure is None else reapply_repair(request, cure)


def reapply_repair(request: HttpRequest, cure: SavedRepair) -> Repair | None:
    """Apply a saved repair; return None if the request does not need it."""
    apply = _REPAIRS.get(cure.kind)
    return None if apply is None else apply(request, msgspec.json.decode(request.body), cure)


def _find_repair(message: str) -> SavedRepair | None:
    if bound := _BOUND.search(message):
        return SavedRepair("drop bound blocks", at=int(bound[1]))
    if invalid := _INVALID.search(message):
        return SavedRepair("unseal", at=int(invalid[1]))
    if _TOO_COMPLEX.search(message):
        return SavedRepair("prompt schema")
    words = parse_offered_levels(message)
    return SavedRepair("lower", words) if words and "effort" in message else None


def _drop_bound_blocks(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    # Anthropic, preserved thinking: drop_block needs adaptive; bound blocks stay (SDK, 2026-11-10)
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "adaptive":
        return _remove_thinking(request, body, cure)
    thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    headers = _with_beta(request.headers)
    why = "thinking of earlier turns is bound to another beginning of this conversation"
    note = Adjustment("seal_refused", "thinking", "replayed", "dropped", why)
    return Repair(_with_body(request, body, headers), note, cure, "thread")


def _remove_thinking(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair:
    # Later blocks can be bound to the bad one, so all thinking from there on is removed.
    removed = _strip_thinking(body["messages"][cure.at :])
    why = "a thinking signature was not accepted; the conversation continues without it"
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and _is_open(body):
        # Anthropic, extended thinking: an open tool loop must begin with thinking if enabled
        body["thinking"] = {"type": "disabled"}
        _drop_thinking_edits(body)
        why += ", and with none until its tools have answered"
    note = Adjustment("seal_refused", "thinking", "replayed", "dropped", why)
    return Repair(_with_body(request, body, request.headers), note, cure, "thread", tuple(removed))


def _drop_thinking_edits(body: dict[str, Json]) -> None:
    # Anthropic, context editing: rejected without thinking (router-for-me/CLIProxyAPI#4957)
    holder = body.get("context_management")
    if not isinstance(holder, dict) or not isinstance(edits := holder.get("edits"), list):
        return
    kept = [edit for edit in edits if not _is_thinking_edit(edit)]
    if len(kept) == len(edits):
        return
    if kept:
        holder["edits"] = kept
        return
    del holder["edits"]
    if not holder:
        del body["context_management"]


def _is_thinking_edit(edit: Json) -> bool:
    return isinstance(edit, dict) and str(edit.get("type")).startswith(_THINKING_EDIT)


def _is_open(body: dict[str, Json]) -> bool:
    last = body["messages"][-1]["content"]
    return not isinstance(last, str) and any(block["type"] == "tool_result" for block in last)


def _strip_thinking(messages: list[Json]) -> list[str]:
    removed = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            continue
        bare = [block for block in content if _read_signature(block) is None]
        if bare and len(bare) < len(content):
            removed += [
                signature for block in content if (signature := _read_signature(block)) is not None
            ]
            message["content"] = bare
    return removed


def _read_signature(block: dict[str, Json]) -> str | None:
    if block.get("type") not in _THOUGHTS:
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
    return Repair(_with_body(request, body, request.headers), note, cure, "model")


def _prompt_schema(request: HttpRequest, body: dict[str, Json], cure: SavedRepair) -> Repair | None:
    """Return the request with the answer's schema in the system prompt instead of its field."""
    config = body.get("output_config") or {}
    shape = config.pop("format", None)
    if shape is None:
        return None
    if not config:
        del body["output_config"]
    schema = msgspec.json.encode(shape["schema"]).decode()
    words = f"Answer in JSON of this schema: {schema}\n{_JSON_ALONE}"
    system = body.get("system") or []
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    body["system"] = [*blocks, {"type": "text", "text": words}]
    why = "the service finds the schema too complex; the prompt says it, and nothing enforces it"
    note = Adjustment("output_prompted", "output", "schema", None, why)
    return Repair(_with_body(request, body, request.headers), note, cure)


_JSON_ALONE = "Answer with the JSON and nothing else, without a code fence."


def _with_body(request: HttpRequest, body: Json, headers: Mapping[str, str]) -> HttpRequest:
    return HttpRequest(request.method, request.url, headers, msgspec.json.encode(body))


_REPAIRS: dict[str, Callable[[HttpRequest, dict[str, Json], SavedRepair], Repair | None]] = {
    "drop bound blocks": _drop_bound_blocks,
    "unseal": _remove_thinking,
    "lower": _lower,
    "prompt schema": _prompt_schema,
}
