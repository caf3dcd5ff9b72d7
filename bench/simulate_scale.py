"""Simulate ten replicas on one Redis and one PostgreSQL: simulate_scale.py, and a table at the end.

Some processes drive the gateway's own classes for state and ledger as its requests do, without the
HTTP around them: each replica has its own connection, and every request continues the last answer
of another replica under five quotas that all share. A key with a small budget runs out on the way.
Exit 1 if a budget is overspent, or if a count, an answer or a row of the ledger is lost.
docs/scale.md has the figures.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import redis
import uvloop

from pondero.canon import Usage
from pondero.gateway.config.model import (
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import PostgresDatabase
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import Quota, QuotaUse, Unit, find_quotas
from pondero.gateway.quotas.usage_counter import UnreadAnswers
from pondero.gateway.state import redis_connection
from pondero.gateway.state.shared_state import SharedState, make_shared_state

HELPERS = Path(__file__).parents[1] / "tests" / "gateway"
PLENTY = 10**15
ANSWER = os.urandom(1500)  # bytes of a cached answer with its signature
RESERVED = {"requests": 1, "tokens": 5_000, "thinking_tokens": 4_000, "money": 40_000_000}
KEYS = 20
TURN = 0.001  # seconds in which a client gets an answer and sends its next request, at least
ROUTE = GatewayRoute("m", ("p:m",), budget=SpendBudget(tokens=PLENTY, per="day"))


Last = tuple[str, float]  # an answer, and when it was stored


def make_key(number: int, small: int) -> GatewayKey:
    """Return a key with four quotas; the first has the small budget."""
    tokens = small if number == 0 else PLENTY
    return GatewayKey(
        f"key{number}",
        "",
        limit=RateLimitRule(requests=10**9, tokens=PLENTY, per="minute"),
        budget=SpendBudget(tokens=tokens, cost=10**6, per="month"),
    )


@dataclass
class Tally:
    """What one process did; ``used`` has the settled use of each counter."""

    requests: int = 0
    refused: int = 0
    missed: int = 0
    again: int = 0
    stored: int = 0
    writes: int = 0
    commands: int = 0
    late: float = 0.0
    cpu: float = 0.0
    used: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)


class Replica:
    """One gateway process: its state, its ledger, and its share of the traffic."""

    def __init__(
        self, number: int, plan: "Plan", ledger: Ledger | None, tally: Tally, last: dict[int, Last]
    ) -> None:
        self.number = number
        self._last = last
        self._plan = plan
        self._ledger = ledger
        self._tally = tally
        self._random = Random(number)  # noqa: S311 - no secret
        self.shared: SharedState = make_shared_state(ServerConfig(state=plan.url))
        keys = [make_key(each, plan.small) for each in range(KEYS)]
        self._quotas = [find_quotas(each, ROUTE) if plan.has_quotas else () for each in keys]
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, start: float) -> None:
        """Send requests at an even rate; a late one is sent at once, so that none is left out."""
        count, rate = round(self._plan.rate * self._plan.seconds), self._plan.rate
        for number in range(count):
            due = start + (number + self.number / self._plan.replicas) / rate
            if (wait := due - time.time()) > 0:
                await asyncio.sleep(wait)
            self._tally.late = max(self._tally.late, -wait)
            task = asyncio.ensure_future(self._serve(number))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await asyncio.gather(*self._tasks)
        await self.shared.state.wait_until_counted()

    async def _serve(self, number: int) -> None:
        """Do what a request does before and after the service."""
        tally, shared = self._tally, self.shared
        recent = time.perf_counter() - TURN
        last = (each for other, each in self._last.items() if other != self.number)
        earlier = [name for name, since in last if since < recent][:1]
        if shared.memory.find_known(earlier):
            earlier = []  # this replica has continued it before
        id = f"{self.number}-{number}"
        uses = [QuotaUse(each, RESERVED[each.unit]) for each in self._quotas[number % KEYS]]
        begun = time.perf_counter()
        looking = shared.begin_look() if shared.begin_look is not None else None
        history = shared.memory.begin(earlier) if earlier else None
        unread = UnreadAnswers(tuple(earlier), {"tokens": 0.3}) if earlier else None
        full = await shared.state.reserve(id, uses, unread=unread) if uses else None
        if looking is not None:
            await looking
        found = await history if history is not None else {}
        if earlier and not found and (again := shared.memory.begin(earlier)) is not None:
            tally.again += 1
            found = await again
        tally.waits.append(time.perf_counter() - begun)
        tally.requests += 1
        tally.missed += len(earlier) - len(found)
        if full is not None:
            tally.refused += 1
        else:
            await shared.memory.put({id: ANSWER})
            if uses:
                self._settle(id, [each.bound for each in uses])
            shared.flush()
            tally.stored += 1
            self._last.pop(self.number, None)
            self._last[self.number] = (id, time.perf_counter())
        if self._ledger is not None:
            usage = Usage(1_000, output=200)
            status = 200 if full is None else 429
            row = Receipt(id=id, at=time.time(), key="key", front="", usage=usage, status=status)
            self._ledger.note(row)

    def _settle(self, id: str, quotas: Sequence[Quota]) -> None:
        share = self._random.random()
        took: dict[Unit, int] = {each: round(most * share) for each, most in _AMOUNTS.items()}
        took["requests"] = 1
        uses = [QuotaUse(each, took[each.unit]) for each in quotas]
        self.shared.state.settle(id, uses)
        self._tally.used.update({each.bound.name: each.amount for each in uses})


_AMOUNTS: dict[Unit, int] = {"tokens": 5_000, "thinking_tokens": 4_000, "money": 40_000_000}


@dataclass(frozen=True)
class Plan:
    """What is simulated; ``rate``: requests a second of each replica."""

    url: str
    replicas: int
    rate: float
    seconds: float
    processes: int
    has_quotas: bool
    ledger: str = ""

    @property
    def small(self) -> int:
        """Return a budget in tokens that runs out when half of its requests are answered."""
        requests = self.replicas * self.rate * self.seconds / KEYS
        return round(requests / 2 * RESERVED["tokens"] / 2)


def drive(plan: Plan, numbers: Sequence[int], start: float) -> Tally:
    """Run some replicas in this process."""
    tally = Tally()
    _count_writes(tally)
    with TemporaryDirectory() as folder:
        os.environ["PONDERO_DATA_DIR"] = folder
        uvloop.run(_drive(plan, numbers, start, tally))
    return tally


def _count_writes(tally: Tally) -> None:
    """Count what leaves for Redis, and how often."""
    write = redis_connection.RedisConnection._write  # noqa: SLF001 - it is measured

    def counting(self: Any) -> None:
        if self._queue and self._line is not None:
            tally.writes += 1
            tally.commands += sum(each.count or 1 for each in self._queue)
        write(self)

    redis_connection.RedisConnection._write = counting  # type: ignore[method-assign]  # noqa: SLF001


async def _drive(plan: Plan, numbers: Sequence[int], start: float, tally: Tally) -> None:
    data = Path(os.environ["PONDERO_DATA_DIR"])
    ledgers = [
        Ledger(PostgresDatabase(plan.ledger), data / f"aside{number}") if plan.ledger else None
        for number in numbers
    ]
    each = zip(numbers, ledgers, strict=True)
    last: dict[int, Last] = {}  # the newest answer of each replica in this process
    replicas = [Replica(number, plan, ledger, tally, last) for number, ledger in each]
    for replica in replicas:
        await replica.shared.look()
    tally.writes = tally.commands = 0
    begun = time.process_time()
    await asyncio.gather(*(replica.run(start) for replica in replicas))
    tally.cpu = time.process_time() - begun
    for replica, ledger in zip(replicas, ledgers, strict=True):
        await replica.shared.aclose()
        if ledger is not None:
            await asyncio.to_thread(ledger.close)


# -- the parent -----------------------------------------------------------------------------------


def _load_helper(name: str) -> Any:
    """Load a helper of the tests by its file: a package of the environment may be called tests."""
    spec = spec_from_file_location(name, HELPERS / f"{name}.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _postgres() -> Iterator[Any]:
    server = _load_helper("postgres").Postgres()
    try:
        yield server
    finally:
        server.close()


def _read_cpu(pid: int) -> float:
    """Return the CPU seconds of a process and its children, ended ones included."""
    total = 0.0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in (pid, *map(int, children)):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15] if each == pid else fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def simulate(options: argparse.Namespace) -> dict[str, float]:
    """Run it, and return the figures."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(_load_helper("redis_server").redis_server(folder))
        client = stack.enter_context(redis.Redis.from_url(server.url))
        postgres = None if options.no_postgres else stack.enter_context(_postgres())
        plan = Plan(
            server.url,
            options.replicas,
            options.rate,
            options.seconds,
            options.processes,
            not options.no_quotas,
            postgres.make() if postgres else "",
        )
        before, cpu = client.info("all"), _read_cpu(postgres._process.pid) if postgres else 0.0  # noqa: SLF001
        tallies = _drive_all(plan)
        after = client.info("all")
        figures = _figure(plan, tallies, before, after)
        figures["lost counts"] = _find_lost(client, tallies)
        stored = sum(1 for _ in client.scan_iter("pondero:answer:*", count=1000))
        figures["lost answers"] = sum(each.stored for each in tallies) - stored
        if postgres:
            spent = _read_cpu(postgres._process.pid) - cpu  # noqa: SLF001
            database = PostgresDatabase(plan.ledger)
            rows = database.rows("SELECT count(*) FROM pondero_receipts")[0][0]
            database.close()
            figures["lost rows"] = figures["requests"] - rows
            figures["PostgreSQL CPU per row, ms"] = 1000 * spent / max(1, rows)
        return figures


def _drive_all(plan: Plan) -> list[Tally]:
    shares = [range(each, plan.replicas, plan.processes) for each in range(plan.processes)]
    start = time.time() + 3  # all processes have started by then
    with ProcessPoolExecutor(plan.processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(drive, *zip(*((plan, share, start) for share in shares), strict=True)))


def _figure(plan: Plan, tallies: Sequence[Tally], before: Any, after: Any) -> dict[str, float]:
    requests = sum(each.requests for each in tallies)
    waits = sorted(wait for each in tallies for wait in each.waits)

    def grown(*names: str) -> float:
        return float(sum(after[name] - before[name] for name in names))

    small = find_quotas(make_key(0, plan.small), None)[-1]
    spent = sum(each.used[small.name] for each in tallies)
    return {
        "requests": requests,
        "requests/s": requests / plan.seconds,
        "refused": sum(each.refused for each in tallies),
        "small budget, spent of 1": spent / plan.small,
        "answers read twice": sum(each.again for each in tallies),
        "answers not found": sum(each.missed for each in tallies),
        "writes to Redis per request": sum(each.writes for each in tallies) / requests,
        "commands per request": sum(each.commands for each in tallies) / requests,
        "Redis CPU per request, ms": 1000 * grown("used_cpu_user", "used_cpu_sys") / requests,
        "bytes to Redis per request": grown("total_net_input_bytes") / requests,
        "bytes from Redis per request": grown("total_net_output_bytes") / requests,
        "Redis memory per request, bytes": grown("used_memory") / requests,
        "round trip p50, ms": 1000 * waits[len(waits) // 2],
        "round trip p99, ms": 1000 * waits[len(waits) * 99 // 100],
        "replica CPU per request, ms": 1000 * sum(each.cpu for each in tallies) / requests,
        "latest start, s": max(each.late for each in tallies),
    }


def _find_lost(client: Any, tallies: Sequence[Tally]) -> float:
    """Return by how much the counts in Redis differ from what was used."""
    used: Counter[str] = Counter()
    for each in tallies:
        used.update(each.used)
    lost = 0
    for name, count in used.items():
        fields = client.hgetall(f"pondero:{name}")
        found = sum(int(value) for slot, value in fields.items() if slot.isdigit())
        lost += abs(found - count)
    return lost


def main() -> None:
    """Simulate what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=10)
    parser.add_argument("--rate", type=float, default=50, help="requests a second of each replica")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--processes", type=int, default=2, help="that drive the replicas")
    parser.add_argument("--no-quotas", action="store_true", help="keys without limits and budgets")
    parser.add_argument("--no-postgres", action="store_true", help="simulate Redis alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    figures = simulate(options)
    for name, value in figures.items():
        print(f"  {name:<36}{value:>14,.3f}")
    print(f"  {options.replicas} replicas, load {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    broken = [name for name in figures if name.startswith("lost") and figures[name]]
    if broken or figures["small budget, spent of 1"] > 1:
        sys.exit(f"not everything was counted once: {', '.join(broken) or 'the budget'}")


if __name__ == "__main__":
    main()
