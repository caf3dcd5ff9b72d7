"""The turns of a request as a model gets them, and the keys of its conversation up to each.

Under these keys the gateway finds the levels of a conversation again (``level_window``).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import cast

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ...canon import Json, WrittenBody, get_decoder
from ...catalog import ModelEntry
from ...dialects import get_dialect
from ..requests.split_body import SplitBody, read_fields
from ..state.conversation_memo import ConversationMemo

REACH = 64
"""How many turns may have come since the last request that continues here."""

_KEY = 90  # bytes of a key
_FACT = "levels"  # of a conversation, in the memo
_TURNS = get_decoder(list[Raw])
_TURN = get_decoder(dict[str, Json])
# Clients move their cache breakpoints, and a text that has none is often written without its list:
# the turn is the same. Inside a text, the quotes of these names would be escaped.
_MARK = rb'"(?:cache_control|prompt_cache_breakpoint)"\s*:\s*(?:\{[^{}]*\}|null)'
_BREAKPOINTS = (b'"cache_control"', b'"prompt_cache_breakpoint"')
_BREAKPOINT = re.compile(rb",\s*%b|%b\s*,\s*" % (_MARK, _MARK))
_ONE_TEXT = re.compile(
    rb'("content"\s*:\s*)\[\s*\{\s*"type"\s*:\s*"(?:input_)?text"\s*,\s*'
    rb'"text"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")\s*\}\s*\]'
)


class BegunKeys(Struct, frozen=True):
    """The keys of a conversation up to some turn, the newest last, and the digest for more.

    ``turns``: those turns as they are sent, if they are written for the model. ``own``: those
    of the client that set a level.
    """

    count: int
    digest: blake2b
    keys: tuple[str, ...] = ()
    turns: tuple[bytes, ...] = ()
    own: frozenset[int] = frozenset()


class SentTurns(Struct, frozen=True):
    """A body whose conversation may get turns that set a level; ``fields`` are at least its others.

    ``own``: the turns of the client that set one. ``begun``: the keys of its first turns.
    ``is_split``: they are the client's own bytes.
    """

    fields: Mapping[str, Raw]
    name: str
    turns: tuple[bytes, ...]
    own: frozenset[int] = frozenset()
    is_split: bool = False
    begun: BegunKeys | None = None


def read_turns(body: bytes, entry: ModelEntry, *, client: bytes, owner: str) -> SentTurns | None:
    """Return the conversation of a body; None if it has none.

    ``client`` is the client's body, and ``owner`` whose conversation with which model it is.
    """
    places = get_dialect(entry.provider.dialect).service().depth
    fields, turns = _read_fields(body, places.turns)
    if not turns:
        return None
    begun, is_split = _find_begun(client, owner), isinstance(body, SplitBody)
    marks = [f'"{mark}"'.encode() for mark in places.marks]
    if isinstance(body, SplitBody):
        begun = None if begun is None or begun.turns else begun
        if not any(map(body.has_in_turns, marks)):
            return SentTurns(fields, places.turns, turns, is_split=True, begun=begun)
    elif begun is not None and begun.turns and turns[: begun.count] == begun.turns:
        turns = (*begun.turns, *turns[begun.count :])  # the same bytes are kept once
    else:
        begun = None
    is_known = begun is not None and bool(begun.turns)
    count, own = (begun.count, begun.own) if begun is not None and is_known else (0, frozenset())
    for at, turn in enumerate(turns[count:], count):
        if any(mark in turn for mark in marks) and _sets_level(turn, places.marks):
            own |= {at}
    return SentTurns(fields, places.turns, turns, own, is_split, begun)


def _read_fields(body: bytes, name: str) -> tuple[Mapping[str, Raw], tuple[bytes, ...]]:
    """Return the fields of a body, and the turns in the field of this name."""
    if isinstance(body, WrittenBody) and body.name == name:
        return body.fields, body.turns
    fields = read_fields(body)
    if name not in fields:
        return fields, ()
    return fields, tuple(body.turns) if isinstance(body, SplitBody) else _split(fields[name])


def _find_begun(client: bytes, owner: str) -> BegunKeys | None:
    """Return the keys of the beginning of a conversation, if this process knows it."""
    if not isinstance(client, SplitBody):
        return None
    known = client.begun.read.facts.get((_FACT, owner))
    return None if known is None else cast("BegunKeys", known[0])


def _split(turns: Raw) -> tuple[bytes, ...]:
    try:
        return tuple(map(bytes, _TURNS.decode(turns)))
    except msgspec.DecodeError:  # one text, which is a turn of the user
        return (b'{"role":"user","content":%b}' % bytes(turns),)


def _sets_level(turn: bytes, marks: Sequence[str]) -> bool:
    """Return whether a turn sets a level; such a name may also be in a tool's arguments."""
    decoded = _TURN.decode(turn)
    return any(mark in decoded or decoded.get("type") == mark for mark in marks)


def list_level_keys(
    memo: ConversationMemo, sent: SentTurns, *, client: bytes, owner: str
) -> tuple[str, ...]:
    """Return the keys of a conversation after each of its last turns, the newest last.

    Turns of earlier requests are not read again: ``memo`` keeps the digest up to them.
    """
    remembered = client.remembered if isinstance(client, SplitBody) else ()
    ends = {len(each.turns.texts): each for each in remembered}
    *states, last = _iter_keys(sent, owner, ends=ends if sent.is_split else ())
    if sent.is_split:  # the memo has these turns
        for state in (*states, last):
            if state.count in ends:
                weight = _KEY * len(state.keys)
                memo.note_conversation(ends[state.count], _FACT, owner, state, weight=weight)
        return last.keys
    state = (*states, last)[0]
    own = frozenset(at for at in sent.own if at < state.count)
    state = replace(state, turns=sent.turns[: state.count], own=own)
    begun = 0 if sent.begun is None else sent.begun.count  # these bytes are kept already
    weight = _KEY * len(state.keys) + sum(map(len, state.turns[begun:]))
    for end in remembered:
        memo.note_conversation(end, _FACT, owner, state, weight=weight)
        weight = 0
    return last.keys


def _iter_keys(sent: SentTurns, owner: str, *, ends: Collection[int]) -> Iterator[BegunKeys]:
    """Yield the keys of a conversation before these turns, and in the end all keys.

    Without ``ends``, also before the first new turn with a breakpoint, which the next request has
    further on.
    """
    begun = sent.begun or BegunKeys(0, _begin_digest(owner))
    digest, keys, is_marked = begun.digest.copy(), [*begun.keys], bool(ends)
    for number, turn in enumerate(sent.turns[begun.count :], begun.count):
        bare = _drop_breakpoints(turn)
        if number in ends or (bare is not turn and not is_marked and number):
            is_marked = True
            yield BegunKeys(number, digest.copy(), tuple(keys[-REACH:]))
        keys.append(_add_turn(digest, bare))
    yield BegunKeys(len(sent.turns), digest, tuple(keys[-REACH:]))


class FirstKeys(Struct, frozen=True):
    """The keys of conversations after their only turn, which differ in a plain text alone.

    ``before`` and ``after``: what counts of the turn around the text.
    """

    digest: blake2b
    before: bytes
    after: bytes

    def find(self, text: bytes) -> str:
        """Return the key of the conversation with this text, as ``list_level_keys`` does."""
        return _add_same(self.digest.copy(), b"%b%b%b" % (self.before, text, self.after))


def find_first_keys(turn: bytes, text: bytes, owner: str) -> FirstKeys | None:
    """Return the keys of conversations with other texts in a turn; None if the text recurs."""
    same, quoted = _ONE_TEXT.sub(_join_groups, _drop_breakpoints(turn)), b'"%b"' % text
    if same.count(quoted) != 1:
        return None
    before, _, after = same.partition(quoted)
    return FirstKeys(_begin_digest(owner), b'%b"' % before, b'"%b' % after)


def _begin_digest(owner: str) -> blake2b:
    return blake2b(owner.encode(), digest_size=16)


def _add_turn(digest: blake2b, turn: bytes) -> str:
    """Return the key of a conversation that a turn continues, which is without breakpoints."""
    return _add_same(digest, _ONE_TEXT.sub(_join_groups, turn))


def _add_same(digest: blake2b, same: bytes) -> str:
    digest.update(b"%d:%b" % (len(same), same))
    return f"level:{digest.hexdigest()}"


def _join_groups(found: re.Match[bytes]) -> bytes:
    """Return what stays of a match; to expand a template takes several times as long."""
    return found[1] + found[2]


def _drop_breakpoints(turn: bytes) -> bytes:
    """Return a turn without cache breakpoints; nearly none has one, and the search is slow."""
    return _BREAKPOINT.sub(b"", turn) if any(map(turn.__contains__, _BREAKPOINTS)) else turn
