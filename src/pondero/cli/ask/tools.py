"""Tools for ``ask``, which run if approved: by --approve, else by the user on a terminal."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import iscoroutinefunction, isfunction
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO, cast

import click
from msgspec import json

from ...canon import Json, ToolCall, ToolResult, dump_json
from ...client import AsyncTurn, Turn
from ...store import redact_secrets
from ..output.echo import echo, style_text

ALL = "all"
_WORDS: dict[str, bool | str] = {"y": True, "yes": True, "a": "always", "always": "always"}


def function_of(named: str) -> Callable[..., object]:
    """Return a function by its name: ``module:function``, or ``file.py:function``."""
    where, colon, name = named.rpartition(":")
    if not colon or not where or not name.isidentifier():
        raise _bad(f"{named!r} names no function; write module:function or file.py:function")
    try:
        module = _load_file(Path(where)) if where.endswith(".py") else _import_here(where)
    except Exception as error:
        raise _bad(f"{where!r} cannot be imported: {type(error).__name__}: {error}") from error
    found = vars(module).get(name)
    if not callable(found):
        there = [each for each, value in vars(module).items() if callable(value)]
        own = " ".join(each for each in there if not each.startswith("_")) or "none"
        raise _bad(f"{where!r} has no function {name!r}; there are: {own}")
    tool: Callable[..., object] = found
    return tool


def _import_here(module: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    return import_module(module)


def _load_file(file: Path) -> ModuleType:
    spec = spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _bad(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="--tool")


_in_tool: ContextVar[bool] = ContextVar("in_tool", default=False)


class _Stdout:
    """Standard output; for a tool it is standard error, as others may be printing meanwhile."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _in_tool.get() else self._stream, name)


@contextmanager
def keep_stdout() -> Iterator[None]:
    """Keep stdout for the answer: prints of ``redirect_prints`` functions go to stderr."""
    stream = sys.stdout
    sys.stdout = cast("TextIO", _Stdout(stream))
    try:
        yield
    finally:
        sys.stdout = stream


def redirect_prints(function: Callable[..., object]) -> Callable[..., object]:
    """Return a tool that is marked while it runs, for ``keep_stdout``."""
    if not isfunction(function):
        return function
    if iscoroutinefunction(function):

        @wraps(function)
        async def run_async(*given: object, **named: object) -> object:
            with _mark_as_tool():
                return await function(*given, **named)

        return run_async

    @wraps(function)
    def run(*given: object, **named: object) -> object:
        with _mark_as_tool():
            return function(*given, **named)

    return run


@contextmanager
def _mark_as_tool() -> Iterator[None]:
    mark = _in_tool.set(True)
    try:
        yield
    finally:
        _in_tool.reset(mark)


class Approval:
    """Decides about calls: by --approve, else by asking on a terminal, once ``pause`` was called.

    ``refused`` are the tools that did not run because there was no terminal. ``wait`` is entered
    while the user decides.
    """

    def __init__(self, approved: tuple[str, ...], *, asks: bool) -> None:
        self.refused: list[str] = []
        self.pause: Callable[[], None] = lambda: None
        self.wait: Callable[[], AbstractContextManager[None]] = nullcontext
        self._approved = approved
        self._asks = asks

    def __call__(self, name: str, arguments: dict[str, Json]) -> bool | str:
        """Return True, False, or "always"."""
        if name in self._approved or ALL in self._approved:
            return True
        with _terminal() if self._asks else nullcontext() as terminal:
            if terminal is None:
                self.refused = list(dict.fromkeys((*self.refused, name)))
                return False
            self.pause()
            with self.wait():
                return _ask_user(name, arguments, terminal)

    def words(self) -> str | None:
        """Return a line about the calls that did not run; None if there are none."""
        if not self.refused:
            return None
        names, each = " ".join(self.refused), " ".join(f"--approve {name}" for name in self.refused)
        return f"not run, no terminal to ask on: {names}; add {each}, or --approve {ALL}"


class ToolResults:
    """Finds what tools gave in a turn, each result once."""

    def __init__(self) -> None:
        self._seen = 0

    def new(self, turn: Turn | AsyncTurn) -> Iterator[tuple[ToolCall, ToolResult]]:
        """Yield the calls that got a result since the last call of this."""
        added, self._seen = turn.added[self._seen :], len(turn.added)
        calls = {call.id: call for message in turn.added for call in message.tool_calls}
        for message in added:
            for part in message.parts:
                if isinstance(part, ToolResult) and part.call_id in calls:
                    yield calls[part.call_id], part


def _ask_user(name: str, arguments: dict[str, Json], terminal: TextIO) -> bool | str:
    shown = redact_secrets(json.format(dump_json(arguments), indent=2))
    echo(style_text(f"{name} wants to run:", fg="yellow"), f"\n{shown}", err=True)
    while True:
        echo("run it? [y]es, [n]o, [a]lways: ", err=True, nl=False)
        said = terminal.readline()
        if not said:  # the end of input
            echo(err=True)
            return False
        word = said.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        if word in ("n", "no"):
            return False


_TERMINAL = "CONIN$" if os.name == "nt" else "/dev/tty"  # where keys are typed


@contextmanager
def _terminal() -> Iterator[TextIO | None]:
    if not sys.stderr.isatty():
        yield None
    elif sys.stdin is not None and sys.stdin.isatty():
        yield sys.stdin
    else:
        try:
            keys = Path(_TERMINAL).open(encoding="utf-8", errors="replace")  # noqa: SIM115
        except OSError:
            yield None
            return
        with keys:
            yield keys
