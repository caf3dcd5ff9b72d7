"""Terminal input: any byte, where Textual's driver ends at one that is not UTF-8; and pastes."""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable
from threading import Event
from time import monotonic
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste

from .paste_reader import KeyInput, PasteInput, PasteReader

_TICK = 0.1
_PAUSE = 0.03
"""Seconds without input after which a paste has ended: less than between two keys held down."""
_STALL = 0.5
"""Seconds without input after which the end of a paste is no longer waited for."""
_MOST = 4096


class TolerantDriver(LinuxDriver):
    """The driver of Linux and macOS, for whatever bytes come."""

    _reader: PasteReader | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._can_begin = Event()

    def begin_input(self) -> None:
        """Process what is typed from now on, and what was typed before there was a screen."""
        self._can_begin.set()

    @property
    def unfinished_paste(self) -> str:
        """Return what has come of a paste that has not ended."""
        came = self._reader.unfinished if self._reader is not None else ""
        return came.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")

    def run_input_thread(self) -> None:
        """Read what is typed until the app is closed."""
        decode = getincrementaldecoder("utf-8")("replace").decode
        parser = XTermParser(self._debug)
        reader = self._reader = PasteReader()
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            is_first = not self._can_begin.is_set()
            early = os.read(self.fileno, _MOST) if is_first and selector.select(0) else b""
            while not (self._can_begin.wait(_TICK) or self.exit_event.is_set()):
                pass  # Textual drops keys while it has no screen
            if early:
                self._process(reader.feed(decode(_restore_enter(early))), parser)
            last = monotonic()
            while not self.exit_event.is_set():
                patience = _PAUSE if reader.needs_pause else _TICK
                came = os.read(self.fileno, _MOST) if selector.select(patience) else None
                if came == b"":
                    self.exit_event.wait(_TICK)  # the terminal is gone: there is always nothing
                if came:
                    last = monotonic()
                self._process(reader.feed(decode(came)) if came else reader.pause(), parser)
                if came == b"" or monotonic() - last > _STALL:
                    self._process(reader.give_up(), parser)
                for event in parser.tick():
                    self.process_message(event)

    def _process(self, pieces: Iterable[KeyInput | PasteInput], parser: XTermParser) -> None:
        for piece in pieces:
            if isinstance(piece, PasteInput):
                # as Textual has it: https://github.com/Textualize/textual/issues/1661
                self.process_message(Paste(piece.text.replace("\x00", "")))
            else:  # never empty, which would be the end for the parser
                for event in parser.feed(piece.text):
                    self.process_message(event)


def _restore_enter(early: bytes) -> bytes:
    """Return what was typed before the terminal gave single keys: Enter was a line feed there.

    Several lines may be a paste, which the terminal did not mark yet: nothing in it presses Enter.
    """
    return early[:-1] + b"\r" if early.find(b"\n") == len(early) - 1 else early
