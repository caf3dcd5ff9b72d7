"""What every frame reader has in common."""

from typing import Protocol


class FrameReader(Protocol):
    """Bytes in, whole frames out."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that these bytes complete."""
        ...

    def eof(self) -> list[bytes]:
        """Return what is left when no more bytes will come."""
        ...
