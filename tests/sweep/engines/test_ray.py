"""The ray engine on a real cluster of two nodes: who answers, who pays, and who dies.

A cluster takes ten seconds to start and a gibibyte of memory, so one test asks it everything.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path

import pytest
from tests.sweep.runs import begun

from pondero.emulator import Emulator, ErrorProneResponder, Fault, run_emulator_in_thread
from pondero.errors import MissingExtra, UsageError
from pondero.extras import install_hint
from pondero.sweep.engines.live import LiveEngine
from pondero.sweep.grading.judges import make_judge
from pondero.sweep.run.runner import Runner
from pondero.sweep.spec import spec_of

KEYS = {"ANTHROPIC_API_KEY": "sk-key-number-one", "ANTHROPIC_API_KEY_2": "sk-key-number-two"}
RAY = Path(sys.executable).with_name("ray")
needs_ray = pytest.mark.skipif(not RAY.exists(), reason="ray is not installed")


def shared_memory():
    return shutil.disk_usage("/dev/shm").free if Path("/dev/shm").exists() else 0


needs_memory = pytest.mark.skipif(shared_memory() < 400_000_000, reason="/dev/shm is too small")


# -- a cluster -------------------------------------------------------------------------------------


@contextmanager
def cluster(folder):
    """Two nodes on this machine, each with one processor; yields the address and the log folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = ["--block", "--num-cpus=1", "--object-store-memory=80000000", "--disable-usage-stats"]
    head = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"]
    nodes = []
    try:
        for own in (head, [f"--address=127.0.0.1:{port}"]):
            said = folder / f"node{len(nodes)}.log"
            with said.open("wb") as log:
                command = [str(RAY), "start", *own, *common]
                nodes.append(
                    subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
                )
            wait_for(lambda: b"Ray runtime started" in said.read_bytes(), nodes[-1])  # noqa: B023
        yield f"127.0.0.1:{port}", nodes[1]
    finally:
        for node in nodes:
            node.terminate()
        for node in nodes:
            try:
                node.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(node.pid, signal.SIGKILL)
                node.wait()


def wait_for(fact, process, seconds=60):
    until = time.monotonic() + seconds
    while not fact():
        assert process.poll() is None, "the node ended"
        assert time.monotonic() < until, "the node did not start"
        time.sleep(0.1)


async def both_nodes_work(ray):
    """Wait until each of two nodes has done something: a node is known before it is used."""
    at = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    seen = set()
    async with asyncio.timeout(60):
        while len(seen) < 2:
            for node in (each["NodeID"] for each in ray.nodes() if each["Alive"]):
                task = ray.remote(scheduling_strategy=at(node, soft=False))(
                    lambda: int(os.getppid())
                )
                with suppress(ray.exceptions.RayError):
                    seen.add(await task.remote())
            await asyncio.sleep(0.1)


class Service(Emulator):
    """A service that is slow, and writes down which key asked which question at which level."""

    def __init__(self, pause=0.02):
        super().__init__(responder=ErrorProneResponder(3))
        self.pause = pause
        self.asked = []

    def send(self, request, *rest):
        body = json.loads(request.body)
        level = body.get("output_config", {}).get("effort", "off")
        words = body["messages"][-1]["content"]
        key = {name.lower(): value for name, value in request.headers.items()}["x-api-key"]
        self.asked.append((key, level, words if isinstance(words, str) else words[0]["text"]))
        self.faults.append(Fault(kind="slow", seconds=self.pause))
        return super().send(request, *rest)


def driver(run, engine, **options):
    return Runner(run, engine, make_judge(run.facts.spec.judge), **options)


def what(answers):
    """What was answered to each ask, but for how long that took."""
    return {key: (each.text, each.usage, each.cost, each.finish) for key, each in answers.items()}


# -- what is shown ---------------------------------------------------------------------------------


async def every_question_is_answered_once_with_all_keys(engine, service):
    with begun(30, once=True, pilot=0) as run:
        service.asked.clear()
        await driver(run, engine).finish()
        assert run.state == "done"
        assert len(run.answers()) == len(service.asked) == 60
    places = {each[1:] for each in service.asked}
    assert len(places) == 60
    for key in KEYS.values():  # each has a budget of its own, which lets so many begin at once
        assert sum(each[0] == key for each in service.asked) >= 10
    assert len(engine.pids) == 2


async def a_worker_that_is_killed_changes_nothing_that_is_found(engine, service, live):
    with begun(40, once=True, pilot=0, budget=50, max_tokens=4_000) as run:
        service.asked.clear()
        before = engine.pids
        work = driver(run, engine)
        service.pause = 0.3
        task = asyncio.create_task(work.finish())
        while len(service.asked) < 32:  # noqa: ASYNC110 - both workers have sent, and wait
            await asyncio.sleep(0.01)
        os.kill(before[0], signal.SIGKILL)
        service.pause = 0.02
        await task
        assert run.state == "done"
        assert before[0] not in engine.pids
        assert before[1] in engine.pids
        assert len(engine.pids) == 2
        assert what(run.answers()) == live
        lost, bound = run.lost
        again = len(service.asked) - len({each[1:] for each in service.asked})
        assert len(run.answers()) == 80
        assert lost
        assert again <= lost <= 76  # in flight with the dead: asked again, and paid for
        paid = sum(Decimal(each.cost) for each in run.answers().values())
        assert work.budget.spent == run.spent + bound == paid + bound
        assert work.budget.flying == work.budget.flights == 0


async def the_cap_is_never_passed(engine, service):
    cap = Decimal("0.05")
    with begun(60, once=True, pilot=0, budget=float(cap), max_tokens=60) as run:
        service.asked.clear()
        work = driver(run, engine)
        seen, take = [], work.budget.take

        def taken(ask):
            allowed = take(ask)
            seen.append(work.budget.spent + work.budget.flying)
            return allowed

        work.budget.take = taken
        await work.finish()
        assert run.state == "stopped"
        assert "--budget" in work.budget.closed
        paid = sum(Decimal(each.cost) for each in run.answers().values())
        assert 0 < len(run.answers()) == len(service.asked) < 120
    assert cap / 2 < paid <= max(seen) <= cap


async def what_is_stopped_or_dropped_goes_on_later(engine, service):
    with begun(40, once=True, pilot=0, budget=50, max_tokens=4_000) as run:
        service.asked.clear()
        with run.hold_lock():
            work, task = await with_an_answer(run, engine)
            work.stop("enough")
            await task
        stopped = len(run.answers())
        assert 0 < stopped == len(service.asked) < 80
        assert work.budget.flights == 0

        with run.hold_lock():
            assert run.lost == (0, 0)
            work, task = await with_an_answer(run, engine)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        sent, dropped = len(service.asked), len(run.answers())
        assert stopped < dropped < 80
        assert work.budget.flights == 0

        with run.hold_lock():
            assert sent - dropped <= run.lost[0] <= 80 - dropped
            await driver(run, engine).finish()
        assert len(run.answers()) == 80
        assert len(service.asked) - sent == 80 - dropped


async def with_an_answer(run, engine):
    """A run that is being asked, and has an answer more than before."""
    some = asyncio.Event()
    work = driver(run, engine, progress=lambda _: some.set())
    task = asyncio.create_task(work.finish())
    await some.wait()
    return work, task


async def judges_grade_on_the_cluster(engine, folder):
    text = (
        "import os\nfrom pondero.sweep import Grade\n"
        "def judge(answer, question):\n"
        "    if question.id == 'q3': raise ValueError('odd')\n"
        "    return Grade(float(question.target[0] in answer), str(os.getpid()))\n"
    )
    (folder / "heavy.py").write_text(text)
    with begun(12, once=True, pilot=0, judge="python:heavy:judge") as run:
        await driver(run, engine).finish()
        graded = run.grades_by("python:heavy:judge").values()
    notes = {each.note for each in graded if each.score is not None}
    assert len(graded) == 24
    assert {each.question for each in graded if each.score is None} == {"q3"}
    assert str(os.getpid()) not in notes
    assert not notes & set(map(str, engine.pids))  # those ask meanwhile


DRIVER = """
import asyncio, sys
from tests.sweep.engines.test_ray import driver
from pondero.sweep import Run
from pondero.sweep.engines.ray import RayEngine

async def main():
    engine = RayEngine(address=sys.argv[2])
    with Run.open(sys.argv[1]) as run, run.hold_lock(known=engine.begin(run.facts.run)):
        await driver(run, engine).finish()

asyncio.run(main())
"""


def what_a_killed_driver_leaves_is_what_the_service_had(address, service, *, after):
    service.pause = 0.3
    service.asked.clear()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with begun(60, once=True, pilot=0, budget=50, max_tokens=4_000) as run:
        command = [sys.executable, "-c", DRIVER, run.facts.run, address]
        killed = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        wait_for(lambda: len(service.asked) >= after, killed)
        service.pause = 60.0
        settle(lambda: len(service.asked))  # what was begun has arrived, and waits for its answer
        killed.kill()
        killed.wait()
        settle(lambda: len(service.asked))  # the workers end with their driver
        had = len(service.asked) - len(run.answers())
        with run.hold_lock():
            assert run.lost[0] == had
    service.pause = 0.02


def settle(value, seconds=2.0):
    """Wait until a value stays the same for a while."""
    last, since = value(), time.monotonic()
    while time.monotonic() - since < seconds:
        if value() != last:
            last, since = value(), time.monotonic()
        time.sleep(0.05)


def descendants(pid):
    """The processes that a process started, and those that they started."""
    found = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, check=True)
    parents = [tuple(map(int, line.split())) for line in found.stdout.splitlines()]
    own = [child for child, parent in parents if parent == pid]
    return own + [each for child in own for each in descendants(child)]


async def a_node_that_is_killed_costs_what_it_had_in_flight(address, service, node):
    from pondero.sweep.engines.ray import RayEngine, _connect

    ray, _ = _connect(address)
    engine = RayEngine(address=address)
    try:
        await both_nodes_work(ray)
        with begun(60, once=True, pilot=0, budget=50, max_tokens=4_000) as run, run.hold_lock():
            engine.begin(run.facts.run)
            service.asked.clear()
            service.pause = 5.0  # at the kill, both workers wait for answers
            task = asyncio.create_task(driver(run, engine).finish())
            sent = 0
            while sent < 32 or sent < len(service.asked):  # both workers have sent all they may
                sent = len(service.asked)
                await asyncio.sleep(1.0)
            killed = {*descendants(node.pid), node.pid}
            hosted = killed & {*engine.pids}  # a busy node may have been given no worker
            for pid in killed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            service.pause = 0.02
            await task
            assert run.state == "done"
            assert len(run.answers()) == 120
            assert run.lost[0] == len(service.asked) - 120
            assert (run.lost[0] > 0) == bool(hosted)
    finally:
        await engine.aclose()
        ray.shutdown()


@needs_ray
@needs_memory
def test_a_cluster_of_two_nodes_finds_what_one_process_does(tmp_path, data_dir, monkeypatch):
    pytest.importorskip("starlette")
    from pondero.sweep.engines.ray import RayEngine, _connect

    for name, value in {**KEYS, "RAY_AUTH_MODE": "disabled"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    logs = Path("/tmp") / f"pondero-ray-{os.getpid()}"  # the path of a socket is short
    logs.mkdir()

    async def whole(address, service):
        live = LiveEngine()
        with begun(40, once=True, pilot=0, budget=50, max_tokens=4_000) as run:
            await driver(run, live).finish()
            expected = what(run.answers())
        await live.aclose()
        ray, _ = _connect(address)
        engine = RayEngine(address=address)
        try:
            await both_nodes_work(ray)
            await every_question_is_answered_once_with_all_keys(engine, service)
            await a_worker_that_is_killed_changes_nothing_that_is_found(engine, service, expected)
            await the_cap_is_never_passed(engine, service)
            await what_is_stopped_or_dropped_goes_on_later(engine, service)
            await judges_grade_on_the_cluster(engine, tmp_path)
        finally:
            await engine.aclose()
            ray.shutdown()

    try:
        service = Service()
        with cluster(logs) as (address, node), run_emulator_in_thread(service) as url:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
            asyncio.run(whole(address, service))
            for after in (1, 30):
                what_a_killed_driver_leaves_is_what_the_service_had(address, service, after=after)
            asyncio.run(a_node_that_is_killed_costs_what_it_had_in_flight(address, service, node))
        kept = b"".join(each.read_bytes() for each in logs.rglob("*") if each.is_file())
        assert b"pondero" in kept  # ray's own logs name our actors
        assert b"sk-key" not in kept
    finally:
        shutil.rmtree(logs, ignore_errors=True)


# -- without a cluster -----------------------------------------------------------------------------


def test_without_ray_it_says_what_to_install(monkeypatch):
    from pondero.sweep import make_engine
    from pondero.sweep.engines import ray as ray_engine

    monkeypatch.setattr(ray_engine, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=re.escape(install_hint("ray"))):
        make_engine(spec_of(models="claude-opus-5", engine="ray"))
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    with pytest.raises(MissingExtra, match=r"none for Python 3\.14"):
        make_engine(spec_of(models="claude-opus-5", engine="ray"))


@needs_ray
def test_an_address_of_rays_client_is_refused_before_anything_is_asked():
    from pondero.sweep import make_engine

    spec = spec_of(models="claude-opus-5", engine="ray", ray_address="ray://there:10001")
    with pytest.raises(UsageError, match="machine of the cluster"):
        make_engine(spec)
