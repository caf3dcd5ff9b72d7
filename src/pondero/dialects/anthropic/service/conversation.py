"""The service's rules for a conversation sent back (the Messages wire sheet, section 5).

Each call needs a result in the next message, thinking must be as it was given, and a model may
refuse to continue an assistant's message. rules.accept calls these checks in the service's order.
"""

from typing import NamedTuple

from msgspec import Raw
from msgspec.json import decode

from pondero.canon import Json

from . import types
from .errors import refuse
from .models import family
from .parse import block
from .signatures import prefix_digest, verify_signature

_UNPAIRED = (
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_UNASKED = (
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
_BEGIN = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
    "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
    "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
)


class Placed(NamedTuple):
    """A block, typed where its type is known, and its path."""

    at: str
    kind: str
    fields: types.Typed | None
    raw: Json


class Turn(NamedTuple):
    """Neighbouring messages of one role, which the service reads as one."""

    role: str
    at: str
    blocks: list[Placed]


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


def _blocks(content: str | list[Raw], at: str) -> list[Placed]:
    if isinstance(content, str):
        text = types.TextBlock(content)
        return [Placed(f"{at}.content", "text", text, {"type": "text", "text": content})]
    placed = []
    for number, raw in enumerate(content):
        where = f"{at}.content.{number}"
        placed.append(Placed(where, *block(raw, where), decode(raw)))
    return placed


def check_texts(found: list[Turn]) -> None:
    """Refuse empty messages and empty texts."""
    if not found:
        raise refuse("messages: at least one message is required")
    for number, turn in enumerate(found):
        last = number == len(found) - 1 and turn.role == "assistant"
        if not turn.blocks and not last and turn.role != "system":
            raise refuse(
                f"{turn.at}: all messages must have non-empty content except for the optional "
                "final assistant message"
            )
        for placed in turn.blocks:
            if isinstance(placed.fields, types.TextBlock) and not placed.fields.text:
                raise refuse("messages: text content blocks must be non-empty")


def check_pairs(found: list[Turn]) -> None:
    """Refuse a call without its result, and a result without its call."""
    seen: set[str] = set()
    spoken = [turn for turn in found if turn.role != "system"]
    for number, turn in enumerate(spoken):
        calls = _ids(turn, types.ToolUseBlock)
        if len(set(calls)) < len(calls) or seen & set(calls):
            raise refuse("messages: `tool_use` ids must be unique")
        seen |= set(calls)
        following = spoken[number + 1] if number + 1 < len(spoken) else None
        answered = _ids(following, types.ToolResultBlock) if following else []
        if turn.role == "assistant" and (missing := [c for c in calls if c not in answered]):
            raise refuse(
                f"{turn.at}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {', '.join(missing)}. {_UNPAIRED}"
            )
        if turn.role == "user":
            _check_results(turn, spoken[number - 1] if number else None)


def _check_results(turn: Turn, before: Turn | None) -> None:
    asked = _ids(before, types.ToolUseBlock) if before else []
    for placed in turn.blocks:
        if isinstance(placed.fields, types.ToolResultBlock):
            id = placed.fields.tool_use_id
            if id not in asked:
                raise refuse(
                    f"{placed.at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
                    f"{_UNASKED}"
                )


def _ids(turn: Turn, kind: type[types.ToolUseBlock] | type[types.ToolResultBlock]) -> list[str]:
    fields = [placed.fields for placed in turn.blocks if isinstance(placed.fields, kind)]
    return [f.id if isinstance(f, types.ToolUseBlock) else f.tool_use_id for f in fields]


def check_seals(found: list[Turn], raw: Json, *, drops: bool) -> list[str]:
    """Refuse thinking with a bad signature; return the paths of blocks that are dropped instead."""
    dropped = []
    for turn in found:
        for number, placed in enumerate(turn.blocks):
            match placed.fields:
                case types.ThinkingBlock() as thinking:
                    proof = verify_signature("thinking", thinking.thinking, thinking.signature)
                    what = "`signature` in `thinking`"
                case types.RedactedThinkingBlock() as redacted:
                    proof = verify_signature("redacted", "", redacted.data)
                    what = "`data` in `redacted_thinking`"
                case _:
                    continue
            if proof is None:
                raise refuse(f"{placed.at}: Invalid {what} block")
            if _is_bound(proof[0]) and proof[1] != _digest_before(
                raw, placed, turn.blocks[:number]
            ):
                if not drops:
                    raise refuse(_bound_elsewhere(placed.at, what))
                dropped.append(placed.at)
    return dropped


def _is_bound(model: str) -> bool:
    row = family(model)
    return row is not None and row.bound


def _digest_before(raw: Json, placed: Placed, earlier: list[Placed]) -> bytes:
    at = int(placed.at.split(".")[1])
    here = [each.raw for each in earlier if each.at.startswith(f"messages.{at}.")]
    messages = raw["messages"][:at]
    if here:
        messages = [*messages, {"role": "assistant", "content": here}]
    return prefix_digest(raw.get("system"), raw.get("tools"), messages)


def _bound_elsewhere(at: str, what: str) -> str:
    return (
        f"{at}: Invalid {what} block. The block is bound to a different conversation. Remove the "
        'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )


def check_begin(found: list[Turn]) -> None:
    """Refuse an open tool loop that does not begin with thinking, while thinking is enabled."""
    at = len(found) - 1
    while at >= 2 and found[at].role == "user" and _ids(found[at], types.ToolResultBlock):
        at -= 2
    first = at + 1 if at < len(found) - 1 else at
    if first < len(found) and found[first].role == "assistant":
        begin = next(iter(found[first].blocks), None)
        if begin is not None and begin.kind not in ("thinking", "redacted_thinking"):
            raise refuse(
                f"{begin.at}.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{begin.kind}`. {_BEGIN}"
            )


def ends_with_words(found: list[Turn]) -> bool:
    """Return whether an assistant's message comes last, other than amid the service's own tools."""
    last = found[-1]
    if last.role != "assistant":
        return False
    return not last.blocks or last.blocks[-1].kind not in types.UNTYPED


def check_prefill(found: list[Turn], *, thinks: bool) -> None:
    """Refuse a last message of the assistant's that the model cannot continue."""
    last = found[-1]
    kinds = [placed.kind for placed in last.blocks]
    if not thinks and ("thinking" in kinds or "redacted_thinking" in kinds):
        raise refuse(
            "When thinking is disabled, an `assistant` message in the final position cannot "
            "contain `thinking`. To use thinking blocks, enable `thinking` in your request."
        )
    end = last.blocks[-1].fields if last.blocks else None
    if isinstance(end, types.TextBlock) and end.text != end.text.rstrip():
        raise refuse("messages: final assistant content cannot end with trailing whitespace")
