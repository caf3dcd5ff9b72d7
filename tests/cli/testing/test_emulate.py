"""``pondero emulate``: every service on one port."""

import signal
import subprocess
import sys

import httpx2
import pytest
from tests.emulator.batching import Operations

from pondero.cli.app import run
from pondero.emulator import Fault, bind


@pytest.fixture
def served(monkeypatch):
    """What would be served, without serving it."""
    calls = []
    monkeypatch.setattr(
        "pondero.emulator.server.run", lambda emulator, *, sockets: calls.append(sockets)
    )
    yield calls
    for sockets in calls:
        for each in sockets:
            each.close()


@pytest.fixture
def made(monkeypatch):
    """The emulators that would be served."""
    emulators = []

    def run_it(emulator, *, sockets):
        emulators.append(emulator)
        for each in sockets:
            each.close()

    monkeypatch.setattr("pondero.emulator.server.run", run_it)
    return emulators


def test_it_says_where_to_point_each_sdk(served, capsys):
    assert run(["emulate", "--port", "0"]) == 0
    shown = capsys.readouterr().out
    port = served[0][0].getsockname()[1]
    assert f"export ANTHROPIC_BASE_URL=http://127.0.0.1:{port} ANTHROPIC_API_KEY=any" in shown
    assert f"export OPENAI_BASE_URL=http://127.0.0.1:{port}/v1 OPENAI_API_KEY=any" in shown
    assert f"export GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:{port} GEMINI_API_KEY=any" in shown
    assert f"http://127.0.0.1:{port}/PROVIDER/v1" in shown
    assert "/_emulator/expect" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_quiet_prints_only_the_address(served, capsys):
    assert run(["emulate", "--port", "0", "--quiet"]) == 0
    assert capsys.readouterr().out == f"http://127.0.0.1:{served[0][0].getsockname()[1]}\n"


def test_batches_end_at_the_look_that_is_said(made):
    assert run(["emulate", "--port", "0", "--quiet", "--batch-polls", "3", "--job-states"]) == 0
    service = Operations(made[0])
    id = service.create({"a": service.question("hi")})
    states = [service.state(service.look(id)) for _ in range(3)]
    assert states == ["JOB_STATE_RUNNING"] * 2 + ["JOB_STATE_SUCCEEDED"]


def test_the_first_requests_fail_as_said(made, capsys):
    assert run(["emulate", "--port", "0", "--fault", "529", "--fault", "cut 120"]) == 0
    assert list(made[0].faults) == [Fault.parse(529), Fault.parse("cut 120")]
    assert run(["emulate", "--port", "0", "--fault", "brokn"]) == 2
    assert "unknown fault 'brokn'" in capsys.readouterr().err
    assert len(made) == 1


def test_a_port_in_use_is_one_line_and_no_traceback(capsys):
    with bind("127.0.0.1", 0) as taken:
        assert run(["emulate", "--port", str(taken.getsockname()[1])]) == 2
    shown = capsys.readouterr().err
    assert "address already in use" in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("ignoring", [False, True], ids=["usual", "started-in-the-background"])
def test_it_serves_until_ctrl_c_and_ends_with_130(ignoring):
    before = signal.signal(
        signal.SIGINT, signal.SIG_IGN if ignoring else signal.default_int_handler
    )
    code = "from pondero.cli import main; main()"
    command = [sys.executable, "-c", code, "emulate", "--port", "0", "--quiet"]
    try:
        started = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with started as run_:
        try:
            assert run_.stdout is not None
            url = run_.stdout.readline().strip()
            answer = httpx2.get(f"{url}/_emulator/log", timeout=30)
            run_.send_signal(signal.SIGINT)
            _, errors = run_.communicate(timeout=30)
        finally:
            run_.kill()
    assert answer.json() == {"exchanges": []}
    assert run_.returncode == 130
    assert errors.strip() == "interrupted"
