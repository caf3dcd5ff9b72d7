"""The screen of /compare and /retry: one column for each answer, stacked if it is narrow."""

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from ...state import Column, ComparisonState, column_figures
from .transcript import Transcript
from .visible import content, describe_typed

_LEAST = 26
"""Letters that a column must have; where there is no room for that, columns are stacked."""
_KEYS = (
    "{} choose · Enter keeps it · Ctrl+O thinking · Esc closes",
    "{} · Enter keeps it · Esc closes",
    "Enter keeps it",
)
_LIVE_KEYS = (
    "{} choose · Ctrl+O thinking · Esc stops them",
    "{} · Esc stops them",
    "Esc stops them",
)
_STILL = " · answering: Esc stops"
_ARROWS, _STACKED_ARROWS = "← →", "↑ ↓"  # all four choose; these go the way of the columns
_MARGIN = 4


class ColumnView(Vertical):
    """One answer while it arrives, with its usage above it."""

    def __init__(self, *, paid: bool) -> None:
        super().__init__(classes="column")
        self._paid = paid
        self._page = Transcript(None, at_end=False)
        self._figures = Static("", classes="figures")
        self._lines = ("", "")

    def compose(self) -> ComposeResult:
        """Lay out the figures above the answer."""
        yield self._figures
        yield self._page

    def show(self, column: Column, *, chosen: bool) -> None:
        """Draw the column as it is now; the chosen one has a mark, not only a colour."""
        where = " (in the thread)" if column.given else ""
        widget: Widget = self  # through self, type checkers take it for an attribute of ours
        widget.border_title = content(f"{'▸ ' if chosen else ''}{column.name}{where}")
        self.set_class(chosen, "chosen")
        lines = column_figures(column, paid=self._paid)
        if lines != self._lines:
            self._lines = lines
            self._figures.update(content("\n".join(lines).rstrip()))
        self._page.show((*column.chat.page, *column.chat.live))

    def turn(self, step: int) -> None:
        """Go up or down by a screen."""
        self._page.turn(step)


class ComparisonScreen(Screen[None]):
    """Shows a comparison; what keys ask for goes to the app."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up,shift+tab", "move(-1)", show=False, priority=True),
        Binding("right,down,tab", "move(1)", show=False, priority=True),
        Binding("enter", "settle(True)", show=False, priority=True),
        Binding("escape,ctrl+c", "settle(False)", show=False, priority=True),
    ]

    @dataclass
    class ColumnMoveRequested(Message):
        """Another column is to be chosen."""

        step: int

    @dataclass(kw_only=True)
    class Settling(Message):
        """The chosen answer is to be kept, or the screen closed."""

        keep: bool

    def __init__(self, comparison: ComparisonState, *, paid: bool) -> None:
        super().__init__()
        self._is_ready = False
        self._comparison = comparison
        self._columns = [ColumnView(paid=paid) for _ in comparison.columns]
        self._question = Static("", id="question")
        self._keys = Static("", id="keys")
        self._typed = ("", "")
        self._place = Container(*self._columns, id="columns")

    def compose(self) -> ComposeResult:
        """Lay out the question, the columns and the keys."""
        yield self._question
        yield self._place
        yield self._keys

    def on_mount(self) -> None:
        """Draw what there is."""
        self._is_ready = True
        self.show(self._comparison)

    def on_resize(self) -> None:
        """Stack the columns if they would be too narrow."""
        stacked = self.size.width // len(self._columns) < _LEAST
        self._place.set_class(stacked, "stacked")
        self.show(self._comparison)
        self.call_after_refresh(self._to_chosen)

    def show(self, comparison: ComparisonState) -> None:
        """Draw the comparison as it is now."""
        moved = comparison.at != self._comparison.at
        self._comparison = comparison
        if not self._is_ready:
            return
        self._question.update(content(" ".join(comparison.words.split())))
        more = _STILL if self._typed[1] and comparison.live else self._typed[1]
        typed = describe_typed(self._typed[0], self.size.width - _MARGIN, more)
        self._keys.update(content(typed or comparison.hint or self._known_keys()))
        for at, (view, column) in enumerate(zip(self._columns, comparison.columns, strict=True)):
            view.show(column, chosen=at == comparison.at)
        if moved:
            self._to_chosen()

    def show_typed(self, words: str, more: str = "") -> None:
        """Show words that were typed here and are in the input line, in place of the keys."""
        self._typed = (words, more)
        self.show(self._comparison)

    def _to_chosen(self) -> None:
        self._place.scroll_to_widget(self._columns[self._comparison.at], animate=False)

    def _known_keys(self) -> str:
        room = self.size.width - _MARGIN
        arrows = _STACKED_ARROWS if self._place.has_class("stacked") else _ARROWS
        keys = _LIVE_KEYS if self._comparison.live else _KEYS
        known = [each.format(arrows) for each in keys]
        return next((each for each in known if len(each) <= room), known[-1])

    def turn(self, step: int) -> None:
        """Go up or down by a screen: in the chosen column, or over all where they are stacked."""
        if not self._place.has_class("stacked"):
            self._columns[self._comparison.at].turn(step)
        elif step < 0:
            self._place.scroll_page_up(animate=False)
        else:
            self._place.scroll_page_down(animate=False)

    def action_move(self, step: int) -> None:
        """Choose another column."""
        self.post_message(self.ColumnMoveRequested(step))

    def action_settle(self, keep: bool) -> None:  # noqa: FBT001 - how Textual calls actions
        """Keep the chosen answer, or close."""
        self.post_message(self.Settling(keep=keep))
