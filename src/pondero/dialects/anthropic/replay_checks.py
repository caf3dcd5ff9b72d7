"""Finds where the service rejects a conversation sent back, or loses thinking; for the guards."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pondero.canon import Json, Thinking, ToolCall
from pondero.dialects.dialect import EarlierAnswer, ReplayChecks, ReplayIssue, SentRequest

_THOUGHTS = ("thinking", "redacted_thinking")
_SIGNATURE_FIELDS = {"thinking": "signature", "redacted_thinking": "data"}
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_READER = re.compile(r"claude", re.IGNORECASE)  # every provider of Claude reads its signatures


class _PlacedBlock(NamedTuple):
    path: str
    block: Mapping[str, Json]

    @property
    def kind(self) -> str:
        return str(self.block.get("type"))

    @property
    def signature(self) -> str:
        """Return the signature, or the data of redacted thinking; empty if it has none."""
        value = self.block.get(_SIGNATURE_FIELDS.get(self.kind, ""))
        return value if isinstance(value, str) else ""


class _Turn(NamedTuple):
    """Adjacent messages of one role, which the service reads as one."""

    role: str
    path: str
    blocks: list[_PlacedBlock]

    def select(self, *kinds: str) -> list[_PlacedBlock]:
        return [placed for placed in self.blocks if placed.kind in kinds]


def find_issues(sent: SentRequest) -> list[ReplayIssue]:
    """Return the places of a request that the service rejects, or where thinking is lost."""
    found = _turns(sent.body)
    return [
        *_find_bad_blocks(sent, found),
        *_find_empty(found),
        *_find_unpaired(found),
        *_find_duplicate_ids(found),
        *_find_bare_loop(sent, found),
        *_find_signature_issues(sent, found),
        *_find_moved(sent, found),
        *_find_changed_prefix(sent, found),
        *_find_off_conflict(sent),
    ]


def has_history(body: Mapping[str, Json]) -> bool:
    """Return whether a request sends back earlier answers."""
    return any(turn.role == "assistant" for turn in _turns(body))


# -- one block by itself -------------------------------------------------------------------------


def _find_bad_blocks(sent: SentRequest, found: list[_Turn]) -> Iterator[ReplayIssue]:
    for turn in found:
        for placed in turn.blocks:
            if placed.kind == "thinking" and not isinstance(placed.block.get("thinking"), str):
                yield _describe_missing_text(placed)
            if placed.kind in _THOUGHTS and not placed.signature and _wants_thinking_back(sent):
                yield _describe_unsigned(placed)
            if placed.kind == "tool_use":
                yield from _find_bad_call(placed)


def _describe_missing_text(placed: _PlacedBlock) -> ReplayIssue:
    as_text = "text" in placed.block
    return ReplayIssue(
        code="thinking_as_text" if as_text else "thinking_field_missing",
        path=placed.path,
        what=(
            "thinking is under 'text'; its field here is 'thinking'"
            if as_text
            else "the field 'thinking' was left out, perhaps because it is empty"
        ),
        then=f"400 {_write_path(placed.path)}.thinking: Field required",
        cure="send the block unchanged, with its text under 'thinking', even if it is empty",
    )


def _describe_unsigned(placed: _PlacedBlock) -> ReplayIssue:
    field = _SIGNATURE_FIELDS[placed.kind]
    return ReplayIssue(
        code="seal_missing",
        path=placed.path,
        what=f"a {placed.kind} block without its {field}: one of a stream that was cut, or edited",
        then=f"400 {_write_path(placed.path)}.{field}: Field required, or an invalid {field}",
        cure="leave the block out, or send it back as the answer had it",
    )


def _find_bad_call(placed: _PlacedBlock) -> Iterator[ReplayIssue]:
    id = placed.block.get("id")
    if not (isinstance(id, str) and _ID.fullmatch(id)):
        yield ReplayIssue(
            code="bad_id",
            path=f"{placed.path}.id",
            what=f"the call's id {id!r} has characters that are not taken here",
            then="400 String should match pattern '^[a-zA-Z0-9_-]+$'",
            cure="give call and result the same new id of letters, digits, _ and -",
        )
    if not isinstance(placed.block.get("input"), dict):
        yield ReplayIssue(
            code="arguments_broken",
            path=f"{placed.path}.input",
            what="the arguments of a call are not an object: text, or pieces put together wrongly",
            then="400 tool_use.input: Input should be a valid dictionary",
            cure="parse the streamed pieces as one JSON text; the {} of the start is none of them",
        )


def _find_empty(found: list[_Turn]) -> Iterator[ReplayIssue]:
    bare = [turn.path for turn in found[:-1] if not turn.blocks]
    texts = [p.path for turn in found for p in turn.select("text") if p.block.get("text") == ""]
    for path in (*bare, *texts):
        yield ReplayIssue(
            code="message_empty",
            path=path,
            what="a message or a text that says nothing",
            then="400 all messages must have non-empty content; text content blocks must be "
            "non-empty",
            cure="leave it out",
        )


# -- calls and results ---------------------------------------------------------------------------


def _find_unpaired(found: list[_Turn]) -> Iterator[ReplayIssue]:
    for number, turn in enumerate(found):
        before = found[number - 1] if number else None
        after = found[number + 1] if number + 1 < len(found) else None
        called = {_id(p, "id") for p in before.select("tool_use")} if before else set()
        answered = {_id(p, "tool_use_id") for p in after.select("tool_result")} if after else set()
        for placed in turn.select("tool_use"):
            if _id(placed, "id") not in answered:
                yield ReplayIssue(
                    code="call_unanswered",
                    path=placed.path,
                    what=f"the call {_id(placed, 'id')!r} has no result in the next message",
                    then="400 `tool_use` ids were found without `tool_result` blocks immediately "
                    "after",
                    cure="put a tool_result for every call into the message right after it",
                )
        for placed in turn.select("tool_result"):
            if _id(placed, "tool_use_id") not in called:
                yield ReplayIssue(
                    code="result_uncalled",
                    path=placed.path,
                    what=f"the result {_id(placed, 'tool_use_id')!r} answers no call of the "
                    "message before it",
                    then="400 unexpected `tool_use_id` found in `tool_result` blocks",
                    cure="keep the call, or leave out its result too",
                )


def _find_duplicate_ids(found: list[_Turn]) -> Iterator[ReplayIssue]:
    seen: set[str] = set()
    for placed in (placed for turn in found for placed in turn.select("tool_use")):
        id = _id(placed, "id")
        if id in seen:
            yield ReplayIssue(
                code="id_twice",
                path=f"{placed.path}.id",
                what=f"the id {id!r} is of an earlier call too",
                then="400 `tool_use` ids must be unique",
                cure="send each call once, and give every call an id of its own",
            )
        seen.add(id)


def _id(placed: _PlacedBlock, key: str) -> str:
    return str(placed.block.get(key))


# -- thinking ------------------------------------------------------------------------------------


def _find_bare_loop(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    thinking = sent.body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    first = _find_loop_start(turns)
    if first is None or not first.blocks or first.blocks[0].kind in _THOUGHTS:
        return
    begin, given = first.blocks[0], _find_answer(sent, first)
    if given is not None and any(isinstance(part, Thinking) for part in given.message.parts):
        had = f"; the answer of exchange {given.number} began with thinking"
        cure = "send the answer's thinking blocks back first, unchanged"
    else:
        had, cure = "", "switch thinking off until the tools have answered"
    yield ReplayIssue(
        code="thinking_missing",
        path=begin.path,
        what=f"the open tool loop begins with {begin.kind}{had}",
        then=f"400 Expected `thinking` or `redacted_thinking`, but found `{begin.kind}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block",
        cure=cure,
    )


def _find_loop_start(turns: list[_Turn]) -> _Turn | None:
    at = len(turns) - 1
    while at >= 2 and turns[at].role == "user" and turns[at].select("tool_result"):
        at -= 2
    first = turns[at + 1] if at < len(turns) - 1 else None
    return first if first is not None and first.role == "assistant" else None


def _find_answer(sent: SentRequest, turn: _Turn) -> EarlierAnswer | None:
    answers = (sent.past.by_call_id(str(p.block.get("id"))) for p in turn.select("tool_use"))
    return next((given for given in answers if given is not None), None)


def _find_signature_issues(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    for turn in turns:
        answer = _find_answer(sent, turn)
        known = _sequence(answer) if answer else []
        for placed in turn.select(*_THOUGHTS):
            given = sent.past.by_signature(placed.signature) if placed.signature else None
            if given is not None:
                yield from _find_changed_signature(placed, given)
            elif placed.signature and placed.signature not in known and _wants_thinking_back(sent):
                yield from _find_unknown_signature(placed, answer)


def _find_changed_signature(placed: _PlacedBlock, given: EarlierAnswer) -> Iterator[ReplayIssue]:
    if given.model is not None and not _READER.search(given.model):
        yield ReplayIssue(
            code="seal_foreign",
            path=placed.path,
            what=f"this thinking was made by {given.model} (exchange {given.number})",
            then="400 Invalid `signature` in `thinking` block",
            cure="leave out what another model thought, or say it in the user's words",
        )
    elif placed.kind == "thinking" and not _is_as_given(placed, given):
        yield ReplayIssue(
            code="seal_changed",
            path=f"{placed.path}.thinking",
            what=f"the text is not what exchange {given.number} gave with this signature",
            then="400 `thinking` or `redacted_thinking` blocks in the latest assistant "
            "message cannot be modified",
            cure="send text and signature back byte for byte",
        )


def _find_unknown_signature(
    placed: _PlacedBlock, answer: EarlierAnswer | None
) -> Iterator[ReplayIssue]:
    field = _SIGNATURE_FIELDS[placed.kind]
    had = answer is not None and any(
        isinstance(part, Thinking) and part.signature for part in answer.message.parts
    )
    if not _is_base64(placed.signature):
        yield ReplayIssue(
            code="seal_broken",
            path=f"{placed.path}.{field}",
            what=f"the {field} is not base64: it was cut or rewritten",
            then=f"400 Invalid `{field}` in `{placed.kind}` block",
            cure="send it back byte for byte, or leave the block out",
        )
    elif answer is not None and had:
        yield ReplayIssue(
            code="seal_changed",
            path=f"{placed.path}.{field}",
            what=f"exchange {answer.number} gave its thinking another {field}",
            then=f"400 Invalid `{field}` in `{placed.kind}` block",
            cure="send text and signature back byte for byte",
        )


def _is_base64(text: str) -> bool:
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def _is_as_given(placed: _PlacedBlock, given: EarlierAnswer) -> bool:
    texts = {
        part.text
        for part in given.message.parts
        if isinstance(part, Thinking)
        and part.signature
        and placed.signature in str(part.signature.value)
    }
    return not texts or placed.block.get("thinking") in texts


def _find_moved(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    for turn in turns:
        given = _find_answer(sent, turn)
        was = _sequence(given) if given else []
        now = [(key, p) for p in turn.select(*_THOUGHTS, "tool_use") if (key := _key(p)) in was]
        there = {key for key, _ in now}
        order = [key for key in was if key in there]
        moved = (p for (key, p), due in zip(now, order, strict=False) if key != due)
        if given and (first := next(moved, None)):
            yield ReplayIssue(
                code="thinking_moved",
                path=first.path,
                what=f"thinking and calls are not in the order exchange {given.number} gave them",
                then="400 `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified",
                cure="send the answer back whole, in its own order",
            )


def _key(placed: _PlacedBlock) -> str:
    return placed.signature or str(placed.block.get("id"))


def _sequence(given: EarlierAnswer) -> list[str]:
    keys = []
    for part in given.message.parts:
        if isinstance(part, Thinking) and part.signature is not None:
            keys.append(str(part.signature.value))
        elif isinstance(part, ToolCall):
            keys.append(part.id)
    return keys


# -- what thinking is bound to (Anthropic, preserved thinking: vendor page, 2026-11-15) ------------


def _find_changed_prefix(sent: SentRequest, turns: list[_Turn]) -> Iterator[ReplayIssue]:
    """Find the first block whose prefix was changed since it was signed."""
    if sent.facts.replay != "required" or _drops(sent.body):
        return
    for placed in (
        placed for turn in turns for placed in turn.select(*_THOUGHTS) if placed.signature
    ):
        given = sent.past.by_signature(placed.signature)
        if given is None or not isinstance(given.request_body, dict):
            continue
        if changed := _find_change(given.request_body, sent.body, _number(placed.path)):
            yield ReplayIssue(
                code="prefix_changed",
                path=changed,
                what=f"the thinking at {placed.path} is bound to the content here in exchange "
                f"{given.number}, and that was changed",
                then=f"400 {_write_path(placed.path)}: Invalid `signature` in `thinking` block. "
                "The block is bound to a different conversation",
                cure="keep system, tools and every earlier message as they were, or set "
                'thinking.block_binding.prefix_mismatch_behavior to "drop_block"',
            )
            return


def _drops(body: Mapping[str, Json]) -> bool:
    thinking = body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    return isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"


def _find_change(asked: Mapping[str, Json], now: Mapping[str, Json], at: int) -> str | None:
    for key in ("system", "tools"):
        if _plain(asked.get(key)) != _plain(now.get(key)):
            return key
    before, after = asked.get("messages"), now.get("messages")
    if not isinstance(before, list) or not isinstance(after, list):
        return None
    for number, message in enumerate(before):
        if number >= at or _plain(message) != _plain(after[number]):
            return f"messages[{number}]"
    continues = bool(before) and isinstance(before[-1], dict) and before[-1].get("role") != "user"
    return None if at == len(before) or continues else f"messages[{len(before)}]"


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        kept = {key: _plain(inner) for key, inner in value.items() if key != "cache_control"}
        if isinstance(kept.get("content"), str) and "role" in kept:
            kept["content"] = [{"type": "text", "text": kept["content"]}]
        return kept
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _number(path: str) -> int:
    return int(path.partition("[")[2].partition("]")[0])


# -- off -----------------------------------------------------------------------------------------


def _find_off_conflict(sent: SentRequest) -> Iterator[ReplayIssue]:
    thinking, config = sent.body.get("thinking"), sent.body.get("output_config")
    if not isinstance(thinking, dict) or thinking.get("type") not in ("disabled", "between_tools"):
        return
    effort = config.get("effort") if isinstance(config, dict) else None
    allowed = sent.facts.off_efforts
    if effort is not None and allowed and effort not in allowed:
        yield ReplayIssue(
            code="off_refused",
            path="output_config.effort",
            what=f"thinking is {thinking['type']} with effort {effort!r}",
            then="400: thinking cannot be off at this effort",
            cure=f"leave effort out, or use one of {' '.join(allowed)}",
        )


# -- shared -------------------------------------------------------------------------------------


def _turns(body: Mapping[str, Json]) -> list[_Turn]:
    found: list[_Turn] = []
    messages = body.get("messages")
    for number, message in enumerate(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict) or message.get("role") == "system":
            continue
        path, role, content = f"messages[{number}]", message.get("role"), message.get("content")
        placed = [
            _PlacedBlock(f"{path}.content[{n}]", block)
            for n, block in enumerate(content if isinstance(content, list) else [])
            if isinstance(block, dict)
        ]
        if isinstance(content, str):
            placed = [_PlacedBlock(f"{path}.content", {"type": "text", "text": content})]
        if found and found[-1].role == role:
            found[-1].blocks.extend(placed)
        else:
            found.append(_Turn(str(role), path, placed))
    return found


def _wants_thinking_back(sent: SentRequest) -> bool:
    return sent.facts.replay in ("tools", "required")


def _write_path(path: str) -> str:
    return path.replace("[", ".").replace("]", "")


REPLAY_CHECKS = ReplayChecks(find_issues=find_issues, has_history=has_history)
