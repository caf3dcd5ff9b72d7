"""What moves on a terminal: an answer's Markdown as it arrives, and a counter while it thinks."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from threading import RLock, Timer
from time import monotonic
from typing import ClassVar, TextIO

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.live_render import LiveRender
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from ...canon import Event, ThinkingDelta, UsageUpdate, escape_controls
from .tables import Screen

_OFTEN = 0.05  # seconds between two drawings, at least
_SHARE = 4  # a long block is drawn more rarely, so that drawing takes a fifth of the time at most
_SOON = 0.3  # seconds after which a wait is worth a word
_COLUMN = 8  # characters that a column of a table needs, its space included
_LETTERS_A_TOKEN = 4  # as the chat guesses, until the service has counted


def moves(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal on which lines can be drawn again."""
    dumb = os.environ.get("TERM", "") in ("dumb", "unknown", "")
    return stream is not None and stream.isatty() and not dumb


class _Heading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Code(CodeBlock):
    """Code in the terminal's own colours, two columns in."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        syntax = Syntax(
            code, self.lexer_name, theme="ansi_dark", word_wrap=True, background_color="default"
        )
        yield Padding(syntax, (0, 2))


class _Table(TableElement):
    """A table; one with too many columns for the terminal is printed as records."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = self.header.row.cells if self.header and self.header.row else []
        if len(heads) * _COLUMN <= options.max_width or self.body is None:
            yield from super().__rich_console__(console, options)
            return
        for number, row in enumerate(self.body.rows):
            record = Table.grid(padding=(0, 2, 0, 0))
            record.add_column(style="markdown.table.header", overflow="fold")
            record.add_column(overflow="fold")
            for head, cell in zip(heads, row.cells, strict=False):
                record.add_row(head.content, cell.content)
            if number:
                yield Text()
            yield record


class _Document(Markdown):
    """Markdown from a model: links are printed as words and an address, not as escape codes."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        super().__init__(escape_controls(text), code_theme="ansi_dark", hyperlinks=False)


class Block:
    """One block without rich's empty lines around it; of a long one, the last ``most`` lines."""

    def __init__(self, text: str, *, most: int | None = None) -> None:
        self._text = text
        self._most = most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(_Document(self._text), options, pad=False)
        full = [number for number, line in enumerate(lines) if _is_full(line)]
        shown = lines[full[0] : full[-1] + 1] if full else []
        for line in shown[-self._most :] if self._most else shown:
            yield from line
            yield Segment.line()


def _is_full(line: list[Segment]) -> bool:
    return any(segment.text.strip() for segment in line)


_PARSER = MarkdownIt().enable("strikethrough").enable("table")


def blocks(text: str) -> Iterator[str]:
    """Yield the blocks of a document, of which more text can change only the last."""
    lines = escape_controls(text).splitlines(keepends=True)
    tokens = _PARSER.parse("".join(lines))
    starts = [each.map[0] for each in tokens if each.level == 0 and each.map and each.nesting >= 0]
    for begin, end in pairwise([*starts, len(lines)] if starts else []):
        yield "".join(lines[begin:end])


def render_markdown(text: str) -> Group:
    """Return a whole document, its blocks apart by a line."""
    made: list[RenderableType] = []
    for block in blocks(text):
        made += [Text(), Block(block)] if made else [Block(block)]
    return Group(*made)


class Typeset:
    """Draws Markdown as it arrives, at once against flicker: whole blocks once, the last again."""

    def __init__(self) -> None:
        self._screen = Screen()
        self._region = LiveRender("")  # the last block, where the cursor is
        self._lock = RLock()
        self._timer: Timer | None = None
        self._text = ""  # what may still change
        self._held = ""
        self._begun = False
        self._next = 0.0  # when to draw again

    def write(self, text: str) -> None:
        """Take one more piece; a carriage return waits for the newline that may follow it."""
        with self._lock:
            text = self._held + text
            self._held = "\r" if text.endswith("\r") else ""
            self._text += text.removesuffix("\r")
            wait = self._next - monotonic()
            if wait <= 0:
                self._draw()
            elif self._timer is None:
                self._timer = Timer(wait, self._draw_late)
                self._timer.daemon = True
                self._timer.start()

    def end(self) -> None:
        """Draw what is left, and let go of the screen."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            whole = list(blocks(self._text + self._held))
            self._text = self._held = ""
            if whole:
                self._print(whole)
            self._region = LiveRender("")

    def _draw_late(self) -> None:
        with self._lock, suppress(OSError):  # of which the next piece is told
            self._timer = None
            if self._text:
                self._draw()

    def _draw(self) -> None:
        began = monotonic()
        *whole, last = list(blocks(self._text)) or [""]
        self._text = last if whole else self._text
        most = max(1, self._screen.size.height - 3)
        gap = [Text()] if self._begun or whole else []
        self._print(whole, Group(*gap, Block(self._text, most=most)))
        now = monotonic()
        self._next = now + max(_OFTEN, _SHARE * (now - began))

    def _print(self, whole: list[str], rest: Group | None = None) -> None:
        made: list[RenderableType] = [self._region.position_cursor()]
        for block in whole:
            made += [Text(), Block(block)] if self._begun else [Block(block)]
            self._begun = True
        if rest is not None:
            self._region.set_renderable(rest)
            made.append(self._region)
        self._screen.print(Group(*made), end="")


def live_lines(lines: Callable[[], RenderableType]) -> Live:
    """Return lines on stderr that are drawn again many times a second, and leave no trace."""
    return Live(
        console=Screen(stderr=True),
        get_renderable=lines,
        refresh_per_second=10,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


class ThinkingCounter:
    """A line on stderr while ``doing`` (thinking, waiting): seconds, and hidden thinking tokens.

    Until something came it says waiting: there may be no connection.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._begun = False
        self._live: Live | None = None
        self._spinner = Spinner("dots")
        self._began = 0.0
        self._letters = 0
        self._tokens: int | None = None

    def start(self) -> None:
        """Begin to count; nothing is drawn of a wait that is short."""
        if self._live is not None:
            return
        self._began, self._letters, self._tokens = monotonic(), 0, None
        self._begun = False
        self._live = live_lines(self._line)
        self._live.start()

    def feed(self, event: Event) -> None:
        """Count what an event says of thinking."""
        self._begun = True
        if isinstance(event, ThinkingDelta):
            self._letters += len(event.text)
        elif isinstance(event, UsageUpdate) and event.usage.thinking:
            self._tokens = event.usage.thinking

    def stop(self) -> None:
        """Take the line away; may be called twice."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _line(self) -> Spinner | Text:
        seconds = monotonic() - self._began
        if seconds < _SOON:
            return Text()
        guess = self._letters // _LETTERS_A_TOKEN
        count = f"~{guess:,}" if self._tokens is None else f"{self._tokens:,}"
        tokens = f" · {count} tokens" if guess or self._tokens else ""
        doing = self._doing if self._begun else "waiting"
        self._spinner.update(text=Text(f"{doing} {seconds:.0f} s{tokens}", style="dim"))
        return self._spinner
