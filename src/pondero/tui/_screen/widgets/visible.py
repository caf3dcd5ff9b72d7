"""Texts made safe to draw: control characters are visible, and HTML is text."""

from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.content import Content
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock

from ....canon import escape_controls


def content(text: str, style: str = "") -> Content:
    """Return words to draw, in a style."""
    return Content.styled(escape_controls(text), style) if style else Content(escape_controls(text))


def document() -> Markdown:
    """Return an empty Markdown document; what is appended to it is made visible before."""
    return Markdown(parser_factory=make_parser, open_links=False)


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
