"""The views of a conversation that its earlier requests were sent as, in the memo."""

from collections.abc import Sequence
from operator import is_
from typing import cast

from ...canon import Message, dump_json
from ...catalog import ModelEntry
from ...handoff import BegunView, KnownViews
from ..state.conversation_memo import ConversationMemo
from .routed_request import RoutedRequest

_CHANGE = 150  # bytes of a change, or of a message that was made
_DECODED = 3  # times its bytes: what a message takes


def find_views(routed: RoutedRequest, entry: ModelEntry) -> KnownViews | None:
    """Return what is known of this conversation, as this model reads it; None for a short one."""
    if routed.memo is None or routed.is_hooked:
        return None
    return _Views(routed.memo, routed.parsed.request.messages, entry)


class _Views:
    """Views of one conversation for one model; ``sent`` is what the memo knows it by."""

    def __init__(
        self, memo: ConversationMemo, sent: tuple[Message, ...], entry: ModelEntry
    ) -> None:
        self._memo = memo
        self._sent = sent
        self._key = (entry.provider.name, entry.deployment, entry.model)

    def find(self, messages: Sequence[Message]) -> tuple[int, BegunView] | None:
        """Return how many first messages were handed over, and their view."""
        known = self._memo.find_prefix(self._sent, "view", self._key)
        if known is None:
            return None
        before, begun = cast("tuple[tuple[Message, ...], BegunView]", known[1])
        is_same = len(before) <= len(messages) and all(map(is_, before, messages))
        return (len(before), begun) if is_same else None

    def keep(self, messages: tuple[Message, ...], begun: BegunView) -> None:
        """Keep the view of these messages, if as many were sent."""
        weight = sum(_CHANGE + _DECODED * len(dump_json(each)) for each in begun.made)
        weight += 24 * len(messages) + _CHANGE * len(begun.view.manifest.changes)
        sent = self._sent[: len(messages)]
        self._memo.note_prefix(sent, "view", self._key, (messages, begun), weight=weight)
