"""Reads frames that differ from an earlier one in their text alone, without parsing them."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ..canon import get_decoder
from ..errors import Malformed
from .payloads import UNREADABLE

_IN_VAIN = 8  # failed tries after which a stream gets no stencil
_PROBE = "probe"

_string = get_decoder(str).decode

P = TypeVar("P")


class Stencil(Generic[P]):
    """The bytes of a frame before and after its text; only a JSON string fits in between."""

    __slots__ = ("_after", "_before", "_end", "_in_vain", "_start", "place")

    def __init__(self, place: P) -> None:
        self.place: P = place
        self._in_vain = 0
        self._before = self._after = b'"'
        self._start, self._end = 0, 0  # between them nothing, which is no string

    @property
    def is_wanted(self) -> bool:
        """Return whether to cut it from the next frame."""
        return self._in_vain < _IN_VAIN

    def cut(self, frame: bytes, read: Callable[[bytes], tuple[P, str] | None]) -> None:
        """Cut it from a frame; ``read`` is called again with another text, to check the hole."""
        self._in_vain += 1
        found = read(frame)
        if found is None:
            return
        place, text = found
        before, quoted, after = frame.partition(b'"%b"' % text.encode())
        if not quoted:
            return
        try:
            fits = read(b'%b"%b"%b' % (before, _PROBE.encode(), after)) == (place, _PROBE)
        except Malformed:  # what was found are the quotes of two other strings
            return
        if fits:
            self.place = place
            self._before, self._after = before + b'"', b'"' + after
            self._start, self._end = len(before), -len(after)

    def texts(self, frames: list[bytes], at: int = 0) -> list[str]:
        """Return the texts of the frames from ``at`` up to one that is empty or does not fit."""
        before, after, start, end = self._before, self._after, self._start, self._end
        found: list[str] = []
        try:
            while at < len(frames):
                frame = frames[at]
                if not frame.startswith(before) or not frame.endswith(after):
                    break
                text = _string(frame[start:end])
                if not text:
                    break
                found.append(text)
                at += 1
        except UNREADABLE:
            pass  # it does not fit
        if found:
            self._in_vain = 0
        return found
