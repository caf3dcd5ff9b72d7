"""What all stream decoders share: frames in, events out, and failures."""

from typing import Generic, Protocol, TypeVar

from ..canon import Event, Usage
from ..errors import Malformed, PonderoError, Truncated

MAX_FRAME = 64 * 1024 * 1024


class OversizedAnswer(Malformed):
    """Something is larger than any answer; it was not read to its end."""


def frame_too_large(max_frame: int) -> Malformed:
    """Return the error for a frame that outgrew its limit."""
    return OversizedAnswer(f"a frame of more than {max_frame:,} bytes")


E = TypeVar("E", bound=PonderoError)


def copy_error(error: E) -> E:
    """Return a copy that was never raised, to keep and to raise later.

    An error that was raised keeps, by its traceback, the bytes in the frames it passed. These
    frames keep the object that keeps the error: a reference cycle of megabytes.
    """
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy


F = TypeVar("F")


class Frames(Protocol[F]):
    """Bytes in, whole frames out."""

    def feed(self, data: bytes) -> list[F]:
        """Return the frames that these bytes complete."""
        ...

    def eof(self) -> list[F]:
        """Return what is left when no more bytes will come."""
        ...


FrameReader = Frames[bytes]
"""A reader whose frames are bytes: every framing but AWS's."""


class FrameHandler(Protocol[F]):
    """One dialect's reading of an answer, frame by frame."""

    @property
    def over(self) -> bool:
        """Return whether the answer has ended; later frames are ignored."""
        ...

    @property
    def ending(self) -> bool:
        """Return whether the service has said that the answer is over; counts may still come."""
        ...

    def take(self, frames: list[F], events: list[Event]) -> None:
        """Add the events of these frames; raises the service's error."""
        ...

    def end(self, events: list[Event]) -> None:
        """Add the last events when no more bytes come; raises Truncated if some are missing."""
        ...


class FrameStream(Generic[F]):
    """Feed received bytes, then call eof(); events before a failure come first, then it raises.

    ``unit`` names a frame in the error of a cut stream; None if the frames raise that error.
    """

    def __init__(
        self, frames: Frames[F], reading: FrameHandler[F], *, unit: str | None = "an event"
    ) -> None:
        self._frames = frames
        self._reading = reading
        self._unit = unit
        self._failure: PonderoError | None = None

    @property
    def ending(self) -> bool:
        """Return whether the service has said that the answer is over, before its last event."""
        return self._reading.ending

    @property
    def usage(self) -> Usage | None:
        """Return the counts so far, of a service that sends some with every frame."""
        found: Usage | None = getattr(self._reading, "usage", None)
        return found

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete."""
        if self._failure is not None:
            raise copy_error(self._failure)
        events: list[Event] = []
        if self._reading.over:
            return events
        try:
            self._reading.take(self._frames.feed(data), events)
        except PonderoError as failure:
            self._failure = copy_error(failure)
            if not events:
                raise
        return events

    def eof(self) -> list[Event]:
        """Return the last events, or raise what cut the answer off."""
        if self._failure is not None:
            raise copy_error(self._failure)
        events: list[Event] = []
        if not self._reading.over:
            try:
                self._reading.take(self._frames.eof(), events)
            except Malformed as error:
                if self._unit is None:
                    raise
                raise Truncated(f"the stream ended inside {self._unit}") from error
        self._reading.end(events)
        return events
