"""The service's rules for a conversation sent back: a result for every call, thinking unchanged."""

from collections.abc import Sequence
from typing import NamedTuple

from pondero.canon import Json

from . import types
from .errors import refuse, refuse_by_model
from .models import Family, family
from .parse import block
from .signatures import Proof, prefix, verify_redacted, verify_signature

_NO_TOOLS = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
_SIGNATURE = "reasoningContent.reasoningText.signature"
_BEGIN = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
    "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
    "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
)


class Placed(NamedTuple):
    """A block and where it stands."""

    message: int
    number: int
    kind: str
    fields: types.Typed | None

    @property
    def at(self) -> str:
        """Return the place in the service's notation."""
        return f"messages.{self.message}.content.{self.number}"


class Turn(NamedTuple):
    """Neighbouring messages of one role, which the service merges."""

    role: str
    at: int
    blocks: list[Placed]


def turns(body: types.Body) -> list[Turn]:
    """Return the conversation, its blocks typed and without cache points."""
    known: list[Turn] = []
    for at, message in enumerate(body.messages):
        blocks = [
            Placed(at, number, *block(union, f"messages.{at}.content.{number}"))
            for number, union in enumerate(message.content)
        ]
        _check_message(message.role, at, blocks)
        kept = [placed for placed in blocks if placed.kind != "cachePoint"]
        if known and known[-1].role == message.role != "system":
            known[-1].blocks.extend(kept)
        else:
            known.append(Turn(message.role, at, kept))
    return known


def _check_message(role: str, at: int, blocks: Sequence[Placed]) -> None:
    kinds = {placed.kind for placed in blocks}
    if not blocks:
        raise refuse(
            f"The content field in the Message object at messages.{at} is empty. Add a "
            "ContentBlock object to the content field and try again."
        )
    for placed in blocks:
        if isinstance(placed.fields, str) and not placed.fields:
            raise refuse(
                f"The text field in the ContentBlock object at {placed.at} is blank. Add text to "
                "the text field, and try again."
            )
    if role != "user" and kinds & {"image", "document", "toolResult"} - _spoken(blocks):
        raise refuse(
            f"The message at messages.{at} has a content block that only a user message may have."
        )
    if "document" in kinds and "text" not in kinds:
        raise refuse(
            f"The message at messages.{at} has a document block and no text block. Add a text "
            "block and try again."
        )


def _spoken(blocks: Sequence[Placed]) -> set[str]:
    """Return the kinds that answers may have because of the service's own tools."""
    fields = (placed.fields for placed in blocks)
    own = any(isinstance(each, types.ToolResultBlock) and each.type for each in fields)
    return {"toolResult"} if own else set()


def check_sources(known: list[Turn]) -> None:
    """Refuse media in S3, for models that do not fetch it."""
    for turn in known:
        if any(_is_in_s3(placed.fields) for placed in turn.blocks):
            raise refuse("This model doesn't support the s3Uri field. Remove s3Uri and try again.")


def _is_in_s3(fields: types.Typed | None) -> bool:
    if isinstance(fields, types.ToolResultBlock):
        raws = (raw for union in fields.content for raw in union.values())
        return any(b'"s3Location"' in bytes(raw) for raw in raws)
    media = types.ImageBlock | types.DocumentBlock | types.VideoBlock | types.AudioBlock
    return isinstance(fields, media) and fields.source.s3_location is not None


def check_turns(known: list[Turn], row: Family, *, tools: bool) -> None:
    """Refuse a conversation that the wrong role begins, and calls and results without a pair."""
    if not known:
        raise refuse(
            "1 validation error detected: Value at 'messages' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1"
        )
    if row.begins == "user" and known[0].role == "assistant":
        raise refuse(
            "A conversation must start with a user message. Try again with a conversation that "
            "starts with a user message."
        )
    spoken = [turn for turn in known if turn.role != "system"]
    for number, turn in enumerate(spoken):
        called, answered = _calls(turn), _results(turn)
        if (called or answered) and not tools:
            raise refuse(_NO_TOOLS)
        after = _results(spoken[number + 1]) if number + 1 < len(spoken) else []
        before = _calls(spoken[number - 1]) if number else []
        if missing := [id for id in called if id not in after]:
            raise refuse(
                f"Expected toolResult blocks at messages.{turn.at + 1}.content for the following "
                f"Ids: {', '.join(missing)}"
            )
        if [id for id in answered if id not in before]:
            raise refuse(
                f"The number of toolResult blocks at messages.{turn.at}.content exceeds the number "
                "of toolUse blocks of previous turn."
            )


def _calls(turn: Turn) -> list[str]:
    fields = (placed.fields for placed in turn.blocks)
    return [f.tool_use_id for f in fields if isinstance(f, types.ToolUseBlock) and f.type is None]


def _results(turn: Turn) -> list[str]:
    fields = (placed.fields for placed in turn.blocks)
    return [
        f.tool_use_id for f in fields if isinstance(f, types.ToolResultBlock) and f.type is None
    ]


def check_seals(known: list[Turn], raw: Json, row: Family, *, drops: bool) -> None:
    """Refuse thinking whose signature does not verify, or is bound to something else."""
    for turn in known:
        for placed in turn.blocks:
            if not isinstance(placed.fields, types.Reasoning):
                continue
            if row.control == "claude":
                proof = _proof(placed.at, placed.fields)
                if not drops and _is_bound(proof.model) and proof.prefix != _before(raw, placed):
                    raise refuse_by_model(_bound_elsewhere(placed.at))
            elif row.control != "any" and _is_sealed(placed.fields):
                raise refuse(
                    f"This model doesn't support the {_SIGNATURE} field. Remove {_SIGNATURE} and "
                    "try again."
                )


def _is_sealed(fields: types.Reasoning) -> bool:
    text = fields.reasoning_text
    return text is None or text.signature is not None


def _proof(at: str, fields: types.Reasoning) -> Proof:
    text = fields.reasoning_text
    if text is None:
        proof = verify_redacted(fields.redacted_content or "")
        what = "`data` in `redacted_thinking`"
    elif text.signature is None:
        raise refuse_by_model(f"{at}.thinking.signature: Field required")
    else:
        proof = verify_signature(text.text, text.signature)
        what = "`signature` in `thinking`"
    if proof is None:
        raise refuse_by_model(f"{at}: Invalid {what} block")
    return proof


def _is_bound(model: str) -> bool:
    row = family(model)
    return row is not None and row.bound


def _before(raw: Json, placed: Placed) -> bytes:
    messages = raw["messages"][: placed.message]
    here = raw["messages"][placed.message]
    if earlier := here["content"][: placed.number]:
        messages = [*messages, {"role": here["role"], "content": earlier}]
    return prefix(raw.get("system"), (raw.get("toolConfig") or {}).get("tools"), messages)


def _bound_elsewhere(at: str) -> str:
    return (
        f"{at}: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )


def check_begin(known: list[Turn]) -> None:
    """Refuse an open tool loop that does not begin with thinking, while thinking is enabled."""
    at = len(known) - 1
    while at >= 2 and known[at].role == "user" and _results(known[at]):
        at -= 2
    first = at + 1 if at < len(known) - 1 else at
    if first < len(known) and known[first].role == "assistant":
        begin = next(iter(known[first].blocks), None)
        if begin is not None and begin.kind != "reasoningContent":
            raise refuse_by_model(
                f"{begin.at}.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{begin.kind}`. {_BEGIN}"
            )
