"""Threads for hooks that are a plain ``def``.

Clients take turns, and each has only so many threads: the calls of one client that are slow hold up
no other. A call that does not end in time keeps its thread, but not its place: another thread is
started in its stead.
"""

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from typing import Any

from msgspec import Struct

THREADS = 64
"""The most calls of one hook that run at once."""
SHARE = 16
"""Those of one client."""
LOST_OF_CLIENT = 32
"""The most calls of one client that are late and have not ended."""
LOST = 256
"""Those of all clients."""
_IDLE = 60.0  # seconds before a thread without work ends


class TooManyLost(Exception):
    """So many calls never ended that no further one is begun."""


class Outcome(Struct, frozen=True):
    """The end of a call: its value, or what it raised.

    ``held``: the most seconds for which it held up the event loop without awaiting anything.
    """

    value: Any = None
    error: BaseException | None = None
    held: float = 0.0


def run_function(function: Callable[[], Any]) -> Outcome:
    """Call a function; whatever it raises is a value, since no future takes a StopIteration."""
    try:
        return Outcome(function())
    except BaseException as error:  # noqa: BLE001 - the code of the operator may end in any way
        return Outcome(error=error)


class ThreadCall:
    """One call; ``outcome`` is set in the event loop."""

    __slots__ = ("_loop", "client", "function", "is_begun", "is_ended", "is_lost", "outcome")

    def __init__(self, client: str, function: Callable[[], Any]) -> None:
        self.client: str = client
        self.function: Callable[[], Any] = function
        self.is_begun: bool = False
        self.is_ended: bool = False
        self.is_lost: bool = False
        self._loop: AbstractEventLoop = get_running_loop()
        self.outcome: Future[Outcome] = self._loop.create_future()

    def run(self) -> None:
        """Run the function, in a thread."""
        outcome = run_function(self.function)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: Outcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class HookThreads:
    """The threads of one hook; they end with the process, whatever they do."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = Condition()
        self._waiting: dict[str, deque[ThreadCall]] = {}
        self._running: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._threads = 0  # without those whose call is late
        self._idle = 0
        self._called = 0  # of the idle ones: those that were called and have not looked yet
        self._is_closed = False

    def begin(self, client: str, function: Callable[[], Any]) -> ThreadCall:
        """Call a function in a thread, when it is this client's turn; raises TooManyLost."""
        call = ThreadCall(client, function)
        with self._changed:
            if self._lost[client] >= LOST_OF_CLIENT or self._lost.total() >= LOST:
                raise TooManyLost
            self._waiting.setdefault(client, deque()).append(call)
            self._call_thread()
        return call

    def give_up(self, call: ThreadCall) -> None:
        """Wait no longer for a call: it gets no turn any more, or loses its place."""
        with self._changed:
            if call.is_ended or call.is_lost:
                return
            if not call.is_begun:
                self._remove(call)
                return
            call.is_lost = True
            self._lost[call.client] += 1
            self._end_turn(call)
            self._threads -= 1
            if self._waiting:
                self._call_thread()

    def close(self) -> None:
        """Let threads end once they are idle, and drop the calls that wait for one."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def _call_thread(self) -> None:
        """Call a thread, or start one; the caller has the lock.

        A thread that was called may need a moment, and takes one call: another call does not wait
        for it, since the first may never end.
        """
        if self._idle > self._called:
            self._called += 1
            self._changed.notify()
        elif self._threads < THREADS:
            Thread(target=self._work, name=f"hook {self._name}", daemon=True).start()
            self._threads += 1

    def _work(self) -> None:
        with self._changed:
            while (call := self._wait_for_call()) is not None:
                self._changed.release()
                try:
                    call.run()
                finally:
                    self._changed.acquire()
                call.is_ended = True
                if call.is_lost:
                    self._lost[call.client] -= 1
                    return
                self._end_turn(call)
            self._threads -= 1

    def _wait_for_call(self) -> ThreadCall | None:
        """Return the next call; None if there is none for a while."""
        while (call := self._take_call()) is None:
            if self._is_closed:
                return None
            self._idle += 1
            is_called = self._changed.wait(_IDLE)
            self._idle -= 1
            self._called = max(0, self._called - 1)
            if not is_called:
                return self._take_call()
        return call

    def _take_call(self) -> ThreadCall | None:
        """Return the next call of the client whose turn it is."""
        for client, calls in self._waiting.items():
            if self._running[client] < SHARE:
                call = calls.popleft()
                del self._waiting[client]  # behind the others
                if calls:
                    self._waiting[client] = calls
                self._running[client] += 1
                call.is_begun = True
                return call
        return None

    def _end_turn(self, call: ThreadCall) -> None:
        self._running[call.client] -= 1
        if not self._running[call.client]:
            del self._running[call.client]

    def _remove(self, call: ThreadCall) -> None:
        calls = self._waiting.get(call.client)
        if calls is not None:
            with suppress(ValueError):
                calls.remove(call)
            if not calls:
                del self._waiting[call.client]
