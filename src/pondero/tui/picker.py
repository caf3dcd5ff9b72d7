"""A short list over the page, to pick from."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from .state import Choosing
from .text import content


class Picker(ModalScreen[str | None]):
    """Returns the value that was picked, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", show=False),
    ]

    def __init__(self, choosing: Choosing) -> None:
        super().__init__()
        self._choosing = choosing

    def compose(self) -> ComposeResult:
        """Lay out the title and the choices."""
        label = max(len(choice.label) for choice in self._choosing.choices)
        label = min(label, 40)
        rows = [
            Option(content(f"{choice.label[:label]:<{label}}  {choice.detail}".rstrip()))
            for choice in self._choosing.choices
        ]
        with Vertical(id="picker"):
            yield Static(content(self._choosing.title), classes="title")
            yield OptionList(*rows)
            yield Static(content("↑ ↓ Enter · Esc closes"), classes="keys")

    def on_mount(self) -> None:
        """Begin at the present choice."""
        self.query_one(OptionList).highlighted = self._choosing.at

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return what was picked."""
        self.dismiss(self._choosing.choices[event.option_index].value)

    def action_next(self) -> None:
        """Go one down, and from the last to the first."""
        self.query_one(OptionList).action_cursor_down()
