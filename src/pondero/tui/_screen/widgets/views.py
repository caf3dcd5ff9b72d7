"""What the chat draws: cells, the status line, the picker; texts made safe to draw, and colours."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from textwrap import wrap
from time import perf_counter
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.screen import ModalScreen
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import Markdown, OptionList, Static
from textual.widgets.markdown import MarkdownBlock
from textual.widgets.option_list import Option

from ....canon import escape_controls
from ...state import (
    BETWEEN,
    AnswerCell,
    Cell,
    ChatState,
    NoticeCell,
    PickerState,
    StatusPiece,
    ThinkingCell,
    ToolCallCell,
    UserCell,
    WaitingCell,
    status,
)


def content(text: str, style: str = "") -> Content:
    """Return words to draw, in a style."""
    return Content.styled(escape_controls(text), style) if style else Content(escape_controls(text))


def document() -> Markdown:
    """Return an empty Markdown document; what is appended to it is made visible before."""
    return Markdown(parser_factory=_parser, open_links=False)


def is_safe_text(drawn: Markdown, text: str) -> bool:
    """Return whether pieces drew the blocks of the whole text; Textual sees only the last block."""
    definitions: dict[str, Any] = {}
    tokens = _parser().parse(text, definitions)
    blocks = [(token.type, *token.map) for token in tokens if token.map and not token.level]
    children = [child for child in drawn.children if isinstance(child, MarkdownBlock)]
    shown = [(child.name, *child.source_range) for child in children]
    return shown == blocks and not definitions.get("references")


def _parser() -> MarkdownIt:
    """Return the parser Textual uses, but HTML is text: Textual would leave it out."""
    parser = MarkdownIt("gfm-like", {"html": False})
    parser.core.ruler.push("visible", _make_visible)
    return parser


def _make_visible(state: StateCore) -> None:
    waiting: list[Token] = list(state.tokens)
    while waiting:
        token = waiting.pop()
        token.content = escape_controls(token.content)
        waiting += token.children or ()


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
_BREATH = 0.05
"""Seconds between two drawings of an answer that is still coming, at least."""


class UserView(Static):
    """The user's words."""

    def __init__(self, cell: UserCell) -> None:
        super().__init__(content(cell.text), classes="said")

    def show(self, cell: UserCell) -> None:
        """Draw the cell as it is now."""
        self.update(content(cell.text))


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


class AnswerView(Vertical):
    """An answer; while it arrives, only what is new is parsed and drawn."""

    def __init__(self, cell: AnswerCell) -> None:
        super().__init__(classes="spoken")
        self._cell = cell
        self._drawn = ""
        self._pieced = False  # whether it was drawn in more than one piece
        self._drawing = True  # until it is mounted
        self._whole = asyncio.Event()
        self._markdown = document()
        self._below = Static(content(_cut(cell.cut)), classes="cut")

    def compose(self) -> ComposeResult:
        """Lay out the answer, and the line below it that says why it was cut."""
        yield self._markdown
        yield self._below

    def on_mount(self) -> None:
        """Draw what there is."""
        self._drawing = False
        self.show(self._cell)

    def show(self, cell: AnswerCell) -> None:
        """Draw the cell as it is now."""
        if cell.cut != self._cell.cut:
            self._below.update(content(_cut(cell.cut)))
        self._cell = cell
        self._below.display = cell.cut is not None
        if not cell.live:
            self._whole.set()
        if not self._drawing and self._is_due():
            self._drawing = True
            self.run_worker(self._draw())

    def _is_due(self) -> bool:
        return escape_controls(self._cell.text) != self._drawn or (
            self._pieced and not self._cell.live
        )

    async def _draw(self) -> None:
        while self._is_due():
            began = perf_counter()
            await self._add(escape_controls(self._cell.text), live=self._cell.live)
            if self._cell.live:
                await self._laid_out()
                # Laying out Markdown is slow: half of the time is left to everything else.
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(_BREATH, perf_counter() - began)):
                        await self._whole.wait()
        self._drawing = False

    async def _add(self, text: str, *, live: bool) -> None:
        """Append the new text; never ``update``: Textual 8.2 then loses the last block's start."""
        drawn, self._drawn = self._drawn, text
        if not text.startswith(drawn):
            await self._redraw(text)
        elif text != drawn:
            self._pieced = bool(drawn)
            try:
                await self._markdown.append(text[len(drawn) :])
            except UnboundLocalError:  # Textual 8.2: the last row of a table turned out to be none
                await self._redraw(text)
        if self._pieced and not live:
            self._pieced = False
            if not is_safe_text(self._markdown, text):
                await self._redraw(text)

    async def _redraw(self, text: str) -> None:
        """Draw into a new document and swap: refilling the old one would move the page."""
        fresh = document()
        fresh.display = False
        await self.mount(fresh, before=self._below)
        await fresh.append(text)
        with self.app.batch_update():
            old, self._markdown = self._markdown, fresh
            fresh.display = True
            await old.remove()

    async def _laid_out(self) -> None:
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()


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
        super().__init__(content("\n".join(cell.lines)), classes=f"told {cell.tone}")
        self._cell = cell
        self._width = 0

    def show(self, cell: NoticeCell) -> None:
        """Draw the cell as it is now."""
        self._cell = cell
        width = self._width or _USUAL_WIDTH
        lines = [piece for line in cell.lines for piece in _fold_line(escape_controls(line), width)]
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


View = UserView | ThinkingView | AnswerView | ToolCallView | NoticeView | WaitingView

_VIEWS: dict[type, type] = {
    UserCell: UserView,
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


def _cut(why: str | None) -> str:
    return f"— {why} —" if why else ""


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
        label = max(len(choice.label) for choice in self._choosing.choices)
        label = min(label, 40)
        lines = [
            f"{choice.label[:label]:<{label}}  {choice.detail}".rstrip()
            for choice in self._choosing.choices
        ]
        width = max(map(len, (self._choosing.title, *lines)))  # what is chosen is a whole line
        rows = [Option(content(f"{line:<{width}}")) for line in lines]
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
