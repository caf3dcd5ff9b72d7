"""The batch engine: sends trials to batch services. Files name the run, to continue later."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from decimal import Decimal
from math import ceil
from time import time
from typing import Any

from ...batch import EVERY, BatchAnswer, BatchFile, Patience, batches_of
from ...client import AsyncBatch, AsyncClient
from ...errors import Refused
from ...exchange import AsyncTransport
from ...store import list_cost
from ...thinking import Policy
from ..arms import sweep_policy
from ..grading.judges import Judge
from .engine import BudgetSpent, CostBudget, Trial, TrialResult

BLOCKS = 3
"""Blocks that a pool is sent in."""

LEAST = 40
"""Units of the smallest block."""

_TICK = 0.5  # seconds between two checks whether the budget was closed


class BatchEngine:
    """Sends to batch services, or to the transport of a repeat, such as an emulator."""

    outlives = True

    def __init__(
        self,
        *,
        transport: Callable[[int], AsyncTransport] | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._given = transport
        self._policy = policy or sweep_policy()
        self._waits = transport is None
        self._clients: dict[int, AsyncClient] = {}
        self._owner = "sweep"

    def ahead(self, units: int) -> int:
        """Return the size of a block: each takes a batch, and a batch may take a day."""
        return max(LEAST, ceil(units / BLOCKS))

    def begin(self, run: str) -> bool:
        """Return True: a trial in no batch was never sent; batches at an emulator cost nothing."""
        self._owner = f"sweep {run}"
        for file in batches_of(self._owner):
            with file:
                if file.facts.offline:
                    file.take()
        return True

    def judge(self, judge: Judge) -> Judge:
        """Return the judge: it grades in this process."""
        return judge

    async def answers(
        self, trials: Sequence[Trial], budget: CostBudget
    ) -> AsyncIterator[TrialResult]:
        """Yield the result of each trial; see ``Engine``. End early if the budget is closed."""
        todo = {trial.key: trial for trial in trials}
        left = [self._reopen(file) for file in batches_of(self._owner)]
        seen = {key for batch in left for key in batch.ids if key in todo}
        for key in seen:
            budget.resume(todo[key])
        async for settled in self._iter_settled(left, todo, budget):
            yield settled
        rest = [trial for trial in trials if trial.key not in seen]
        while rest and not budget.closed:
            affordable = _take_affordable(rest, budget)
            if not affordable:
                return
            rest = rest[len(affordable) :]
            groups = {0: affordable} if self._given is None else _by_repeat(affordable)
            sent = [await self._send(number, own) for number, own in groups.items()]
            async for settled in self._iter_settled(sent, todo, budget):
                yield settled

    async def aclose(self) -> None:
        """Close every connection; the batches stay at their services."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _reopen(self, file: BatchFile) -> AsyncBatch:
        with file:
            return self._client(0).open_batch(file.facts.id)

    async def _send(self, repeat: int, trials: Sequence[Trial]) -> AsyncBatch:
        rows: list[dict[str, Any]] = [
            {
                "id": trial.key,
                "model": trial.model,
                "prompt": trial.prompt,
                "thinking": trial.level,
                "system": trial.system,
                "max_tokens": trial.max_tokens,
            }
            for trial in trials
        ]
        return await self._client(repeat).batch(rows, owner=self._owner)

    async def _iter_settled(
        self, batches: Sequence[AsyncBatch], todo: dict[str, Trial], budget: CostBudget
    ) -> AsyncIterator[TrialResult]:
        yielded: set[str] = set()
        waiting, seconds, patience = list(batches), EVERY[0], Patience()
        while waiting:
            for batch in tuple(waiting):
                state = await batch.look(patience)
                for answer in batch.answers.values():
                    if answer.id in todo and answer.id not in yielded:
                        yielded.add(answer.id)
                        yield _settle(todo[answer.id], answer, budget)
                if state == "ended":
                    batch.take()
                    await batch.aclose()
                    waiting.remove(batch)
            if waiting and not await _sleep(seconds if self._waits else 0.0, budget):
                return
            patience.add(seconds)
            seconds = min(EVERY[1], seconds * 1.5)

    def _client(self, repeat: int) -> AsyncClient:
        if repeat not in self._clients:
            transport = None if self._given is None else self._given(repeat)
            self._clients[repeat] = AsyncClient(transport=transport, policy=self._policy)
        return self._clients[repeat]


async def _sleep(seconds: float, budget: CostBudget) -> bool:
    for _ in range(max(1, round(seconds / _TICK))):
        if budget.is_spent:
            return False
        await asyncio.sleep(min(seconds, _TICK))
    return not budget.is_spent


def _take_affordable(trials: Iterable[Trial], budget: CostBudget) -> list[Trial]:
    affordable: list[Trial] = []
    try:
        for trial in trials:
            if not budget.take(trial):
                break
            affordable.append(trial)
    except BudgetSpent:
        pass
    return affordable


def _by_repeat(trials: Iterable[Trial]) -> dict[int, list[Trial]]:
    """Return the trials by repeat: each repeat has its own emulator, so that repeats differ."""
    groups: dict[int, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.repeat, []).append(trial)
    return groups


def _settle(trial: Trial, answer: BatchAnswer, budget: CostBudget) -> TrialResult:
    reply, error = answer.reply, answer.error
    if reply is not None:
        cost = list_cost(reply)
        budget.settle(trial, None if cost is None else Decimal(cost))
        return TrialResult(
            key=trial.key,
            text=reply.text,
            finish=reply.finish,
            verdict=reply.verdict,
            usage=reply.usage,
            cost=cost,
            at=time(),
            model=reply.model,
        )
    if isinstance(error, Refused):
        budget.settle(trial, Decimal(0))
        return TrialResult(key=trial.key, finish="refusal", at=time(), text=str(error))
    budget.give_back(trial, charged=answer.ending == "lost")
    message = f"{type(error).__name__}: {error}"
    return TrialResult(key=trial.key, finish="error", error=message, at=time())
