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
_CUT = ("length", "context_full")


class Trial(Struct, frozen=True):
    """One question to one arm. ``bound`` is the most it can cost, or None without a price.

    ``grading`` is the most that a model that judges can cost for its answer.
    """

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
    grading: Decimal | None = None


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
    reused: bool = False
    """Whether an earlier run asked and paid for it."""

    @property
    def is_exhausted(self) -> bool:
        """Return whether all output went into thinking."""
        return self.verdict == "exhausted" or self.finish == "exhausted"

    @property
    def is_cut(self) -> bool:
        """Return whether a limit of tokens cut the answer off, all of it or its end."""
        return self.is_exhausted or self.finish in _CUT

    @property
    def is_missing(self) -> bool:
        """Return whether there is no answer to grade; it counts against the cheaper arm."""
        return self.error is not None or self.is_cut

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
    """What is spent, and the most that requests in flight can cost: together at most ``cap``.

    ``admits`` says which trials may begin now; the others wait for answers to earlier ones.
    """

    def __init__(self, ledger: SpendJournal, *, cap: Decimal | None = None, spent: Decimal) -> None:
        self.spent: Decimal = spent
        self.flying: Decimal = Decimal(0)
        self.flights: int = 0
        self.admits: Callable[[Trial], bool] = lambda _: True
        self.wake: Callable[[], None] = lambda: None
        """Called when more trials may be admitted; an engine that waits sets it."""
        self.is_used_up: bool = False
        """Whether the cap closed it: the next trial did not fit."""
        self._closed = ""
        self._held = ""
        self._ledger = ledger
        self._cap = cap
        self._grading: dict[str, Decimal] = {}

    @property
    def closed(self) -> str:
        """Return why no further trial may begin, or nothing."""
        return self._closed or self._held

    @property
    def is_spent(self) -> bool:
        """Return whether it is closed for good, and not only held."""
        return bool(self._closed)

    @property
    def left(self) -> Decimal | None:
        """Return what may still be spent, or None without a cap."""
        return None if self._cap is None else max(Decimal(0), self._cap - self.spent)

    def take(self, trial: Trial) -> bool:
        """Return whether this fits now, or may once others end; raise BudgetSpent if never."""
        if self.closed:
            raise BudgetSpent(self.closed)
        if not self.admits(trial):
            return False
        bound = (trial.bound or Decimal(0)) + (trial.grading or Decimal(0))
        if not self._fits(bound, "answer"):
            return False
        self.resume(trial)
        return True

    def resume(self, trial: Trial) -> None:
        """Count a trial as in flight, such as one of an earlier process at a batch service."""
        self._ledger.begin(trial.key, trial.bound)
        self.flying += trial.bound or Decimal(0)
        self.flights += 1
        if trial.grading:
            self.reserve_grading(trial.key, trial.grading)

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
        self.settle_grading(trial.key, Decimal(0))
        if charged and bound:
            self._ledger.lose(trial.key, bound)
            self.spent += bound

    def take_grading(self, key: str, bound: Decimal) -> bool:
        """Return whether a grade fits now, or may once others end; raise BudgetSpent if never."""
        if key in self._grading or self._cap is None:
            return True
        if not self._fits(bound, "grade"):
            return False
        self.reserve_grading(key, bound)
        return True

    def reserve_grading(self, key: str, bound: Decimal) -> None:
        """Keep the most that a grade can cost, until it is settled."""
        if key not in self._grading:
            self._grading[key] = bound
            self.flying += bound

    def settle_grading(self, key: str, cost: Decimal) -> None:
        """Replace what was kept for a grade by its cost."""
        self.flying -= self._grading.pop(key, Decimal(0))
        self.spent += cost

    def hold(self, why: str) -> None:
        """Let no trial of this round begin: the bets have ended it."""
        self._held = self._held or why

    def release(self) -> None:
        """Let trials begin again after ``hold``."""
        self._held = ""

    def close(self, why: str) -> None:
        """Let no further trial begin."""
        self._closed = self._closed or why

    def _fits(self, bound: Decimal, noun: str) -> bool:
        if self._cap is None or self.spent + self.flying + bound <= self._cap:
            return True
        if self.flights or self._grading:
            return False
        self.is_used_up = True
        self.close(
            f"the next {noun} may cost ${bound:.4f}, and ${self.spent:.4f} of the "
            f"${_plain(self._cap)} of --budget are spent"
        )
        raise BudgetSpent(self.closed)

    def _land(self, bound: Decimal) -> None:
        self.flying -= bound
        self.flights -= 1


def _plain(amount: Decimal) -> str:
    """Return dollars with cents, and more digits only if there are more."""
    cents = amount.quantize(Decimal("0.01"))
    return f"{cents:,}" if cents == amount else f"{amount:f}"


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

    def ahead(self, units: int) -> int:
        """Return how many of so many units may be asked before the earlier ones are bet on."""
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
