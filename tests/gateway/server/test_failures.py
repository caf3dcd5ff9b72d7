"""What happens when something outside fails: the table of docs/gateway.md, a row a test.

Requests are answered and no record is lost, whatever happens to the database, the disk or the
descriptors; and a gateway that is told to end ends in time.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import httpx2
import psycopg
import pytest
from tests.gateway.asgi import came
from tests.gateway.server.test_processes import ASKED, COUNT, MODEL, Running, running, until

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.observability import ledger as ledgers
from pondero.gateway.observability import ledger_database
from pondero.gateway.observability.access_log import AccessLog
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import PostgresDatabase, SqliteDatabase
from pondero.gateway.observability.observers import Observers
from pondero.gateway.observability.time_range import SPANS
from pondero.gateway.server import readiness
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc, signals")

# -- PostgreSQL -----------------------------------------------------------------------------------


@contextmanager
def unreachable(postgres, _address: str) -> Iterator[None]:
    postgres.kill()
    yield
    postgres.start()


@contextmanager
def hung(postgres, _address: str) -> Iterator[None]:
    postgres.freeze()
    yield
    postgres.thaw()


@contextmanager
def told(address: str, begin: str, end: str) -> Iterator[None]:
    """Change the database, and change it back."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(begin)
        yield
        connection.execute(end)


TRIGGER = """CREATE FUNCTION {0}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN {1}; RETURN NEW; END $$;
CREATE TRIGGER {0} BEFORE INSERT ON pondero_receipts FOR EACH ROW EXECUTE FUNCTION {0}()"""


@contextmanager
def slow(_postgres, address: str) -> Iterator[None]:
    begin = TRIGGER.format("slow", "PERFORM pg_sleep(30)")
    with told(address, begin, "DROP FUNCTION slow CASCADE"):
        yield


@contextmanager
def full(_postgres, address: str) -> Iterator[None]:
    begin = TRIGGER.format("no_room", "RAISE EXCEPTION 'no room' USING ERRCODE = '53100'")
    with told(address, begin, "DROP FUNCTION no_room CASCADE"):
        yield


@contextmanager
def read_only(_postgres, address: str) -> Iterator[None]:
    name = address.rpartition("/")[2]
    # Sessions that run have their own setting: they are ended, as by a failover to a standby.
    begin = f"ALTER DATABASE {name} SET default_transaction_read_only = on"
    with told(address, begin, f"ALTER DATABASE {name} RESET default_transaction_read_only"):
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'pondero' AND datname = current_database()"
            )
        yield


@contextmanager
def wrong_password(postgres, _address: str) -> Iterator[None]:
    postgres.require_password("another-password")
    yield
    postgres.trust()


TROUBLES = {
    "unreachable": (unreachable, False),
    "hung": (hung, False),
    "slow": (slow, True),
    "full": (full, True),
    "read-only": (read_only, True),
    "wrong password": (wrong_password, False),
}
"""How PostgreSQL fails, and whether it can be read meanwhile."""


class Served:
    """A gateway in this process, with the emulator behind it and a ledger in PostgreSQL."""

    def __init__(self, ledger: Ledger) -> None:
        config = GatewayConfig(
            ServerConfig(), (GatewayRoute(match="gpt-5.5", to=("openai:gpt-5.5",)),)
        )
        gateway = GatewayContext(
            config, Emulator(), observers=(ledger.note,), ledger=ledger.database
        )
        self.app = App(gateway, Observers(ledger=ledger))

    async def get(self, path: str) -> tuple[int, dict]:
        request = HttpRequest("GET", f"http://127.0.0.1:8787{path}", {"host": "127.0.0.1:8787"})
        answer = await came(self.app, request)
        return answer.status, json.loads(answer.body)

    async def ask(self, count: int) -> None:
        body = json.dumps({"model": MODEL, **ASKED}).encode()
        headers = {"content-type": "application/json", "host": "127.0.0.1:8787"}
        for _ in range(count):
            request = HttpRequest("POST", "http://127.0.0.1:8787/v1/messages", headers, body)
            assert (await came(self.app, request)).status == 200

    async def until(self, path: str, status: int) -> dict:
        for _ in range(600):
            if (found := await self.get(path))[0] == status:
                return found[1]
            await asyncio.sleep(0.05)
        raise AssertionError(f"{path} never was {status}")


@pytest.fixture
def quick(monkeypatch) -> None:
    """Make deadlines short, so that the tests are."""
    monkeypatch.setattr(ledgers, "REST", 0.2)
    monkeypatch.setattr(ledger_database, "READING", 1.0)
    monkeypatch.setattr(ledger_database, "WRITING", 1.0)
    monkeypatch.setattr(readiness, "_FRESH", 0.1)


@pytest.mark.usefixtures("quick", "data_dir")
@pytest.mark.parametrize("name", TROUBLES)
def test_postgresql_fails_and_nothing_is_lost(name, postgres, tmp_path, caplog):
    trouble, readable = TROUBLES[name]
    address = postgres.make()
    ledger = Ledger(PostgresDatabase(address), tmp_path / "aside")
    served = Served(ledger)

    async def scenario() -> None:
        await served.ask(3)
        await served.until("/ready", 200)
        with trouble(postgres, address):
            await served.ask(4)  # as if nothing were the matter
            assert await served.until("/ready", 503) == {"status": "not ready", "away": ["ledger"]}
            assert (await served.get("/health"))[0] == 200
            found = await served.until("/admin/figures", 200 if readable else 503)
            assert readable or "ledger in PostgreSQL" in found["error"]["message"]
            status, found = await served.get("/admin/requests")
            assert (status, len(found["requests"])) == (200, 7)  # from memory
        assert await served.until("/ready", 200) == {"status": "ready"}
        found = await served.until("/admin/figures", 200)  # reads rest for a second after an error
        assert found["figures"]["ends"] == {"done": 7}

    asyncio.run(scenario())
    ledger.close()
    assert list((tmp_path / "aside").iterdir()) == []
    assert "planted-password" not in caplog.text


@pytest.mark.usefixtures("quick", "data_dir")
def test_postgresql_is_empty_after_a_restart(postgres, tmp_path):
    address = postgres.make()
    name = address.rpartition("/")[2]
    ledger = Ledger(PostgresDatabase(address), tmp_path / "aside")
    served = Served(ledger)

    async def scenario() -> None:
        await served.ask(3)
        await served.until("/ready", 200)
        with psycopg.connect(postgres.address("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            await served.ask(4)
            connection.execute(f"CREATE DATABASE {name}")
        await served.until("/ready", 200)

    asyncio.run(scenario())
    ledger.close()
    database = PostgresDatabase(address)
    assert 4 <= database.rows(COUNT)[0][0] <= 7  # what it had not yet written is there, once
    database.close()


def test_a_hung_postgresql_delays_neither_the_console_nor_the_end(postgres, tmp_path, monkeypatch):
    monkeypatch.setenv("PONDERO_TEST_LEDGER", postgres.make())
    reference = "env:PONDERO_TEST_LEDGER"
    with running(tmp_path, ledger=reference, drain=1) as gateway:
        gateway.ask(20)
        postgres.freeze()
        try:
            gateway.ask(20)
            with httpx2.Client(base_url=gateway.url, timeout=10) as client:
                assert client.get("/health").status_code == 200
                assert client.get("/admin/figures").status_code == 503
                assert len(client.get("/admin/requests").json()["requests"]) == 40
                away = client.get("/ready")
                assert (away.status_code, away.json()["away"]) == (503, ["ledger"])
            gateway.process.send_signal(signal.SIGTERM)
            assert gateway.process.wait(timeout=1 + 5) == 0
        finally:
            postgres.thaw()
    with running(tmp_path, ledger=reference) as gateway:
        database = PostgresDatabase(os.environ["PONDERO_TEST_LEDGER"])
        until(lambda: database.rows(COUNT) == [(40,)])
        database.close()
        gateway.end(signal.SIGTERM)
    assert list((tmp_path / "data" / "gateway-aside").iterdir()) == []


# -- ending ---------------------------------------------------------------------------------------

HANGING = """
import asyncio, os, sys, threading
from pondero.canon import ResponseHead
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server import app
from pondero.gateway.server.run import run

class Service:
    "Begins an answer, and never goes on; it does not let go of a connection either."
    needs_key = False
    head = ResponseHead(200, {"content-type": "text/event-stream"})
    async def send(self, request, timeouts): return self
    def __aiter__(self): return self
    async def __anext__(self):
        await asyncio.Event().wait()
    async def aclose(self):
        await asyncio.Event().wait()

class State:
    "A shared state that never closes."
    async def aclose(self):
        await asyncio.Event().wait()

what = sys.argv[1]
if what == "thread":
    asyncio.to_thread, threads = asyncio.to_thread, []
    app.App._answer_with_key = lambda *_: asyncio.to_thread(threading.Event().wait)
if what == "loop":
    def stuck(*_): threading.Event().wait()
    app.App._answer_with_key = stuck
if what == "state":
    async def never(self): await asyncio.Event().wait()
    from pondero.gateway.state.shared_state import SharedState
    SharedState.aclose = never
observers = [lambda receipt: threading.Event().wait()] if what == "observer" else []
config = GatewayConfig(
    ServerConfig(port=0, workers=int(sys.argv[2]), drain_seconds=0, log="stderr"),
    (GatewayRoute(match="*", to=("anthropic:claude-opus-5",), retries=0),),
)
run(config, transport=Service(), observers=observers, ready=lambda at: print(at, flush=True))
"""


@contextmanager
def hanging(what: str, workers: int, folder: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, what, str(workers)],
        env={**os.environ, "PONDERO_DATA_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def ask_in_vain(url: str) -> socket.socket:
    """Ask for an answer that never comes, and keep the connection."""
    body = json.dumps({"model": "any", "stream": True, **ASKED})
    host, _, port = url.removeprefix("http://").partition(":")
    line = socket.create_connection((host, int(port)), timeout=60)
    line.sendall(
        f"POST /v1/messages HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}".encode()
    )
    return line


@pytest.mark.parametrize(
    ("what", "workers"),
    [
        *(("service", 1), ("state", 1), ("observer", 1), ("thread", 1), ("half a head", 1)),
        *(("loop", 1), ("loop", 2)),
    ],
)
def test_it_ends_in_time_whatever_hangs(what, workers, tmp_path):
    with hanging(what, workers, tmp_path) as (url, process), ExitStack() as open_:
        until(lambda: httpx2.get(f"{url}/health", timeout=60).status_code == 200)
        if what == "half a head":
            host, _, port = url.removeprefix("http://").partition(":")
            line = open_.enter_context(socket.create_connection((host, int(port))))
            line.sendall(b"POST /v1/messages HTTP/1.1\r\nhost:")
        else:
            for _ in range(4):
                open_.enter_context(ask_in_vain(url))
        sleep(0.3)  # until they hang; a request that does not yet hang ends sooner
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=0 + 5)


def test_a_worker_that_is_stopped_is_killed_by_its_parent(tmp_path):
    with running(tmp_path, workers=2, drain=1) as gateway:
        gateway.ask(10)
        gateway.counts(10)
        stopped = min(gateway.workers())
        os.kill(stopped, signal.SIGSTOP)
        gateway.process.send_signal(signal.SIGTERM)
        gateway.process.wait(timeout=1 + 5)
    with running(tmp_path) as gateway:
        until(lambda: gateway.is_there() and gateway.rows() == [(10,)])


def test_nobody_reads_what_it_logs(tmp_path):
    """A terminal that is held, or a collector that hangs: standard error takes no more bytes."""
    with running(tmp_path, log="stderr", drain=1) as gateway:
        gateway.ask(500)  # more lines than a pipe holds
        gateway.counts(500)
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(timeout=1 + 5) == 0
        assert gateway.rows() == [(500,)]


# -- disk, descriptors, clock ---------------------------------------------------------------------


def can_mount() -> bool:
    unshare = shutil.which("unshare")
    command = [unshare or "", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return (
        bool(unshare) and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


class Disk:
    """A disk of a megabyte, seen by one process, and through it."""

    def __init__(self, gateway: Running, folder: Path) -> None:
        self.folder = Path(f"/proc/{gateway.process.pid}/root{folder}")
        self._filler = self.folder / "filler"
        self._url = gateway.url

    def fill(self) -> None:
        with self._filler.open("ab", buffering=0) as file:
            for size in (65_536, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def make_room(self) -> None:
        self._filler.unlink()

    def rows(self) -> int:
        """Return what the ledger has; SQLite itself would not find the file this way."""
        found = httpx2.get(f"{self._url}/admin/figures", timeout=60)
        return sum(found.json()["figures"]["ends"].values()) if found.status_code == 200 else -1


@pytest.mark.skipif(not can_mount(), reason="no tmpfs can be mounted here (needs root)")
@pytest.mark.parametrize("workers", [1, 2])
def test_the_disk_is_full_and_requests_are_answered_and_recorded_later(tmp_path, workers):
    data = tmp_path / "data"
    data.mkdir()
    mount = f'mount -t tmpfs -o size=1m none {data} && TMPDIR={data} exec "$@"'
    before = ("unshare", "-m", "sh", "-c", mount, "sh")
    log = str(data / "access.log")
    with running(tmp_path, before=before, log=log, workers=workers) as gateway:
        ready = lambda: httpx2.get(f"{gateway.url}/ready", timeout=60)  # noqa: E731
        disk = Disk(gateway, data)
        gateway.ask(5)
        until(lambda: disk.rows() == 5)
        disk.fill()
        gateway.ask(50)
        reports = iter(lambda: ready().json(), None)  # of either worker
        found = next(each for each in reports if {"away", "held"} <= each.keys())
        assert (found["status"], found["away"]) == ("not ready", ["ledger"])
        assert "lost" not in found
        gateway.ask(5)
        disk.make_room()
        until(lambda: ready().status_code == 200)
        until(lambda: disk.rows() == 60)
        until(lambda: len(ids_in(disk.folder / "access.log")) == 60)
        assert len(set(ids_in(disk.folder / "access.log"))) == 60


def ids_in(log: Path) -> list[str]:
    """Return the ids in a log; a line that the full disk cut has none."""
    ids = []
    for line in log.read_text().splitlines():
        try:
            ids.append(json.loads(line)["id"])
        except ValueError:
            continue
    return ids


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_descriptors_run_out_and_it_recovers(tmp_path):
    with running(tmp_path, before=("sh", "-c", 'ulimit -n 64; exec "$@"', "sh")) as gateway:
        gateway.ask(10)
        gateway.client.close()
        host, _, port = gateway.url.removeprefix("http://").partition(":")
        lines = [socket.create_connection((host, int(port))) for _ in range(150)]
        process = gateway.process.pid
        until(lambda: len(list(Path(f"/proc/{process}/fd").iterdir())) >= 63)
        used, since = processor_seconds(process), monotonic()
        sleep(2)
        assert processor_seconds(process) - used < 0.5 * (monotonic() - since)
        for line in lines:
            line.close()
        gateway.connect_anew()
        until(lambda: _is_well(gateway))
        gateway.ask(10)
        gateway.end(signal.SIGTERM)
        assert gateway.rows() == [(20,)]
        assert len(gateway.log()) == 20


JUMPS = (1.8e9, 1.8e9 + 5, 0.0, 1.8e9 + 6, 4e9, 1.8e9 + 7, 1.8e9 + 7)
"""What a clock may say, one request after the other: in 1970, in 2096, and twice the same."""


@pytest.mark.usefixtures("data_dir")
def test_the_clock_jumps_and_records_stay_sane(tmp_path, monkeypatch):
    ledger = Ledger(SqliteDatabase(tmp_path / "gateway.db"), tmp_path / "aside")
    log = AccessLog(str(tmp_path / "access.log"))
    served = Served(ledger)
    gateway = served.app.gateway
    gateway.observers += (log.note,)

    async def scenario() -> None:
        for number, now in enumerate(JUMPS, 1):
            monkeypatch.setattr(gateway, "now", lambda now=now: now)
            await served.ask(1)
            until(partial(_has_rows, ledger, number))
            for span in SPANS:
                status, found = await served.get(f"/admin/figures?span={span}")
                assert status == 200
                assert sum(found["figures"]["ends"].values()) >= 1
            _, found = await served.get("/admin/requests")
            assert len(found["requests"]) == number

    asyncio.run(scenario())
    rows = ledger.database.rows(
        "SELECT id, at, first, seconds FROM pondero_receipts ORDER BY rowid"
    )
    ledger.close()
    log.close()
    assert sorted(row[1] for row in rows) == sorted(JUMPS)
    assert all(0 <= first <= seconds < 60 for _, _, first, seconds in rows)
    by_rowid = [row[0][:12] for row in rows]
    assert by_rowid == sorted(by_rowid)
    assert len(ids_in(tmp_path / "access.log")) == len(JUMPS)


def _has_rows(ledger: Ledger, count: int) -> bool:
    return ledger.database.rows(COUNT) == [(count,)]


def _is_well(gateway: Running) -> bool:
    try:
        return gateway.client.get(f"{gateway.url}/health", timeout=5).status_code == 200
    except httpx2.HTTPError:
        return False
