"""Bodies that a service packed with gzip or deflate, unpacked in pieces of bounded size."""

import zlib

_MOST = 256 * 1024  # bytes unpacked at once, however small the packed ones are
_EITHER = 32 + zlib.MAX_WBITS  # gzip or zlib, whichever the first bytes are
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})


class PackedBody:
    """Unpacks a body; ``feed`` bytes, then ``take`` until nothing comes."""

    def __init__(self, coding: str) -> None:
        self._coding: str = coding
        self._waiting: bytes = b""
        self._unpacker: zlib._Decompress | None = None

    def feed(self, data: bytes) -> None:
        """Add packed bytes."""
        self._waiting += data

    def take(self) -> bytes:
        """Return the next unpacked bytes, if there are any; raises zlib.error."""
        while self._waiting:
            unpacker = self._unpacker or self._open()
            data = unpacker.decompress(self._waiting, _MOST)
            self._waiting = unpacker.unconsumed_tail
            if unpacker.eof:  # a file of gzip may consist of several
                self._unpacker, self._waiting = None, unpacker.unused_data
                if not self._waiting.strip(b"\0"):
                    self._waiting = b""
            if data:
                return data
        return b""

    def is_whole(self) -> bool:
        """Return whether the body may end here."""
        return self._unpacker is None

    def _open(self) -> "zlib._Decompress":
        # Some services send deflate without zlib's head, which begins with an 8 in its low bits.
        bare = self._coding == "deflate" and self._waiting[0] & 0xF != zlib.DEFLATED
        self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS if bare else _EITHER)
        return self._unpacker
