"""Finds where the service rejects a conversation sent back, or loses thinking; for the guards."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pondero.canon import Json, Thinking
from pondero.dialects.dialect import EarlierAnswer, ReplayChecks, ReplayIssue, SentRequest

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_THOUGHT, _CALL, _RESULT = "reasoningContent", "toolUse", "toolResult"


class _PlacedBlock(NamedTuple):
    path: str
    kind: str
    fields: Mapping[str, Json]

    @property
    def id(self) -> str:
        return str(self.fields.get("toolUseId"))

    @property
    def thought(self) -> Mapping[str, Json]:
        """Return the readable thinking of a block; empty if it has none."""
        found = self.fields.get("reasoningText") if self.kind == _THOUGHT else None
        return found if isinstance(found, dict) else {}


class _Turn(NamedTuple):
    role: str
    blocks: list[_PlacedBlock]

    def select(self, kind: str) -> list[_PlacedBlock]:
        return [placed for placed in self.blocks if placed.kind == kind]


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the places of a request that the service rejects, or where thinking is lost."""
    turns = _turns(sent.body)
    return [
        *_find_unpaired(turns),
        *_find_bad_ids(turns),
        *_find_missing_tools(sent, turns),
        *_find_bare_loop(sent, turns),
        *_find_signature_issues(sent, turns),
        *_find_changed_prefix(sent, turns),
    ]


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request sends back earlier answers."""
    return any(turn.role == "assistant" for turn in _turns(body))


def _turns(body: Mapping[str, Json]) -> list[_Turn]:
    found: list[_Turn] = []
    messages = body.get("messages")
    for number, message in enumerate(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        blocks = [
            _PlacedBlock(
                f"messages[{number}].content[{n}]", kind, fields if isinstance(fields, dict) else {}
            )
            for n, block in enumerate(content if isinstance(content, list) else [])
            if isinstance(block, dict)
            for kind, fields in block.items()
            if kind != "cachePoint"
        ]
        role = str(message.get("role"))
        if found and found[-1].role == role:
            found[-1].blocks.extend(blocks)
        else:
            found.append(_Turn(role, blocks))
    return found


def _find_unpaired(turns: list[_Turn]) -> Iterator[ReplayIssue]:
    for number, turn in enumerate(turns):
        before = {p.id for p in turns[number - 1].select(_CALL)} if number else set()
        after = (
            {p.id for p in turns[number + 1].select(_RESULT)} if number + 1 < len(turns) else set()
        )
        for placed in turn.select(_CALL):
            if placed.id not in after and placed.fields.get("type") != "server_tool_use":
                yield ReplayIssue(
                    code="call_unanswered",
                    path=placed.path,
                    what=f"the call {placed.id!r} has no result in the next message",
                    then="400 Expected toolResult blocks for the following Ids",
                    cure="put a toolResult for every call into the message right after it",
                )
        for placed in turn.select(_RESULT):
            if placed.id not in before and turn.role == "user":
                yield ReplayIssue(
                    code="result_uncalled",
                    path=placed.path,
                    what=f"the result {placed.id!r} answers no call of the message before it",
                    then="400 The number of toolResult blocks exceeds the number of toolUse blocks "
                    "of previous turn",
                    cure="keep the call, or leave out its result too",
                )


def _find_bad_ids(turns: list[_Turn]) -> Iterator[ReplayIssue]:
    for placed in (placed for turn in turns for placed in turn.select(_CALL)):
        if not _ID.fullmatch(placed.id):
            yield ReplayIssue(
                code="bad_id",
                path=f"{placed.path}.toolUse.toolUseId",
                what=f"the call's id {placed.id!r} is not taken here",
                then="400 Value at 'toolUseId' failed to satisfy constraint: 1 to 64 characters of "
                "[a-zA-Z0-9_.:-]",
                cure="give call and result the same new id of such characters",
            )


def _find_missing_tools(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    used = [p for turn in turns for p in turn.blocks if p.kind in (_CALL, _RESULT)]
    if used and not sent.body.get("toolConfig"):
        yield ReplayIssue(
            code="tools_missing",
            path=used[0].path,
            what="there are calls in the past, but no toolConfig",
            then="400 The toolConfig field must be defined when using toolUse and toolResult "
            "content blocks",
            cure="send the tools as long as there are calls in the past",
        )


def _signs(sent: SentRequest) -> bool:
    return sent.facts.replay in ("tools", "required")


def _find_bare_loop(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    more = sent.body.get("additionalModelRequestFields")
    thinking = more.get("thinking") if isinstance(more, dict) else None
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    at = len(turns) - 1
    while at >= 2 and turns[at].role == "user" and turns[at].select(_RESULT):
        at -= 2
    first = turns[at + 1] if at < len(turns) - 1 else None
    if first is None or first.role != "assistant" or not first.blocks:
        return
    if first.blocks[0].kind != _THOUGHT:
        yield ReplayIssue(
            code="thinking_missing",
            path=first.blocks[0].path,
            what=f"the open tool loop begins with {first.blocks[0].kind}",
            then="400 Expected `thinking` or `redacted_thinking`, but found `tool_use`",
            cure="send reasoningContent back first, unchanged; where there was none, switch "
            "thinking off until the tools have answered",
        )


def _find_signature_issues(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    for turn in turns:
        known = _signatures(sent, turn)
        for placed in turn.select(_THOUGHT):
            signature = str(placed.thought.get("signature") or "")
            if placed.thought and not signature and _signs(sent):
                yield ReplayIssue(
                    code="seal_missing",
                    path=placed.path,
                    what="thinking without its signature: one of a stream that was cut, or edited",
                    then="400 Invalid `signature` in `thinking` block",
                    cure="leave the block out, or send it back as the answer had it",
                )
            given = sent.past.by_signature(signature) if signature else None
            if (given and not _is_as_given(placed, signature, given)) or (
                signature and known and not given and signature not in known
            ):
                yield ReplayIssue(
                    code="seal_changed",
                    path=f"{placed.path}.reasoningContent.reasoningText",
                    what="text and signature of this thinking did not come together in an answer",
                    then="400 `thinking` or `redacted_thinking` blocks in the latest assistant "
                    "message cannot be modified",
                    cure="send text and signature back byte for byte",
                )


def _signatures(sent: SentRequest, turn: _Turn) -> set[str]:
    answers = (sent.past.by_call_id(placed.id) for placed in turn.select(_CALL))
    given = next((each for each in answers if each is not None), None)
    parts = given.message.parts if given else ()
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    return {
        str(part.signature.value) for part in thoughts if part.signature and part.signature.value
    }


def _is_as_given(placed: _PlacedBlock, signature: str, given: EarlierAnswer) -> bool:
    texts = {
        part.text
        for part in given.message.parts
        if isinstance(part, Thinking) and part.signature and signature in str(part.signature.value)
    }
    return not texts or placed.thought.get("text") in texts


def _find_changed_prefix(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    """Find the first block whose prefix was changed since it was signed."""
    if sent.facts.replay != "required":
        return
    for placed in (placed for turn in turns for placed in turn.select(_THOUGHT)):
        given = sent.past.by_signature(str(placed.thought.get("signature") or ""))
        changed = _find_change(given.request_body, sent.body) if given else None
        if given and changed:
            yield ReplayIssue(
                code="prefix_changed",
                path=changed,
                what=f"the thinking at {placed.path} is bound to the content here in exchange "
                f"{given.number}, and that was changed",
                then="400 Invalid `signature` in `thinking` block. The block is bound to a "
                "different conversation",
                cure="keep system, toolConfig and every earlier message as they were",
            )
            return


def _find_change(asked: Json, now: Mapping[str, Json]) -> str | None:
    if not isinstance(asked, dict):
        return None
    for key in ("system", "toolConfig"):
        if (asked.get(key) or None) != (now.get(key) or None):
            return key
    before, after = asked.get("messages"), now.get("messages")
    if not isinstance(before, list) or not isinstance(after, list):
        return None
    pairs = enumerate(zip(before, after, strict=False))
    return next((f"messages[{n}]" for n, (was, is_) in pairs if was != is_), None)


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)
