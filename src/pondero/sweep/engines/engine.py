"""What an engine is: it is given asks and a purse, and yields each answer once it is settled.

``live`` is the engine that asks now. Another one, such as a provider's batch service, implements
the same protocol: it takes money from the purse before it sends anything, and yields in any order.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from hashlib import blake2b
from typing import Protocol

import msgspec
from msgspec import Struct

from ...canon import Finish, Json, Usage, Verdict
from ...errors import PonderoError
from ..grading.judges import Judge

REFUSALS = ("refusal", "content_filter")


class Trial(Struct, frozen=True):
    """One question to one arm. ``bound`` is the most it can cost; None where no price is known."""

    key: str
    arm: int
    position: int
    repeat: int
    model: str
    level: str
    prompt: Json
    system: str | None = None
    max_tokens: int | None = None
    bound: Decimal | None = None


class TrialResult(Struct, frozen=True, kw_only=True):
    """How an ask ended: with an answer, or with an error that stayed. It is asked no more."""

    key: str
    text: str = ""
    finish: Finish = "stop"
    verdict: Verdict = "unknown"
    usage: Usage = Usage()
    cost: str | None = None
    seconds: float = 0.0
    at: float = 0.0
    model: str | None = None
    error: str | None = None

    @property
    def is_exhausted(self) -> bool:
        """Return whether all output went into thinking; that counts as wrong."""
        return self.verdict == "exhausted" or self.finish == "exhausted"

    @property
    def is_refused(self) -> bool:
        """Return whether the model or a filter refused; that counts as wrong."""
        return self.finish in REFUSALS


def trial_key(model: str, fields: Json, messages: Json, repeat: int) -> str:
    """Return the key of an ask: the same one wherever the same thing is asked again."""
    whole = [model, fields, messages, repeat]
    try:
        text = msgspec.json.encode(whole, order="deterministic")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON may hold and UTF-8 may not
        text = json.dumps(whole, sort_keys=True).encode()
    return blake2b(text, digest_size=16).hexdigest()


class BudgetSpent(PonderoError):
    """No more may be asked: the money is spent, or the run was told to stop."""


class SpendJournal(Protocol):
    """Where money is written down before it can be spent; ``runs`` keeps it on disk."""

    def begin(self, key: str, bound: Decimal | None) -> None:
        """Write down that this is asked, and what it may cost."""
        ...

    def lose(self, key: str, bound: Decimal) -> None:
        """Write down that an attempt brought no answer and may have been charged for."""
        ...


class CostBudget:
    """The money of a run: what is settled, and the most that what is in flight can cost.

    With a ``cap`` the two together never pass it. After ``close`` nothing more is begun, and what
    is in flight ends as it does.
    """

    def __init__(self, ledger: SpendJournal, *, cap: Decimal | None = None, spent: Decimal) -> None:
        self.spent: Decimal = spent
        self.flying: Decimal = Decimal(0)
        self.flights: int = 0
        self.closed: str = ""
        self._ledger = ledger
        self._cap = cap

    def take(self, ask: Trial) -> bool:
        """Return whether this may be sent now; raises Spent where it never may.

        False is for now: something in flight may turn out to cost less than it could have.
        """
        if self.closed:
            raise BudgetSpent(self.closed)
        bound = ask.bound or Decimal(0)
        if self._cap is not None and self.spent + self.flying + bound > self._cap:
            if self.flights:
                return False
            self.close(
                f"the next answer may cost ${bound:.4f}, and ${self.spent:.4f} of the "
                f"${self._cap:g} of --max-cost are spent"
            )
            raise BudgetSpent(self.closed)
        self._ledger.begin(ask.key, ask.bound)
        self.flying += bound
        self.flights += 1
        return True

    def resume(self, ask: Trial) -> None:
        """Count what an earlier process sent, and is at a service still, as in flight again."""
        self._ledger.begin(ask.key, ask.bound)
        self.flying += ask.bound or Decimal(0)
        self.flights += 1

    def settle(self, ask: Trial, cost: Decimal | None) -> None:
        """Take an answer's cost for its bound; an answer without a price counts as its bound."""
        bound = ask.bound or Decimal(0)
        self._land(bound)
        if cost is None and bound:
            self._ledger.lose(ask.key, bound)
        self.spent += bound if cost is None else cost

    def give_back(self, ask: Trial, *, charged: bool) -> None:
        """End an attempt without an answer; ``charged`` is whether it may have cost something."""
        bound = ask.bound or Decimal(0)
        self._land(bound)
        if charged and bound:
            self._ledger.lose(ask.key, bound)
            self.spent += bound

    def close(self, why: str) -> None:
        """Let nothing more begin."""
        self.closed = self.closed or why

    def _land(self, bound: Decimal) -> None:
        self.flying -= bound
        self.flights -= 1


def first_of(errors: BaseExceptionGroup[PonderoError]) -> PonderoError:
    """Return one error of a group, however deep: what fails every ask says the same each time."""
    found = errors.exceptions[0]
    return first_of(found) if isinstance(found, BaseExceptionGroup) else found


async def iter_results(
    work: Callable[[], Awaitable[None]], done: "asyncio.Queue[TrialResult | None]"
) -> AsyncIterator[TrialResult]:
    """Yield what some work puts into a queue until it ends, and raise the error that ended it."""

    async def run() -> None:
        try:
            await work()
        except* PonderoError as errors:
            raise first_of(errors) from None
        finally:
            done.put_nowait(None)

    running = asyncio.create_task(run())
    try:
        while (settled := await done.get()) is not None:
            yield settled
        await running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError, PonderoError):
            await running


class Engine(Protocol):
    """Asks, and yields what is settled. ``looks`` is how often it pays to look at the results.

    ``outlives`` is whether what is in flight goes on when the process ends.
    """

    @property
    def looks(self) -> int:
        """Return at how many points a sweep on this engine is looked at."""
        ...

    @property
    def outlives(self) -> bool:
        """Return whether what is in flight stays at a service, for a later process to collect."""
        ...

    def begin(self, run: str) -> bool:
        """Make ready for a run; return whether it knows what an earlier process had in flight.

        Where it does not, all of that counts as paid for.
        """
        ...

    def judge(self, judge: Judge) -> Judge:
        """Return the judge as this engine has it grade: here, or where there is more room."""
        ...

    def answers(self, asks: Sequence[Trial], purse: CostBudget) -> AsyncIterator[TrialResult]:
        """Yield each ask as it is settled, in any order; ends early where the purse is closed.

        What is cancelled while in flight is not yielded. Raises what would fail every ask alike.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
