"""A run that is killed at any moment goes on, and what it has settled is never asked again."""

import asyncio
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.sweep.runs import Scripted, answered, begun, engine, runner

from pondero.emulator import Emulator
from pondero.errors import UsageError
from pondero.sweep.results.compute import compute_results
from pondero.sweep.run.run_plan import make_comparison
from pondero.sweep.run.scores import Scores
from pondero.sweep.run.store import Run, list_runs, runs_folder

KILLS = 30
QUESTIONS, ARMS, AT_ONCE = 200, 3, 6
# Imports everything once, then forks a process for every line it reads: a kill costs no import.
NURSERY = """
import asyncio, os, random, sys
from pondero.store import price_usage
from pondero.canon import Usage
from pondero.emulator import Emulator, ErrorProneResponder
from pondero.sweep.grading.judges import make_judge
from pondero.sweep.engines.live import LiveEngine
from pondero.sweep.run.runner import Runner
from pondero.sweep.run.store import Run

name, log, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3])
price_usage("anthropic", "claude-opus-5", Usage(input=1, output=1))

class Noted:
    needs_key = False
    def __init__(self):
        self.emulator = Emulator(responder=ErrorProneResponder())
        self.asked = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    async def send(self, request, timeouts):
        os.write(self.asked, request.body + b"\\n")  # outlives the process
        await asyncio.sleep(random.random() / 100)
        return self.emulator.send(request, timeouts)
    async def aclose(self):
        pass

async def main():
    noted = Noted()
    with Run.open(name) as run, run.hold_lock():
        engine = LiveEngine(transport=lambda repeat: noted, stream=False, start=at_once)
        def said(tallies):
            os.write(1, b"settled\\n")  # whole or not at all, wherever it is killed
        await Runner(run, engine, make_judge("numeric"), progress=said).finish()
        print("done", flush=True)

for _ in sys.stdin:
    if (child := os.fork()) == 0:
        asyncio.run(main())
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


def place_of(body, facts, positions):
    """Which arm and question a request is for."""
    sent = json.loads(body)
    (arm,) = (n for n, arm in enumerate(facts.arms) if arm.fields.items() <= sent.items())
    return arm, positions[re.search(rb"What is \d+ \* 23\?", body)[0].decode()]


def settled_in(name):
    with Run.open(name) as run:
        assert run.state == "interrupted"
        scores = Scores(run, "numeric")
        return {place for place in scores.asks if scores.is_known(*place)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_thirty_kills_lose_nothing_and_nothing_settled_is_asked_again(data_dir, tmp_path):
    draw, log = random.Random(7), tmp_path / "asked"
    with begun(QUESTIONS, levels="off,low,high", once=True, pilot=0) as run:
        name, facts = run.facts.run, run.facts
        positions = {question.input: n for n, question in enumerate(run.questions())}
    log.touch()
    command = [sys.executable, "-c", NURSERY, name, str(log), str(AT_ONCE)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    known, lost = set(), 0
    with subprocess.Popen(command, **pipes) as nursery:
        for _ in range(KILLS):
            sent_before = len(log.read_bytes().splitlines())
            print("go", file=nursery.stdin, flush=True)
            child = int(nursery.stdout.readline())
            for _ in range(draw.randrange(8)):
                assert nursery.stdout.readline() == "settled\n"
            time.sleep(draw.random() / 50)
            os.kill(child, signal.SIGKILL)
            while (line := nursery.stdout.readline()) != "gone\n":
                assert line
            bodies = log.read_bytes().splitlines()[sent_before:]
            sent = [place_of(body, facts, positions) for body in bodies]
            now = settled_in(name)
            assert known <= now  # nothing that was settled is lost
            assert known.isdisjoint(sent)  # nor asked again
            assert len(sent) == len(set(sent))
            lost += len(set(sent) - now)
            known = now
        nursery.stdin.close()
    assert len(known) > KILLS
    assert lost <= AT_ONCE * KILLS
    with Run.open(name) as run, run.hold_lock():
        emulator = Emulator()
        asyncio.run(runner(run, engine(emulator)).finish())
        assert run.state == "done"
        assert len(run.answers()) == QUESTIONS * ARMS
        assert make_comparison(Scores(run, "numeric")).advance().is_over
    assert len(emulator.log.entries) == QUESTIONS * ARMS - len(known)


def test_a_run_is_asked_by_one_process_at_a_time(data_dir):
    with begun(4) as run, Run.open(run.facts.run) as other:
        with run.hold_lock():
            assert other.state == "running"
            with pytest.raises(UsageError, match="another process"), other.hold_lock():
                pass
        assert other.state == "interrupted"
        assert [each.run for each in list_runs()] == [run.facts.run]


def test_a_run_that_is_told_to_go_on_asks_again_what_failed(data_dir):
    with begun(6, once=True, pilot=0) as run:
        asyncio.run(runner(run, engine(Emulator(faults=[400, 400]), start=1)).finish())
        scores = Scores(run, "numeric")
        missing = [scores.repeats(arm, at) for arm in (0, 1) for at in range(6)]
        assert missing.count([None]) == 2
        assert len(run.failed) == 2
        run.forget_errors()
        asyncio.run(runner(run).finish())
        scores = Scores(run, "numeric")
        assert [None] not in [scores.repeats(arm, at) for arm in (0, 1) for at in range(6)]


def test_a_run_of_an_earlier_version_stays_readable(data_dir):
    with begun(80, budget=5.0, max_tokens=60) as run:
        asyncio.run(runner(run).finish())
        name = run.facts.run
    with sqlite3.connect(runs_folder() / f"{name}.db") as database:
        ((text,),) = database.execute("SELECT value FROM facts WHERE name = 'facts'")
        facts = json.loads(text)
        for later in ("planned", "added", "changes", "past_gate", "is_closed"):
            facts.pop(later, None)
        for later in ("pilot", "once", "fresh", "past_gate", "budget"):
            facts["spec"].pop(later, None)
        facts |= {"looks": 4}
        facts["spec"]["max_cost"] = 5.0
        database.execute("UPDATE facts SET value = ? WHERE name = 'facts'", (json.dumps(facts),))
    with Run.open(name) as run:
        assert run.facts.spec.budget == 5.0
        assert len(compute_results(run).arms) == 2


def test_what_was_in_flight_counts_as_lost_without_a_budget_too(data_dir, monkeypatch):
    """Killed while the second answer is on its way, and before the first is in the shared file."""

    class Killed(BaseException):
        pass

    def send(ask):
        if engine.asked[1:]:
            raise Killed
        return answered(ask, right=True)

    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    engine = Scripted(send)
    with begun(60, offline=False, max_tokens=100) as run:
        with pytest.raises(BaseExceptionGroup):
            asyncio.run(runner(run, engine).pilot())
        assert run.lost[0] == 0
        with run.hold_lock():
            count, bound = run.lost
    assert count == 1
    assert bound > 0


def test_an_answer_is_in_its_run_before_it_is_in_the_file_that_runs_share(data_dir, monkeypatch):
    """Killed between the two, it is still an answer that this run asked and paid for."""

    class Killed(BaseException):
        pass

    def keep(*_):
        raise Killed

    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    monkeypatch.setattr("pondero.sweep.run.runner.AnswerStore.keep", keep)
    with begun(60, offline=False, max_tokens=100) as run:
        with pytest.raises(BaseExceptionGroup):
            asyncio.run(runner(run, Scripted(lambda ask: answered(ask, right=True))).pilot())
        with run.hold_lock():
            assert len(run.answers()) == 1
            assert run.spent > 0
            assert run.lost[0] == 0


def test_a_look_at_the_state_never_keeps_a_run_from_beginning(data_dir):
    with begun(2) as run, Run.open(run.facts.run) as other:
        run._set("state", "running")
        looking = threading.Event()

        def look():
            while not looking.is_set():
                assert other.state in {"running", "interrupted"}

        with ThreadPoolExecutor(1) as pool:
            looks = pool.submit(look)
            try:
                for _ in range(200):
                    with run.hold_lock():
                        pass
            finally:
                looking.set()
            looks.result()
