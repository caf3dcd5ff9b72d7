"""A gateway in processes of its own: what its ledger and its log hold after it has ended."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pondero.gateway.observability.ledger_database import PostgresDatabase
from pondero.gateway.server import run as server
from pondero.gateway.server.rejections import PER_ADDRESS
from pondero.gateway.server.workers import END

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, and several workers")

MAIN = "from pondero.cli import main; main()"
SLOW = """
import os, signal, sys
from pondero.emulator import Emulator, Fault, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run

def ready(at):
    os.kill(os.getpid(), signal.SIGHUP)
    print(at, flush=True)

emulator = Emulator()
emulator.expect(ScriptedTurn(text="It sleeps. " * 20, fault=Fault(kind="slow", seconds=0.1)))
to = ("anthropic:claude-opus-5",)
config = GatewayConfig(ServerConfig(port=0, workers=int(sys.argv[1])), (GatewayRoute(match="*", to=to),))
run(config, transport=emulator, ready=ready)
"""
COUNT = "SELECT count(*) FROM pondero_receipts"
MODEL = "gpt-5.5/low"
ASKED = {"max_tokens": 500, "messages": [{"role": "user", "content": "Hi"}]}


class Running:
    """A gateway that runs, with emulated models behind it."""

    def __init__(self, url: str, process: subprocess.Popen[str], folder: Path) -> None:
        self.url = url
        self.process = process
        self.folder = folder
        self.client = httpx2.Client(timeout=60)

    def ask(self, count: int) -> None:
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(self._ask, range(count))) == {200}

    def _ask(self, _number: int) -> int:
        return self.asked(MODEL)

    def asked(self, model: str) -> int:
        asked = {"model": model, **ASKED}
        return self.client.post(f"{self.url}/v1/messages", json=asked).status_code

    def connect_anew(self) -> None:
        """Leave the connections to workers that were killed."""
        self.client.close()
        self.client = httpx2.Client(timeout=60, transport=httpx2.HTTPTransport(retries=5))

    def workers(self) -> set[int]:
        parent = self.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        return {int(child) for child in children.split()}

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(timeout=60)

    def rows(self, sql: str = COUNT) -> list[tuple]:
        connection = sqlite3.connect(self.folder / "data" / "gateway.db")
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    @contextmanager
    def hold_ledger(self) -> Iterator[None]:
        """Let nobody write to the ledger."""
        connection = sqlite3.connect(self.folder / "data" / "gateway.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.close()

    def is_there(self) -> bool:
        """Return whether there is a table: the file is there a moment before it."""
        if not (self.folder / "data" / "gateway.db").exists():
            return False
        tables = self.rows("SELECT name FROM sqlite_master WHERE name = 'pondero_receipts'")
        return bool(tables)

    def counts(self, requests: int) -> None:
        """Wait until so many are counted: a client has its answer before that. All then say so."""
        until(lambda: self.counted() == requests)
        assert {self.counted() for _ in range(8)} == {requests}

    def counted(self) -> float:
        """Return how many requests all workers together have counted, whoever is asked."""
        text = self.client.get(f"{self.url}/metrics").text
        families = text_string_to_metric_families(text)
        return sum(
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == "pondero_requests_total"
        )

    def log(self) -> list[dict]:
        lines = (self.folder / "access.log").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        sleep(0.05)
    raise AssertionError("it never came true")


@contextmanager
def running(
    folder: Path,
    *,
    workers: int = 1,
    ledger: str = "sqlite",
    log: str | None = None,
    drain: float = 30,
    before: Sequence[str] = (),
) -> Iterator[Running]:
    """Run a gateway; ``before`` is a command that runs the rest of its arguments."""
    config = folder / "gateway.toml"
    config.write_text(
        f'[server]\nledger = "{ledger}"\nlog = "{log or folder / "access.log"}"\n'
        f"workers = {workers}\ndrain_seconds = {drain}\n"
    )
    command = [*before, sys.executable, "-c", MAIN, "serve", "--offline", "--port", "0"]
    with subprocess.Popen(
        [*command, "--config", str(config)],
        env={**os.environ, "PONDERO_DATA_DIR": str(folder / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        gateway = Running(process.stdout.readline().split()[2], process, folder)
        try:
            yield gateway
        finally:
            gateway.client.close()
            process.terminate()
            process.wait(timeout=60)


@pytest.mark.parametrize(
    ("workers", "number"), [(1, signal.SIGTERM), (2, signal.SIGTERM), (2, signal.SIGINT)]
)
def test_nothing_is_lost_when_it_is_told_to_end(tmp_path, workers, number):
    with running(tmp_path, workers=workers) as gateway:
        gateway.ask(40)
        gateway.end(number)
        assert gateway.rows() == [(40,)]
        log = gateway.log()
    assert len({line["id"] for line in log}) == 40
    assert {line["model"] for line in log} == {"openai:gpt-5.5"}
    assert {(line["asked"], line["sent"], line["offline"]) for line in log} == {
        ("low", "low", True)
    }


def test_killed_it_loses_no_record_of_a_request_that_ended(tmp_path):
    with running(tmp_path) as gateway:
        gateway.ask(20)
        until(lambda: gateway.is_there() and gateway.rows() == [(20,)])
        with gateway.hold_ledger():
            gateway.ask(10)
            gateway.counts(30)
            gateway.end(signal.SIGKILL)
        assert gateway.rows() == [(20,)]
        assert gateway.rows("PRAGMA integrity_check") == [("ok",)]
    with running(tmp_path) as gateway:
        gateway.ask(1)
        gateway.end(signal.SIGTERM)
        assert gateway.rows() == [(31,)]
    assert list((tmp_path / "data" / "gateway-aside").iterdir()) == []


REFUSED = (
    "SELECT reason FROM pondero_receipts WHERE ended = 'refused' "
    "ORDER BY reason LIKE '%more rejected%', id"
)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("held", [False, True], ids=["", "ledger away"])
def test_killed_it_loses_no_rejection_that_has_no_row_yet(tmp_path, number, held):
    """The first of an address have a row each, and the others wait for one together."""

    def ask() -> None:
        for _ in range(5):
            assert gateway.client.get(url, headers=wrong).status_code == 403

    wrong = {"host": "evil.example"}
    with running(tmp_path) as gateway:
        url = f"{gateway.url}/v1/models"
        gateway.ask(1)
        until(gateway.is_there)
        with gateway.hold_ledger() if held else nullcontext():
            for _ in range(3 * PER_ADDRESS // 5):
                ask()
            until(lambda: find_saved(tmp_path) == 2 * PER_ADDRESS)
            ask()
            until(lambda: find_saved(tmp_path) == 2 * PER_ADDRESS + 5)
            if number == signal.SIGKILL:
                gateway.end(number)
        if number == signal.SIGTERM:
            gateway.end(number)
    with running(tmp_path) as gateway:
        gateway.end(signal.SIGTERM)
        *single, (together,) = gateway.rows(REFUSED)
    assert len(single) == PER_ADDRESS
    assert f"{2 * PER_ADDRESS + 5} more rejected" in together
    assert together.startswith("the worker was killed") == (number == signal.SIGKILL)
    assert not [reason for (reason,) in single if "more rejected" in reason]
    assert list((tmp_path / "data" / "gateway-aside").iterdir()) == []


def find_saved(folder: Path) -> int:
    """Return how many rejections without a row a kill would leave, by the journal's files."""
    files = sorted((folder / "data" / "gateway-aside").iterdir(), key=lambda f: f.stat().st_mtime)
    found = re.findall(r"killed: (\d+) more", "".join(file.read_text() for file in files))
    return int(found[-1]) if found else 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_the_records_of_a_killed_worker_are_brought_in_by_another(tmp_path):
    with running(tmp_path, workers=2) as gateway:
        gateway.ask(1)
        until(lambda: gateway.is_there() and gateway.rows() == [(1,)])
        with gateway.hold_ledger():
            gateway.ask(40)
            gateway.counts(41)
            for worker in gateway.workers():
                os.kill(worker, signal.SIGKILL)
        until(lambda: gateway.rows() == [(41,)])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_workers_end_with_their_parent_and_leave_the_port(tmp_path):
    with running(tmp_path, workers=2) as gateway:
        gateway.ask(10)
        gateway.counts(10)
        workers = gateway.workers()
        assert len(workers) == 2
        gateway.process.kill()
        gateway.process.wait(timeout=60)
        until(lambda: not any(is_running(worker) for worker in workers))
        port = int(gateway.url.rpartition(":")[2])
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
        assert gateway.rows() == [(10,)]


def test_workers_share_a_postgresql_and_go_on_without_it(tmp_path, postgres, monkeypatch):
    address = postgres.make()
    monkeypatch.setenv("PONDERO_TEST_LEDGER", address)
    with running(tmp_path, workers=2, ledger="env:PONDERO_TEST_LEDGER") as gateway:
        gateway.ask(20)
        postgres.kill()
        gateway.ask(20)
        gateway.end(signal.SIGTERM)
    postgres.start()
    with running(tmp_path, ledger="env:PONDERO_TEST_LEDGER") as gateway:
        gateway.ask(1)
        gateway.end(signal.SIGTERM)
        assert list((tmp_path / "data" / "gateway-aside").iterdir()) == []
    database = PostgresDatabase(address)
    assert database.rows(COUNT) == [(41,)]
    database.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if b"planted-password" in path.read_bytes()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_workers_count_together_and_one_that_is_killed_takes_nothing_with_it(tmp_path):
    with running(tmp_path, workers=2) as gateway:
        gateway.ask(40)
        gateway.counts(40)
        workers = gateway.workers()
        assert len(workers) == 2
        os.kill(min(workers), signal.SIGKILL)
        gateway.connect_anew()
        gateway.counts(40)
        gateway.ask(10)
        gateway.counts(50)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_a_worker_that_is_started_later_has_the_newest_configuration(tmp_path):
    with running(tmp_path, workers=2) as gateway:
        gateway.ask(1)
        with (tmp_path / "gateway.toml").open("a") as config:
            config.write('[[route]]\nmatch = "mine"\nto = ["openai:gpt-5.5"]\n')
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: {gateway.asked("mine") for _ in range(8)} == {200})
        before = gateway.workers()
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        until(lambda: len(gateway.workers()) == 2 and not gateway.workers() & before)
        gateway.connect_anew()
        assert {gateway.asked("mine") for _ in range(16)} == {200}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_a_worker_that_is_started_after_a_rejected_file_has_the_last_valid_one(tmp_path):
    with running(tmp_path, workers=2) as gateway:
        config = tmp_path / "gateway.toml"
        valid = config.read_text() + '[[route]]\nmatch = "mine"\nto = ["openai:gpt-5.5"]\n'
        config.write_text(valid)
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: {gateway.asked("mine") for _ in range(8)} == {200})
        config.write_text("[[route]]\nmatch =")
        gateway.process.send_signal(signal.SIGHUP)
        assert gateway.process.stderr is not None
        next(line for line in gateway.process.stderr if "stays as it was" in line)
        before = gateway.workers()
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        until(lambda: len(gateway.workers()) == 2 and not gateway.workers() & before)
        gateway.connect_anew()
        assert {gateway.asked("mine") for _ in range(16)} == {200}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_a_reload_that_is_sent_to_one_worker_reaches_all(tmp_path):
    """Their command lines are equal, so it is easy to take a worker for the gateway."""
    with running(tmp_path, workers=3) as gateway:
        gateway.ask(8)
        until(lambda: len(gateway.workers()) == 3)
        config = tmp_path / "gateway.toml"
        valid = config.read_text()
        config.write_text(valid + '[[route]]\nmatch = "mine"\nto = ["openai:gpt-5.5"]\n')
        os.kill(max(gateway.workers()), signal.SIGHUP)
        until(lambda: {gateway.asked("mine") for _ in range(8)} == {200})
        gateway.connect_anew()
        assert {gateway.asked("mine") for _ in range(24)} == {200}
        assert len(gateway.workers()) == 3
        assert gateway.process.stderr is not None
        told = next(line for line in gateway.process.stderr if "reloaded" in line)
    assert told.endswith("routes mine\n")


@pytest.mark.parametrize("ledger", ["sqlite", "off"])
def test_workers_report_a_reload_once(tmp_path, ledger):
    with running(tmp_path, workers=2, ledger=ledger) as gateway:
        gateway.ask(8)
        config = tmp_path / "gateway.toml"
        valid = config.read_text()
        config.write_text(valid + '[[route]]\nmatch = "mine"\nto = ["openai:gpt-5.5"]\n')
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: {gateway.asked("mine") for _ in range(8)} == {200})
        config.write_text("[[route]]\nmatch =")
        gateway.process.send_signal(signal.SIGHUP)
        assert gateway.process.stderr is not None
        told = []
        while "stays as it was" not in "".join(told):
            told.append(gateway.process.stderr.readline())
        sleep(1)  # for a worker that reports it too
        gateway.process.terminate()
        told += gateway.process.stderr
    assert len([line for line in told if "stays as it was" in line]) == 1
    audited = [json.loads(line.partition("audit: ")[2]) for line in told if "audit: " in line]
    outcomes = [entry["outcome"] for entry in audited]
    assert outcomes == (["done", "rejected"] if ledger == "off" else [])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_a_worker_that_is_told_to_end_while_it_is_started_ends(tmp_path):
    for _ in range(5):
        with running(tmp_path, workers=2) as gateway:
            until(lambda now=gateway: len(now.workers()) == 2)
            before = gateway.workers()
            os.kill(min(before), signal.SIGKILL)
            until(lambda now=gateway, old=before: bool(now.workers() - old))
            gateway.end(signal.SIGTERM)


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_at_a_terminal_lets_answers_end(tmp_path, workers):
    """A terminal sends it to the workers too, which then have it twice.

    SIGHUP comes with the address, when nobody serves there yet.
    """
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(workers)],
        env={**os.environ, "PONDERO_DATA_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        asked = {"model": "claude-opus-5", "stream": True, **ASKED}
        try:
            with httpx2.stream("POST", f"{url}/v1/messages", json=asked, timeout=60) as answer:
                pieces = answer.iter_bytes()
                said = next(pieces)
                os.killpg(process.pid, signal.SIGINT)
                said += b"".join(pieces)
            assert b"message_stop" in said
            assert process.wait(timeout=60) == 0
        finally:
            process.terminate()


@pytest.mark.parametrize("workers", [1, 2])
def test_told_to_end_it_lets_answers_end(tmp_path, workers):
    """As a service manager does it: SIGTERM, to the parent alone."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(workers)],
        env={**os.environ, "PONDERO_DATA_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        asked = {"model": "claude-opus-5", "stream": True, **ASKED}
        try:
            with httpx2.stream("POST", f"{url}/v1/messages", json=asked, timeout=60) as answer:
                pieces = answer.iter_bytes()
                said = next(pieces)
                process.terminate()
                said += b"".join(pieces)
            assert b"message_stop" in said
            process.wait(timeout=60)
        finally:
            process.kill()


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {name: signal.getsignal(name) for name in END}
    yield
    for name, handler in before.items():
        signal.signal(name, handler)


@pytest.mark.usefixtures("handlers")
def test_a_signal_raises_nothing_and_a_second_ctrl_c_waits_for_nobody(monkeypatch):
    now = 0.0
    monkeypatch.setattr(server, "monotonic", lambda: now)
    ending = server._Shutdown()
    signal.raise_signal(signal.SIGINT)  # before there is a server
    served = SimpleNamespace(should_exit=False, force_exit=False)
    ending.attach(served)
    assert (ending.signal_number, served.should_exit) == (signal.SIGINT, True)
    signal.raise_signal(signal.SIGINT)  # of the parent, which had it too
    assert not served.force_exit
    now = 5.0
    signal.raise_signal(signal.SIGTERM)
    assert not served.force_exit
    signal.raise_signal(signal.SIGINT)
    assert served.force_exit
