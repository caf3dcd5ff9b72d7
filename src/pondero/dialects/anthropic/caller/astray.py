"""Thinking that is sent back: whether it is there, whole, in its place, and where it was made.

The caller's own reading of the rules; the service's side is not asked.
"""

import re
from collections.abc import Iterator, Mapping

from pondero.canon import Json, Thinking, ToolCall
from pondero.dialects.dialect import Given, Sent, Trap

from .turns import SEALS, THOUGHTS, Placed, Turn

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_READER = re.compile(r"claude", re.IGNORECASE)  # its signatures are read on every route to it


def astray(sent: Sent, found: list[Turn]) -> list[Trap]:
    """Return where thinking of the past is missing, changed, moved or bound to something else."""
    return [
        *_begin(sent, found),
        *_seals(sent, found),
        *_order(sent, found),
        *_prefix(sent, found),
    ]


def signs(sent: Sent) -> bool:
    """Return whether the catalog says that this model wants its thinking back."""
    return sent.facts.replay in ("tools", "required")


def dotted(path: str) -> str:
    """Return a place as this service writes it: messages.1.content.0."""
    return path.replace("[", ".").replace("]", "")


def _begin(sent: Sent, turns: list[Turn]) -> Iterator[Trap]:
    """Find a tool loop still open that does not begin with thinking, while that is enabled."""
    thinking = sent.body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    first = _opening(turns)
    if first is None or not first.blocks or first.blocks[0].kind in THOUGHTS:
        return
    begin, given = first.blocks[0], _answer(sent, first)
    if given is not None and any(isinstance(part, Thinking) for part in given.message.parts):
        had = f"; the answer of exchange {given.number} began with thinking"
        cure = "send the answer's thinking blocks back first, unchanged"
    else:
        had, cure = "", "switch thinking off until the tools have answered"
    yield Trap(
        code="thinking_missing",
        path=begin.path,
        what=f"the open tool loop begins with {begin.kind}{had}",
        then=f"400 Expected `thinking` or `redacted_thinking`, but found `{begin.kind}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block",
        cure=cure,
    )


def _opening(turns: list[Turn]) -> Turn | None:
    """Return the turn that began the tool loop whose results come last."""
    at = len(turns) - 1
    while at >= 2 and turns[at].role == "user" and turns[at].of("tool_result"):
        at -= 2
    first = turns[at + 1] if at < len(turns) - 1 else None
    return first if first is not None and first.role == "assistant" else None


def _answer(sent: Sent, turn: Turn) -> Given | None:
    """Return the answer a turn is from, by the calls it makes."""
    answers = (sent.past.of_call(str(p.block.get("id"))) for p in turn.of("tool_use"))
    return next((given for given in answers if given is not None), None)


def _seals(sent: Sent, turns: list[Turn]) -> Iterator[Trap]:
    for turn in turns:
        answer = _answer(sent, turn)
        known = _sequence(answer) if answer else []
        for placed in turn.of(*THOUGHTS):
            given = sent.past.of_seal(placed.seal) if placed.seal else None
            if given is not None:
                yield from _unlike(placed, given)
            elif placed.seal and placed.seal not in known and signs(sent):
                yield from _unknown(placed, answer)


def _unlike(placed: Placed, given: Given) -> Iterator[Trap]:
    """Find thinking of another maker, or with another text than it was signed with."""
    if given.model is not None and not _READER.search(given.model):
        yield Trap(
            code="seal_foreign",
            path=placed.path,
            what=f"this thinking was made by {given.model} (exchange {given.number})",
            then="400 Invalid `signature` in `thinking` block",
            cure="leave out what another model thought, or say it in the user's words",
        )
    elif placed.kind == "thinking" and not _is_as_given(placed, given):
        yield Trap(
            code="seal_changed",
            path=f"{placed.path}.thinking",
            what=f"the text is not what exchange {given.number} gave with this signature",
            then="400 `thinking` or `redacted_thinking` blocks in the latest assistant "
            "message cannot be modified",
            cure="send text and signature back byte for byte",
        )


def _unknown(placed: Placed, answer: Given | None) -> Iterator[Trap]:
    """Find a signature that cannot be one, or that the answer did not have."""
    field = SEALS[placed.kind]
    had = answer is not None and any(
        isinstance(part, Thinking) and part.seal for part in answer.message.parts
    )
    if not _is_base64(placed.seal):
        yield Trap(
            code="seal_broken",
            path=f"{placed.path}.{field}",
            what=f"the {field} is not base64: it was cut or written anew",
            then=f"400 Invalid `{field}` in `{placed.kind}` block",
            cure="send it back byte for byte, or leave the block out",
        )
    elif answer is not None and had:
        yield Trap(
            code="seal_changed",
            path=f"{placed.path}.{field}",
            what=f"exchange {answer.number} gave its thinking another {field}",
            then=f"400 Invalid `{field}` in `{placed.kind}` block",
            cure="send text and signature back byte for byte",
        )


def _is_base64(text: str) -> bool:
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def _is_as_given(placed: Placed, given: Given) -> bool:
    texts = {
        part.text
        for part in given.message.parts
        if isinstance(part, Thinking) and part.seal and placed.seal in str(part.seal.value)
    }
    return not texts or placed.block.get("thinking") in texts


def _order(sent: Sent, turns: list[Turn]) -> Iterator[Trap]:
    """Find thinking that stands elsewhere among the calls than in the answer it is from."""
    for turn in turns:
        given = _answer(sent, turn)
        was = _sequence(given) if given else []
        now = [(key, p) for p in turn.of(*THOUGHTS, "tool_use") if (key := _key(p)) in was]
        there = {key for key, _ in now}
        order = [key for key in was if key in there]
        moved = (p for (key, p), due in zip(now, order, strict=False) if key != due)
        if given and (first := next(moved, None)):
            yield Trap(
                code="thinking_moved",
                path=first.path,
                what=f"thinking and calls are not in the order exchange {given.number} gave them",
                then="400 `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified",
                cure="send the answer back whole, in its own order",
            )


def _key(placed: Placed) -> str:
    return placed.seal or str(placed.block.get("id"))


def _sequence(given: Given) -> list[str]:
    """Return the seals and the ids of calls in an answer, in order."""
    keys = []
    for part in given.message.parts:
        if isinstance(part, Thinking) and part.seal is not None:
            keys.append(str(part.seal.value))
        elif isinstance(part, ToolCall):
            keys.append(part.id)
    return keys


# -- what thinking is bound to -------------------------------------------------------------------


def _prefix(sent: Sent, turns: list[Turn]) -> Iterator[Trap]:
    """Find the first block that is bound to another beginning than it now has."""
    if sent.facts.replay != "required" or _drops(sent.body):
        return
    for placed in (placed for turn in turns for placed in turn.of(*THOUGHTS) if placed.seal):
        given = sent.past.of_seal(placed.seal)
        if given is None or not isinstance(given.asked, dict):
            continue
        if changed := _changed(given.asked, sent.body, _number(placed.path)):
            yield Trap(
                code="prefix_changed",
                path=changed,
                what=f"the thinking at {placed.path} is bound to what stood here in exchange "
                f"{given.number}, and that was changed",
                then=f"400 {dotted(placed.path)}: Invalid `signature` in `thinking` block. The "
                "block is bound to a different conversation",
                cure="keep system, tools and every earlier message as they were, or set "
                'thinking.block_binding.prefix_mismatch_behavior to "drop_block"',
            )
            return


def _drops(body: Mapping[str, Json]) -> bool:
    thinking = body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    return isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"


def _changed(asked: Mapping[str, Json], now: Mapping[str, Json], at: int) -> str | None:
    """Return the first place before a message that is not as it was when it was answered."""
    for key in ("system", "tools"):
        if _plain(asked.get(key)) != _plain(now.get(key)):
            return key
    before, after = asked.get("messages"), now.get("messages")
    if not isinstance(before, list) or not isinstance(after, list):
        return None
    for number, message in enumerate(before):
        if number >= at or _plain(message) != _plain(after[number]):
            return f"messages[{number}]"
    goes_on = bool(before) and isinstance(before[-1], dict) and before[-1].get("role") != "user"
    return None if at == len(before) or goes_on else f"messages[{len(before)}]"


def _plain(value: Json) -> Json:
    """Return it without cache marks, which may come and go, and with words as a block."""
    if isinstance(value, dict):
        kept = {key: _plain(inner) for key, inner in value.items() if key != "cache_control"}
        if isinstance(kept.get("content"), str) and "role" in kept:
            kept["content"] = [{"type": "text", "text": kept["content"]}]
        return kept
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _number(path: str) -> int:
    return int(path.partition("[")[2].partition("]")[0])
