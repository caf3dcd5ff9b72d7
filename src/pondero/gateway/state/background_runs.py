"""Answers in the background that this process works on, and where the store has them."""

from asyncio import Condition, Event, Lock, Task, gather, timeout
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct

from ...asgi import Message
from ...canon import HttpResponse
from ...framing import SseSplitter
from ..answers.response_writer import ResponseWriter
from .kept_records import KeptRecord, make_entry_name, name_response

_CLOSING = 2.0  # seconds for all answers to end with the process


class RunState(Struct, frozen=True, kw_only=True):
    """How far an answer is, in the store: ``parts`` is the number of entries with its events."""

    beat: float
    is_cancelled: bool = False
    is_over: bool = False
    parts: int = 0


class RunPlace(Struct, frozen=True):
    """Where the store has an answer in the background, its state and its events."""

    client: str
    id: str

    @property
    def record(self) -> str:
        """Return the name of the answer."""
        return name_response(self.client, self.id)

    @property
    def state(self) -> str:
        """Return the name of its state."""
        return make_entry_name("run", self.client, self.id)

    def events(self, number: int) -> str:
        """Return the name of some of its events."""
        return make_entry_name("events", self.client, f"{self.id}\0{number}")


class BackgroundRun:
    """One answer that this process works on; ``events`` are those of its stream so far."""

    def __init__(self, place: RunPlace, record: KeptRecord) -> None:
        self.place = place
        self.record = record
        self.events: list[bytes] = []
        self.changed: Condition = Condition()
        self.ended: Event = Event()
        self.begun: bool = False
        self.is_working: bool = False
        self.is_stopped: bool = False
        self.is_ending: bool = False
        self.saving: Lock = Lock()  # a store may finish two writes in any order
        self.saved: int = 0
        self.parts: int = 0
        self.beat: float = 0.0
        self.failure: HttpResponse | None = None
        self.writer: ResponseWriter = ResponseWriter(self._take)
        self.task: Task[None] | None = None
        self._error = b""
        self._splitter = SseSplitter()
        self._status = 200

    async def _take(self, message: Message) -> None:
        """Take a piece of the answer, as a server would."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        body, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._status != 200:
            self._error += body
            if is_last:
                self.failure = HttpResponse(self._status, {}, self._error)
            return
        events = self._splitter.feed(body)
        async with self.changed:
            self.events += [*events, *self._splitter.eof()] if is_last else events
            self.changed.notify_all()

    async def wait_for_events(self, sent: int) -> list[bytes]:
        """Return the events after the first ``sent``, once there are some; none at its end."""
        async with self.changed:
            await self.changed.wait_for(lambda: len(self.events) > sent or self.ended.is_set())
        return self.events[sent:]

    def cancel(self) -> None:
        """Stop it for its client, once."""
        if not self.writer.left:
            self.writer.left = True
            self.stop()

    def stop(self) -> None:
        """Stop it, unless it is ending; a task that has not begun yet stops when it does.

        One that is cancelled before its first step would never run, and so count nothing.
        """
        self.is_stopped = True
        if self.task is not None and self.is_working and not self.is_ending:
            self.task.cancel()

    def begin_work(self) -> None:
        """Note that its task runs, which ends at its next wait if it was stopped before."""
        self.is_working = True
        if self.is_stopped:
            self.stop()


class BackgroundRuns:
    """The answers that this process works on, by the names of their records."""

    def __init__(self) -> None:
        self.running: dict[str, BackgroundRun] = {}
        self._beginning: Counter[str] = Counter()
        self.looking: Task[None] | None = None

    def find(self, place: RunPlace) -> BackgroundRun | None:
        """Return an answer that this process works on."""
        return self.running.get(place.record)

    def count(self, client: str | None = None) -> int:
        """Return how many there are, of a client or of all, with those about to begin."""
        if client is None:
            return len(self.running) + self._beginning.total()
        own = sum(run.place.client == client for run in self.running.values())
        return own + self._beginning[client]

    @contextmanager
    def hold(self, client: str) -> Iterator[None]:
        """Count an answer that is about to begin, while the store is told of it."""
        self._beginning[client] += 1
        try:
            yield
        finally:
            self._beginning[client] -= 1
            self._beginning += Counter()  # forgets clients without any

    async def aclose(self) -> None:
        """End all of them as failed: the process ends."""
        tasks = [run.task for run in self.running.values() if run.task is not None]
        for run in self.running.values():
            run.stop()
        with suppress(TimeoutError):
            async with timeout(_CLOSING):
                await gather(*tasks, return_exceptions=True)
        if self.looking is not None:
            self.looking.cancel()
