"""Record a session of the program and write it as an animation: docs/pictures/session.svg.

Each command of ``COMMANDS`` runs in a pseudo-terminal with an empty home directory, answered by the
emulator. The picture shows the bytes that the program printed. Only the pace is set here: typed
letters, streamed pieces of thinking and pauses each have a duration. ``make session`` writes the
file; a test records the session again and compares.
"""

import fcntl
import html
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyte

PICTURE = Path(__file__).parent / "pictures" / "session.svg"
COMMANDS = (
    'pondero ask --offline claude-opus-5/low "What is 17 * 23?"',
    'pondero ask --offline claude-opus-5 --levels low,max "What is 17 * 23?"',
    'pondero ask --offline -c gpt-5.5/low "And what is 391 * 2?"',
    "pondero plan claude-sonnet-4-5/high --max-tokens 8000",
)
_TITLE = "A session of pondero in a terminal"
_COLUMNS, _ROWS = 80, 17
# Seconds: a typed letter, a piece of thinking, a pause, the end of a command.
_TYPED, _STREAMED, _PAUSE, _READ = 0.05, 0.09, 0.6, 4.0
_CELL, _LINE, _EDGE = 8.4, 18, 14
_COLOURS = {
    "default": "#d6dde4",
    "brightblack": "#7d8a97",  # dimmed text; see `_dimmed`
    "cyan": "#56c8d8",
    "green": "#7bc96f",
    "brown": "#e2b65b",  # yellow, by its name in pyte
    "red": "#ee7b76",
}
_STARTUP = "from pondero.cli import main; main()"


class Run(NamedTuple):
    """Characters next to each other that look alike."""

    column: int
    text: str
    colour: str
    bold: bool


Row = tuple[Run, ...]


class Frame(NamedTuple):
    """One screen, and the seconds that it is shown."""

    rows: tuple[Row, ...]
    seconds: float


def record() -> list[Frame]:
    """Run all commands and return the frames of the session."""
    screen = pyte.Screen(_COLUMNS, _ROWS)
    stream = pyte.ByteStream(screen)
    frames: list[Frame] = []

    def show(data: bytes, seconds: float) -> None:
        stream.feed(data)
        frames.append(Frame(_rows(screen), seconds))

    with TemporaryDirectory() as home:
        for command in COMMANDS:
            if frames:
                stream.feed(b"\x1b[2J\x1b[H")
            show(b"\x1b[32m$\x1b[0m ", _PAUSE)
            for letter in command:
                show(letter.encode(), _TYPED)
            show(b"\r\n", _PAUSE)
            pieces = _split(_dimmed(_run(command, home)))
            for piece in pieces[:-1]:
                show(piece, _STREAMED)
            show(pieces[-1], _READ)
    return frames


def _run(command: str, home: str) -> bytes:
    """Return what a command prints to a terminal."""
    words = [sys.executable, "-c", _STARTUP, *shlex.split(command)[1:]]
    folders = {f"PONDERO_{name}_DIR": f"{home}/{name}" for name in ("CONFIG", "DATA")}
    kept = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": os.pathsep.join(sys.path)}
    usual = {"HOME": home, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    environment = {**kept, **usual, **folders, "COLUMNS": str(_COLUMNS), "LINES": str(_ROWS)}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    child = subprocess.Popen(  # noqa: S603 - our own commands
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    printed = bytearray()
    try:
        while data := os.read(ours, 65_536):
            printed += data
    except OSError:
        pass  # Linux reports the end of the program as an error
    os.close(ours)
    if child.wait():
        sys.exit(f"{command} failed: {printed.decode(errors='replace')}")
    return bytes(printed)


def _dimmed(printed: bytes) -> bytes:
    """Return the bytes with dimmed text in grey: pyte does not know the attribute."""
    return printed.replace(b"\x1b[2m", b"\x1b[90m")


def _split(printed: bytes) -> list[bytes]:
    """Return the pieces of a stream of thinking, and the rest; other output is one piece."""
    return re.split(rb"(?<=\x1b\[0m)(?=\x1b\[90m)", printed)


def _rows(screen: pyte.Screen) -> tuple[Row, ...]:
    lines = (screen.buffer[number] for number in range(_ROWS))
    return tuple(_runs([line[column] for column in range(_COLUMNS)]) for line in lines)


def _runs(cells: list[pyte.screens.Char]) -> Row:
    found: list[Run] = []
    column = 0
    for (colour, bold), group in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
        text = "".join(cell.data for cell in group)
        start = column + len(text) - len(text.lstrip())
        if text.strip():
            found.append(Run(start, text.strip(), colour, bold))
        column += len(text)
    return tuple(found)


def draw(frames: list[Frame]) -> str:
    """Return the animation as an SVG document: a film whose frames are next to each other."""
    width, height = round(_COLUMNS * _CELL) + 2 * _EDGE, _ROWS * _LINE + 2 * _EDGE
    lines = {row: f"r{number}" for number, row in enumerate(_distinct(frames))}
    drawn = [f'<g id="{name}">{_draw_row(row)}</g>' for row, name in lines.items()]
    film = [_draw_frame(frame, number * width, lines) for number, frame in enumerate(frames)]
    shades = [f".{name}{{fill:{colour}}}" for name, colour in _COLOURS.items()]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = "14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'<title id="title">{_TITLE}: {html.escape("; ".join(COMMANDS))}</title>',
        "<style>",
        f"text{{font:{font};white-space:pre}}",
        ".bold{font-weight:bold}",
        *shades,
        *_animate(frames, width),
        "</style>",
        f"<defs>{''.join(drawn)}</defs>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#151b21"/>',
        '<g class="film">',
        *film,
        "</g>",
        "</svg>\n",
    ]
    return "\n".join(parts)


def _distinct(frames: list[Frame]) -> dict[Row, None]:
    return dict.fromkeys(row for frame in frames for row in frame.rows if row)


def _draw_row(row: Row) -> str:
    return "".join(
        f'<text x="{run.column * _CELL:g}" class="{run.colour}{" bold" if run.bold else ""}" '
        f'textLength="{len(run.text) * _CELL:g}" lengthAdjust="spacingAndGlyphs">'
        f"{html.escape(run.text, quote=False)}</text>"
        for run in row
    )


def _draw_frame(frame: Frame, left: int, lines: dict[Row, str]) -> str:
    used = [
        f'<use href="#{lines[row]}" x="{left + _EDGE}" y="{_EDGE + (number + 1) * _LINE - 4}"/>'
        for number, row in enumerate(frame.rows)
        if row
    ]
    return f"<g>{''.join(used)}</g>"


def _animate(frames: list[Frame], width: int) -> list[str]:
    """Return the style that moves the film; readers who want no motion see the first answer."""
    total = sum(frame.seconds for frame in frames)
    steps, passed = [], 0.0
    for number, frame in enumerate(frames):
        steps.append(f"{100 * passed / total:.3f}%{{transform:translateX({-number * width}px)}}")
        passed += frame.seconds
    first_end = next(number for number, frame in enumerate(frames) if frame.seconds == _READ)
    still = f".film{{animation:none;transform:translateX({-first_end * width}px)}}"
    return [
        f".film{{animation:film {total:.1f}s step-end infinite}}",
        f"@keyframes film{{{''.join(steps)}}}",
        f"@media (prefers-reduced-motion:reduce){{{still}}}",
    ]


if __name__ == "__main__":
    PICTURE.write_text(draw(record()), "utf-8")
