"""What the chat draws: cells, the status line, the picker, and its colours."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.screen import ModalScreen
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ....canon import escape_controls
from ...state import (
    BETWEEN,
    AnswerCell,
    Cell,
    ChatState,
    ModelCell,
    NoticeCell,
    PickerState,
    StatusPiece,
    ThinkingCell,
    ToolCallCell,
    UserCell,
    WaitingCell,
    status,
)
from .answer import AnswerView
from .visible import content, describe_typed, shorten, shorten_middle

DARK = Theme(
    name="dark",
    primary="#7aa2f7",
    secondary="#bb9af7",
    accent="#7dcfff",
    foreground="#c8d0e7",
    background="#15171e",
    surface="#1b1e27",
    panel="#232733",
    success="#9ece6a",
    warning="#e0af68",
    error="#f7768e",
    dark=True,
)
LIGHT = Theme(
    name="light",
    primary="#2f5fc4",
    secondary="#7a3fb5",
    accent="#00708f",
    foreground="#22252e",
    background="#fbfbf9",
    surface="#f1f1ee",
    panel="#e6e6e1",
    success="#3b7a1e",
    warning="#94640b",
    error="#b3233c",
    dark=False,
)
THEMES = (DARK, LIGHT)


def theme_of(environment: Mapping[str, str], chosen: str | None = None) -> str:
    """Return the theme: PONDERO_THEME, else ``chosen``, else the background in COLORFGBG."""
    known = {each.name for each in THEMES} | BUILTIN_THEMES.keys()
    for named in (environment.get("PONDERO_THEME", "").lower(), chosen or ""):
        if named in known:
            return named
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name


_TAIL = 6
"""How many lines of a thought are seen while it goes on."""
_USUAL_WIDTH = 76


class UserView(Static):
    """The user's words."""

    def __init__(self, cell: UserCell) -> None:
        super().__init__(content(cell.text), classes="said")

    def show(self, cell: UserCell) -> None:
        """Draw the cell as it is now."""
        self.update(content(cell.text))


class ModelView(Static):
    """The name of the model that answers below."""

    def __init__(self, cell: ModelCell) -> None:
        super().__init__(content(cell.line), classes="model")

    def show(self, cell: ModelCell) -> None:
        """Draw the cell as it is now."""
        self.update(content(cell.line))


class ThinkingView(Static):
    """Thinking: its last lines while it goes on, one line when it is over, all of it when open."""

    @dataclass
    class Clicked(Message):
        """A thought is to be opened or folded."""

        key: int

    def __init__(self, cell: ThinkingCell) -> None:
        super().__init__(_render_thinking(cell), classes="thought")
        self._key = cell.key
        self._height: int | None = None

    def show(self, cell: ThinkingCell) -> None:
        """Draw the cell as it is now; what keeps its height moves nothing else on the page."""
        width = self.content_size.width
        words = _render_thinking(cell, width)
        lines = words.plain.split("\n")
        height = len(lines) if all(cell_len(line) <= width for line in lines) else None
        self.update(words, layout=height is None or height != self._height)
        self._height = height

    def on_click(self, event: Click) -> None:
        """Open it, or fold it."""
        event.stop()
        self.post_message(self.Clicked(self._key))


class ToolCallView(Static):
    """A tool call, and what came of it."""

    def __init__(self, cell: ToolCallCell) -> None:
        super().__init__(_render_call(cell), classes="called")

    def show(self, cell: ToolCallCell) -> None:
        """Draw the cell as it is now."""
        self.update(_render_call(cell))


class NoticeView(Static):
    """What the chat itself says; a long line is wrapped with an indent."""

    def __init__(self, cell: NoticeCell) -> None:
        first = (*_lay_out(cell.items, _USUAL_WIDTH), *cell.lines)
        super().__init__(content("\n".join(first)), classes=f"told {cell.tone}")
        self._cell = cell
        self._width = 0

    def show(self, cell: NoticeCell) -> None:
        """Draw the cell as it is now."""
        self._cell = cell
        width = self._width or _USUAL_WIDTH
        all_lines = (*_lay_out(cell.items, width), *cell.lines)
        lines = [piece for line in all_lines for piece in _fold_line(escape_controls(line), width)]
        self.update(content("\n".join(lines)))

    def on_resize(self) -> None:
        """Fold the lines to the width there is now."""
        if self.content_size.width != self._width:
            self._width = self.content_size.width
            self.show(self._cell)


class WaitingView(Static):
    """Nothing came yet."""

    def __init__(self, cell: WaitingCell) -> None:
        super().__init__(content(cell.line), classes="waiting")

    def show(self, cell: WaitingCell) -> None:
        """Draw the cell as it is now."""
        self.update(content(cell.line))


View = UserView | ModelView | ThinkingView | AnswerView | ToolCallView | NoticeView | WaitingView

_VIEWS: dict[type, type] = {
    UserCell: UserView,
    ModelCell: ModelView,
    ThinkingCell: ThinkingView,
    AnswerCell: AnswerView,
    ToolCallCell: ToolCallView,
    NoticeCell: NoticeView,
    WaitingCell: WaitingView,
}


def view_of(cell: Cell) -> View:
    """Return a new widget for a cell."""
    view: View = _VIEWS[type(cell)](cell)
    return view


def _render_thinking(cell: ThinkingCell, width: int = 0) -> Content:
    line = content(cell.line, "not italic")
    if cell.live and not cell.open:
        tail = _tail(cell.text, width or _USUAL_WIDTH)
        return Content("\n").join([line, content(tail)]) if tail else line
    return Content("\n").join([line, content(cell.text.strip())]) if cell.open else line


def _tail(text: str, width: int) -> str:
    lines: list[str] = []
    for line in escape_controls(text[-_TAIL * width :]).splitlines():
        lines += wrap(line, width) or [""]
    return "\n".join(lines[-_TAIL:]).strip()


def _lay_out(items: tuple[str, ...], width: int) -> list[str]:
    """Return items in columns, from top to bottom: two if there is room for them, else one."""
    if not items:
        return []
    rows = (len(items) + 1) // 2
    room = max(map(len, items[:rows])) + 2
    if room + max(map(len, items)) > width:
        return list(items)
    pairs = zip_longest(items[:rows], items[rows:], fillvalue="")
    return [f"{left:<{room}}{right}".rstrip() for left, right in pairs]


def _fold_line(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    words = line.lstrip()
    indent = " " * min(len(line) - len(words) + 2, width // 2)
    return wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)


def _render_call(cell: ToolCallCell) -> Content:
    if cell.result is None:
        return content(f"{cell.line}{' …' if cell.live else ''}")
    mark = "✗" if cell.failed else "→"
    return content(f"{cell.line}\n  {mark} {cell.result}")


_STYLES = {
    "model": "bold $accent",
    "level": "$secondary",
    "good": "$success",
    "warning": "$warning",
}
_MUTED = "$foreground 60%"


class Bar(Static):
    """One line: as much of the status as fits."""

    def __init__(self) -> None:
        super().__init__("", id="status")
        self._state: ChatState | None = None
        self._pieces: tuple[StatusPiece, ...] = ()

    def show(self, state: ChatState) -> None:
        """Draw the status line where it changed."""
        self._state = state
        pieces = status(state, self.content_size.width or self.app.size.width - 2)
        if pieces != self._pieces:
            self._pieces = pieces
            drawn = [content(piece.text, _STYLES.get(piece.tone, _MUTED)) for piece in pieces]
            self.update(content(BETWEEN, _MUTED).join(drawn), layout=False)

    def on_resize(self) -> None:
        """Draw it again for the new width."""
        if self._state is not None:
            self.show(self._state)


_LABEL = 40  # columns of a label before its detail, at most
_MOST_ROWS = 14
_AROUND = 4  # lines of the frame, the title and the keys
_PICKER_KEYS = "↑ ↓ Enter · Esc closes"
_FRAME = 6  # columns of a picker around its rows, with a scrollbar


class Picker(ModalScreen[str | None]):
    """Returns the value that was picked, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", show=False),
    ]

    def __init__(self, choosing: PickerState) -> None:
        super().__init__()
        self._choosing = choosing

    def compose(self) -> ComposeResult:
        """Lay out the title and the choices."""
        rows = self._rows()
        width = max(map(len, (self._choosing.title, *rows)))
        texts = [f"{row:<{width}}" for row in rows]  # what is chosen is a whole line
        with Vertical(id="picker"):
            yield Static(content(self._choosing.title), classes="title")
            yield OptionList(*(Option(content(text)) for text in texts))
            yield Static(content(_PICKER_KEYS), classes="keys")

    def show_typed(self, words: str, more: str = "") -> None:
        """Show words that were typed here and are in the input line, in place of the keys."""
        keys = self.query_one(".keys", Static)
        room = self.query_one("#picker").content_size.width
        keys.update(content(describe_typed(words, room, more) or _PICKER_KEYS))

    def _rows(self) -> list[str]:
        """Return the line of each choice, as long as there is room."""
        choices = self._choosing.choices
        label = min(max(len(choice.label) for choice in choices), _LABEL)
        room = self.app.size.width * 9 // 10 - _FRAME
        labels = [shorten_middle(each.label, label) for each in choices]
        lines = [
            f"{name:<{label}}  {each.detail}".rstrip()
            for name, each in zip(labels, choices, strict=True)
        ]
        return [shorten(line, room) for line in lines]

    def on_mount(self) -> None:
        """Begin at the present choice."""
        self.query_one(OptionList).highlighted = self._choosing.at

    def on_resize(self) -> None:
        """Leave room for the title and the keys, and scroll to the choice."""
        room = self.size.height * 8 // 10 - _AROUND
        choices = self.query_one(OptionList)
        choices.styles.max_height = max(2, min(_MOST_ROWS, room))
        self.call_after_refresh(choices.scroll_to_highlight)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return what was picked."""
        self.dismiss(self._choosing.choices[event.option_index].value)

    def action_next(self) -> None:
        """Go one down, and from the last to the first."""
        self.query_one(OptionList).action_cursor_down()
