"""Rules for a conversation sent back: a result for every call, and thinking unchanged."""

from collections.abc import Sequence
from typing import NamedTuple

from pondero.canon import Json
from pondero.dialects.claude import Proof

from .. import types
from ..errors import reject
from ..models import Family, family
from ..parse import block
from ..signatures import KEY, prefix_digest, verify_redacted


class PlacedBlock(NamedTuple):
    """A block and its place."""

    message: int
    number: int
    kind: str
    fields: types.Typed | None

    @property
    def at(self) -> str:
        """Return the path in the service's notation."""
        return f"messages.{self.message}.content.{self.number}"


class Turn(NamedTuple):
    """Adjacent messages of one role, which the service merges."""

    role: str
    at: int
    blocks: list[PlacedBlock]


def turns(body: types.Body) -> list[Turn]:
    """Return the conversation, its blocks typed and without cache points."""
    known: list[Turn] = []
    for at, message in enumerate(body.messages):
        blocks = [
            PlacedBlock(at, number, *block(union, f"messages.{at}.content.{number}"))
            for number, union in enumerate(message.content)
        ]
        _check_message(message.role, at, blocks)
        kept = [placed for placed in blocks if placed.kind != "cachePoint"]
        if known and known[-1].role == message.role != "system":
            known[-1].blocks.extend(kept)
        else:
            known.append(Turn(message.role, at, kept))
    return known


def _check_message(role: str, at: int, blocks: Sequence[PlacedBlock]) -> None:
    kinds = {placed.kind for placed in blocks}
    if not blocks:
        reject("empty_message", at=at)
    for placed in blocks:
        if isinstance(placed.fields, str) and not placed.fields:
            reject("empty_text", at=placed.at)
        result = placed.fields
        if (
            isinstance(result, types.ToolResultBlock)
            and result.status == "error"
            and not result.content
        ):
            reject("empty_error", at=placed.at)
    if role != "user" and kinds & {"image", "document", "toolResult"} - _own_tool_kinds(blocks):
        reject("user_content", at=at)
    if "document" in kinds and "text" not in kinds:
        reject("document_text", at=at)


def _own_tool_kinds(blocks: Sequence[PlacedBlock]) -> set[str]:
    fields = (placed.fields for placed in blocks)
    own = any(isinstance(each, types.ToolResultBlock) and each.type for each in fields)
    return {"toolResult"} if own else set()


def check_turns(known: list[Turn], row: Family, *, tools: bool) -> None:
    """Reject a conversation that the wrong role begins, and calls and results without a pair."""
    if not known:
        reject("no_messages")
    if row.begins == "user" and known[0].role == "assistant":
        reject("first_role")
    spoken = [turn for turn in known if turn.role != "system"]
    for number, turn in enumerate(spoken):
        called, answered = _calls(turn), _results(turn)
        if (called or answered) and not tools:
            reject("no_tools")
        after = _results(spoken[number + 1]) if number + 1 < len(spoken) else []
        before = _calls(spoken[number - 1]) if number else []
        if missing := [id for id in called if id not in after]:
            reject("call_without_result", at=turn.at + 1, ids=", ".join(missing))
        if [id for id in answered if id not in before]:
            reject("result_without_call", at=turn.at)
        if twice := sorted({id for id in answered if answered.count(id) > 1}):
            reject("result_twice", at=turn.at, ids=", ".join(twice))


def _calls(turn: Turn) -> list[str]:
    fields = (placed.fields for placed in turn.blocks)
    return [f.tool_use_id for f in fields if isinstance(f, types.ToolUseBlock) and f.type is None]


def _results(turn: Turn) -> list[str]:
    fields = (placed.fields for placed in turn.blocks)
    return [
        f.tool_use_id for f in fields if isinstance(f, types.ToolResultBlock) and f.type is None
    ]


def check_signatures(known: list[Turn], raw: Json, row: Family, *, drops: bool) -> None:
    """Reject thinking whose signature does not verify, or is bound to another conversation."""
    for turn in known:
        for placed in turn.blocks:
            if not isinstance(placed.fields, types.Reasoning):
                continue
            if row.control == "claude":
                proof = _proof(placed.at, placed.fields)
                if (
                    not drops
                    and _is_bound(proof.model)
                    and proof.prefix != _digest_before(raw, placed)
                ):
                    reject("bound_signature", at=placed.at)
            elif row.control != "any" and _is_signed(placed.fields):
                reject("foreign_signature")


def _is_signed(fields: types.Reasoning) -> bool:
    text = fields.reasoning_text
    return text is None or text.signature is not None


def _proof(at: str, fields: types.Reasoning) -> Proof:
    text = fields.reasoning_text
    if text is None:
        proof = verify_redacted(fields.redacted_content or "")
        field = "`data` in `redacted_thinking`"
    elif text.signature is None:
        reject("no_signature", at=at)
    else:
        proof = KEY.verify(text.text, text.signature)
        field = "`signature` in `thinking`"
    if proof is None:
        reject("signature", at=at, field=field)
    return proof


def _is_bound(model: str) -> bool:
    row = family(model)
    return row is not None and row.bound


def _digest_before(raw: Json, placed: PlacedBlock) -> bytes:
    messages = raw["messages"][: placed.message]
    here = raw["messages"][placed.message]
    if earlier := here["content"][: placed.number]:
        messages = [*messages, {"role": here["role"], "content": earlier}]
    return prefix_digest(raw.get("system"), (raw.get("toolConfig") or {}).get("tools"), messages)


def check_begin(known: list[Turn]) -> None:
    """Reject an open tool loop that does not begin with thinking, while thinking is enabled."""
    at = len(known) - 1
    while at >= 2 and known[at].role == "user" and _results(known[at]):
        at -= 2
    first = at + 1 if at < len(known) - 1 else at
    if first < len(known) and known[first].role == "assistant":
        begin = next(iter(known[first].blocks), None)
        if begin is not None and begin.kind != "reasoningContent":
            reject("loop_start", at=begin.at, kind=begin.kind)
