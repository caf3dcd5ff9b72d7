"""Lists with a search as you type: of models with their levels and prices, and of threads."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from ...state import Choice
from .visible import content, shorten, shorten_middle

_NAME = 38
"""Columns of a model's name."""
_NARROW = 64
"""Columns of a screen below which the levels and prices are in a line of their own."""
_AROUND = 5
"""Lines of the frame, the title, the search and the keys."""

FindChoices = Callable[[str], tuple[Choice, ...]]
"""Returns the choices that have these words."""


def filter_choices(choices: tuple[Choice, ...], words: str) -> tuple[Choice, ...]:
    """Return the choices that have all of these words in their label or detail."""
    terms = words.lower().split()
    return tuple(
        each
        for each in choices
        if all(term in f"{each.label} {each.detail}".lower() for term in terms)
    )


class SearchPicker(ModalScreen[str | None]):
    """Returns the value that was picked, or None; ``two_lines``: a detail is below its label.

    With ``is_slow``, the search runs in a thread, so that keys are drawn meanwhile.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(8)", show=False, priority=True),
        Binding("pageup", "move(-8)", show=False, priority=True),
    ]

    def __init__(
        self, title: str, find: FindChoices, *, two_lines: bool = False, is_slow: bool = False
    ) -> None:
        super().__init__()
        self._two_lines = two_lines
        self._is_slow = is_slow
        self._searching = False
        self._heading = title
        self._find = find
        self._found: tuple[Choice, ...] = ()
        self._words: str | None = None
        self._list = OptionList(id="found")
        self._list.can_focus = False

    def compose(self) -> ComposeResult:
        """Lay out the search above the choices."""
        with Vertical(id="search-picker"):
            yield Static(content(self._heading), classes="title")
            yield Input(placeholder="type to search", compact=True)
            yield self._list
            yield Static(content("↑ ↓ Enter · Esc closes"), classes="keys")

    def on_mount(self) -> None:
        """List all before anything is typed."""
        self.query_one(Input).focus()
        self._search_newest("")

    def on_resize(self) -> None:
        """Leave room for the search and the keys."""
        self._list.styles.max_height = max(2, self.size.height * 9 // 10 - _AROUND)
        if self._words is not None:
            self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for the typed words once they are drawn: a search takes longer than a key."""
        self.call_after_refresh(self._search_newest, event.value)

    def _search_newest(self, words: str) -> None:
        """Search for words, if they are still the newest; one search runs at a time."""
        if self._searching or words == self._words or words != self.query_one(Input).value:
            return
        if not self._is_slow:
            self._show(words, self._find(words.strip()))
            return
        self._searching = True
        self.run_worker(partial(self._search, words), thread=True)

    def _search(self, words: str) -> None:
        """Search in a thread; the result is shown in the thread of the screen."""
        found = self._find(words.strip())
        if not get_current_worker().is_cancelled:  # the list is still open
            self.app.call_from_thread(self._end_search, words, found)

    def _end_search(self, words: str, found: tuple[Choice, ...]) -> None:
        self._searching = False
        newest = self.query_one(Input).value
        if words == newest:
            self._show(words, found)
        else:
            self._search_newest(newest)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return what is marked; words that were typed blind are searched for first."""
        if event.value != self._words:
            self._show(event.value, self._find(event.value.strip()))
        if self._found:
            self.dismiss(self._found[self._list.highlighted or 0].value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return what was clicked."""
        self.dismiss(self._found[event.option_index].value)

    def action_next(self) -> None:
        """Mark the next one."""
        self.action_move(1)

    def action_move(self, step: int) -> None:
        """Mark another one."""
        if self._found:
            at = (self._list.highlighted or 0) + step
            self._list.highlighted = max(0, min(len(self._found) - 1, at))

    def _show(self, words: str, found: tuple[Choice, ...]) -> None:
        self._words, self._found = words, found
        self._draw()

    def _draw(self) -> None:
        self._list.clear_options()
        width = min(_NAME, max((len(each.label) for each in self._found), default=0))
        if self._two_lines or self.size.width < _NARROW:
            room = self._list.content_size.width or self.size.width
            lines = [
                f"{shorten_middle(each.label, room)}\n{shorten(f'  {each.detail}', room)}"
                for each in self._found
            ]
        else:
            lines = [f"{each.label:<{width}}  {each.detail}".rstrip() for each in self._found]
        self._list.add_options([Option(content(line)) for line in lines])
        self._list.highlighted = 0 if self._found else None
