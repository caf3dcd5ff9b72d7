"""Records one turn: times each exchange and returns the messages to store.

``pondero ask`` and the terminal chat feed it the events of a turn.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ...canon import Event, Finished, Message, Reply, TextDelta, ThinkingDelta, ToolDelta
from ...store import StoredMessage
from ..usage_so_far import UsageSoFar


class ExchangeTiming(Struct, frozen=True):
    """Seconds from the request of an exchange to its first delta, and to its end."""

    first: float | None
    seconds: float


class TurnRecorder:
    """Feed it the events of a turn; ``laps`` are the exchanges that have ended.

    ``paid``: a service answers, not the emulator or a cassette. ``waited``: the seconds in which
    the user decided whether a tool may run; they are part of no exchange.
    """

    def __init__(self, clock: Callable[[], float], *, paid: bool = True) -> None:
        self.laps: list[ExchangeTiming] = []
        self._paid = paid
        self._clock = clock
        self._began = clock()
        self._first: float | None = None
        self.waited: float = 0.0
        self._waits = 0
        self._wait_began = 0.0

    @contextmanager
    def approval(self) -> Iterator[None]:
        """Count no time while the user decides; decisions may overlap."""
        if not self._waits:
            self._wait_began = self._clock()
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                waited = self._clock() - self._wait_began
                self.waited += waited
                self._began += waited

    def feed(self, event: Event) -> None:
        """Add one event."""
        if self._first is None and isinstance(event, TextDelta | ThinkingDelta | ToolDelta):
            self._first = self._clock() - self._began
        elif isinstance(event, Finished):
            self.laps.append(self.now())
            self._began, self._first = self._clock(), None

    def now(self) -> ExchangeTiming:
        """Return the timing of the current exchange as if it ended now."""
        return ExchangeTiming(self._first, self._clock() - self._began)

    def stored_messages(
        self,
        messages: Iterable[Message],
        replies: Sequence[Reply],
        used: UsageSoFar | None = None,
    ) -> tuple[StoredMessage, ...]:
        """Return the messages of the turn to store; an answer without a reply is partial.

        ``used``: what that answer has used at least.
        """
        laps = zip(replies, self.laps, strict=False)  # the last exchange may lack one of the two
        known = {id(reply.message): (reply, lap) for reply, lap in laps}
        return tuple(
            self._stored_message(message, used, *known.get(id(message), (None, None)))
            for message in messages
        )

    def _stored_message(
        self,
        message: Message,
        used: UsageSoFar | None,
        reply: Reply | None,
        lap: ExchangeTiming | None,
    ) -> StoredMessage:
        if message.role != "assistant":
            return StoredMessage(message)
        if reply is None or lap is None:
            lap, offline = self.now(), not self._paid
            cost = None if used is None else used.cost
            return StoredMessage(
                message,
                usage=None if used is None else used.usage,
                seconds=lap.seconds,
                first=lap.first,
                cost=None if cost is None else str(cost),
                partial=True,
                offline=offline,
            )
        return stored_reply(reply, seconds=lap.seconds, first=lap.first, paid=self._paid)


def stored_reply(
    reply: Reply, *, seconds: float | None = None, first: float | None = None, paid: bool = True
) -> StoredMessage:
    """Return a reply to store; one that was not ``paid`` is offline."""
    return StoredMessage(
        reply.message,
        plan=reply.plan.to_json(),
        usage=reply.usage,
        verdict=reply.verdict,
        finish=reply.finish,
        seconds=seconds,
        first=first,
        cost=None if reply.cost is None else str(reply.cost),
        offline=not paid,
    )
