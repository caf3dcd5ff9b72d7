"""The characters of all texts in a client's body; those of known turns are not counted again."""

from typing import cast

from msgspec import Raw

from ...exchange import measure_json, write_fields
from ...framing import parse_json_or_none
from ..requests.split_body import SplitBody
from ..state.conversation_memo import ConversationMemo

_FACT = ("characters", None)  # of a conversation, in the memo
_WEIGHT = 200  # bytes of a size


def measure_body(body: bytes, memo: ConversationMemo | None) -> int:
    """Return the characters of all texts in a body; 0 if it cannot be read."""
    if memo is None or not isinstance(body, SplitBody):
        return _measure(body)
    size = _measure(write_fields({body.name: Raw(b"[]")})) + _measure_turns(body, memo)
    return size + sum([_measure_field(body, name) for name in body.fields if name != body.name])


def _measure(data: bytes) -> int:
    return measure_json(parse_json_or_none(data))


def _measure_field(body: SplitBody, name: str) -> int:
    """Return the size of a field and its name; a long one is known by its bytes."""
    known, raw = body.known.get(name), body.fields[name]
    if known is None:
        return _measure(write_fields({name: raw}))
    return known.read((*_FACT, name), lambda: _measure(write_fields({name: raw})))


def _measure_turns(body: SplitBody, memo: ConversationMemo) -> int:
    """Return the size of all turns, and keep that of the beginnings that are remembered."""
    known = body.begun.read.facts.get(_FACT)
    at, size = (0, 0) if known is None else (body.begun.count, cast("int", known[0]))
    ends = {len(each.turns.texts): each for each in body.remembered}
    for end in sorted({*ends, len(body.turns)}):
        if end <= at:
            continue
        size += _measure(b"[%b]" % b",".join(body.turns[at:end]))
        at = end
        if end in ends:
            memo.note_conversation(ends[end], *_FACT, size, weight=_WEIGHT)
    return size
