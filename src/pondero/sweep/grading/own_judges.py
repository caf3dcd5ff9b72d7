"""Judges that run programs: the user's Python, the user's command, and code in an answer."""

import asyncio
import importlib
import inspect
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec

from ...errors import BadParameter
from ...store import split_command
from ..questions import Question
from .grade import Check, Grade, Grader, JudgeFailed, find_targets
from .isolation import OWN_GROUP, kill_group
from .text_reader import find_fenced

COMMAND_SECONDS = 120.0
CODE_SECONDS = 20.0
_MOST_OUTPUT = 1 << 16  # bytes kept of a program's output
_OUTPUT = 1  # the number of its pipe
_REST_SECONDS = 0.2  # what it has written is there when it ends; more may never end
_LONGEST_NOTE = 500


def make_python_check(argument: str) -> Check:
    """Return the check ``module:function``, for a process of its own; raise BadParameter."""
    module, _, name = argument.partition(":")
    if not module or not name:
        message = f"python:{argument} names no function; write python:module:function"
        raise BadParameter(message)
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # the path of a console script lacks the current folder
    try:
        function = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        message = f"the judge {argument!r} cannot be loaded: {error!r}"
        raise BadParameter(message) from error
    if not callable(function):
        message = f"the judge {argument!r} is not a function, but {function!r}"
        raise BadParameter(message)
    loop = asyncio.Runner()

    def check(question: Question, answer: str) -> Grade:
        try:
            found = function(answer, question)
            if inspect.isawaitable(found):
                found = loop.run(_wait(found))
        except BaseException as error:  # sys.exit too is a failed grade
            message = f"{argument} failed on question {question.id!r}: {error!r}"
            raise JudgeFailed(message) from error
        return found if isinstance(found, Grade) else Grade(_parse_score(found, argument))

    return check


async def _wait(found: object) -> object:
    return await found  # type: ignore[misc]  # is awaitable, see above


def _parse_score(found: object, where: str) -> float:
    if isinstance(found, bool | int | float) and 0 <= found <= 1:
        return float(found)
    message = f"{where} returned {found!r}; a judge returns a truth value, or a number from 0 to 1"
    raise JudgeFailed(message)


# -- a command -------------------------------------------------------------------------------------


def make_command_grader(argument: str) -> Grader:
    """Return a grader by a program's exit code: 0 is right, 1 wrong, all else a failed grade."""
    try:
        words = split_command(argument)
    except ValueError as error:
        message = f"command:{argument} cannot be read: {error}"
        raise BadParameter(message) from None
    if not words:
        raise BadParameter("command: names no program; write command:PROGRAM [ARGUMENT]...")
    if shutil.which(words[0]) is None:
        message = f"the judge's program {words[0]!r} is not there, or may not be run"
        raise BadParameter(message)

    async def grade(question: Question, answer: str) -> Grade:
        told = json.dumps({**msgspec.to_builtins(question), "answer": answer})
        try:
            code, said = await _run_program(words, told, seconds=COMMAND_SECONDS)
        except TimeoutError:
            message = f"{words[0]!r} gave no verdict within {COMMAND_SECONDS:g} s"
            raise JudgeFailed(message) from None
        note = said.strip()[-_LONGEST_NOTE:]
        if code not in (0, 1):
            message = f"{words[0]!r} exited with {code}, not 0 or 1: {note}"
            raise JudgeFailed(message)
        return Grade(float(code == 0), note)

    return grade


async def _run_program(
    words: Sequence[str],
    told: str,
    *,
    seconds: float,
    folder: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int | None, str]:
    """Return the exit code and output of a program; raise TimeoutError at the deadline."""
    pipe = asyncio.subprocess.PIPE
    try:
        process, program = await asyncio.get_running_loop().subprocess_exec(
            _Program, *words, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT,
            cwd=folder, env=environment, start_new_session=True,
            creationflags=OWN_GROUP,
        )  # fmt: skip
    except OSError as error:
        message = f"{words[0]!r} cannot be run: {error.strerror or error}"
        raise JudgeFailed(message) from None
    try:
        try:
            async with asyncio.timeout(seconds):
                _send_input(process, told.encode())
                await program.ended.wait()
        finally:
            kill_group(process.get_pid())  # what it started may outlive it, and hold its output
        with suppress(TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                await program.silent.wait()
    finally:
        process.close()  # kills it if it has not ended
        await program.ended.wait()
    return process.get_returncode(), program.kept.decode("utf-8", "replace")


class _Program(asyncio.SubprocessProtocol):
    """A program's end, and the end of its output, however much it prints.

    The two are apart: a child of the program may hold its output open when it has ended.
    """

    def __init__(self) -> None:
        self.kept = b""
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - the one output
        self.kept = (self.kept + data)[-_MOST_OUTPUT:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        if fd == _OUTPUT:
            self.silent.set()

    def process_exited(self) -> None:
        self.ended.set()


def _send_input(process: asyncio.SubprocessTransport, told: bytes) -> None:
    """Send a program its input; one that does not read it ends without it."""
    pipe = cast("asyncio.WriteTransport", process.get_pipe_transport(0))
    pipe.write(told)
    pipe.close()  # once it is sent


# -- code in an answer -----------------------------------------------------------------------------

_HARNESS = """
import json, sys
word, code, tests = json.load(sys.stdin)
sys.stdin.close()
place = {"__name__": "answer"}
exec(compile(code, "answer.py", "exec"), place)
exec(compile(tests, "target.py", "exec"), place)
sys.__stdout__.write("\\n" + word + "\\n")
sys.__stdout__.flush()
"""
_KEPT = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LANG", "LC_ALL")


def make_code_grader(_: str) -> Grader:
    """Return a grader that runs an answer's Python code, then the target's assertions.

    The program has no keys and an empty folder, but it is no sandbox. Only the end of the
    assertions is right: code that exits early, with any exit code, is wrong.
    """

    async def grade(question: Question, answer: str) -> Grade:
        word = secrets.token_hex(16)
        code = "\n\n".join(find_fenced(answer)) or answer
        told = json.dumps([word, code, "\n".join(find_targets(question))])
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                _, said = await _run_program(
                    [sys.executable, "-I", "-c", _HARNESS], told, seconds=CODE_SECONDS,
                    folder=folder, environment=environment,
                )  # fmt: skip
            except TimeoutError:
                return Grade(0.0, f"the code did not end within {CODE_SECONDS:g} s")
        lines = said.strip().split("\n")
        if word in lines:
            return Grade(1.0, "the target's assertions hold")
        return Grade(0.0, lines[-1][-_LONGEST_NOTE:] or "the code ended before the assertions")

    return grade
