"""Prints for every command, with control characters made visible, which a terminal would obey."""

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

if TYPE_CHECKING:
    from .line_wrap import LineWrap

USUAL_WIDTH = 80  # columns of a usual terminal


class StyledText(NamedTuple):
    """Words in a colour; ``style`` has the keywords of ``click.style``."""

    text: str
    style: dict[str, Any]


def style_text(text: str, **style: Any) -> StyledText:
    """Return words for ``echo`` to print in a colour, if colours are on."""
    return StyledText(text, style)


def echo(
    *pieces: str | StyledText, err: bool = False, nl: bool = True, exact: bool = False
) -> None:
    """Print pieces, control characters visible; ``exact``: as they are, if not on a terminal."""
    stream = sys.stderr if err else sys.stdout
    on_screen = stream is not None and stream.isatty()
    coloured = has_styles(on_screen=on_screen)
    line = "".join(
        _render(piece, coloured=coloured, exact=exact and not on_screen) for piece in pieces
    )
    click.echo(line, err=err, nl=nl, color=True)  # click would take colours out of each piece alone


def has_styles(*, on_screen: bool) -> bool:
    """Return whether colours and dim text are printed: on a terminal, unless NO_COLOR is set."""
    return on_screen if (said := _color_setting()) is None else said


def say(text: str, **style: Any) -> None:
    """Print a remark on stderr, yellow by default; on a terminal no word of it is cut in two."""
    echo(style_text(_wrap_words(text), **(style or {"fg": "yellow"})), err=True)


def say_error(text: str) -> None:
    """Print an error on stderr; on a terminal no word of it is cut in two."""
    echo(_wrap_words(text), err=True)


def _wrap_words(text: str) -> str:
    if sys.stderr is None or not sys.stderr.isatty():
        return text
    import shutil
    from textwrap import fill

    width = shutil.get_terminal_size().columns or USUAL_WIDTH
    lines = text.splitlines()
    return "\n".join(
        fill(line, width, break_on_hyphens=False, break_long_words=False) for line in lines
    )


def narrow() -> int | None:
    """Return the width of a terminal that is narrower than most; None for others, and a pipe."""
    import shutil

    if sys.stdout is None or not sys.stdout.isatty():
        return None
    columns = shutil.get_terminal_size().columns
    return columns if columns < USUAL_WIDTH else None


def fit_text(text: str, *, indent: int = 0) -> str:
    """Return a text with an indent; on a narrow terminal no word of it is cut in two."""
    from textwrap import fill
    from textwrap import indent as indented

    width = narrow()
    if width is not None:
        text = fill(text, width - indent, break_on_hyphens=False, break_long_words=False)
    return indented(text, " " * indent)


def _render(piece: str | StyledText, *, coloured: bool, exact: bool) -> str:
    from ...canon import escape_controls

    text = piece if isinstance(piece, str) else piece.text
    # A half of a surrogate pair is no character, and no stream takes one.
    text = text.encode("utf-8", "replace").decode("utf-8") if exact else escape_controls(text)
    if coloured and isinstance(piece, StyledText) and piece.style:
        return click.style(text, **piece.style)
    return text


def _color_setting() -> bool | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.color


class Typing:
    """Prints a text as it arrives; with ``wrap``, a terminal gets whole words once they ended."""

    def __init__(self, *, err: bool = False, wrap: bool = False, **style: Any) -> None:
        self._err = err
        self._style = style
        self._held = ""
        self._wrap = _line_wrap() if wrap and self._stream.isatty() else None

    def write(self, text: str) -> None:
        """Print one more piece; a carriage return waits for the newline that may follow it."""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        self._print(text.removesuffix("\r"))

    def end(self) -> None:
        """Print what still waits."""
        self._print(self._held, last=True)
        self._held = ""

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self._err else sys.stdout

    def _print(self, text: str, *, last: bool = False) -> None:
        if self._wrap is not None:
            from ...canon import escape_controls

            width = _width_of(self._stream)
            text = self._wrap.feed(escape_controls(text), width)
            text += self._wrap.end(width) if last else ""
        if text:
            echo(style_text(text, **self._style), err=self._err, nl=False, exact=True)


def _line_wrap() -> "LineWrap":
    from .line_wrap import LineWrap

    return LineWrap()


def _width_of(stream: TextIO) -> int:
    import os

    try:
        said = int(os.environ.get("COLUMNS") or 0)
        # A terminal of a serial line or a script may say that it has no columns.
        return said or os.get_terminal_size(stream.fileno()).columns or USUAL_WIDTH
    except (OSError, ValueError):
        return USUAL_WIDTH
