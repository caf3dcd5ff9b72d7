"""Terminal input: any byte, where Textual's driver ends at one that is not UTF-8; and pastes."""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable
from time import monotonic

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
        last = monotonic()
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
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
