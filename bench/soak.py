"""Soak a gateway: soak.py [SECONDS], 30 minutes by default, and one table at the end.

Two workers, Redis and the ledger serve mixed client APIs and upstreams; a tenth of the requests
meets a fault, another tenth hangs up, some ask for several answers or in the background. Keys come
and go, SIGHUPs arrive, a worker is killed each minute, and Redis stops once. The service behind
knows what it served (`soak_service.py`), and the counts of the gateway are judged by that: equal,
or more and marked as estimated. Exit 1 if not.
"""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from prometheus_client.parser import text_string_to_metric_families  # noqa: E402 - after the path
from soak_service import FAULTS  # noqa: E402 - after the path
from tests.gateway.redis_server import RedisServer, redis_server  # noqa: E402 - after the path

from pondero.gateway.config.secrets import hash_key  # noqa: E402 - after the path

Json = Any
LENGTH = 1_800.0
AT_ONCE = 24
CLIENTS = ("alice", "bob", "carol", "dave")
FREE = "erin"
"""A client without a budget: only it may have answers in the background."""
ADMIN = "soak-admin-key"
ROUTES = {
    "m-anthropic": ["anthropic:claude-opus-5"],
    "m-openai": ["openai:gpt-5.5"],
    "m-deepseek": ["deepseek:deepseek-v4-pro"],
    "m-google": ["google:gemini-3-flash-preview"],
    "m-ollama": ["ollama:qwen3"],
    "m-any": ["anthropic:claude-opus-5", "openai:gpt-5.5"],
}
_PROVIDERS = ("anthropic", "openai", "deepseek", "google", "ollama")
_DRAIN = 5
_PAUSE = 4.0  # seconds without Redis


# -- one request ------------------------------------------------------------------------------


@dataclass
class ClientConnection:
    """A connection to the gateway; ``killed``: its worker was killed while it had it."""

    port: int
    killed: bool = False


_USED: ContextVar[list[ClientConnection]] = ContextVar("_USED")


class Connector(aiohttp.TCPConnector):
    """Notes for each request which connection it uses, and which ones a killed worker had."""

    def __init__(self) -> None:
        super().__init__(limit=0)
        self._known: WeakKeyDictionary[Any, ClientConnection] = WeakKeyDictionary()
        self._killed: dict[int, float] = {}

    async def connect(self, *request: Any, **named: Any) -> Any:
        """Return a connection for a request."""
        begun = time.monotonic()
        connection = await super().connect(*request, **named)
        transport = connection.transport
        if transport is not None and transport not in self._known:
            port = transport.get_extra_info("sockname")[1]
            killed = self._killed.get(port, 0.0) >= begun  # accepted before it was known here
            self._known[transport] = ClientConnection(port, killed)
        if transport is not None and (used := _USED.get(None)) is not None:
            used.append(self._known[transport])
        return connection

    def note_killed(self, ports: set[int]) -> None:
        """Mark the connections at these ports."""
        self._killed |= dict.fromkeys(ports, time.monotonic())
        for transport, connection in list(self._known.items()):
            if connection.port in ports and not transport.is_closing():
                connection.killed = True


def find_client_ports(worker: int, port: int) -> set[int]:
    """Return the clients' ports of the connections that a process has at its own port."""
    held = set()
    for each in Path(f"/proc/{worker}/fd").iterdir():
        with suppress(OSError):
            held.add(str(each.readlink()))
    found = set()
    for line in Path(f"/proc/{worker}/net/tcp").read_text().splitlines()[1:]:
        _, here, there, _, _, _, _, _, _, inode, *_ = line.split()
        if int(here.partition(":")[2], 16) == port and f"socket:[{inode}]" in held:
            found.add(int(there.partition(":")[2], 16))
    return found - {0}  # of the socket that listens


@dataclass(frozen=True)
class ClientApi:
    """How a client of one API asks, and how a stream of it ends."""

    path: Callable[[str, bool], str]
    body: Callable[[str, str, bool], Json]
    ends: tuple[bytes, ...]


def _messages(model: str, said: str, stream: bool) -> Json:  # noqa: FBT001 - a table of functions
    turns = [{"role": "user", "content": said}]
    return {"model": model, "max_tokens": 4096, "messages": turns, "stream": stream}


def _responses(model: str, said: str, stream: bool) -> Json:  # noqa: FBT001 - as above
    return {"model": model, "input": said, "max_output_tokens": 4096, "stream": stream}


def _gemini(_model: str, said: str, _stream: bool) -> Json:  # noqa: FBT001 - as above
    return {"contents": [{"role": "user", "parts": [{"text": said}]}]}


def _ollama(model: str, said: str, stream: bool) -> Json:  # noqa: FBT001 - as above
    return {"model": model, "messages": [{"role": "user", "content": said}], "stream": stream}


def _gemini_path(model: str, stream: bool) -> str:  # noqa: FBT001 - as above
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/models/{model}:{verb}"


APIS = {
    "messages": ClientApi(lambda *_: "/v1/messages", _messages, (b"message_stop", b"event: error")),
    "responses": ClientApi(
        lambda *_: "/v1/responses",
        _responses,
        (b"response.completed", b"response.failed", b'"error"'),
    ),
    "chat": ClientApi(lambda *_: "/v1/chat/completions", _messages, (b"[DONE]", b'"error"')),
    "gemini": ClientApi(_gemini_path, _gemini, (b'"finishReason"', b'"error"')),
    "ollama": ClientApi(lambda *_: "/api/chat", _ollama, (b'"done":true', b'"error"')),
}


@dataclass(frozen=True)
class Asked:
    """What one request is to be."""

    name: str
    api: str
    model: str
    key: str
    events: int
    fault: str
    stream: bool
    leaves_after: int | None
    """Pieces of the stream after which the client hangs up."""
    answers: int = 1
    background: bool = False


@dataclass
class Outcome:
    """What became of a request; ``end``: answered, left, killed, lost, refused or unfinished."""

    asked: Asked
    end: str
    at: float
    status: int = 0
    seconds: float = 0.0
    record: str | None = None
    why: str = ""
    connection: ClientConnection | None = None


def draw(chance: Random, number: int) -> Asked:
    """Return some request."""
    stream = chance.random() < 0.7
    leaves = stream and chance.random() < 0.1 / 0.7
    api, kind = chance.choice(list(APIS)), chance.random()
    answers = chance.choice((2, 3, 8)) if api in ("chat", "gemini") and kind < 0.1 else 1
    background = api == "responses" and kind < 0.1
    return Asked(
        name=f"r{number}",
        api=api,
        model=chance.choice(list(ROUTES)),
        key=FREE if background and chance.random() < 0.8 else chance.choice(CLIENTS),
        events=chance.choice((4, 10, 40, 200)),
        fault=chance.choice(FAULTS) if chance.random() < 0.1 else "none",
        stream=stream and answers == 1,
        leaves_after=chance.randint(0, 8) if leaves and answers == 1 else None,
        answers=answers,
        background=background,
    )


def write_body(asked: Asked) -> Json:
    """Return the body of a request."""
    said = f"soak {asked.name} {asked.events} {asked.fault} ;"
    body = APIS[asked.api].body(asked.model, said, asked.stream)
    if asked.answers > 1 and asked.api == "gemini":
        body["generationConfig"] = {"candidateCount": asked.answers}
    elif asked.answers > 1:
        body["n"] = asked.answers
    return {**body, "background": True} if asked.background else body


async def ask(session: aiohttp.ClientSession, asked: Asked) -> Outcome:
    """Send a request and read its answer, or hang up."""
    api = APIS[asked.api]
    begun = time.monotonic()
    outcome = Outcome(asked, "lost", begun)
    used: list[ClientConnection] = []
    _USED.set(used)
    try:
        async with session.post(
            api.path(asked.model, asked.stream),
            json=write_body(asked),
            headers={"authorization": f"Bearer {asked.key}"},
        ) as response:
            outcome.status = response.status
            outcome.record = response.headers.get("x-pondero-id")
            if asked.leaves_after is not None:
                for _ in range(asked.leaves_after):
                    await response.content.readany()
                response.close()
                outcome.end = "left"
                return outcome
            data = await response.read()
            if response.status != 200:
                outcome.end, outcome.why = "refused", data[:200].decode(errors="replace")
            elif asked.stream and not any(end in data[-4000:] for end in api.ends):
                outcome.end, outcome.why = "unfinished", data[-200:].decode(errors="replace")
            else:
                outcome.end = "answered"
    except (aiohttp.ClientError, TimeoutError) as error:
        outcome.why = f"{type(error).__name__}: {error}"
    outcome.seconds = time.monotonic() - begun
    outcome.connection = used[-1] if used else None
    return outcome


# -- the gateway and its surroundings -----------------------------------------------------------


@dataclass
class Sample:
    """What the processes of the gateway hold at a moment."""

    memory: int
    descriptors: int
    tasks: int


@dataclass
class Soak:
    """One run: the processes, and what was seen."""

    port: int
    gateway: subprocess.Popen[bytes]
    redis: RedisServer
    length: float
    chance: Random
    outcomes: list[Outcome] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    kills: int = 0
    wrong: list[str] = field(default_factory=list)
    keys_made: int = 0
    sighups: int = 0
    begun: float = 0.0

    def workers(self) -> list[int]:
        """Return the processes that serve."""
        children = Path(f"/proc/{self.gateway.pid}/task/{self.gateway.pid}/children")
        with suppress(OSError):
            return [int(each) for each in children.read_text().split()]
        return []

    @property
    def over(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() - self.begun >= self.length

    async def load(self, session: aiohttp.ClientSession, numbers: Iterator[int]) -> None:
        """Send requests, one after another."""
        while not self.over:
            self.outcomes.append(await ask(session, draw(self.chance, next(numbers))))

    async def every(self, seconds: float, do: Callable[[], Awaitable[None]]) -> None:
        """Do something again and again."""
        while not self.over:
            await asyncio.sleep(seconds)
            if not self.over:
                await do()

    @staticmethod
    async def once(seconds: float, do: Callable[[], Awaitable[None]]) -> None:
        """Do something after a while."""
        await asyncio.sleep(seconds)
        await do()

    async def kill_worker(self, connector: Connector) -> None:
        """Kill one worker; it is stopped first, so that its connections are known exactly."""
        if workers := self.workers():
            worker = self.chance.choice(workers)
            with suppress(ProcessLookupError, FileNotFoundError):
                os.kill(worker, signal.SIGSTOP)
                while _state(worker) not in "TZX":
                    time.sleep(0.001)  # noqa: ASYNC251 - nothing may connect meanwhile
                connector.note_killed(find_client_ports(worker, self.port))
                self.kills += 1
                os.kill(worker, signal.SIGKILL)

    async def hang_up(self) -> None:
        """Have the configuration read again."""
        self.sighups += 1
        os.kill(self.gateway.pid, signal.SIGHUP)

    async def pause_redis(self) -> None:
        """Stop Redis for some seconds."""
        self.redis.hang()
        await asyncio.sleep(_PAUSE)
        self.redis.resume()

    async def look(self, session: aiohttp.ClientSession) -> None:
        """Take a sample of the processes, and the time that /health takes."""
        workers = self.workers()
        begun = time.monotonic()
        with suppress(aiohttp.ClientError, TimeoutError):
            async with session.get("/health") as response:
                await response.read()
            self.health.append(time.monotonic() - begun)
        tasks = 0
        with suppress(aiohttp.ClientError, TimeoutError):
            page = await self.metrics(session)
            tasks = int(sum(value for name, _, value in page if name == "pondero_tasks"))
        if workers:
            self.samples.append(
                Sample(
                    memory=sum(_memory(pid) for pid in workers) // len(workers),
                    descriptors=sum(_descriptors(pid) for pid in workers) // len(workers),
                    tasks=tasks,
                )
            )

    async def metrics(
        self, session: aiohttp.ClientSession
    ) -> list[tuple[str, dict[str, str], float]]:
        """Return every sample of the metrics page."""
        async with session.get("/metrics", headers=_ADMIN) as response:
            text = await response.text()
        return [
            (sample.name, sample.labels, sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        ]

    async def change_keys(self, session: aiohttp.ClientSession) -> None:
        """Make a key, use it, block it, see it rejected, and remove it."""
        self.keys_made += 1
        name = f"guest-{self.keys_made}"
        try:
            async with session.post("/admin/keys", json={"name": name}, headers=_ADMIN) as made:
                if made.status != 200:
                    return  # Redis is away
                key = (await made.json())["key"]
            await self._expect(session, key, 200, name)
            change = session.patch(f"/admin/keys/{name}", json={"blocked": True}, headers=_ADMIN)
            async with change as blocked:
                if blocked.status != 200:
                    return
            await self._expect(session, key, 401, name)
            async with session.delete(f"/admin/keys/{name}", headers=_ADMIN) as removed:
                await removed.read()
        except (aiohttp.ClientError, TimeoutError):
            return  # a worker was killed

    async def _expect(
        self, session: aiohttp.ClientSession, key: str, status: int, name: str
    ) -> None:
        async with session.get("/v1/models", headers={"authorization": f"Bearer {key}"}) as found:
            await found.read()
            if found.status != status:
                self.wrong.append(f"{name}: {found.status} in place of {status}")


_ADMIN = {"authorization": f"Bearer {ADMIN}"}


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _memory(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def _descriptors(pid: int) -> int:
    with suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return 0


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def configuration(port: int, redis: str, upstream: str) -> str:
    """Return the gateway.toml of the soak."""
    lines = [
        "[server]",
        f'port = {port}\nworkers = 2\nstate = "{redis}"\nlog = "off"\ndrain_seconds = {_DRAIN}',
    ]
    for name in _PROVIDERS:
        lines.append(f'[provider.{name}]\nurl = "{upstream}"')
        if name != "ollama":
            lines.append('key = "env:SOAK_KEY"')
    for match, to in ROUTES.items():
        lines.append(f'[[route]]\nmatch = "{match}"\nto = {json.dumps(to)}')
    for name in CLIENTS:
        budget = 'budget = { tokens = 1000000000000, per = "month" }'
        lines.append(f'[[key]]\nname = "{name}"\nhash = "{hash_key(name)}"\n{budget}')
    lines.append(f'[[key]]\nname = "{FREE}"\nhash = "{hash_key(FREE)}"')
    lines.append(f'[[key]]\nname = "admin"\nhash = "{hash_key(ADMIN)}"\nadmin = true')
    return "\n".join(lines) + "\n"


@contextmanager
def _serve_upstream() -> Iterator[str]:
    command = [sys.executable, str(ROOT / "bench" / "soak_service.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
        assert service.stdin is not None  # noqa: S101 - it is a pipe
        assert service.stdout is not None  # noqa: S101 - it is a pipe
        with service.stdin:
            yield f"http://127.0.0.1:{int(service.stdout.readline())}"


# -- the judge ----------------------------------------------------------------------------------


def judge_records(soak: Soak, served: dict[str, list[int]], ledger: Path) -> dict[str, int]:
    """Return the ledger's tokens by key; note rows that are missing or say less than was served."""
    rows = _read_ledger(ledger)
    for outcome in soak.outcomes:
        asked = outcome.asked
        truth = sum(served.get(asked.name, ()))
        if outcome.record is None:
            continue
        if outcome.record not in rows:
            if outcome.end != "killed":
                soak.wrong.append(f"{asked.name} ({outcome.end}): no row {outcome.record}")
            continue
        _, tokens, estimated = rows[outcome.record]
        if tokens < truth or (tokens != truth and not estimated):
            mark = " estimated" if estimated else ""
            soak.wrong.append(
                f"{asked.name} {asked.api} to {asked.model}, {asked.fault}, {outcome.end}: "
                f"{tokens}{mark} in the ledger, {truth} served"
            )
    sums: Counter[str] = Counter()
    for key, tokens, _ in rows.values():
        sums[key] += tokens
    return sums


def _read_ledger(ledger: Path) -> dict[str, tuple[str, int, bool]]:
    counts = "coalesce(input,0)+coalesce(cache_read,0)+coalesce(cache_write,0)"
    sql = f"SELECT id, key, {counts}+coalesce(output,0)+coalesce(thinking,0), estimated FROM pondero_receipts"  # noqa: E501, S608 - one statement, our own
    with sqlite3.connect(ledger) as database:
        return {id: (key, tokens, bool(mark)) for id, key, tokens, mark in database.execute(sql)}


def judge_sums(soak: Soak, served: dict[str, list[int]], **shown: dict[str, int]) -> None:
    """Note each place that shows less for a key than the service served to it."""
    truth: Counter[str] = Counter()
    for outcome in soak.outcomes:
        truth[outcome.asked.key] += sum(served.get(outcome.asked.name, ()))
    for place, sums in shown.items():
        soak.wrong += [
            f"{place}: {sums.get(key, 0):,} for {key}, {tokens:,} served"
            for key, tokens in truth.items()
            if sums.get(key, 0) < tokens and not (place == "budget" and key == FREE)
        ]


def mark_killed(soak: Soak) -> None:
    """Tell requests that a killed worker took along from those that were lost."""
    for outcome in soak.outcomes:
        connection = outcome.connection
        if outcome.end in ("lost", "unfinished") and connection is not None and connection.killed:
            outcome.end = "killed"


# -- a run --------------------------------------------------------------------------------------


async def run(length: float, folder: Path) -> int:
    """Soak for so many seconds, print the table, and return the exit code."""
    with redis_server(folder) as redis, _serve_upstream() as upstream:
        port = _free_port()
        config = folder / "gateway.toml"
        config.write_text(configuration(port, redis.url, upstream))
        home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "SOAK_KEY": "sk-soak"}
        gateway = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs yet
            [sys.executable, "-m", "pondero", "serve", "--config", str(config)],
            env={**os.environ, **home, "PONDERO_DATA_DIR": str(folder / "data")},
            stdout=subprocess.DEVNULL,
            stderr=(folder / "gateway.log").open("wb"),
        )
        soak = Soak(port, gateway, redis, length, Random(1))  # noqa: S311
        try:
            served, sums = await _drive(soak, upstream)
            asked_to_end = time.monotonic()
            gateway.terminate()
            gateway.wait(_DRAIN + 10)
            ended = time.monotonic() - asked_to_end
        finally:
            gateway.kill()
        mark_killed(soak)
        (ledger,) = (folder / "data").rglob("gateway.db")
        judge_sums(soak, served, ledger=judge_records(soak, served, ledger), **sums)
        _print_table(soak, ended)
        log = (folder / "gateway.log").read_text(errors="replace")
        if "Traceback" in log:
            soak.wrong.append(f"a traceback in the log: {log[-2000:]}")
        for line in soak.wrong[:20]:
            print("wrong:", line)
        lost = sum(outcome.end in ("lost", "unfinished") for outcome in soak.outcomes)
        return 1 if soak.wrong or lost else 0


async def _drive(
    soak: Soak, upstream: str
) -> tuple[dict[str, list[int]], dict[str, dict[str, int]]]:
    """Load the gateway; return what was served, and what budgets and metrics show."""
    url, connector = f"http://127.0.0.1:{soak.port}", Connector()
    patience = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(url, connector=connector, timeout=patience) as session:
        await _wait_until_ready(session)
        soak.begun = time.monotonic()
        numbers = iter(range(10**9))
        minute = min(60.0, soak.length / 3)
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(soak.load(session, numbers))
            group.create_task(soak.every(minute, lambda: soak.kill_worker(connector)))
            group.create_task(soak.every(minute / 3, soak.hang_up))
            group.create_task(soak.once(soak.length / 2, soak.pause_redis))
            group.create_task(soak.every(2.0, lambda: soak.change_keys(session)))
            group.create_task(soak.every(soak.length / 200, lambda: soak.look(session)))
        await asyncio.sleep(8)  # until the last usage is counted, also that of hung-up streams
        async with session.get("/admin/keys", headers=_ADMIN) as response:
            keys = (await response.json())["keys"]
        budgets = {key["name"]: int(b["taken"]) for key in keys for b in key["bounds"]}
        metrics: Counter[str] = Counter()
        for name, labels, value in await soak.metrics(session):
            if name == "pondero_tokens_total":
                metrics[labels["key"]] += int(value)
    async with aiohttp.ClientSession() as session, session.get(f"{upstream}/served") as response:
        served = await response.json()
    return served, {"budget": budgets, "metrics": dict(metrics)}


async def _wait_until_ready(session: aiohttp.ClientSession) -> None:
    for _ in range(600):
        with suppress(aiohttp.ClientError):
            async with session.get("/health") as response:
                if response.status == 200:
                    return
        await asyncio.sleep(0.1)
    raise TimeoutError("the gateway did not start")


def _print_table(soak: Soak, ended: float) -> None:
    ends = Counter(outcome.end for outcome in soak.outcomes)
    quarter = max(1, len(soak.samples) // 4)
    first, last = soak.samples[:quarter], soak.samples[-quarter:]
    plain = [o.seconds for o in soak.outcomes if o.end == "answered" and o.asked.fault == "none"]

    def compare(what: Callable[[Sample], int]) -> str:
        return f"{median(map(what, first)):,.0f} -> {median(map(what, last)):,.0f}"

    lost = ends["lost"] + ends["unfinished"]
    rows = {
        "seconds": f"{soak.length:,.0f}",
        "requests": f"{len(soak.outcomes):,} ({len(soak.outcomes) / soak.length:,.0f}/s)",
        "answered": f"{ends['answered']:,}",
        "rejected": f"{ends['refused']:,}",
        "hung up": f"{ends['left']:,}",
        "several answers, in the background": (
            f"{sum(o.asked.answers > 1 for o in soak.outcomes):,}, "
            f"{sum(o.asked.background for o in soak.outcomes):,}"
        ),
        "lost requests": f"{lost:,}",
        "cut by a killed worker": f"{ends['killed']:,} ({soak.kills} kills)",
        "wrong counts and keys": f"{len(soak.wrong):,}",
        "keys made, blocked, removed": f"{soak.keys_made:,}",
        "SIGHUPs": f"{soak.sighups:,}",
        "memory of a worker, KiB": compare(lambda each: each.memory),
        "descriptors of a worker": compare(lambda each: each.descriptors),
        "tasks of all workers": compare(lambda each: each.tasks),
        "worst latency without a fault": f"{max(plain, default=0):.2f} s",
        "worst /health": f"{max(soak.health, default=0) * 1000:.0f} ms",
        "end after SIGTERM": f"{ended:.1f} s",
    }
    print("\nSoak: first quarter -> last quarter, medians")
    for what, value in rows.items():
        print(f"  {what:<34} {value}")
    reasons = Counter((o.status, o.why[:120]) for o in soak.outcomes if o.end == "refused")
    for (status, why), count in reasons.most_common(5):
        print(f"  rejected {count:,} times: {status} {why}")
    for outcome in [o for o in soak.outcomes if o.end in ("lost", "unfinished")][:5]:
        print(f"  lost at {outcome.at - soak.begun:.1f} s: {outcome.asked} {outcome.why}")


def main() -> int:
    """Run the soak that the command line asks for."""
    length = float(sys.argv[1]) if len(sys.argv) > 1 else LENGTH
    with TemporaryDirectory(prefix="pondero-soak-") as folder:
        return asyncio.run(run(length, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
