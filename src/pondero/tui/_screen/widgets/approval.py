"""The question whether a tool may run: its name, where it is from, and all its arguments."""

from textwrap import dedent
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ...state import Proposal, Word
from .visible import content, describe_typed

_WORDS: tuple[tuple[Word, str], ...] = (
    ("no", "do not run it"),
    ("once", "run it"),
    ("always", "run it, now and always"),
)
_ROWS = (1, 12)
"""Lines of the arguments that are seen at once: at least, and where there is room."""
_FRAME, _SPACE = 2, 2
"""Lines of the frame, and of the space around the arguments."""
_SIDES = 4
"""Columns of the frame and its margins."""
_SMALL = 16
"""Lines of a screen below which the question takes all of it, without space."""
_KEYS = {
    False: "↑ ↓ Enter · Page Up, Page Down · Esc refuses",
    True: "↑ ↓ Enter · PgUp PgDn · Esc no",
}


class ApprovalScreen(ModalScreen[Word | None]):
    """Returns the decision, None if obsolete; no key typed ahead can approve: Enter refuses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "refuse", show=False),
        Binding("pageup", "turn(-1)", show=False, priority=True),
        Binding("pagedown", "turn(1)", show=False, priority=True),
    ]

    def __init__(self, proposal: Proposal) -> None:
        super().__init__()
        self.proposal: Proposal = proposal
        self._text = Static(content(proposal.arguments))
        self._arguments = VerticalScroll(self._text, can_focus=False, classes="arguments")
        self._keys = Static(content(_KEYS[False]), classes="keys")
        self._typed = ""

    def compose(self) -> ComposeResult:
        """Lay out what is to run above the choices."""
        with Vertical(id="approval"):
            who = f"{self.proposal.column}: " if self.proposal.column else ""
            yield Static(content(f"⚙ {who}{self.proposal.name} wants to run"), classes="title")
            yield Static(content(f"from {self.proposal.source}"), classes="keys")
            yield self._arguments
            yield OptionList(*(Option(content(label)) for _, label in _WORDS))
            yield self._keys

    def on_mount(self) -> None:
        """Begin at the refusal."""
        choices = self.query_one(OptionList)
        choices.highlighted = 0
        choices.focus()

    def on_resize(self) -> None:
        """Give the arguments the room that the rest leaves, when that is laid out."""
        small = self.size.height < _SMALL
        self.query_one("#approval").set_class(small, "small")
        self.show_typed(self._typed)
        arguments = self.proposal.arguments
        self._text.update(content(_without_braces(arguments) if small else arguments))
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Keep the choices in view: a user must see what they decide."""
        box = self.query_one("#approval")
        rest = sum(each.outer_size.height for each in box.children if each is not self._arguments)
        small = box.has_class("small")
        room = (self.size.height if small else self.size.height * 9 // 10 - _SPACE) - _FRAME - rest
        least, most = _ROWS
        self._arguments.styles.max_height = max(least, min(most, room))
        self.query_one(OptionList).scroll_visible(animate=False)

    def choose_refusal(self) -> None:
        """Go back to the refusal: an Enter that belongs to typed words must approve nothing."""
        self.query_one(OptionList).highlighted = 0

    def show_typed(self, words: str, more: str = "") -> None:
        """Show words that were typed here and are in the input line; else the keys."""
        self._typed = words
        small = self.size.height < _SMALL
        typed = describe_typed(words, self._keys.size.width or self.size.width - _SIDES, more)
        self._keys.update(content(typed or _KEYS[small]))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return what was decided."""
        self.dismiss(_WORDS[event.option_index][0])

    def action_refuse(self) -> None:
        """Decide against it."""
        self.dismiss("no")

    def action_turn(self, step: int) -> None:
        """Scroll the arguments."""
        if step < 0:
            self._arguments.scroll_page_up(animate=False)
        else:
            self._arguments.scroll_page_down(animate=False)


def _without_braces(arguments: str) -> str:
    """Return the arguments without the first and the last line, if these are braces alone."""
    first, *lines = arguments.splitlines() or [""]
    if first != "{" or not lines or lines[-1] != "}":
        return arguments
    return dedent("\n".join(lines[:-1]))
