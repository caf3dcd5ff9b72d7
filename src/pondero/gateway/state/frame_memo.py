"""What is known of requests that differ in the text of their question alone; bounded."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

Frame = TypeVar("Frame")
_PLACES = 128  # clients and addresses
_EACH = 4  # frames of one
_SEEN = 1_024


class FrameMemo(Generic[Frame]):
    """Frames by the place where their requests come from, the newest first."""

    def __init__(self) -> None:
        self._frames: OrderedDict[Hashable, tuple[Frame, ...]] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()

    def find(self, place: Hashable) -> Sequence[Frame]:
        """Return the frames of a place."""
        return self._frames.get(place, ())

    def add(self, place: Hashable, frame: Frame) -> None:
        """Keep a frame; the oldest of its place and the oldest place are forgotten."""
        self._frames[place] = (frame, *self._frames.pop(place, ())[: _EACH - 1])
        if len(self._frames) > _PLACES:
            self._frames.popitem(last=False)

    def note(self, frame: Hashable) -> bool:
        """Return whether a frame was noted before: most never come again."""
        digest = hash(frame)
        if digest in self._seen:
            self._seen.move_to_end(digest)
            return True
        self._seen[digest] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return False
