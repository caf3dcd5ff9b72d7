"""Copies with a program of the desktop, else by OSC 52, which a terminal does not confirm."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping

from ..canon import escape_controls

_PROGRAMS = (
    ("pbcopy", None, ("pbcopy",)),
    ("wl-copy", "WAYLAND_DISPLAY", ("wl-copy",)),
    ("xclip", "DISPLAY", ("xclip", "-selection", "clipboard")),
    ("clip.exe", None, ("clip.exe",)),
)
"""A program, the variable it needs, and how it is called."""
_PICTURES = (
    ("pngpaste", None, ("pngpaste", "-")),
    ("wl-paste", "WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("xclip", "DISPLAY", ("xclip", "-selection", "clipboard", "-t", "image/png", "-o")),
)
_NO_CLIPBOARD = {"TERM": ("", "dumb", "linux", "vt100"), "TERM_PROGRAM": ("Apple_Terminal",)}
"""Terminals that are known to take nothing for the clipboard."""
_PATIENCE = 3.0


Program = tuple[str, str | None, tuple[str, ...]]


def program(
    environment: Mapping[str, str],
    which: Callable[[str], str | None] = shutil.which,
    programs: tuple[Program, ...] = _PROGRAMS,
) -> tuple[str, ...] | None:
    """Return the program that reaches this desktop's clipboard; over SSH it is another's."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return None
    for name, needed, call in programs:
        if (needed is None or environment.get(needed)) and which(name):
            return call
    return None


def lacks_clipboard(environment: Mapping[str, str]) -> bool:
    """Return whether this terminal is known to have no clipboard for programs."""
    return any(environment.get(name, "?") in values for name, values in _NO_CLIPBOARD.items())


def picture() -> bytes | None:
    """Return the picture on the clipboard as PNG; None if there is none or it cannot be read."""
    if (call := program(os.environ, programs=_PICTURES)) is None:
        return None
    try:
        # one of the programs named above
        run = subprocess.run(call, capture_output=True, timeout=_PATIENCE, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout if run.stdout.startswith(b"\x89PNG") else None


def copy(text: str, label: str, send: Callable[[str], None]) -> tuple[bool, str]:
    """Copy a text, with control characters spelled out; return whether, and a line about it."""
    shown = escape_controls(text)
    letters = f"{label}, {len(shown):,} characters"
    if call := program(os.environ):
        try:
            subprocess.run(  # noqa: S603 - one of the programs named above
                call,
                input=shown.encode(),
                timeout=_PATIENCE,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError):
            pass
        else:
            return True, f"✓ Copied with {call[0]}: {letters}"
    if lacks_clipboard(os.environ):
        return False, "✗ this terminal has no clipboard for programs; /export FILE writes it all"
    send(shown)
    return True, f"✓ Sent to the terminal's clipboard: {letters} (not every terminal takes it)"
