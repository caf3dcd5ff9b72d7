"""Where a conversation sent back over this wire is refused, or loses thinking.

The caller's own reading of the rules for replay; the service's side is not asked.
"""

import re
from collections.abc import Iterator, Mapping

from pondero.canon import Json
from pondero.dialects.dialect import Sent, Trap

from .astray import astray, dotted, signs
from .turns import SEALS, THOUGHTS, Placed, Turn, turns

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def traps(sent: Sent) -> list[Trap]:
    """Return what of this request's past the service refuses, or loses."""
    found = turns(sent.body)
    return [
        *_shapes(sent, found),
        *_empty(found),
        *_pairs(found),
        *_twice(found),
        *astray(sent, found),
        *_off(sent),
    ]


def has_past(body: Mapping[str, Json]) -> bool:
    """Return whether a request sends back what a model said."""
    return any(turn.role == "assistant" for turn in turns(body))


# -- one block by itself -------------------------------------------------------------------------


def _shapes(sent: Sent, found: list[Turn]) -> Iterator[Trap]:
    for turn in found:
        for placed in turn.blocks:
            if placed.kind == "thinking" and not isinstance(placed.block.get("thinking"), str):
                yield _unfielded(placed)
            if placed.kind in THOUGHTS and not placed.seal and signs(sent):
                yield _unsealed(placed)
            if placed.kind == "tool_use":
                yield from _call(placed)


def _signs(sent: Sent) -> bool:
    """Return whether the catalog says that this model wants its thinking back."""
    return sent.facts.replay in ("tools", "required")


def _unfielded(placed: Placed) -> Trap:
    as_text = "text" in placed.block
    return Trap(
        code="thinking_as_text" if as_text else "thinking_field_missing",
        path=placed.path,
        what=(
            "thinking stands under 'text'; its field here is 'thinking'"
            if as_text
            else "the field 'thinking' was left out, perhaps because it is empty"
        ),
        then=f"400 {dotted(placed.path)}.thinking: Field required",
        cure="send the block as it came, with its text under 'thinking', be it empty",
    )


def _unsealed(placed: Placed) -> Trap:
    field = SEALS[placed.kind]
    return Trap(
        code="seal_missing",
        path=placed.path,
        what=f"a {placed.kind} block without its {field}: one of a stream that was cut, or edited",
        then=f"400 {dotted(placed.path)}.{field}: Field required, or an invalid {field}",
        cure="leave the block out, or send it back as the answer had it",
    )


def _call(placed: Placed) -> Iterator[Trap]:
    id = placed.block.get("id")
    if not (isinstance(id, str) and _ID.fullmatch(id)):
        yield Trap(
            code="bad_id",
            path=f"{placed.path}.id",
            what=f"the call's id {id!r} has characters that are not taken here",
            then="400 String should match pattern '^[a-zA-Z0-9_-]+$'",
            cure="give call and result the same new id of letters, digits, _ and -",
        )
    if not isinstance(placed.block.get("input"), dict):
        yield Trap(
            code="arguments_broken",
            path=f"{placed.path}.input",
            what="the arguments of a call are not an object: text, or pieces put together wrongly",
            then="400 tool_use.input: Input should be a valid dictionary",
            cure="parse the streamed pieces as one JSON text; the {} of the start is none of them",
        )


def _empty(found: list[Turn]) -> Iterator[Trap]:
    """Find what is left of turns whose thinking was taken out: no content, or words without any."""
    bare = [turn.path for turn in found[:-1] if not turn.blocks]
    texts = [p.path for turn in found for p in turn.of("text") if p.block.get("text") == ""]
    for path in (*bare, *texts):
        yield Trap(
            code="message_empty",
            path=path,
            what="a message or a text that says nothing",
            then="400 all messages must have non-empty content; text content blocks must be "
            "non-empty",
            cure="leave it out",
        )


# -- calls and results ---------------------------------------------------------------------------


def _pairs(found: list[Turn]) -> Iterator[Trap]:
    for number, turn in enumerate(found):
        before = found[number - 1] if number else None
        after = found[number + 1] if number + 1 < len(found) else None
        called = {_id(p, "id") for p in before.of("tool_use")} if before else set()
        answered = {_id(p, "tool_use_id") for p in after.of("tool_result")} if after else set()
        for placed in turn.of("tool_use"):
            if _id(placed, "id") not in answered:
                yield Trap(
                    code="call_unanswered",
                    path=placed.path,
                    what=f"the call {_id(placed, 'id')!r} has no result in the next message",
                    then="400 `tool_use` ids were found without `tool_result` blocks immediately "
                    "after",
                    cure="put a tool_result for every call into the message right after it",
                )
        for placed in turn.of("tool_result"):
            if _id(placed, "tool_use_id") not in called:
                yield Trap(
                    code="result_uncalled",
                    path=placed.path,
                    what=f"the result {_id(placed, 'tool_use_id')!r} answers no call of the "
                    "message before it",
                    then="400 unexpected `tool_use_id` found in `tool_result` blocks",
                    cure="keep the call, or leave out its result too",
                )


def _twice(found: list[Turn]) -> Iterator[Trap]:
    seen: set[str] = set()
    for placed in (placed for turn in found for placed in turn.of("tool_use")):
        id = _id(placed, "id")
        if id in seen:
            yield Trap(
                code="id_twice",
                path=f"{placed.path}.id",
                what=f"the id {id!r} is of an earlier call too",
                then="400 `tool_use` ids must be unique",
                cure="send each call once, and give every call an id of its own",
            )
        seen.add(id)


def _id(placed: Placed, key: str) -> str:
    return str(placed.block.get(key))


# -- off -----------------------------------------------------------------------------------------


def _off(sent: Sent) -> Iterator[Trap]:
    thinking, config = sent.body.get("thinking"), sent.body.get("output_config")
    if not isinstance(thinking, dict) or thinking.get("type") not in ("disabled", "between_tools"):
        return
    effort = config.get("effort") if isinstance(config, dict) else None
    allowed = sent.facts.off_efforts
    if effort is not None and allowed and effort not in allowed:
        yield Trap(
            code="off_refused",
            path="output_config.effort",
            what=f"thinking is {thinking['type']} beside effort {effort!r}",
            then="400: thinking cannot be off at this effort",
            cure=f"leave effort out, or use one of {' '.join(allowed)}",
        )
