"""Leases: how asks, and the money for them, are given to workers that may die.

The driver alone has the run's purse. It takes the bound of every ask in a lease, which writes it
down, and only then gives the lease to a worker; so all leases together never pass the cap. A worker
says at the key's budget what it is about to send: of a worker that died, what it had sent counts as
its bound, and what it had not is free. No ray in here: ``ray_engine`` and ``ray_workers`` call it.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal

from msgspec import Struct

from ...canon import dump_json
from ...exchange import RateLimit
from .engine import BudgetSpent, CostBudget, Trial, TrialResult
from .limiter import START, Limiter

REQUESTS = 50
"""The most asks in one lease."""

TOKENS = 200_000
"""The most tokens that the asks of one lease may take, unless a single one may take more."""

_USUAL_ANSWER = 4_000  # tokens of an answer without a limit of its own


class Lease(Struct, frozen=True):
    """Asks that one worker may send with one account; their bounds are taken from the purse."""

    number: int
    account: str
    model: str
    asks: tuple[Trial, ...]

    @property
    def money(self) -> Decimal:
        """Return the most that it can cost."""
        return sum((ask.bound or Decimal(0) for ask in self.asks), Decimal(0))


class LeaseResult(Struct, frozen=True):
    """How a worker was done with an ask of its lease.

    ``cost`` is what the answer cost, where it has a price. Without an answer, ``charged`` is
    whether the attempt may have cost its bound; without ``settled`` it may be asked again.
    """

    key: str
    settled: TrialResult | None = None
    answered: bool = False
    cost: Decimal | None = None
    charged: bool = False

    def land(self, ask: Trial, purse: CostBudget) -> None:
        """Do to the run's purse what the worker did to its own."""
        if self.answered:
            purse.settle(ask, self.cost)
        else:
            purse.give_back(ask, charged=self.charged)


class _Nowhere:
    """The ledger of a worker, which writes nothing: the driver has written down all it may do."""

    def begin(self, key: str, bound: Decimal | None) -> None:
        pass

    def lose(self, key: str, bound: Decimal) -> None:
        pass


class LeaseCostBudget(CostBudget):
    """A worker's purse for one lease: the bound of each ask, once.

    An attempt that may have been charged has used the bound up. Whether there is money for another
    one is the driver's to say, so the ask goes back to it. ``refused`` is told of each
    attempt that cannot have been.
    """

    def __init__(self, refused: Callable[[str], None]) -> None:
        super().__init__(_Nowhere(), spent=Decimal(0))
        self._refused = refused
        self._landings: dict[str, LeaseResult] = {}

    def take(self, ask: Trial) -> bool:
        """Return True; raises Spent where the bound was used up, or the lease is closed."""
        last = self._landings.get(ask.key)
        if last is not None and last.charged and ask.bound:
            message = "an attempt may have been charged, and there was money for one"
            raise BudgetSpent(message)
        return super().take(ask)

    def settle(self, ask: Trial, cost: Decimal | None) -> None:
        """Keep what an answer cost, for the driver."""
        super().settle(ask, cost)
        self._landings[ask.key] = LeaseResult(ask.key, answered=True, cost=cost)

    def give_back(self, ask: Trial, *, charged: bool) -> None:
        """Keep whether an attempt may have been charged, for the driver."""
        super().give_back(ask, charged=charged)
        self._landings[ask.key] = LeaseResult(ask.key, charged=charged)
        if not charged:
            self._refused(ask.key)

    def landing(self, key: str, settled: TrialResult | None = None) -> LeaseResult:
        """Return how an ask ended; one that was never begun is free."""
        last = self._landings.get(key, LeaseResult(key))
        return LeaseResult(key, settled, last.answered, last.cost, last.charged)


class KeyBudget:
    """The budget of one key: how many may be in flight to each model, and what was sent.

    All workers share it, so that together they keep to what one key is allowed.
    """

    def __init__(self, start: float = START) -> None:
        self._start = start
        self._limiters: dict[str, Limiter] = {}
        self._sent: dict[int, dict[str, int]] = {}
        self._closed: set[int] = set()

    def limiter(self, model: str) -> Limiter:
        """Return the limiter of a model with this key."""
        if model not in self._limiters:
            self._limiters[model] = Limiter(self._start)
        return self._limiters[model]

    def admit(self, model: str, wanted: int, now: float) -> int:
        """Return how many of those wanted may begin now, and count them as begun."""
        limiter, count = self.limiter(model), 0
        while count < min(wanted, REQUESTS) and not limiter.wait(now):
            limiter.begin()
            count += 1
        return count

    def leave(self, model: str, count: int) -> None:
        """Count so many that were admitted as ended without an answer."""
        for _ in range(count):
            self.limiter(model).fail()

    def end(self, model: str, tokens: int | None) -> None:
        """Count one that was answered, with the tokens it took where they are known."""
        self.limiter(model).end(tokens)

    def slow(self, model: str, seconds: float | None, now: float) -> None:
        """Take a refusal that a worker met."""
        self.limiter(model).slow(now, seconds)

    def hint(self, model: str, allowances: Iterable[RateLimit], now: float) -> None:
        """Take what a worker was told is left."""
        self.limiter(model).hint(allowances, now)

    def record_send(self, lease: int, key: str, attempt: int) -> bool:
        """Write down that a worker is about to send this, and return True: it waits for that.

        False is for a worker that was given up while it lives: its asks are no longer its own.
        """
        if lease in self._closed:
            return False
        self._sent.setdefault(lease, {})[key] = attempt
        return True

    def record_rejection(self, lease: int, key: str, attempt: int) -> None:
        """Write down that an attempt was refused; nobody waits, so a later one may be known."""
        sent = self._sent.get(lease, {})
        if sent.get(key) == attempt:
            del sent[key]

    def close(self, lease: int) -> frozenset[str]:
        """Return what of a lease was sent; nothing more of it is."""
        self._closed.add(lease)
        return frozenset(self._sent.pop(lease, ()))


def take_lease(asks: list[Trial], purse: CostBudget, most: int) -> list[Trial]:
    """Move from the end of ``asks`` what fits into one lease and the purse pays for; return it.

    Raises Spent where the purse pays for nothing more, now or later.
    """
    found: list[Trial] = []
    tokens = 0
    while asks and len(found) < most:
        tokens += tokens_of(asks[-1])
        if found and tokens > TOKENS:
            break
        try:
            if not purse.take(asks[-1]):
                break
        except BudgetSpent:
            if found:
                break
            raise
        found.append(asks.pop())
    return found


def tokens_of(ask: Trial) -> int:
    """Return about the most tokens that an ask takes: a byte of its prompt is one at most."""
    prompt = len(dump_json(ask.prompt).encode()) + len((ask.system or "").encode())
    return prompt + (ask.max_tokens or _USUAL_ANSWER)
