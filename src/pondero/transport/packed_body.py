"""Bodies that a service packed with gzip or deflate, unpacked in pieces of bounded size."""

import zlib

_MOST = 256 * 1024  # bytes unpacked at once, however small the packed ones are
_PIECE = 8 * 1024  # packed bytes unpacked at once: zlib copies what follows the end of a member
_EITHER = 32 + zlib.MAX_WBITS  # gzip or zlib, whichever the first bytes are
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})


class PackedBody:
    """Unpacks a body; ``feed`` bytes, then ``take`` until nothing comes."""

    def __init__(self, coding: str) -> None:
        self._coding: str = coding
        self._waiting: bytes = b""
        self._at: int = 0  # the bytes before are unpacked
        self._unpacker: zlib._Decompress | None = None
        self._has_member: bool = False
        self._holds_more: bool = False  # zlib may have more than it was allowed to return

    def feed(self, data: bytes) -> None:
        """Add packed bytes."""
        self._waiting, self._at = self._waiting[self._at :] + data, 0

    def take(self) -> bytes:
        """Return the next unpacked bytes, if there are any; raises zlib.error."""
        while self._holds_more or self._at < len(self._waiting):
            piece = self._waiting[self._at : self._at + _PIECE]
            if self._unpacker is None and self._has_member and piece[0] == 0:
                self._at += len(piece) - len(piece.lstrip(b"\0"))  # padding of gzip
            elif data := self._unpack(self._unpacker or self._open(piece[0]), piece):
                return data
        return b""

    def is_whole(self) -> bool:
        """Return whether the body may end here."""
        return self._unpacker is None

    def _unpack(self, unpacker: "zlib._Decompress", piece: bytes) -> bytes:
        data = unpacker.decompress(piece, _MOST)
        left = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        self._at += len(piece) - len(left)
        if unpacker.eof:  # a file of gzip may consist of several
            self._unpacker, self._has_member = None, True
        self._holds_more = len(data) == _MOST and not unpacker.eof
        return data

    def _open(self, first: int) -> "zlib._Decompress":
        # Some services send deflate without zlib's head, which begins with an 8 in its low bits.
        bare = self._coding == "deflate" and first & 0xF != zlib.DEFLATED
        self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS if bare else _EITHER)
        return self._unpacker
