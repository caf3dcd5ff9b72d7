"""Judges in processes of their own: a judge that exits, crashes or hangs costs one grade.

A process is started for the first grade and serves the next ones. It is killed at the deadline, and
when the caller is cancelled. Its protocol is a line of JSON each way, on pipes that ``print`` does
not reach. The child's side is ``judge_process``.
"""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from ...canon import Json, convert_json
from ...errors import BadParameter
from ..questions import Question
from .grade import Grade, Grader, JudgeFailed

PROCESSES = min(4, os.cpu_count() or 1)
"""The processes of one judge, at most; each is started when all others are busy."""

OWN_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""A flag on Windows. Ctrl-C is for us; a judge is then killed, with its processes."""

_START_SECONDS = 60.0  # a judge's own imports may be slow
_GRACE = 10.0  # seconds after the deadline when a process whose parent has died ends itself


class JudgeProcess:
    """One process that grades; ``ask`` is called by one thread at a time."""

    def __init__(self, name: str, seconds: float) -> None:
        self.busy = False
        self._seconds = seconds
        self._late = False
        self._ended = False
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "pondero.sweep.grading.judge_process", name,
                 str(seconds + _GRACE)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=_child_environment(), start_new_session=True,
                creationflags=OWN_GROUP,
            )  # fmt: skip
        except OSError as error:
            message = f"the judge's process cannot be started: {error.strerror or error}"
            raise JudgeFailed(message) from None
        self._end = weakref.finalize(self, _end_process, self._process)
        self._loads = True

    @property
    def alive(self) -> bool:
        """Return whether it can grade."""
        return not self._ended and self._process.poll() is None

    def load(self) -> None:
        """Wait until the judge is loaded; raise BadParameter with the reason if that fails."""
        if self._loads:
            said = self._read(_START_SECONDS, "while it was loaded")
            self._loads = False
            if "error" in said:
                self.kill()
                raise BadParameter(said["error"])

    def ask(self, question: Question, answer: str) -> Grade:
        """Return the grade of an answer; raise JudgeFailed."""
        self.load()
        ticket = secrets.token_hex(8)
        told = {"question": msgspec.to_builtins(question), "answer": answer, "ticket": ticket}
        where = f"on question {question.id!r}"
        with suppress(OSError):  # a process that has ended is reported by its silence
            self._pipe(self._process.stdin).write(json.dumps(told).encode() + b"\n")
            self._pipe(self._process.stdin).flush()
        said = self._read(self._seconds, where)
        if said.pop("ticket", None) != ticket:  # its own reply would answer the next question
            self.kill()
            message = f"the judge wrote into its own pipe {where}"
            raise JudgeFailed(message)
        if "error" in said:
            raise (BadParameter if said.get("usage") else JudgeFailed)(said["error"])
        try:
            grade = convert_json(said, Grade)
        except msgspec.ValidationError as error:
            message = f"the judge gave no grade {where}: {error}"
            raise JudgeFailed(message) from None
        if not 0 <= grade.score <= 1:
            message = f"the judge gave the score {grade.score:g} {where}; use 0 to 1"
            raise JudgeFailed(message)
        return grade

    def kill(self) -> None:
        """End the process and those that it started."""
        self._ended = True  # another thread may still wait for its end
        self._end()

    def _read(self, seconds: float, where: str) -> dict[str, Json]:
        timer = threading.Timer(seconds, self._kill_late)
        timer.daemon = True
        timer.start()
        try:
            line = self._pipe(self._process.stdout).readline()
        except (OSError, ValueError):
            line = b""
        finally:
            timer.cancel()
        try:
            said = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict):
            return said
        self.kill()
        raise JudgeFailed(self._describe_end(seconds, where))

    def _kill_late(self) -> None:
        self._late = True
        self.kill()

    def _describe_end(self, seconds: float, where: str) -> str:
        if self._late:
            return f"the judge gave no grade within {seconds:g} s {where}"
        code = self._process.returncode
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"the judge was ended by {signal.Signals(-code).name} {where}"
        return f"the judge ended its process with exit code {code} {where}"

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:
            raise JudgeFailed("the judge's process has no pipe")
        return stream


def kill_group(process_id: int) -> None:
    """Kill a process that was started in a group of its own, and its group."""
    if sys.platform == "win32":
        with suppress(OSError):
            os.kill(process_id, signal.SIGTERM)
        return
    with suppress(OSError):
        os.killpg(process_id, signal.SIGKILL)


def _end_process(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        kill_group(process.pid)
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError, AttributeError):  # unsent bytes are flushed into a broken pipe
            pipe.close()  # type: ignore[union-attr]  # both are pipes


def _child_environment() -> dict[str, str]:
    """Return the environment in which the child finds the same modules as this process."""
    here = [str(Path.cwd()), *(each for each in sys.path if each)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(here))}


class IsolatedJudge:
    """The processes of one judge. Usable from any event loop and thread."""

    def __init__(self, name: str, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._lock = threading.Lock()
        self._processes: list[JudgeProcess] = []

    def load(self) -> None:
        """Start a process; raise BadParameter if the judge cannot be loaded."""
        process = self._take()
        try:
            process.load()
        except JudgeFailed as error:
            raise BadParameter(f"the judge {self._name!r} cannot be loaded: {error}") from None
        finally:
            process.busy = False

    async def grade(self, question: Question, answer: str) -> Grade:
        """Return a grade; a cancelled call kills the process that is at it."""
        process = self._take()
        try:
            return await asyncio.to_thread(process.ask, question, answer)
        except asyncio.CancelledError:
            process.kill()
            raise
        finally:
            process.busy = False

    def _take(self) -> JudgeProcess:
        with self._lock:
            self._processes = [each for each in self._processes if each.alive]
            for each in self._processes:
                if not each.busy:
                    each.busy = True
                    return each
            process = JudgeProcess(self._name, self._seconds)
            process.busy = True
            self._processes.append(process)
            return process


def isolate(name: str, *, seconds: float, loads: bool) -> Grader:
    """Return a grader in processes of its own; with ``loads``, raise BadParameter at once."""
    judge = IsolatedJudge(name, seconds)
    if loads:
        judge.load()
    return judge.grade
