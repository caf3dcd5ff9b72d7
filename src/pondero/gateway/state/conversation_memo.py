"""Remembers conversations that were read, so that the next request costs only its new turns.

Messages are found by a digest of all bytes that they were read from. Facts about a message are kept
with it, under everything that they depend on. All of it can be computed again, so the oldest is
forgotten when there is no room.
"""

from collections import OrderedDict
from collections.abc import Hashable
from operator import is_
from typing import TypeVar, cast

from msgspec import Struct

from ...canon import Message

T = TypeVar("T")

REMEMBERED_SHARE = 4
"""A quarter of the memory for answers is for conversations."""

_OVERHEAD = 600  # bytes of a message, or of a conversation, in addition to its content
_DECODED = 3  # times its bytes: what a message takes, and its key
_REACH = 8  # messages that may have come since what is known of a conversation
_FACTS = 12  # of one message; more are of conversations that branched there


class KnownConversation(Struct, frozen=True):
    """The messages of a conversation, and the bytes that each was read from."""

    messages: tuple[Message, ...] = ()
    sizes: tuple[int, ...] = ()


class ConversationMemo:
    """Conversations of all clients, of ``size`` bytes; a client's keys are its own."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._conversations: OrderedDict[bytes, KnownConversation] = OrderedDict()
        self._messages: dict[int, _MessageFacts] = {}
        self._states: OrderedDict[bytes, tuple[object, int]] = OrderedDict()

    @property
    def used(self) -> int:
        """Return the bytes in use, as far as they are known."""
        return self._used

    def __len__(self) -> int:
        return len(self._conversations)

    def find(self, key: bytes) -> KnownConversation | None:
        """Return a conversation; None if it is not known."""
        found = self._conversations.get(key)
        if found is not None:
            self._conversations.move_to_end(key)
        return found

    def keep(self, key: bytes, conversation: KnownConversation) -> None:
        """Remember a conversation; messages that several begin with are counted once."""
        if key in self._conversations or self._size <= 0:
            return
        self._conversations[key] = conversation
        self._used += _weigh(conversation)
        for message, size in zip(conversation.messages, conversation.sizes, strict=True):
            known = self._messages.get(id(message))
            if known is None:
                weight = _OVERHEAD + _DECODED * size
                self._messages[id(message)] = _MessageFacts(message, weight)
                self._used += weight
            else:
                known.uses += 1
        self._make_room()

    def recall(self, message: Message, name: str, key: Hashable) -> object | None:
        """Return what was found out about a message under this key; None if that is not known."""
        known = self._messages.get(id(message))
        return None if known is None else known.facts.get((name, key))

    def note(self, message: Message, name: str, key: Hashable, fact: T, *, weight: int = 0) -> T:
        """Keep what was found out about a message, if that is remembered; return the same."""
        known = self._messages.get(id(message))
        if known is None:
            return fact
        if len(known.facts) >= _FACTS:
            self._drop_facts(known)
        known.facts[name, key] = fact
        known.weight += weight + _OVERHEAD
        self._used += weight + _OVERHEAD
        self._make_room()
        return fact

    def find_prefix(
        self, messages: tuple[Message, ...], name: str, key: Hashable
    ) -> tuple[int, object] | None:
        """Return how many first messages something is known of, and what; None if of none."""
        size = len(messages)
        for count in range(size, max(0, size - _REACH), -1):
            known = self._messages.get(id(messages[count - 1]))
            found = None if known is None else known.facts.get((name, (count, key)))
            if found is not None:
                before, state = cast("tuple[tuple[Message, ...], object]", found)
                if all(map(is_, before, messages)):
                    return count, state
        return None

    def note_prefix(
        self,
        messages: tuple[Message, ...],
        name: str,
        key: Hashable,
        state: object,
        *,
        weight: int = 0,
    ) -> None:
        """Keep what is known of these messages, in this order, with the last of them."""
        if messages:
            fact = (messages, state)
            weight += 24 * len(messages)
            self.note(messages[-1], name, (len(messages), key), fact, weight=weight)

    def find_state(self, key: bytes) -> object | None:
        """Return what was kept of a conversation under this key; None if nothing was."""
        return self._states.get(key, (None, 0))[0]

    def keep_state(self, key: bytes, state: object, *, weight: int) -> None:
        """Keep what was computed from a conversation, so that a longer one continues there."""
        if key not in self._states and self._size > 0:
            self._states[key] = (state, weight + _OVERHEAD)
            self._used += weight + _OVERHEAD
            self._make_room()

    def _drop_facts(self, known: "_MessageFacts") -> None:
        known.facts.clear()
        self._used -= known.weight - known.own
        known.weight = known.own

    def _make_room(self) -> None:
        while self._used > self._size and (self._conversations or self._states):
            if len(self._states) > len(self._conversations):
                _, (_, weight) = self._states.popitem(last=False)
                self._used -= weight
            else:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        _, conversation = self._conversations.popitem(last=False)
        self._used -= _weigh(conversation)
        for message in conversation.messages:
            known = self._messages[id(message)]
            known.uses -= 1
            if not known.uses:
                del self._messages[id(message)]
                self._used -= known.weight


class _MessageFacts:
    """A message, which it keeps alive, so that no other has the same identity."""

    __slots__ = ("facts", "message", "own", "uses", "weight")

    def __init__(self, message: Message, weight: int) -> None:
        self.message = message
        self.own = weight
        self.weight = weight
        self.uses = 1
        self.facts: dict[tuple[str, Hashable], object] = {}


def _weigh(conversation: KnownConversation) -> int:
    return _OVERHEAD + 16 * len(conversation.messages)
