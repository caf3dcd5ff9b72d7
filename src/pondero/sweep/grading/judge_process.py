"""The child's side of ``isolation``: reads questions and answers, writes grades, one line each.

Run as ``python -m pondero.sweep.grading.judge_process JUDGE SECONDS``. What a judge prints becomes
the note of its grade.
"""

import faulthandler
import io
import json
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress

import msgspec

from ...canon import Json, convert_json
from ...errors import BadParameter
from ..questions import Question
from .grade import Check, JudgeFailed
from .judges import make_check

_LONGEST_NOTE = 500


def serve(name: str, seconds: float) -> None:
    """Grade until the parent closes the pipe. Each grade ends within these seconds, or all do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asks = os.fdopen(os.dup(0), "rb")
    grades = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):  # a judge's own programs must not reach the pipes either
        os.dup2(nowhere, descriptor)
    check, problem = _load(name)
    _write(grades, {"error": problem} if check is None else {"ready": True})
    if check is None:
        return
    for line in asks:
        # A C thread ends the process if the parent has died: a regex holds the interpreter's lock.
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        told = json.loads(line)
        said = _grade(check, told)
        faulthandler.cancel_dump_traceback_later()
        _write(grades, {**said, "ticket": told["ticket"]})


def _load(name: str) -> tuple[Check | None, str]:
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            return make_check(name), ""
    except BadParameter as error:
        return None, str(error)
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything
        return None, f"the judge {name!r} cannot be loaded: {error!r}"


def _grade(check: Check, told: Json) -> Json:
    printed = io.StringIO()
    question = convert_json(told["question"], Question)
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            grade = check(question, told["answer"])
        said = msgspec.to_builtins(grade)
        json.dumps(said)
    except BadParameter as error:
        return {"error": str(error), "usage": True}
    except JudgeFailed as error:
        return {"error": str(error)}
    except BaseException as error:  # noqa: BLE001 - sys.exit too is a failed grade
        return {"error": f"the judge failed on question {question.id!r}: {error!r}"}
    words = printed.getvalue().strip()[-_LONGEST_NOTE:]
    return {**said, "note": said.get("note") or words}


def _write(grades: io.BufferedWriter, said: Json) -> None:
    with suppress(BrokenPipeError):  # the parent has given up this grade
        grades.write(json.dumps(said).encode() + b"\n")
        grades.flush()


if __name__ == "__main__":
    serve(sys.argv[1], float(sys.argv[2]))
