"""Reads the text of a frame that is an earlier one with another text, without parsing it.

Nearly all frames of a long stream differ from the one before in their text alone. A decoder parses
one and cuts a stencil of it; what fits the stencil is that frame, with the text in the hole.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from ..canon import get_decoder
from ..errors import Malformed
from .payloads import UNREADABLE

_IN_VAIN = 8  # tries that nothing came of, after which a stream is thought to be of another kind
_PROBE = "probe"

_string = get_decoder(str).decode

P = TypeVar("P")


class Stencil(Generic[P]):
    """The bytes of a frame before and behind its text; ``place`` is where the decoder puts that.

    It is exact: between the two a JSON string and nothing else may stand, so that a frame that fits
    is the same JSON but for this one value.
    """

    __slots__ = ("_after", "_before", "_end", "_in_vain", "_start", "place")

    def __init__(self, place: P) -> None:
        self.place: P = place
        self._in_vain = 0
        self._before = self._after = b'"'
        self._start, self._end = 0, 0  # between them nothing, which is no string

    @property
    def is_wanted(self) -> bool:
        """Return whether it is worth while to cut it from the next frame."""
        return self._in_vain < _IN_VAIN

    def cut(self, frame: bytes, read: Callable[[bytes], tuple[P, str] | None]) -> None:
        """Cut it from a frame, if that has text and nothing else.

        ``read`` returns place and text of such a frame, None of any other. It is asked again with
        another text in the hole: the same letters may stand elsewhere in the frame.
        """
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
        """Return the texts of the frames that fit, from one on up to the first that does not.

        One without text does not: a decoder may have nothing to tell of it.
        """
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
