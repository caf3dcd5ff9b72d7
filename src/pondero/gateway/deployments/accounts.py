"""The accounts of a configuration while it runs: their load, their limits, and who is next.

Our own counts, the pauses and what has nothing left are shared by all replicas. Requests on their
way and the rest of the service's headers are what this process sees, and every answer brings them
up to date.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ...catalog import ModelEntry
from ...dialects import RateLimit
from ...errors import AuthFailed, BillingFailed, PonderoError, QuotaSpent, RateLimited, ServiceError
from ...exchange import is_deployment_fault
from ..config.model import Balance, Deployment
from ..quotas.quota import Quota, name_account_holder, name_arrival_span
from ..quotas.usage_counter import UsageCounter
from ..state.breakers import REST
from .account_load import LONGEST_WAIT, MANY, AccountLoad
from .conversation import Conversation
from .placement import HOME_PATIENCE, Order, PlacementOption, find_keeper, order_deployments

LAST_PATIENCE = 5.0
"""Seconds that a request waits for room if no other deployment is left to ask."""
_LONGEST_REST = 60.0  # seconds after a failure: one request a minute finds out whether it is over
_SHORTEST_PAUSE = 1.0  # second, after a 429 without a delay
_DEAD = (AuthFailed, BillingFailed, QuotaSpent)  # of the account, whatever is asked


class AccountFull(RateLimited):
    """An account has no room for a request now; nothing was sent.

    ``left``: seconds that the request could have waited yet. ``may_end_early``: a running request
    may take less than it reserved, so there may be room before ``retry_after``.
    """

    left: float = 0.0
    may_end_early: bool = False


class AccountRejection(AccountFull):
    """The key or the credit of an account was rejected a short while ago; nothing was sent."""


class Pauses(Protocol):
    """Pauses accounts for all replicas."""

    async def pause(self, name: str, seconds: float) -> None:
        """Pause an account."""
        ...

    async def end_pause(self, name: str) -> None:
        """End the pause of an account that answers again."""
        ...

    async def open(self, name: str, seconds: float) -> None:
        """Open a breaker now, for this time."""
        ...

    def find_rest(self, name: str) -> float:
        """Return the seconds for which a breaker lets no request pass; asks for no probe."""
        ...

    async def share_full(self, name: str, seconds: float) -> None:
        """Tell other replicas that a service reports nothing left for this time; 0: it has."""
        ...

    def find_full(self, name: str) -> float:
        """Return the seconds for which a service has nothing left, as another replica told."""
        ...

    def find_pause(self, name: str) -> float:
        """Return the seconds for which an account is paused, as this process last saw it."""
        ...


class ModelTurn(Struct, frozen=True):
    """A model to ask. ``patience``: seconds to wait for room; ``is_last``: of its deployments.

    ``is_home``: it has the conversation, so it is asked once more after a 429 with a short delay.
    ``is_new``: the conversation was placed there just now, and is to stay. ``tried``: how often it
    was asked before, and ``delay``: seconds to wait before it is asked again. ``is_shared``: other
    accounts serve its model too. ``is_forced``: no other can answer, so it is asked although it
    failed a short while ago.
    """

    entry: ModelEntry
    patience: float = LAST_PATIENCE
    is_last: bool = True
    is_home: bool = False
    is_new: bool = False
    tried: int = 0
    delay: float = 0.0
    is_shared: bool = False
    is_forced: bool = False

    @property
    def account(self) -> str:
        """Return the account whose limits and pauses are kept, "" for a provider that is alone.

        A provider in one route with its deployments is an account like them.
        """
        return name_account(self.entry) if self.is_shared else self.entry.deployment

    @property
    def breaker(self) -> str:
        """Return the name of its breaker: errors of one account never pause another."""
        return name_breaker(self.entry)


def name_breaker(entry: ModelEntry) -> str:
    """Return the name under which the failures of a model are counted."""
    return f"{entry.deployment}:{entry.model}" if entry.deployment else entry.id


def name_account(entry: ModelEntry) -> str:
    """Return the account of a model: its deployment, or its provider for the usual account."""
    return entry.deployment or entry.provider.name


class Accounts:
    """The accounts of one process; ``clock`` returns seconds, ``chance`` numbers from 0 to 1."""

    def __init__(
        self, clock: Callable[[], float], chance: Callable[[], float], pauses: Pauses
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._pauses = pauses
        self._deployments: Mapping[str, Deployment] = {}
        self._quotas: dict[str, tuple[Quota, ...]] = {}
        self._former: dict[str, tuple[Quota, ...]] = {}  # of earlier configurations
        self._loads: dict[str, AccountLoad] = {}
        self._told: set[str] = set()  # other replicas know that these have nothing left

    def configure(
        self, deployments: Sequence[Deployment], counter: UsageCounter | None = None
    ) -> None:
        """Use these accounts from now on; one that was known keeps its load and its counts."""
        before, quotas = self._deployments, self._quotas
        self._deployments = {each.name: each for each in deployments}
        # Requests that have begun keep the deployment that they were placed on.
        self._former = {**self._former, **quotas}
        self._quotas = {each.name: _list_quotas(each) for each in deployments}
        loads, self._loads = self._loads, {}
        for each in deployments:
            old = _find_predecessor(each, before, self._deployments)
            if old is not None and (load := loads.pop(old.name, None)) is not None:
                self._loads[each.name] = load
                load.placed *= each.weight / old.weight  # its share of all stays what it was
                if counter is not None:
                    _carry_counts(counter, quotas[old.name], self._quotas[each.name])
        shares = [
            self._loads[each.name].placed / each.weight
            for each in deployments
            if each.name in self._loads
        ]
        for each in deployments:  # a new one begins like the others, not with all conversations
            if each.name not in self._loads:
                start = min(shares, default=0.0) * each.weight
                self._loads[each.name] = AccountLoad(self._clock, start)

    def load(self, name: str) -> AccountLoad:
        """Return the load of an account."""
        if (load := self._loads.get(name)) is None:
            load = self._loads[name] = AccountLoad(self._clock)
        return load

    def quotas(self, name: str) -> tuple[Quota, ...]:
        """Return the limits that an account is configured to have."""
        found = self._quotas.get(name)
        return self._former.get(name, ()) if found is None else found

    def order(
        self,
        entries: Sequence[ModelEntry],
        balance: Balance,
        conversation: Conversation | None,
        *,
        counter: UsageCounter,
    ) -> list[ModelTurn]:
        """Return the models in the order to ask them, deployments of the same one together."""
        if conversation is not None and conversation.is_stored:
            balance = "sticky"
        groups: dict[tuple[str, str], list[ModelEntry]] = {}
        for entry in entries:
            groups.setdefault((entry.provider.name, entry.model), []).append(entry)
        turns: list[ModelTurn] = []
        for group in groups.values():
            if len(group) == 1:
                turns.append(ModelTurn(group[0]))
                continue
            home = conversation.find_home(group[0]) if conversation is not None else None
            candidates = [self._describe(entry, counter) for entry in group]
            order = order_deployments(candidates, balance, home, chance=self._chance)
            turns += self._take_turns(order, home, is_kept=balance == "sticky")
        return turns

    def find_keeper(self, entries: Sequence[ModelEntry], client: str) -> str:
        """Return the deployment that keeps what a client stores, "" for a provider that is alone.

        A vector store and its files, or all files of a conversation, must be of one account.
        """
        names = [name for each in entries if (name := each.deployment)]
        known = {name: self._deployments.get(name) for name in names}
        weights = {name: each.weight if each else 1.0 for name, each in known.items()}
        return find_keeper(weights, client) if weights else ""

    def _take_turns(self, order: Order, home: str | None, *, is_kept: bool) -> list[ModelTurn]:
        """Return the turns of an order, and count a conversation that is new there."""
        candidates = order.candidates
        if order.placed:
            self._note_placed(candidates)
        last = len(candidates) - 1
        return [
            ModelTurn(
                each.entry,
                HOME_PATIENCE if each.entry.deployment == home else 0.0,
                is_last=at == last,
                is_home=each.entry.deployment == home,
                is_new=is_kept and order.placed and at == 0,
                is_shared=True,
            )
            for at, each in enumerate(candidates)
        ]

    def forget_placed(self, turn: ModelTurn) -> None:
        """Count a conversation no more where it was placed: it is at home elsewhere."""
        load = self.load(name_account(turn.entry))
        load.placed = max(0.0, load.placed - 1)

    def _note_placed(self, candidates: Sequence[PlacementOption]) -> None:
        first = candidates[0]
        load = self.load(name_account(first.entry))
        load.placed += 1
        share = load.placed / first.weight
        for each in candidates[1:]:
            if each.wait > 0:  # it gets no more than the others when it is back
                other = self.load(name_account(each.entry))
                other.placed = max(other.placed, share * each.weight)
        if sum(each.placed for each in self._loads.values()) > MANY:
            for known in self._loads.values():
                known.placed /= 2

    def _describe(self, entry: ModelEntry, counter: UsageCounter) -> PlacementOption:
        name = name_account(entry)
        deployment = self._deployments.get(name)
        weight = deployment.weight if deployment is not None else 1.0
        load, quotas = self.load(name), self.quotas(name)
        used = counter.recent_use(quotas) if quotas else []
        shares = [taken / each.most for taken, each in zip(used, quotas, strict=True)]
        return PlacementOption(
            entry,
            weight=weight,
            use=max([load.find_use(entry.limits), *shares]),
            share=(load.placed + load.in_flight) / weight,
            wait=self._find_wait(entry, load),
        )

    def _find_wait(self, entry: ModelEntry, load: AccountLoad) -> float:
        hold = self.find_hold(name_account(entry), entry.limits)
        wait = max(load.find_wait(entry.limits), load.find_rest(), hold)
        # One whose rest is over may be asked: the first request that is placed there probes it. One
        # that rests is no home that a conversation waits for, however soon the rest is over.
        rest = self._pauses.find_rest(name_breaker(entry))
        return max(wait, rest, REST) if rest > 0 else wait

    def find_pause(self, entry: ModelEntry) -> float:
        """Return the seconds for which a model is paused at its account, or all of the account."""
        if not (name := entry.deployment):
            return 0.0
        of_model = self._pauses.find_pause(_name_limits(name, entry.limits))
        return max(self._pauses.find_pause(name), of_model)

    def find_rejection(self, account: str) -> float:
        """Return the seconds for which an account is paused whose key or credit was rejected."""
        return self._pauses.find_pause(account)

    async def end_pause(self, account: str) -> None:
        """End the pause of an account that was asked in spite of it, and answered."""
        await self._pauses.end_pause(account)

    def find_hold(self, account: str, limits: str) -> float:
        """Return the seconds for which a model is paused, or full as another replica told.

        ``limits``: the name of the model's rate limits, here and below.
        """
        return max(self.find_rejection(account), self.find_told_hold(account, limits))

    def find_told_hold(self, account: str, limits: str) -> float:
        """Return the seconds for which a service wants no requests for a model."""
        pauses, name = self._pauses, _name_limits(account, limits)
        return max(pauses.find_pause(name), pauses.find_full(name))

    async def share_limits(self, account: str, limits: str, told: Sequence[RateLimit]) -> None:
        """Tell other replicas if a service reports nothing left, and if it has again.

        Only this: what is left otherwise changes with every request, and each replica's own
        answers tell it.
        """
        name = _name_limits(account, limits)
        wait = max((each.wait for each in told if each.left < 1), default=0.0)
        if wait > 0 or (told and name in self._told):
            await self._pauses.share_full(name, min(wait, LONGEST_WAIT))
            (self._told.add if wait > 0 else self._told.discard)(name)

    async def note_failure(
        self, account: str, model: str, error: PonderoError, *, limits: str
    ) -> None:
        """Pause an account whose key or credit is rejected, or its model if the service says so.

        A service that fails and names a delay means the model: others of the account may work. One
        that has no room means all models that share its rate limits.
        """
        if not account or not isinstance(error, ServiceError):
            return
        if isinstance(error, AccountFull):
            return  # nothing was sent
        if isinstance(error, _DEAD):
            await self._pauses.pause(account, _limit_pause(error.retry_after or REST))
        elif isinstance(error, RateLimited) or (error.status == 429 and error.retry_after):
            pause = _limit_pause(find_delay(error))
            await self._pauses.pause(_name_limits(account, limits), pause)
        elif is_deployment_fault(error) and error.retry_after:
            rest = min(error.retry_after, _LONGEST_REST)
            await self._pauses.open(_name_limits(account, model), rest)


def _name_limits(account: str, name: str) -> str:
    """Return the name of rate limits, or of the breaker of a model, at an account."""
    return f"{account}:{name}"


def find_delay(error: ServiceError) -> float:
    """Return the seconds for which a service that rejects a request is not asked again."""
    return error.retry_after or _SHORTEST_PAUSE


def _limit_pause(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _find_predecessor(
    deployment: Deployment, before: Mapping[str, Deployment], after: Mapping[str, Deployment]
) -> Deployment | None:
    """Return what a deployment was before: of the same name, else the same account, renamed."""
    if deployment.name in before:
        return before[deployment.name]
    if deployment.key is None:
        return None
    account = (deployment.provider, deployment.key, deployment.url)
    gone = [
        each
        for each in before.values()
        if each.name not in after and (each.provider, each.key, each.url) == account
    ]
    return gone[0] if len(gone) == 1 else None


def _carry_counts(counter: UsageCounter, before: Sequence[Quota], after: Sequence[Quota]) -> None:
    """Let counts go on under quotas of another period or name."""
    old = {each.unit: each for each in before}
    for quota in after:
        if quota.unit in old and old[quota.unit].name != quota.name:
            counter.carry(old[quota.unit], quota)


def _list_quotas(deployment: Deployment) -> tuple[Quota, ...]:
    limit, holder = deployment.limit, name_account_holder(deployment.name)
    if limit is None:
        return ()
    found: list[Quota] = []
    per = name_arrival_span(limit.per)
    if limit.requests is not None:
        found.append(Quota(holder, "requests", limit.requests, per, rolling=True))
    if limit.tokens is not None:
        found.append(Quota(holder, "tokens", limit.tokens, per, rolling=True))
    return tuple(found)
