"""Makes texts ready to draw; the chat turns words into something to draw nowhere else.

What a model, a service or a file says may hold control characters, which a terminal would obey
(clear the screen, change the title, write to the clipboard). They are made visible here.
"""

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.content import Content
from textual.widgets import Markdown

from ..canon import visible


def content(text: str, style: str = "") -> Content:
    """Return words to draw, in a style."""
    return Content.styled(visible(text), style) if style else Content(visible(text))


def document() -> Markdown:
    """Return an empty Markdown document; what is appended to it is made visible before."""
    return Markdown(parser_factory=_parser, open_links=False)


def _parser() -> MarkdownIt:
    """Return the parser Textual uses, but HTML is text: Textual would leave it out."""
    parser = MarkdownIt("gfm-like", {"html": False})
    parser.core.ruler.push("visible", _make_visible)
    return parser


def _make_visible(state: StateCore) -> None:
    """Make visible what entities stand for: ``&#8238;`` turns the text round."""
    waiting: list[Token] = list(state.tokens)
    while waiting:
        token = waiting.pop()
        token.content = visible(token.content)
        waiting += token.children or ()
