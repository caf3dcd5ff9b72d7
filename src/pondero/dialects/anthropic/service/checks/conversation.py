"""Rules for a conversation sent back; ``rules.accept`` calls them in the service's order."""

from itertools import groupby
from typing import NamedTuple

from msgspec import Raw
from msgspec.json import decode

from pondero.canon import Json

from .. import types
from ..content import block
from ..errors import reject
from ..models import Family, family
from ..signatures import prefix_digest, verify_signature


class PlacedBlock(NamedTuple):
    """A block and its path; ``fields`` is None if its type is not one of ours."""

    at: str
    kind: str
    fields: types.Typed | None
    raw: Json


class Turn(NamedTuple):
    """Adjacent messages of one role, which the service reads as one."""

    role: str
    at: str
    blocks: list[PlacedBlock]


def turns(body: types.Body) -> list[Turn]:
    """Return the conversation, its blocks typed."""
    found: list[Turn] = []
    for number, message in enumerate(body.messages):
        at = f"messages.{number}"
        blocks = _blocks(message.content, at)
        if found and found[-1].role == message.role != "system":
            found[-1].blocks.extend(blocks)
        else:
            found.append(Turn(message.role, at, blocks))
    return found


def _blocks(content: str | list[Raw], at: str) -> list[PlacedBlock]:
    if not content:
        return []
    if isinstance(content, str):
        text = types.TextBlock(content)
        return [PlacedBlock(f"{at}.content", "text", text, {"type": "text", "text": content})]
    placed = []
    for number, raw in enumerate(content):
        where = f"{at}.content.{number}"
        placed.append(PlacedBlock(where, *block(raw, where), decode(raw)))
    return placed


def check_texts(body: types.Body, found: list[Turn]) -> None:
    """Reject empty messages and texts; a last one of the assistant may be empty or blank."""
    if not body.messages:
        reject("no_messages")
    last = len(body.messages) - 1
    spared = last if body.messages[last].role == "assistant" else None
    for number, message in enumerate(body.messages):
        if not message.content and message.role != "system" and number != spared:
            reject("empty_message", at=f"messages.{number}")
    for turn in found:
        for number, blocks in groupby(turn.blocks, key=_message_of):
            texts = [placed.fields for placed in blocks]
            if any(isinstance(each, types.TextBlock) and not each.text for each in texts):
                reject("empty_text")
            if number != spared and turn.role != "system" and all(map(_is_blank, texts)):
                reject("blank_text")


def _message_of(placed: PlacedBlock) -> int:
    return int(placed.at.split(".")[1])


def _is_blank(fields: types.Typed | None) -> bool:
    return isinstance(fields, types.TextBlock) and not fields.text.strip()


def check_pairs(found: list[Turn], row: Family) -> None:
    """Reject a call without its result, and a result without its call or not at the begin."""
    seen: set[str] = set()
    spoken = [turn for turn in found if turn.role != "system"]
    for number, turn in enumerate(spoken):
        _check_roles(turn, row)
        calls = _ids(turn, types.ToolUseBlock)
        if len(set(calls)) < len(calls) or seen & set(calls):
            reject("call_ids")
        seen |= set(calls)
        following = spoken[number + 1] if number + 1 < len(spoken) else None
        answered = _ids(following, types.ToolResultBlock) if following else []
        if row.pairs == "unchecked" and answered:
            continue
        if turn.role == "assistant" and (missing := [c for c in calls if c not in answered]):
            reject("call_without_result", at=turn.at, ids=", ".join(missing))
        if turn.role == "user" and row.pairs == "checked":
            _check_results(turn, spoken[number - 1] if number else None)


def _check_roles(turn: Turn, row: Family) -> None:
    """Reject calls of the user and results of the assistant, and errors that say nothing."""
    for placed in turn.blocks:
        at = f"messages.{_message_of(placed)}"
        if isinstance(placed.fields, types.ToolUseBlock) and turn.role == "user":
            reject("call_role", at=at)
        if not isinstance(placed.fields, types.ToolResultBlock):
            continue
        if turn.role == "assistant":
            reject("result_role", at=at)
        if placed.fields.is_error and not placed.fields.content:
            reject("empty_error", at=placed.at)
        if placed.fields.is_error and row.at is None and not _is_words(placed.raw["content"]):
            reject("error_media", at=placed.at)


def _is_words(content: Json) -> bool:
    return isinstance(content, str) or all(each.get("type") == "text" for each in content)


def _check_results(turn: Turn, before: Turn | None) -> None:
    asked = _ids(before, types.ToolUseBlock) if before else []
    answered: set[str] = set()
    late = False
    for placed in turn.blocks:
        if isinstance(placed.fields, types.ToolResultBlock):
            id = placed.fields.tool_use_id
            if id not in asked:
                reject("result_without_call", at=placed.at, id=id)
            if id in answered:
                reject("result_twice", at=placed.at, id=id)
            answered.add(id)
            if late:
                reject("late_result", at=before.at if before else turn.at, id=id)
        else:
            late = True


def _ids(turn: Turn, kind: type[types.ToolUseBlock] | type[types.ToolResultBlock]) -> list[str]:
    fields = [placed.fields for placed in turn.blocks if isinstance(placed.fields, kind)]
    return [f.id if isinstance(f, types.ToolUseBlock) else f.tool_use_id for f in fields]


def check_signatures(found: list[Turn], raw: Json, *, drops: bool) -> list[str]:
    """Reject thinking with a bad signature; return the paths of blocks that are dropped instead."""
    dropped = []
    for turn in found:
        for number, placed in enumerate(turn.blocks):
            match placed.fields:
                case types.ThinkingBlock() as thinking:
                    proof = verify_signature("thinking", thinking.thinking, thinking.signature)
                    field = "`signature` in `thinking`"
                case types.RedactedThinkingBlock() as redacted:
                    proof = verify_signature("redacted", "", redacted.data)
                    field = "`data` in `redacted_thinking`"
                case _:
                    continue
            if proof is None:
                reject("signature", at=placed.at, field=field)
            if _is_bound(proof[0]) and proof[1] != _digest_before(
                raw, placed, turn.blocks[:number]
            ):
                if not drops:
                    reject("bound_signature", at=placed.at, field=field)
                dropped.append(placed.at)
    return dropped


def _is_bound(model: str) -> bool:
    row = family(model)
    return row is not None and row.bound


def _digest_before(raw: Json, placed: PlacedBlock, earlier: list[PlacedBlock]) -> bytes:
    at = _message_of(placed)
    here = [each.raw for each in earlier if each.at.startswith(f"messages.{at}.")]
    messages = raw["messages"][:at]
    if here:
        messages = [*messages, {"role": "assistant", "content": here}]
    return prefix_digest(raw.get("system"), raw.get("tools"), messages)


def check_begin(found: list[Turn]) -> None:
    """Reject an open tool loop that does not begin with thinking, while thinking is enabled."""
    at = len(found) - 1
    while at >= 2 and found[at].role == "user" and _ids(found[at], types.ToolResultBlock):
        at -= 2
    first = at + 1 if at < len(found) - 1 else at
    if first < len(found) and found[first].role == "assistant":
        begin = next(iter(found[first].blocks), None)
        if begin is not None and begin.kind not in ("thinking", "redacted_thinking"):
            reject("loop_start", at=begin.at, kind=begin.kind)


def ends_with_words(found: list[Turn]) -> bool:
    """Return whether an assistant message is last and does not end with a block of a beta."""
    last = found[-1]
    if last.role != "assistant":
        return False
    return not last.blocks or last.blocks[-1].kind not in types.UNTYPED


def check_prefill(found: list[Turn], *, thinks: bool) -> None:
    """Reject a final assistant message that the model cannot continue."""
    last = found[-1]
    kinds = [placed.kind for placed in last.blocks]
    if not thinks and ("thinking" in kinds or "redacted_thinking" in kinds):
        reject("prefill_thinking")
    end = last.blocks[-1].fields if last.blocks else None
    if isinstance(end, types.TextBlock) and end.text != end.text.rstrip():
        reject("prefill_whitespace")
