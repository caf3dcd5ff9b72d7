"""The list of models: search as you type, with the levels and the price of each."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ...state import Choice
from .visible import content

_NAME = 38
"""Columns of a model's name."""
_NARROW = 64
"""Columns of a screen below which the levels and prices are in a line of their own."""
_AROUND = 5
"""Lines of the frame, the title, the search and the keys."""

FindModels = Callable[[str], tuple[Choice, ...]]
"""Returns the models that have these words."""


class ModelPicker(ModalScreen[str | None]):
    """Returns the model that was picked, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("pagedown", "move(8)", show=False, priority=True),
        Binding("pageup", "move(-8)", show=False, priority=True),
    ]

    def __init__(self, title: str, find: FindModels) -> None:
        super().__init__()
        self._heading = title
        self._find = find
        self._found: tuple[Choice, ...] = ()
        self._list = OptionList(id="models")
        self._list.can_focus = False

    def compose(self) -> ComposeResult:
        """Lay out the search above the models."""
        with Vertical(id="model-picker"):
            yield Static(content(self._heading), classes="title")
            yield Input(placeholder="type to search", compact=True)
            yield self._list
            yield Static(content("↑ ↓ Enter · Esc closes"), classes="keys")

    def on_mount(self) -> None:
        """List the models before anything is typed."""
        self._show("")
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        """Leave room for the search and the keys."""
        self._list.styles.max_height = max(2, self.size.height * 9 // 10 - _AROUND)
        self._show(self.query_one(Input).value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for the typed words."""
        self._show(event.value)

    def on_input_submitted(self) -> None:
        """Return the model that is marked."""
        if self._found:
            self.dismiss(self._found[self._list.highlighted or 0].value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return what was clicked."""
        self.dismiss(self._found[event.option_index].value)

    def action_move(self, step: int) -> None:
        """Mark another model."""
        if self._found:
            at = (self._list.highlighted or 0) + step
            self._list.highlighted = max(0, min(len(self._found) - 1, at))

    def _show(self, words: str) -> None:
        self._found = self._find(words.strip())
        self._list.clear_options()
        width = min(_NAME, max((len(each.label) for each in self._found), default=0))
        if self.size.width < _NARROW:
            lines = [f"{each.label}\n  {each.detail}" for each in self._found]
        else:
            lines = [f"{each.label:<{width}}  {each.detail}".rstrip() for each in self._found]
        self._list.add_options([Option(content(line)) for line in lines])
        self._list.highlighted = 0 if self._found else None
