"""The views of a conversation that its earlier requests were sent as, in the memo."""

from collections.abc import Sequence
from operator import is_
from typing import cast

from msgspec.structs import replace

from ...canon import Message, WrittenTurns, dump_json, is_simple
from ...catalog import ModelEntry
from ...handoff import BegunView
from ..state.conversation_memo import ConversationMemo
from .routed_request import RoutedRequest

_CHANGE = 150  # bytes of a change, or of a message that was made
_DECODED = 3  # times its bytes: what a message takes
_TURN = 50  # bytes of a turn that is written, in addition to its own


def find_views(routed: RoutedRequest, entry: ModelEntry) -> "EarlierViews | None":
    """Return what is known of this conversation, as this model reads it; None for a short one."""
    if routed.memo is None or routed.is_hooked:
        return None
    return EarlierViews(routed.memo, routed.parsed.request.messages, entry)


class EarlierViews:
    """Views of one conversation for one model; ``sent`` is what the memo knows it by."""

    def __init__(
        self, memo: ConversationMemo, sent: tuple[Message, ...], entry: ModelEntry
    ) -> None:
        self._memo = memo
        self._sent = sent
        self._key = (entry.provider.name, entry.deployment, entry.model)
        self._begun: tuple[int, BegunView] | None = None

    def find(self, messages: Sequence[Message]) -> tuple[int, BegunView] | None:
        """Return how many first messages were handed over, and their view."""
        known = self._memo.find_prefix(self._sent, "view", self._key)
        if known is None:
            return None
        before, begun = cast("tuple[tuple[Message, ...], BegunView]", known[1])
        self._begun = (len(before), begun) if _begins_with(messages, before) else None
        return self._begun

    def keep(self, messages: tuple[Message, ...], begun: BegunView) -> None:
        """Keep the view of these messages, if as many were sent."""
        if begun.is_simple:
            first = self._begun[0] if self._begun is not None and self._begun[1].is_simple else 0
            sent_are_simple = all(map(is_simple, self._sent[first : len(messages)]))
            begun = replace(begun, is_simple=sent_are_simple)
        self._begun = (len(messages), begun)
        weight = sum(_CHANGE + _DECODED * len(dump_json(each)) for each in begun.made)
        weight += 24 * len(messages) + _CHANGE * len(begun.view.manifest.changes)
        sent = self._sent[: len(messages)]
        self._memo.note_prefix(sent, "view", self._key, (messages, begun), weight=weight)

    def count_simple(self, messages: tuple[Message, ...]) -> int:
        """Return how many first messages are known to be simple, as restored and as sent."""
        known = self.find(messages)
        return known[0] if known is not None and known[1].is_simple else 0

    def find_simple(self, messages: tuple[Message, ...]) -> tuple[int, tuple[str, ...]]:
        """Return how many first messages of a view are known to be simple, and their tools."""
        if self._begun is None or not self._begun[1].is_simple:
            return 0, ()
        begun = self._begun[1]
        kept = begun.view.messages
        return (len(kept), begun.tools) if _begins_with(messages, kept) else (0, ())

    def find_end(self, messages: tuple[Message, ...]) -> int:
        """Return how many first messages are those of a view that is kept."""
        if self._begun is None:
            return 0
        kept = self._begun[1].view.messages
        return len(kept) if _begins_with(messages, kept) else 0

    def find_written(self, messages: tuple[Message, ...], by: object) -> WrittenTurns | None:
        """Return some first messages as an earlier request wrote them."""
        known = self._memo.find_prefix(self._sent, "written", self._key)
        written = None if known is None else cast("WrittenTurns", known[1])
        if written is None or written.by != by or not _begins_with(messages, written.messages):
            return None
        return written

    def keep_written(self, written: WrittenTurns, *, new: int) -> None:
        """Keep the turns of a view, with the messages that it is of."""
        if self._begun is not None:
            weight = new + _TURN * len(written.turns)
            sent = self._sent[: self._begun[0]]
            self._memo.note_prefix(sent, "written", self._key, written, weight=weight)


def _begins_with(messages: Sequence[Message], first: Sequence[Message]) -> bool:
    return len(first) <= len(messages) and all(map(is_, first, messages))
