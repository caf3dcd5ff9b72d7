"""Terminal input. Textual's driver ends the app at a byte that is not UTF-8; here it is ``�``."""

import os
import selectors
from codecs import getincrementaldecoder

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

_TICK = 0.1
_MOST = 4096


class TolerantDriver(LinuxDriver):
    """The driver of Linux and macOS, for whatever bytes come."""

    def run_input_thread(self) -> None:
        """Read what is typed until the app is closed."""
        decode = getincrementaldecoder("utf-8")("replace").decode
        parser = XTermParser(self._debug)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                came = os.read(self.fileno, _MOST) if selector.select(_TICK) else None
                if came == b"":
                    self.exit_event.wait(_TICK)  # the terminal is gone: there is always nothing
                # An empty text, which is half a character, would be the end for the parser.
                if came and (typed := decode(came)):
                    for event in parser.feed(typed):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
