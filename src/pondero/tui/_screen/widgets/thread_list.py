"""The pane of threads: a list with live search; the one that is picked is shown."""

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ...state import Choice, ThreadPaneState
from .visible import content, shorten, shorten_middle

_MARGIN = 2


class Search(Input):
    """The words to look for; arrows move in the list below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", show=False),
        Binding("down", "step(1)", show=False),
        Binding("escape,ctrl+c", "close", show=False, priority=True),
    ]

    @dataclass
    class RowMoveRequested(Message):
        """The next row of the list is to be chosen, or the one before."""

        step: int

    class PaneCloseRequested(Message):
        """The pane is to be closed."""

    def action_step(self, step: int) -> None:
        """Go up or down in the list."""
        self.post_message(self.RowMoveRequested(step))

    def action_close(self) -> None:
        """Close the pane."""
        self.post_message(self.PaneCloseRequested())


class ThreadPane(Vertical):
    """All threads, or those with the sought words; hidden until it is wanted."""

    @dataclass
    class SearchChanged(Message):
        """Other words are looked for."""

        words: str

    @dataclass
    class ThreadPicked(Message):
        """A thread is to be shown; an empty id is a new one."""

        thread: str

    def __init__(self) -> None:
        super().__init__(id="threads")
        self._search = Search(placeholder="search threads", compact=True)
        self._list = OptionList()
        self._list.can_focus = False
        self._shown: ThreadPaneState | None = None

    def compose(self) -> ComposeResult:
        """Lay out the search above the list."""
        yield self._search
        yield self._list

    def on_mount(self) -> None:
        """Take no place before it is wanted."""
        self.display = False

    def show(self, listing: ThreadPaneState | None) -> None:
        """Draw the list where it changed; the chosen row stays chosen while it is there."""
        was, self._shown = self._shown, listing
        if listing is was:
            return
        self.display = listing is not None
        if listing is None:
            self._search.value = ""
            return
        if was is None:
            self.screen.set_focus(self._search)  # at once: people type ahead
        if was is None or listing.choices is not was.choices:
            self._fill(listing.choices, was)

    def on_resize(self) -> None:
        """Shorten the titles to the new width."""
        if self._shown is not None:
            self._fill(self._shown.choices, self._shown)

    def _fill(self, choices: tuple[Choice, ...], was: ThreadPaneState | None) -> None:
        at = self._list.highlighted
        chosen = was.choices[at].value if was and at is not None and at < len(was.choices) else None
        self._list.clear_options()
        self._list.add_options([Option(self._row(choice)) for choice in choices])
        values = [choice.value for choice in choices]
        first = min(1, len(choices) - 1) if self._search.value else 0
        self._list.highlighted = values.index(chosen) if chosen and chosen in values else first

    def _row(self, choice: Choice) -> Content:
        room = max(8, self.size.width - _MARGIN)
        title = " ".join(choice.label.split())
        if not choice.detail:
            return content(title)
        lines = [shorten_middle(title, room), shorten(f"  {choice.detail}", room)]
        return Content("\n").join([content(lines[0]), content(lines[1], "dim")])

    @on(Input.Changed)
    def _send_search(self, event: Input.Changed) -> None:
        event.stop()
        if self._shown is not None and event.value != self._shown.words:
            self.post_message(self.SearchChanged(event.value))

    @on(Search.RowMoveRequested)
    def _move_row(self, event: Search.RowMoveRequested) -> None:
        event.stop()
        if event.step < 0:
            self._list.action_cursor_up()
        else:
            self._list.action_cursor_down()

    @on(Input.Submitted)
    def _pick_highlighted(self, event: Input.Submitted) -> None:
        event.stop()
        self._pick(self._list.highlighted)

    @on(OptionList.OptionSelected)
    def _pick_clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._pick(event.option_index)

    def _pick(self, at: int | None) -> None:
        if self._shown is not None and at is not None and at < len(self._shown.choices):
            self.post_message(self.ThreadPicked(self._shown.choices[at].value))
