"""The thread a chat is kept in: the conversation itself, and its place on disk.

Where it cannot be written the chat goes on; what waits is written with the next turn that can be.
"""

from collections.abc import Sequence

from msgspec import Struct

from ..canon import Message, Usage
from ..chat import PAGE, Choice, Known, Past, actions
from ..errors import StoreError
from ..store import Kept, Thread, Threads

_LISTED = 30


class Saved(Struct, frozen=True):
    """Where a turn was written; or why it was not."""

    thread: Known | None = None
    unsaved: str | None = None


class Keeper:
    """One conversation. Without ``threads`` nothing is written; ``unsaved`` may say why."""

    def __init__(self, threads: Threads | None = None, *, unsaved: str | None = None) -> None:
        self._threads = threads
        self._unsaved = unsaved
        self._id: str | None = None
        self._messages: tuple[Message, ...] | None = ()
        self._waiting: list[list[Kept]] = []

    @property
    def unsaved(self) -> str | None:
        """Return why nothing is written, where that is so."""
        return self._unsaved

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the whole conversation; one on disk is read when it is first needed."""
        if self._messages is None:
            self._messages = self._on_disk().messages(self._id or "")
        return self._messages

    # -- a turn -----------------------------------------------------------------------------------

    def add(self, turn: Sequence[Kept], *, model: str, wish: str | None, system: str) -> Saved:
        """Add a turn to the conversation, and write it; a turn that came to nothing is none."""
        if not turn:
            return Saved(unsaved=self._unsaved if self._waiting else None)
        self._messages = (*self.messages, *(kept.message for kept in turn))
        self._waiting.append(list(turn))
        if self._threads is None:
            return Saved(unsaved=self._unsaved)
        try:
            if self._id is None:
                thread = self._threads.start(model=model, thinking=wish, system=system)
                self._id = thread.id
            while self._waiting:
                self._threads.add(self._id, self._waiting[0])
                self._waiting.pop(0)
            return Saved(_known(self._threads.get(self._id)))
        except Exception as error:  # noqa: BLE001 - the answer was given, whatever this is
            self._unsaved = str(error)
            return Saved(unsaved=self._unsaved)

    def note(self, *, model: str, wish: str | None, system: str) -> None:
        """Write down what the thread goes on with."""
        if self._threads is not None and self._id is not None:
            self._threads.set(self._id, model=model, thinking=wish, system=system)

    # -- other threads ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin another conversation; it is a thread when something was said in it."""
        self._id, self._messages, self._waiting = None, (), []

    def open(self, id: str) -> actions.Opened:
        """Go on with a thread, and return its end."""
        return self._opened(self._on_disk().get(id))

    def fork(self, *, model: str, wish: str | None) -> actions.Opened:
        """Go on in a copy of the thread."""
        if self._id is None or self._waiting:
            raise StoreError(
                f"only what is saved can be copied; {self._unsaved or 'say something'}"
            )
        return self._opened(self._on_disk().fork(self._id, model=model, thinking=wish))

    def rename(self, title: str) -> Known:
        """Give the thread a title."""
        threads = self._on_disk()
        threads.rename(self._id or "", title)
        return _known(threads.get(self._id or ""))

    def list(self, words: str = "") -> tuple[Choice, ...]:
        """Return the threads there are, or those with these words in them, the latest first."""
        threads = self._on_disk()
        if words:
            found = [each.thread for each in threads.find(words, limit=_LISTED)]
        else:
            found = list(threads.list(limit=_LISTED))
        unique = {thread.id: thread for thread in found if thread.id != self._id}
        return tuple(map(_choice, unique.values()))

    def page(self, first: int, last: int) -> tuple[Past, ...]:
        """Return some messages of the thread, ``last`` not included."""
        if self._id is None or self._waiting or self._threads is None:
            return tuple(
                Past(n, message) for n, message in enumerate(self.messages[first:last], first)
            )
        kept = self._threads.kept(self._id, last=last - first, before=last)
        return tuple(_past(first + n, each) for n, each in enumerate(kept))

    def saved(self) -> tuple[Threads, str]:
        """Return where the thread is; raises where it is nowhere but here."""
        if self._id is None or self._waiting:
            raise StoreError(f"the thread is not saved; {self._unsaved or 'say something first'}")
        return self._on_disk(), self._id

    def _opened(self, thread: Thread) -> actions.Opened:
        self.begin()
        self._id, self._messages = thread.id, None
        wish = thread.thinking
        return actions.Opened(
            model=thread.model,
            wish=str(wish) if isinstance(wish, str | int) else None,
            system=thread.system,
            thread=_known(thread),
            past=self.page(max(0, thread.messages - PAGE), thread.messages),
            count=thread.messages,
        )

    def _on_disk(self) -> Threads:
        if self._threads is None:
            raise StoreError(self._unsaved or "this chat is kept nowhere")
        return self._threads


def _known(thread: Thread) -> Known:
    return Known(thread.id, thread.title)


def _choice(thread: Thread) -> Choice:
    model = thread.model.partition(":")[2] or thread.model
    return Choice(thread.id, thread.title or "(untitled)", f"{thread.messages:,} messages, {model}")


def _past(number: int, kept: Kept) -> Past:
    seconds = kept.seconds if kept.message.role == "assistant" else None
    return Past(number, kept.message, kept.usage or Usage(), seconds, kept.partial)
