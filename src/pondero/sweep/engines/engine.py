"""The protocol of an engine: it gets trials and a cost budget, and yields the result of each."""

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
    """One question to one arm. ``bound`` is the most it can cost, or None without a price."""

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
    """The final result of a trial: an answer, or the last error."""

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
    """Return the key of a trial: equal for equal requests."""
    whole = [model, fields, messages, repeat]
    try:
        text = msgspec.json.encode(whole, order="deterministic")
    except UnicodeEncodeError:  # a lone surrogate, which JSON allows and UTF-8 does not
        text = json.dumps(whole, sort_keys=True).encode()
    return blake2b(text, digest_size=16).hexdigest()


class BudgetSpent(PonderoError):
    """Nothing more may be sent: the budget is spent, or the run was stopped."""


class SpendJournal(Protocol):
    """Where costs are recorded before they can arise; ``Run`` keeps them on disk."""

    def begin(self, key: str, bound: Decimal | None) -> None:
        """Record that this is sent, and what it may cost."""
        ...

    def lose(self, key: str, bound: Decimal) -> None:
        """Record that an attempt has no answer and may have been charged."""
        ...


class CostBudget:
    """What is spent, and the most that requests in flight can cost: together at most ``cap``."""

    def __init__(self, ledger: SpendJournal, *, cap: Decimal | None = None, spent: Decimal) -> None:
        self.spent: Decimal = spent
        self.flying: Decimal = Decimal(0)
        self.flights: int = 0
        self.closed: str = ""
        self._ledger = ledger
        self._cap = cap

    def take(self, trial: Trial) -> bool:
        """Return whether this fits now, or may once others end; raise BudgetSpent if never."""
        if self.closed:
            raise BudgetSpent(self.closed)
        bound = trial.bound or Decimal(0)
        if self._cap is not None and self.spent + self.flying + bound > self._cap:
            if self.flights:
                return False
            self.close(
                f"the next answer may cost ${bound:.4f}, and ${self.spent:.4f} of the "
                f"${self._cap:g} of --max-cost are spent"
            )
            raise BudgetSpent(self.closed)
        self._ledger.begin(trial.key, trial.bound)
        self.flying += bound
        self.flights += 1
        return True

    def resume(self, trial: Trial) -> None:
        """Count a trial of an earlier process that is still at a service as in flight."""
        self._ledger.begin(trial.key, trial.bound)
        self.flying += trial.bound or Decimal(0)
        self.flights += 1

    def settle(self, trial: Trial, cost: Decimal | None) -> None:
        """Replace a trial's bound by its cost; an answer without a price counts as its bound."""
        bound = trial.bound or Decimal(0)
        self._land(bound)
        if cost is None and bound:
            self._ledger.lose(trial.key, bound)
        self.spent += bound if cost is None else cost

    def give_back(self, trial: Trial, *, charged: bool) -> None:
        """End an attempt without an answer; ``charged``: it may have cost something."""
        bound = trial.bound or Decimal(0)
        self._land(bound)
        if charged and bound:
            self._ledger.lose(trial.key, bound)
            self.spent += bound

    def close(self, why: str) -> None:
        """Let no further trial begin."""
        self.closed = self.closed or why

    def _land(self, bound: Decimal) -> None:
        self.flying -= bound
        self.flights -= 1


def first_of(errors: BaseExceptionGroup[PonderoError]) -> PonderoError:
    """Return one error of a nested group: what fails every trial is the same error each time."""
    found = errors.exceptions[0]
    return first_of(found) if isinstance(found, BaseExceptionGroup) else found


async def iter_results(
    work: Callable[[], Awaitable[None]], done: "asyncio.Queue[TrialResult | None]"
) -> AsyncIterator[TrialResult]:
    """Yield what ``work`` puts into a queue until it ends, and raise the error that ended it."""

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
    """Runs trials and yields their results."""

    @property
    def looks(self) -> int:
        """Return the number of looks of a sweep on this engine."""
        ...

    @property
    def outlives(self) -> bool:
        """Return whether requests in flight outlive the process, and can be collected later."""
        ...

    def begin(self, run: str) -> bool:
        """Begin a run; return whether what was in flight is known (else it counts as spent)."""
        ...

    def judge(self, judge: Judge) -> Judge:
        """Return the judge that grades in this process, or in the engine's."""
        ...

    def answers(self, trials: Sequence[Trial], budget: CostBudget) -> AsyncIterator[TrialResult]:
        """Yield results in any order until the budget is closed; none of a cancelled trial."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
