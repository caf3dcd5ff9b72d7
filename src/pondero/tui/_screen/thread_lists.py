"""The lists of threads: those on disk, and those that have none of their turns there yet."""

import asyncio

from ...errors import PonderoError, StoreError
from ..state import Choice, place_value
from .conversation import ConversationTab, Tabs


class ThreadLists:
    """Finds threads for a tab; an open conversation that is no thread yet is a row of its own."""

    def __init__(self, tabs: Tabs) -> None:
        self._tabs = tabs

    def find(self, words: str, tab: ConversationTab) -> tuple[Choice, ...]:
        """Return the other threads with these words, for ``/resume``."""
        here = self._tabs.list_unlisted(words, active=False)
        try:
            return (*here, *tab.session.writer.list(words))
        except StoreError:
            if not here:
                raise
            return here

    def search(self, words: str, tab: ConversationTab) -> tuple[Choice, ...]:
        """Return the messages with these words, and the conversations that are no thread yet."""
        here = self._tabs.list_unlisted(words, active=False)
        unlisted = (Choice(place_value(0, each.value), each.label, each.detail) for each in here)
        return (*tab.session.writer.find(words), *unlisted)

    async def list_for_pane(self, words: str, tab: ConversationTab) -> tuple[Choice, ...]:
        """Return a new thread and all threads with these words, read off the loop."""
        busy, here = self._tabs.busy_threads(), self._tabs.list_unlisted(words, active=True)
        try:
            new, *listed = await asyncio.to_thread(tab.session.writer.pane, words, busy)
        except PonderoError as error:
            new, listed = Choice("", f"({error})"), []
        return (new, *here, *listed)
