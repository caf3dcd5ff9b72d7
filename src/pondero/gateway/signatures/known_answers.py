"""What was restored of a conversation for its earlier requests, in the memo of conversations.

A turn that was restored is used again only if it is the same message, with the same entries of the
answer cache, and if the same envelopes open.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Message, dump_json
from ..state.conversation_memo import ConversationMemo
from .turns import ClientTurn, make_call_key, make_turn_key

_WEIGHT = 120  # bytes of a key, of a call's id, or of a place in a list
PutResults = Callable[[Message, Sequence[str | None]], Iterator[Message]]
"""Yields a message with the models' ids of its results."""


class RestoredTurn(Struct, frozen=True):
    """A turn as its models gave it; ``own``: their ids of its calls, by the client's."""

    messages: tuple[Message, ...]
    own: dict[str, str]
    withheld: tuple[str, ...]


class RestoredBeginning(Struct, frozen=True):
    """The beginning of a conversation as restored, and what restoring the rest depends on.

    ``turns``: how many answers it has, and ``keys`` theirs in the answer cache. ``own``, ``open``
    and ``answered`` are about calls: the models' ids, those without a result, those with one.
    """

    messages: tuple[Message, ...]
    turns: int
    own: Mapping[str, str]
    open: Mapping[str, int]
    answered: frozenset[str]
    withheld: tuple[str, ...]
    keys: tuple[str, ...] = ()


class KnownAnswers:
    """The restored turns of one client; ``opens`` is what decides which envelopes open."""

    def __init__(self, memo: ConversationMemo, client_dialect: str, opens: Hashable) -> None:
        self._memo = memo
        self._place = (client_dialect, opens)

    def find(
        self, turn: ClientTurn, client: str, found: Mapping[str, bytes]
    ) -> RestoredTurn | None:
        """Return a turn that was restored from the same; None if there is none."""
        if len(turn.messages) != 1:
            return None
        known = self._memo.recall(turn.messages[0], "restored", (self._place, turn.digest))
        if known is None:
            return None
        cached, restored = cast("tuple[list[bytes | None], RestoredTurn]", known)
        same = cached == [found.get(key) for key in recall_keys(turn, client, self._memo)]
        return restored if same else None

    def keep(
        self, turn: ClientTurn, client: str, found: Mapping[str, bytes], restored: RestoredTurn
    ) -> None:
        """Keep what a turn was restored to."""
        if len(turn.messages) != 1:
            return
        cached = [found.get(key) for key in recall_keys(turn, client, self._memo)]
        weight = sum(len(each) for each in cached if each is not None)
        weight += _weigh(restored.messages, turn.messages[0])
        fact = (cached, restored)
        key = (self._place, turn.digest)
        self._memo.note(turn.messages[0], "restored", key, fact, weight=weight)

    def find_beginning(
        self, messages: tuple[Message, ...], found: Mapping[str, bytes]
    ) -> tuple[int, RestoredBeginning] | None:
        """Return how many first messages were restored from the same, and to what."""
        known = self._memo.find_prefix(messages, "beginning", self._place)
        if known is None:
            return None
        count, state = known
        cached, begun = cast("tuple[list[bytes | None], RestoredBeginning]", state)
        return (count, begun) if cached == list(map(found.get, begun.keys)) else None

    def keep_beginning(
        self,
        messages: tuple[Message, ...],
        turns: Sequence[ClientTurn],
        client: str,
        *,
        found: Mapping[str, bytes],
        restored: RestoredBeginning,
        begun: RestoredBeginning | None,
    ) -> None:
        """Keep what a conversation was restored to; the next request continues it.

        ``begun``: what was known of it.
        """
        count, before = (0, ()) if begun is None else (begun.turns, begun.keys)
        new = turns[count:]
        if any(len(turn.messages) != 1 for turn in new):
            return
        more = [key for turn in new for key in recall_keys(turn, client, self._memo)]
        keys = (*before, *more)
        state = (list(map(found.get, keys)), replace(restored, keys=keys))
        weight = _WEIGHT * (len(keys) + len(restored.messages))  # entries and messages are kept
        self._memo.note_prefix(messages, "beginning", self._place, state, weight=weight)

    def put_results(
        self, message: Message, own: tuple[str | None, ...], put: PutResults
    ) -> tuple[Message, ...]:
        """Return a message of the user with these ids of results."""
        known = self._memo.recall(message, "results", own)
        if known is None:
            made = tuple(put(message, own))
            known = self._memo.note(message, "results", own, made, weight=_weigh(made, message))
        return cast("tuple[Message, ...]", known)


def recall_keys(
    turn: ClientTurn, client: str, memo: ConversationMemo | None = None
) -> tuple[str, ...]:
    """Return the cache keys of a turn's calls, and at the end that of the turn."""
    message = turn.messages[0]
    if memo is None or len(turn.messages) != 1:
        return _make_keys(turn, client)
    known = memo.recall(message, "keys", (client, turn.digest))
    if known is None:
        known = memo.note(message, "keys", (client, turn.digest), _make_keys(turn, client))
    return cast("tuple[str, ...]", known)


def _make_keys(turn: ClientTurn, client: str) -> tuple[str, ...]:
    calls = (make_call_key(call.id, client=client) for call in turn.calls)
    return (*calls, make_turn_key(turn.digest, client=client))


def _weigh(messages: Sequence[Message], like: Message) -> int:
    """Return about how many bytes messages take that were made from another."""
    return 3 * sum(len(dump_json(each)) for each in messages if each is not like)
