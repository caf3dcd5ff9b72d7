"""Rules for a conversation sent back: a result for every call, and thinking unchanged."""

from collections.abc import Sequence
from typing import NamedTuple

from pondero.canon import Json
from pondero.dialects.claude import LOOP_START, Proof, describe_binding

from . import types
from .errors import reject, reject_by_model
from .models import Family, family
from .parse import block
from .signatures import KEY, prefix_digest, verify_redacted

_NO_TOOLS = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
_SIGNATURE = "reasoningContent.reasoningText.signature"


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
        # AWS, Message: content is not empty (theopenco/llmgateway#3127, 2026-07-18)
        raise reject(
            f"The content field in the Message object at messages.{at} is empty. Add a "
            "ContentBlock object to the content field and try again."
        )
    for placed in blocks:
        if isinstance(placed.fields, str) and not placed.fields:
            # AWS, ContentBlock: nor is text (aws-samples/bedrock-engineer#8, 2025-02-25)
            raise reject(
                f"The text field in the ContentBlock object at {placed.at} is blank. Add text to "
                "the text field, and try again."
            )
    # AWS, Message: media from the user, documents with text; both (page, 2026-11-16; texts ours)
    if role != "user" and kinds & {"image", "document", "toolResult"} - _own_tool_kinds(blocks):
        raise reject(
            f"The message at messages.{at} has a content block that only a user message may have."
        )
    if "document" in kinds and "text" not in kinds:
        raise reject(
            f"The message at messages.{at} has a document block and no text block. Add a text "
            "block and try again."
        )


def _own_tool_kinds(blocks: Sequence[PlacedBlock]) -> set[str]:
    fields = (placed.fields for placed in blocks)
    own = any(isinstance(each, types.ToolResultBlock) and each.type for each in fields)
    return {"toolResult"} if own else set()


def check_sources(known: list[Turn]) -> None:
    """Reject media in S3, for models that do not fetch it."""
    for turn in known:
        if any(_is_in_s3(placed.fields) for placed in turn.blocks):
            # AWS, Converse: no S3 (pydantic-ai test_multimodal_tool_return_matrix, 2026-08-22)
            raise reject("This model doesn't support the s3Uri field. Remove s3Uri and try again.")


def _is_in_s3(fields: types.Typed | None) -> bool:
    if isinstance(fields, types.ToolResultBlock):
        raws = (raw for union in fields.content for raw in union.values())
        return any(b'"s3Location"' in bytes(raw) for raw in raws)
    media = types.ImageBlock | types.DocumentBlock | types.VideoBlock | types.AudioBlock
    return isinstance(fields, media) and fields.source.s3_location is not None


def check_turns(known: list[Turn], row: Family, *, tools: bool) -> None:
    """Reject a conversation that the wrong role begins, and calls and results without a pair."""
    if not known:
        # AWS, Converse: messages is not empty (inferred, 2026-11-15; text as for toolConfig.tools)
        raise reject(
            "1 validation error detected: Value at 'messages' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1"
        )
    if row.begins == "user" and known[0].role == "assistant":
        # AWS, Converse: the user begins (pydantic/pydantic-ai#4495, 2026-03-02)
        raise reject(
            "A conversation must start with a user message. Try again with a conversation that "
            "starts with a user message."
        )
    spoken = [turn for turn in known if turn.role != "system"]
    for number, turn in enumerate(spoken):
        called, answered = _calls(turn), _results(turn)
        if (called or answered) and not tools:
            # AWS, Converse: calls need a toolConfig (onyx-dot-app/onyx#7842, 2026-01-27)
            raise reject(_NO_TOOLS)
        after = _results(spoken[number + 1]) if number + 1 < len(spoken) else []
        before = _calls(spoken[number - 1]) if number else []
        if missing := [id for id in called if id not in after]:
            # AWS, Converse: results follow calls (zeroclaw-labs/zeroclaw#1476, 2026-02-23)
            raise reject(
                f"Expected toolResult blocks at messages.{turn.at + 1}.content for the following "
                f"Ids: {', '.join(missing)}"
            )
        if [id for id in answered if id not in before]:
            # AWS, Converse: a result has a call (Just-Curieous/Curie#16, 2025-03-07)
            raise reject(
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


def check_signatures(known: list[Turn], raw: Json, row: Family, *, drops: bool) -> None:
    """Reject thinking whose signature does not verify, or is bound to another conversation."""
    # Anthropic, preserved thinking (anomalyco/opencode#48637); makers (pi-ai 1.5.0, 2026-11-15)
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
                    raise reject_by_model(describe_binding(placed.at, "`signature` in `thinking`"))
            elif row.control != "any" and _is_signed(placed.fields):
                raise reject(
                    f"This model doesn't support the {_SIGNATURE} field. Remove {_SIGNATURE} and "
                    "try again."
                )


def _is_signed(fields: types.Reasoning) -> bool:
    text = fields.reasoning_text
    return text is None or text.signature is not None


def _proof(at: str, fields: types.Reasoning) -> Proof:
    # Anthropic, preserved thinking: signed; both (vendor page and pi-ai 1.5.0, 2026-11-15)
    text = fields.reasoning_text
    if text is None:
        proof = verify_redacted(fields.redacted_content or "")
        field = "`data` in `redacted_thinking`"
    elif text.signature is None:
        raise reject_by_model(f"{at}.thinking.signature: Field required")
    else:
        proof = KEY.verify(text.text, text.signature)
        field = "`signature` in `thinking`"
    if proof is None:
        raise reject_by_model(f"{at}: Invalid {field} block")
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
            # Anthropic, extended thinking: a tool loop keeps its thinking (vendor page, 2026-11-15)
            raise reject_by_model(
                f"{begin.at}.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{begin.kind}`. {LOOP_START}"
            )
