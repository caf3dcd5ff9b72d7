"""Several answers to one question: side by side if the terminal is wide enough, else stacked."""

import sys
from collections.abc import Iterator, Sequence
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import Struct, json

from ...canon import Event, TextDelta, ThinkingDelta, dump_json
from ...store import redact_secrets
from ..ask.result import AskResult
from ..ask.thread import AskStart
from ..command import describe_error
from .echo import echo, style_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_NARROWEST = 30  # columns that an answer needs in a row of several
_LETTERS_A_TOKEN = 4


class _AnswerProgress(Struct):
    """How far one answer has come."""

    name: str
    begun: bool = False
    thought: int = 0
    said: int = 0
    seconds: float | None = None

    def line(self, width: int, now: float) -> str:
        seconds = now if self.seconds is None else self.seconds
        doing = "answering" if self.said else "thinking" if self.begun else "waiting"
        doing = doing if self.seconds is None else "done"
        counts = ((self.thought, "thinking"), (self.said, "answer"))
        said = [f"~{count // _LETTERS_A_TOKEN:,} {kind}" for count, kind in counts if count]
        tokens = f"  {', '.join(said)}" if said else ""
        return f"{self.name:<{width}}  {doing:<9}  {seconds:.0f} s{tokens}"


class ColumnProgress:
    """A line for each answer on stderr while they come, if it is a terminal; gone when left."""

    def __init__(self, starts: Sequence[AskStart], *, shown: bool) -> None:
        self._progress = [_AnswerProgress(start.name) for start in starts]
        self._shown = shown
        self._began = monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._shown and sys.stderr.isatty():
            from .live import live_lines, moves

            if moves(sys.stderr):
                self._live = live_lines(self._lines)
                self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def feed(self, number: int, event: Event) -> None:
        """Count what an event of one of the answers brings."""
        self._progress[number].begun = True
        if isinstance(event, ThinkingDelta):
            self._progress[number].thought += len(event.text)
        elif isinstance(event, TextDelta):
            self._progress[number].said += len(event.text)

    def end(self, number: int) -> None:
        """Note that one of the answers is whole."""
        self._progress[number].seconds = monotonic() - self._began

    def _lines(self) -> "RenderableType":
        from rich.text import Text

        now = monotonic() - self._began
        width = max(len(each.name) for each in self._progress)
        lines = "\n".join(each.line(width, now) for each in self._progress)
        return Text(lines, style="dim", no_wrap=True, overflow="ellipsis")


def print_answers(answers: Sequence[AskResult], *, plain: bool, thinking: bool) -> None:
    """Print the answers: in columns on a terminal, else one after the other, word for word."""
    if not answers:
        return
    if sys.stdout.isatty() and not plain:
        _draw(answers, thinking=thinking)
        return
    for number, answer in enumerate(answers):
        if number:
            echo()
        echo(style_text(f"# {answer.name}", fg="cyan", bold=True))
        echo()
        for text in _thoughts(answer) if thinking else ():
            echo(style_text(text, dim=True))
            echo()
        echo(_words(answer), exact=answer.error is None)
        echo()
        echo(style_text(answer.figures(), dim=True))


def _draw(answers: Sequence[AskResult], *, thinking: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from .tables import Screen

    screen = Screen()
    bodies = [Group(*_body(answer, thinking=thinking)) for answer in answers]
    if screen.width // len(answers) < _NARROWEST:
        for number, (answer, body) in enumerate(zip(answers, bodies, strict=True)):
            screen.print(Text(answer.name, style="bold cyan"), "", body, "", sep="\n")
            screen.print(Text(answer.figures(), style="dim"))
            if number < len(answers) - 1:
                screen.rule(style="dim")
        return
    sheet = Table(box=SIMPLE_HEAD, expand=True, show_footer=True, footer_style="none")
    for answer in answers:
        foot = Text("\n".join(_foot(answer)), style="dim")
        name = Text(answer.name, style="bold cyan")
        sheet.add_column(name, foot, ratio=1, overflow="fold", vertical="top")
    sheet.add_row(*bodies)
    screen.print(sheet)


def _body(answer: AskResult, *, thinking: bool) -> "Iterator[RenderableType]":
    from rich.text import Text

    from .live import render_markdown

    for text in _thoughts(answer) if thinking else ():
        yield Text(f"{text}\n", style="dim")
    if answer.error is not None:
        yield Text(_words(answer), style="red")
    elif answer.shaped:
        yield Text(json.format(_words(answer), indent=2))
    else:
        yield render_markdown(_words(answer))


def _foot(answer: AskResult) -> Iterator[str]:
    """Yield the figures of an answer, one a line, so that columns can be compared."""
    figures = [(kind, f"{count:,}") for kind, count in answer.counts()]
    figures += [("cost", answer.money()), ("time", f"{answer.seconds:,.1f} s")]
    width = max(len(label) for label, _ in figures)
    for label, figure in (*figures, ("verdict", answer.verdict())):
        yield f"{label:<{width}}  {figure}"


def _thoughts(answer: AskResult) -> list[str]:
    return [redact_secrets(reply.thinking) for reply in answer.replies if reply.thinking]


def _words(answer: AskResult) -> str:
    if answer.error is not None:
        return describe_error(answer.error)
    if answer.shaped:
        return redact_secrets(dump_json(answer.value))
    return redact_secrets(answer.reply.text) if answer.reply else ""
