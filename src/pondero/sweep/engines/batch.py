"""The batch engine: gives the asks of a sweep to their providers' batch services, at the discount.

What is at a service outlives this process: it is kept in batches of its own on disk, which name
the run they belong to, and the next process goes on with them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from decimal import Decimal
from time import time
from typing import Any

from ...batch import EVERY, BatchAnswer, BatchFile, batches_of
from ...client import AsyncBatch, AsyncClient
from ...errors import Refused
from ...exchange import AsyncTransport
from ...thinking import Policy
from ..arms import sweep_policy
from ..grading.judges import Judge
from .engine import BudgetSpent, CostBudget, Trial, TrialResult

LOOKS = 2
"""Every look is a batch, and a batch may take a day."""

_TICK = 0.5  # seconds after which it is seen that the purse was closed


class BatchEngine:
    """Asks batch services, or what ``transport`` returns for a repeat, such as an emulator."""

    looks = LOOKS
    outlives = True

    def __init__(
        self,
        *,
        transport: Callable[[int], AsyncTransport] | None = None,
        policy: Policy | None = None,
        every: tuple[float, float] | None = None,
    ) -> None:
        self._given = transport
        self._policy = policy or sweep_policy()
        self._every = every or (EVERY if transport is None else (0.0, 0.0))
        self._clients: dict[int, AsyncClient] = {}
        self._owner = "sweep"

    def begin(self, run: str) -> bool:
        """Return True: what is in no batch of this run was never sent.

        What was with an emulator is gone with its process, and nobody paid for it.
        """
        self._owner = f"sweep {run}"
        for file in batches_of(self._owner):
            with file:
                if file.facts.offline:
                    file.take()
        return True

    def judge(self, judge: Judge) -> Judge:
        """Return the judge: it grades in this process."""
        return judge

    async def answers(self, asks: Sequence[Trial], purse: CostBudget) -> AsyncIterator[TrialResult]:
        """Yield each ask as it is settled; see ``Engine``. Ends early where the purse is closed."""
        todo = {ask.key: ask for ask in asks}
        left = [self._reopened(file) for file in batches_of(self._owner)]
        seen = {key for batch in left for key in batch.ids if key in todo}
        for key in seen:
            purse.resume(todo[key])
        async for settled in self._settled(left, todo, purse):
            yield settled
        rest = [ask for ask in asks if ask.key not in seen]
        while rest and not purse.closed:
            taken = _taken(rest, purse)
            if not taken:
                return
            rest = rest[len(taken) :]
            groups = {0: taken} if self._given is None else _by_repeat(taken)
            sent = [await self._sent(number, own) for number, own in groups.items()]
            async for settled in self._settled(sent, todo, purse):
                yield settled

    async def aclose(self) -> None:
        """Close every connection; the batches stay at their services."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    # -- batches -----------------------------------------------------------------------------------

    def _reopened(self, file: BatchFile) -> AsyncBatch:
        with file:
            return self._client(0).open_batch(file.facts.id)

    async def _sent(self, repeat: int, asks: Sequence[Trial]) -> AsyncBatch:
        rows: list[dict[str, Any]] = [
            {
                "id": ask.key,
                "model": ask.model,
                "prompt": ask.prompt,
                "thinking": ask.level,
                "system": ask.system,
                "max_tokens": ask.max_tokens,
            }
            for ask in asks
        ]
        return await self._client(repeat).batch(rows, owner=self._owner)

    async def _settled(
        self, batches: Sequence[AsyncBatch], todo: dict[str, Trial], purse: CostBudget
    ) -> AsyncIterator[TrialResult]:
        """Yield what has ended until all has, or the purse is closed: the rest stays there."""
        told: set[str] = set()
        waiting, seconds = list(batches), self._every[0]
        while waiting:
            for batch in tuple(waiting):
                state = await batch.look()
                for answer in batch.answers.values():
                    if answer.id in todo and answer.id not in told:
                        told.add(answer.id)
                        yield _settle(todo[answer.id], answer, purse)
                if state == "ended":
                    batch.take()
                    await batch.aclose()
                    waiting.remove(batch)
            if waiting and not await _slept(seconds, purse):
                return
            seconds = min(self._every[1], seconds * 1.5)

    def _client(self, repeat: int) -> AsyncClient:
        if repeat not in self._clients:
            transport = None if self._given is None else self._given(repeat)
            self._clients[repeat] = AsyncClient(transport=transport, policy=self._policy)
        return self._clients[repeat]


async def _slept(seconds: float, purse: CostBudget) -> bool:
    """Wait so long; False where the purse was closed meanwhile."""
    for _ in range(max(1, round(seconds / _TICK))):
        if purse.closed:
            return False
        await asyncio.sleep(min(seconds, _TICK))
    return not purse.closed


def _taken(asks: Iterable[Trial], purse: CostBudget) -> list[Trial]:
    """Return the first asks, as many as the purse pays for at once."""
    taken: list[Trial] = []
    try:
        for ask in asks:
            if not purse.take(ask):
                break
            taken.append(ask)
    except BudgetSpent:
        pass
    return taken


def _by_repeat(asks: Iterable[Trial]) -> dict[int, list[Trial]]:
    """Return the asks in groups: an emulator answers one repeat, so that repeats differ."""
    groups: dict[int, list[Trial]] = {}
    for ask in asks:
        groups.setdefault(ask.repeat, []).append(ask)
    return groups


def _settle(ask: Trial, answer: BatchAnswer, purse: CostBudget) -> TrialResult:
    """Return how an ask ended, with its money: what expired or was refused was not billed."""
    reply, error = answer.reply, answer.error
    if reply is not None:
        purse.settle(ask, None if answer.cost is None else Decimal(answer.cost))
        return TrialResult(
            key=ask.key,
            text=reply.text,
            finish=reply.finish,
            verdict=reply.verdict,
            usage=reply.usage,
            cost=answer.cost,
            at=time(),
            model=reply.model,
        )
    if isinstance(error, Refused):
        purse.settle(ask, Decimal(0))
        return TrialResult(key=ask.key, finish="refusal", at=time(), text=str(error))
    purse.give_back(ask, charged=answer.ending == "lost")
    said = f"{type(error).__name__}: {error}"
    return TrialResult(key=ask.key, finish="error", error=said, at=time())
