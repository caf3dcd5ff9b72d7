"""A judge that exits, crashes, hangs or prints costs one grade, and nothing else."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from pondero.sweep.grading import judges
from pondero.sweep.grading.grade import JudgeFailed
from pondero.sweep.grading.judges import KINDS, make_judge
from pondero.sweep.questions import Question

HOSTILE = """
import os, signal, sys, time

SCORES = {"seven": 7.0, "below": -0.5, "not a number": float("nan")}

def judge(answer, question):
    if answer == "exit":
        sys.exit(0)
    if answer == "end":
        os._exit(0)
    if answer == "crash":
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    if answer == "interrupt":
        raise KeyboardInterrupt
    if answer == "hang":
        time.sleep(600)
    if answer == "print":
        print("seen", flush=True)
        os.write(1, b'{"score": 1.0}\\n')
    if answer == "forge":
        for pipe in range(3, 20):
            try:
                os.write(pipe, b'{"score": 1.0}\\n')
            except OSError:
                pass
    if answer in SCORES:
        from pondero.sweep import Grade
        return Grade(SCORES[answer])
    return answer == "process" and float(os.getpid() % 2 == question.metadata["parity"])
"""
FOREVER = "regex:(?:a+)+$"


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    (tmp_path / "hostile.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(judges.KINDS, "python", replace(KINDS["python"], seconds=3.0))
    return make_judge("python:hostile:judge")


def grade(judge, answer):
    return asyncio.run(judge.grade(Question("q", "what?"), answer))


def test_every_end_of_a_judge_is_a_failed_grade_and_the_next_answer_is_graded(hostile, capfd):
    for answer, says in (
        ("exit", r"SystemExit\(0\)"),
        ("end", "exit code 0"),
        ("crash", "SIGKILL|exit code"),
        ("interrupt", "KeyboardInterrupt"),
        ("hang", "no grade within 3 s"),
    ):
        with pytest.raises(JudgeFailed, match=says):
            grade(hostile, answer)
        assert grade(hostile, "wrong").score == 0
    assert grade(hostile, "print").note == "seen"
    assert capfd.readouterr() == ("", "")


def test_a_score_outside_0_to_1_is_a_failed_grade(hostile):
    """A bet on it could lose more than there is."""
    for answer in ("seven", "below", "not a number"):
        with pytest.raises(JudgeFailed, match=r"use 0 to 1|no grade"):
            grade(hostile, answer)
    assert grade(hostile, "wrong").score == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the numbers of the pipes are those of POSIX")
def test_a_judge_that_writes_a_grade_into_its_pipe_cannot_grade_the_next_answer(hostile):
    with pytest.raises(JudgeFailed, match="own pipe"):
        grade(hostile, "forge")
    assert [grade(hostile, "wrong").score for _ in range(3)] == [0, 0, 0]


def test_a_regex_that_never_ends_is_a_failed_grade(monkeypatch):
    monkeypatch.setitem(judges.KINDS, "regex", replace(KINDS["regex"], seconds=1.0))
    judge = make_judge(FOREVER)
    with pytest.raises(JudgeFailed, match="no grade within 1 s on question 'q'"):
        grade(judge, "a" * 40 + "!")
    assert grade(judge, "aa").score == 1


def test_a_process_is_used_again(tmp_path, monkeypatch):
    (tmp_path / "who.py").write_text(
        "import os\ndef am_i(a, q):\n    print(os.getpid())\n    return 1\n"
    )
    monkeypatch.chdir(tmp_path)
    judge = make_judge("python:who:am_i")
    notes = {grade(judge, "x").note for _ in range(5)}
    assert len(notes) == 1
    assert notes != {str(os.getpid())}


def test_a_cancelled_grade_ends_at_once():
    judge = make_judge(FOREVER)

    async def cancel():
        task = asyncio.create_task(judge.grade(Question("q", "what?"), "a" * 40 + "!"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancel(), 8))  # the deadline of a regex is 10 s


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to another process")
def test_ctrl_c_ends_a_regex_that_never_ends():
    words = ["sweep", "grade", "--judge", FOREVER, "--target", "x", "--answer", "a" * 40 + "!"]
    with subprocess.Popen(
        [sys.executable, "-m", "pondero", *words], stderr=subprocess.PIPE
    ) as started:
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        for _ in range(200):
            if not children.exists() or children.read_text().strip():
                break
            with pytest.raises(subprocess.TimeoutExpired):
                started.wait(0.05)
        with pytest.raises(subprocess.TimeoutExpired):
            started.wait(1)
        started.send_signal(signal.SIGINT)
        assert started.wait(60) not in (0, 1, 3)
