"""Texts made safe to draw: control characters are visible, and HTML is text."""

from itertools import zip_longest
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownTable
from textual.widgets.markdown import MarkdownBlock

from ....canon import escape_controls

_CELL_SIDES = 3  # columns: a space at each side of a cell, and a line


def content(text: str, style: str = "") -> Content:
    """Return words to draw, in a style."""
    return Content.styled(escape_controls(text), style) if style else Content(escape_controls(text))


def shorten(text: str, room: int) -> str:
    """Return a line of at most ``room`` columns; … replaces the rest of a longer one."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def shorten_middle(text: str, room: int) -> str:
    """Return a line of at most ``room`` columns; … replaces the middle of a longer one."""
    if len(text) <= room:
        return text
    end = (room - 1) // 2
    return f"{text[: room - 1 - end]}…{text[len(text) - end :]}"


def describe_typed(words: str, room: int, more: str = "") -> str:
    """Return a line of ``room`` columns that shows the end of the words in the input line."""
    label = "in your input line: "
    left = max(8, room - len(label) - len(more))
    line = " ".join(words.split())
    return f"{label}{line if len(line) <= left else f'…{line[1 - left :]}'}{more}" if line else ""


def document() -> Markdown:
    """Return an empty Markdown document; what is appended to it is made visible before."""
    return _Document(parser_factory=make_parser, open_links=False)


class _FittedTable(MarkdownTable):
    """A table that is no wider than its words; Textual stretches it to the whole width."""

    def compose(self) -> ComposeResult:
        """Draw it as Textual does, at its own width."""
        yield from super().compose()
        self._fit()

    async def _update_from_block(self, block: MarkdownBlock) -> None:
        await super()._update_from_block(block)
        self._fit()

    def _fit(self) -> None:
        columns = zip_longest(self._headers, *self._rows)
        widths = [
            max((cell.cell_length for cell in column if cell), default=0) for column in columns
        ]
        self.styles.max_width = sum(widths) + len(widths) * _CELL_SIDES + 1


class _Document(Markdown):
    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Return the class of a block by the parser's name for it."""
        return _FittedTable if block_name == "table_open" else super().get_block_class(block_name)


def is_safe_text(drawn: Markdown, text: str) -> bool:
    """Return whether pieces drew the blocks of the whole text; Textual sees only the last block."""
    definitions: dict[str, Any] = {}
    tokens = make_parser().parse(text, definitions)
    blocks = [(token.type, *token.map) for token in tokens if token.map and not token.level]
    children = [child for child in drawn.children if isinstance(child, MarkdownBlock)]
    shown = [(child.name, *child.source_range) for child in children]
    return shown == blocks and not definitions.get("references")


def make_parser() -> MarkdownIt:
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
