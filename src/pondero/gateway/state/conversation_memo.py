"""Remembers conversations that were read, so that the next request costs only its new turns.

A conversation is found by all bytes that it was read from. Facts about a message are kept with it,
under everything that they depend on. All of it can be computed again, so the oldest is forgotten
when there is no room.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from operator import is_
from typing import TypeVar, cast

from msgspec import Struct, field

from ...canon import Message
from .searched_text import SearchedText

T = TypeVar("T")

REMEMBERED_SHARE = 2
"""Half of the memory for answers is for conversations."""

_OVERHEAD = 600  # bytes of a message, or of a conversation, in addition to its content
_DECODED = 4  # times its bytes: what a message takes, and the bytes themselves
_REACH = 8  # messages that may have come since what is known of a conversation
_END = 800  # bytes of the key by which a conversation is found
_AT_END = ("end", None)
_NONE = (None, 0)
_OPENINGS = 1_024  # clients, and addresses that they use
_FACTS = 16  # of one message; more are of conversations that branched there


def find_last_answer(messages: Sequence[Message]) -> int:
    """Return where the last answer of a conversation begins; 0 if it has none.

    What is known of the messages before it serves both a request that continues the conversation
    and one that asks something else in the place of its last question.
    """
    at = len(messages)
    while at and messages[at - 1].role != "assistant":
        at -= 1
    while at and messages[at - 1].role == "assistant":
        at -= 1
    return at


class KnownConversation(Struct, frozen=True):
    """The messages of a conversation, the number of bytes of each, and the bytes of its turns.

    ``about``: whose it is, and what else reading it depended on. ``facts`` are about these turns,
    each with its weight.
    """

    about: bytes = b""
    messages: tuple[Message, ...] = ()
    sizes: tuple[int, ...] = ()
    turns: SearchedText = SearchedText()
    facts: dict[tuple[str, Hashable], tuple[object, int]] = field(default_factory=dict)


class ConversationMemo:
    """Conversations of all clients, of ``size`` bytes; a client's are its own."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._conversations: OrderedDict[Hashable, KnownConversation] = OrderedDict()
        self._messages: dict[int, _MessageFacts] = {}
        self._texts: OrderedDict[bytes, SearchedText] = OrderedDict()
        self._ends: dict[Hashable, KnownConversation] = {}
        self._openings: OrderedDict[Hashable, bytes] = OrderedDict()

    @property
    def used(self) -> int:
        """Return the bytes in use, as far as they are known."""
        return self._used

    def __len__(self) -> int:
        return len(self._conversations)

    def find(self, about: bytes, turns: Sequence[bytes], count: int) -> KnownConversation | None:
        """Return the conversation with the first turns of these; None if it is not known."""
        key = (about, count, turns[count - 1])
        found = self._conversations.get(key)
        if found is None or found.turns.texts != tuple(turns[:count]):
            return None
        self._conversations.move_to_end(key)
        return found

    def keep(self, conversation: KnownConversation) -> KnownConversation:
        """Remember a conversation; messages that several begin with are counted once."""
        key = _make_key(conversation)
        known = self._conversations.get(key)
        if known is not None and known.turns.texts == conversation.turns.texts:
            return known
        if self._size <= 0:
            return conversation
        if known is not None:
            self._forget(key)
        self._conversations[key] = conversation
        self._used += _weigh(conversation)
        for message, size in zip(conversation.messages, conversation.sizes, strict=True):
            facts = self._messages.get(id(message))
            if facts is None:
                weight = _OVERHEAD + _DECODED * size
                self._messages[id(message)] = _MessageFacts(message, weight)
                self._used += weight
            else:
                facts.uses += 1
        self._make_room()
        return conversation

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

    def note_conversation(
        self, known: KnownConversation, name: str, key: Hashable, fact: object, *, weight: int
    ) -> None:
        """Keep what was found out about the turns of a conversation, as long as it is known."""
        if self._is_kept(known) and (name, key) not in known.facts and len(known.facts) < _FACTS:
            known.facts[name, key] = (fact, weight)
            self._used += weight
            self._make_room()

    def note_end(self, known: KnownConversation, end: Hashable, fact: object) -> None:
        """Let a conversation be found by where its last turn ends in a body, and how."""
        self.note_conversation(known, "end", None, (end, fact), weight=_END)
        if known.facts.get(_AT_END, _NONE)[0] == (end, fact) and self._is_kept(known):
            self._ends[end] = known

    def find_end(self, end: Hashable) -> tuple[KnownConversation, object] | None:
        """Return a conversation that may end so, and what was noted; others may end alike."""
        known = self._ends.get(end)
        if known is None:
            return None
        _, fact = cast("tuple[Hashable, object]", known.facts[_AT_END][0])
        return known, fact

    def note_opening(self, client: Hashable, opening: bytes) -> None:
        """Keep how the turns of a client begin; it writes all its requests alike."""
        self._openings[client] = opening
        self._openings.move_to_end(client)
        if len(self._openings) > _OPENINGS:
            self._openings.popitem(last=False)

    def find_opening(self, client: Hashable) -> bytes:
        """Return how the turns of a client begin; empty if that is not known."""
        return self._openings.get(client, b"")

    def search(self, text: bytes) -> SearchedText:
        """Return a long field of a request, in which marks were looked for before."""
        found = self._texts.get(text)
        if found is None:
            found = SearchedText((text,))
            if self._size > 0:
                self._texts[text] = found
                self._used += len(text) + _OVERHEAD
                self._make_room()
        else:
            self._texts.move_to_end(text)
        return found

    def _is_kept(self, known: KnownConversation) -> bool:
        return self._conversations.get(_make_key(known)) is known

    def _drop_facts(self, known: "_MessageFacts") -> None:
        known.facts.clear()
        self._used -= known.weight - known.own
        known.weight = known.own

    def _make_room(self) -> None:
        while self._used > self._size and (self._conversations or self._texts):
            if len(self._texts) > len(self._conversations):
                text, _ = self._texts.popitem(last=False)
                self._used -= len(text) + _OVERHEAD
            else:
                self._forget(next(iter(self._conversations)))

    def _forget(self, key: Hashable) -> None:
        conversation = self._conversations.pop(key)
        if _AT_END in conversation.facts:
            end, _ = cast("tuple[Hashable, object]", conversation.facts[_AT_END][0])
            if self._ends.get(end) is conversation:
                del self._ends[end]
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


def _make_key(conversation: KnownConversation) -> Hashable:
    turns = conversation.turns.texts
    return (conversation.about, len(turns), turns[-1])


def _weigh(conversation: KnownConversation) -> int:
    facts = sum([weight for _, weight in conversation.facts.values()])
    return _OVERHEAD + 24 * len(conversation.messages) + facts
