"""How large one frame may be before we stop keeping it."""

from ..errors import Malformed

MAX_FRAME = 64 * 1024 * 1024


def oversized(max_frame: int) -> Malformed:
    """Return the error for a frame that outgrew its limit."""
    return Malformed(f"a frame of more than {max_frame:,} bytes")
