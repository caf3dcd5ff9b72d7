"""Messages in the order and number the destination takes: merged, and begun by the user."""

from collections.abc import Iterable

from ..canon import Message, Origin, Part, Role
from .destination import Destination
from .maker import Makers
from .manifest import Ledger
from .notes import OPENING


class Turns:
    """The messages of a view; ``add`` them in order, then take ``messages``."""

    def __init__(self, destination: Destination, ledger: Ledger) -> None:
        self._merges = destination.takes.merges
        self._waits_for_user = destination.takes.begins_with_user
        self._makers = Makers(destination)
        self._ledger = ledger
        self._done: list[Message] = []
        self._last: Message | None = None  # may still grow
        self._more: list[Part] = []  # by which it has grown

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return all of them."""
        self._close()
        return tuple(self._done)

    def say(self, role: Role, parts: Iterable[Part], number: int) -> None:
        """Add parts of a message that is not in the thread."""
        self.add(Message(role, tuple(parts)), number, added=True)

    def add(self, message: Message, number: int, *, added: bool = False) -> None:
        """Add a message; ``number`` is its place in the thread, or of the one it goes with."""
        if self._waits_for_user and message.role != "system":
            self._waits_for_user = False
            if message.role == "assistant":
                self._ledger.add(number, "text", "the first word must be the user's here")
                self.say("user", (OPENING,), number)
        last = self._last
        if last is None or not self._merges or last.role != message.role or last.role == "system":
            self._close()
            self._last = message
            return
        self._more += message.parts
        if not added:
            self._ledger.merge(number)
        if (origin := self._origin(last.origin, message.origin)) is not last.origin:
            self._last = Message(last.role, last.parts, origin)

    def _origin(self, one: Origin | None, other: Origin | None) -> Origin | None:
        """Return the origin of two messages in one: the destination, or whom both are from."""
        for origin in (one, other):
            if self._makers.is_own(origin):
                return origin
        return one if one == other else None

    def _close(self) -> None:
        last = self._last
        if last is None:
            return
        if self._more:
            last = Message(last.role, (*last.parts, *self._more), last.origin)
            self._more = []
        self._done.append(last)
        self._last = None
