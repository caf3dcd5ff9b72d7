"""Keeps on disk what was typed and not sent: the input line, the queues, what was set aside."""

from collections.abc import Callable, Collection

from ..state import ChatState
from .conversation import ConversationTab, Tabs
from .executor import Executor
from .widgets.prompt import Prompt


class DraftKeeper:
    """Writes what waits in all tabs; the words of the prompt belong to the one on the screen."""

    def __init__(
        self,
        tabs: Tabs,
        prompt: Prompt,
        executor: Executor,
        find_unfinished: Callable[[], str],
    ) -> None:
        self._find_unfinished = find_unfinished  # a paste whose end has not come
        self._tabs = tabs
        self._prompt = prompt
        self._executor = executor

    def save(self, cut: Collection[ConversationTab] = ()) -> None:
        """Write all, patiently; the end of the program cuts off an answer in these tabs."""
        self._save_set_aside(patient=True)
        for tab in self._tabs:
            tab.save_drafts(self._find_typed(tab), cut=tab in cut)

    def save_tab(self, tab: ConversationTab) -> None:
        """Write what waits in a tab."""
        self._save_set_aside(patient=False)
        tab.save_drafts(self._find_typed(tab))

    def keep(self) -> None:
        """Write all without a long wait, also turns that could not be written."""
        self._save_set_aside(patient=False)
        for tab in tuple(self._tabs):
            self._executor.keep(tab, self._find_typed(tab))

    def activate(self, tab: ConversationTab) -> None:
        """Put a tab on the screen; the input line goes along."""
        left = self._tabs.active
        self._tabs.activate(tab)
        tab.save_drafts(self._find_typed(tab))
        left.save_drafts("")

    def set_aside_line(self) -> None:
        """Let only ↑ recall the words in the input line: others are to take their place."""
        self._prompt.set_aside_line()
        self._save_set_aside(patient=False)

    def set_aside(self, words: tuple[str, ...]) -> None:
        """Let ↑ recall words that the input line does not have."""
        for each in words:
            self._prompt.put_aside(each)
        self._save_set_aside(patient=False)

    def save_set_aside(self) -> None:
        """Write the words that only ↑ or ↓ recalls."""
        self._save_set_aside(patient=False)

    def restore_input(self, words: str, *, selected: bool) -> bool:
        """Put words into the input line; False if it has others, and only ↑ recalls them."""
        if self._prompt.text:
            self.set_aside((words,))
            return False
        if selected:
            self._prompt.offer(words)
            self._save_set_aside(patient=False)
        else:
            self._prompt.put(words)
        return True

    def note_asked(self, before: ChatState, after: ChatState) -> None:
        """Forget words that were set aside, if a turn has begun that asks them."""
        asked = after.turn.asked if after.turn is not None else None
        if asked is not None and (before.turn is None or before.turn.asked is not asked):
            self._prompt.drop_aside(asked.words)

    def _save_set_aside(self, *, patient: bool) -> None:
        writer = self._tabs.active.session.writer
        writer.save_set_aside(self._prompt.set_aside, patient=patient)

    def _find_typed(self, tab: ConversationTab) -> str:
        if tab is not self._tabs.active:
            return ""
        return self._prompt.full_text + self._find_unfinished()
