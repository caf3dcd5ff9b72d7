"""Texts made safe to draw: control characters are visible, and HTML is text."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownTable, MarkdownTableContent, MarkdownTH
from textual.widgets.markdown import MarkdownBlock

from ....canon import escape_controls

_LEAST_WORDS = 8  # columns
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
    if not (line := " ".join(words.split())):
        return ""
    label = "in your input line: "
    if len(label) + _LEAST_WORDS + len(more) > room:
        label = ""
    left = max(_LEAST_WORDS, room - len(label) - len(more))
    return f"{label}{line if len(line) <= left else f'…{line[1 - left :]}'}{more}"


def document() -> Markdown:
    """Return an empty Markdown document; what is appended to it is made visible before."""
    return _Document(parser_factory=make_parser, open_links=False)


class _FittedTable(MarkdownTable):
    """A table that is no wider than its words; Textual stretches it to the whole width."""

    def compose(self) -> ComposeResult:
        """Draw it as Textual does, at its own width."""
        yield from super().compose()
        self._fit()
        self.call_after_refresh(self._align)

    async def _update_from_block(self, block: MarkdownBlock) -> None:
        await super()._update_from_block(block)
        self._fit()
        self.call_after_refresh(self._align)

    def _align(self) -> None:
        """Align the columns as the text says; Textual puts all to the left."""
        sides = [_find_side(each) for each in _list_headers(self)]
        if set(sides) <= {"left"}:
            return
        for table in self.query(MarkdownTableContent):
            for at, cell in enumerate(table.children):
                cell.styles.text_align = sides[at % len(sides)]

    def _fit(self) -> None:
        columns = zip_longest(self._headers, *self._rows)
        widths = [
            max((cell.cell_length for cell in column if cell), default=0) for column in columns
        ]
        self.styles.max_width = sum(widths) + len(widths) * _CELL_SIDES + 1


_Side = Literal["left", "center", "right"]
_SIDES: dict[str, _Side] = {"text-align:center": "center", "text-align:right": "right"}


def _list_headers(block: MarkdownBlock) -> Iterator[MarkdownTH]:
    for each in block._blocks:  # noqa: SLF001 - as Textual's own table does
        if isinstance(each, MarkdownTH):
            yield each
        else:
            yield from _list_headers(each)


def _find_side(header: MarkdownTH) -> _Side:
    return _SIDES.get(str(header._token.attrs.get("style", "")), "left")  # noqa: SLF001 - as above


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
        if token.children:
            token.children = list(_show_addresses(token.children))
            waiting += token.children


def _show_addresses(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens with the address of each link behind its words: no key could show it."""
    address, words = "", ""
    for token in tokens:
        yield token
        if token.type == "link_open":
            address, words = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if address.removeprefix("mailto:") not in ("", words.strip()):
                yield Token("text", "", 0, content=f" ({address})")
        else:
            words += token.content
