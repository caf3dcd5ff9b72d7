"""The user's own editor for one question. The loop runs on, so that other answers arrive."""

import asyncio
import os
import shlex
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

_PATIENCE = 2.0  # seconds for an editor that is told to end


class EditedText(Struct, frozen=True):
    """What the editor saved; ``problem`` says why it is not to be asked."""

    text: str
    problem: str = ""


def find_editor(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's editor."""
    return environment.get("VISUAL") or environment.get("EDITOR") or None


async def edit_text(editor: str, text: str) -> EditedText:
    """Let the user edit a text; whatever happens to the editor, what it saved is returned."""
    with tempfile.TemporaryDirectory(prefix="pondero-") as folder:
        file = Path(folder) / "question.md"
        file.write_text(text, "utf-8")
        problem = await _run(editor, file)
        with suppress(OSError):  # an editor may have removed it
            text = file.read_text("utf-8", errors="replace")
        return EditedText(text, problem)


async def _run(editor: str, file: Path) -> str:
    """Return what went wrong; nothing if all is well."""
    try:
        with _leave_ctrl_c():
            running = await asyncio.create_subprocess_exec(*shlex.split(editor), str(file))
            try:
                code = await running.wait()
            except asyncio.CancelledError:  # the chat ends, with its window or by a signal
                await _end(running)
                return "ended with the chat"
    except (OSError, ValueError) as error:
        return f"cannot be started: {error}"
    return f"ended with exit code {code}" if code else ""


async def _end(running: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, TimeoutError):
        running.terminate()
        async with asyncio.timeout(_PATIENCE):
            await running.wait()


@contextmanager
def _leave_ctrl_c() -> Iterator[None]:
    """Leave Ctrl+C to the editor, which has the terminal."""
    before = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _do_nothing(*_: object) -> None:
    """Take a signal; unlike one that is ignored, the editor does not inherit this."""
