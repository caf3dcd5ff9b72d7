"""The question of an ``ask``: its words, what is piped in, what is attached, and its settings."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from ...canon import Blob, Image, Json, Part, Text
from ...client import attachment, decode_text
from ...exchange import AsyncTransport, Transport
from ...store import Template
from ..output.echo import say
from .options import AskOptions, settings_of, template_settings
from .schema import parse_schema
from .tools import Approval, function_of, redirect_prints

STDIN = "-"
_SOON = 2.0  # seconds
_SHELLS = ("sh", "ash", "bash", "dash", "ksh", "zsh", "fish")


class AskPrompt(Struct, frozen=True, kw_only=True):
    """What every model is asked: ``settings`` are the options of its chat, tools among them."""

    prompt: tuple[Part, ...] | str  # without words, but with attachments, an empty text
    attachments: tuple[Text | Image | Blob, ...] = ()
    system: str | None = None
    schema: dict[str, Json] | None = None
    settings: dict[str, Any] = {}


def question_of(words: tuple[str, ...], given: AskOptions, template: Template | None) -> AskPrompt:
    """Return the question; raise click's UsageError if there is none."""
    attachments = tuple(_read_attachment(each) for each in (*given.files, *given.attached))
    in_loop = _is_begun_file() or _is_pipe_of_shell()
    piped = _read_stdin(wanted=STDIN not in given.attached and not given.no_stdin)
    said = " ".join(words) if words != (STDIN,) else ""
    if piped and said:
        _tell_of_both(piped, in_loop=in_loop)
    texts, system = [text for text in (piped, said) if text], given.system
    if template is not None:
        prompt, framed = template.fill(dict(given.variables), "\n\n".join(texts))
        texts, system = [prompt] if prompt else [], framed if system is None else system
    if not texts and not attachments:
        raise click.UsageError("there is no question; write one, or pipe one in")
    schema = _schema(given, template)
    return AskPrompt(
        prompt=tuple(map(Text, texts)) or "",
        attachments=attachments,
        system=system or None,
        schema=schema,
        settings=_settings(given, template) | ({} if schema is None else {"output": schema}),
    )


def _schema(given: AskOptions, template: Template | None) -> dict[str, Json] | None:
    if template is None or given.schema is not None or given.schema_multi is not None:
        return parse_schema(given.schema, given.schema_multi)
    return parse_schema(template.schema, template.schema_multi)


def _settings(given: AskOptions, template: Template | None) -> dict[str, Any]:
    settings = template_settings(template) | settings_of(given.settings)
    own = {"max_tokens": given.max_tokens, "seed": given.seed}
    return settings | {name: value for name, value in own.items() if value is not None}


def add_tools(question: AskPrompt, given: AskOptions, approval: Approval) -> AskPrompt:
    """Return the question with the tools that may be called for it."""
    steps = {} if given.max_steps is None else {"max_steps": given.max_steps}
    if not given.tools and not given.servers:
        return replace(question, settings=question.settings | steps)
    functions = [redirect_prints(function_of(named)) for named in given.tools]
    tools = {"tools": functions, "mcp": given.servers, "approve": approval}
    return replace(question, settings=question.settings | tools | steps)


def _read_stdin(*, wanted: bool) -> str:
    """Return what is piped in, as text; ``wanted``: --no-stdin was not given."""
    if not wanted or sys.stdin is None or sys.stdin.isatty():
        return ""
    with _tell_of_wait():
        raw = getattr(sys.stdin, "buffer", None)
        data = sys.stdin.read().encode() if raw is None else raw.read()
    text = decode_text(data)
    if text is None:
        raise click.UsageError("standard input is not text; attach a picture or a PDF with -a -")
    return text.strip()


def _tell_of_both(piped: str, *, in_loop: bool) -> None:
    """Say on stderr that standard input was read as well: to a person, or in a loop over a file.

    A program that pipes something in on purpose hears nothing.
    """
    if not in_loop and (sys.stderr is None or not sys.stderr.isatty()):
        return
    count = len(piped.splitlines())
    lines = "a line" if count == 1 else f"{count:,} lines"
    say(f"{lines} of standard input went into the question; --no-stdin leaves them alone")


def _is_begun_file() -> bool:
    """Return whether stdin is a file that is read already, as in a 'while read' loop."""
    try:
        return sys.stdin is not None and os.lseek(sys.stdin.fileno(), 0, os.SEEK_CUR) > 0
    except (OSError, ValueError):  # a pipe, a terminal, or no file at all
        return False


def _is_pipe_of_shell() -> bool:
    """Return whether stdin is the pipe that the shell itself reads, as in 'cat | while read'.

    Only Linux tells; elsewhere it is no.
    """
    shell = Path(f"/proc/{os.getppid()}")
    try:
        same = (shell / "fd/0").readlink() == Path("/proc/self/fd/0").readlink()
        return same and (shell / "comm").read_text("utf-8", "replace").strip() in _SHELLS
    except OSError:
        return False


@contextmanager
def _tell_of_wait() -> Iterator[None]:
    """Say on stderr that standard input is awaited, if it does not end soon."""
    said = "waiting for standard input to end; --no-stdin asks without it (Ctrl-D ends it)"
    timer = Timer(_SOON, lambda: say(said))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read_attachment(source: str) -> Text | Image | Blob:
    if source != STDIN:
        return attachment(source)
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("nothing is piped in for -a -")
    return attachment(sys.stdin.buffer.read(), name="standard input")


def transport_of(given: AskOptions) -> Transport | None:
    """Return the transport of the question; None is the client's own."""
    made: Transport | None = None
    if given.offline:
        from ...emulator import Emulator

        made = Emulator(any_model=True)
    if given.cassette is not None:
        from ...cassettes import Cassette

        made = Cassette(given.cassette, made)
    if given.wire:
        from ...cassettes import Tap
        from ...transport import HttpTransport
        from .wire import WirePrinter

        made = Tap(made or HttpTransport(), WirePrinter(plain=given.plain).print)
    return made


def async_transport_of(given: AskOptions) -> AsyncTransport | None:
    """Return the same for asyncio."""
    made: AsyncTransport | None = None
    if given.offline:
        from ...emulator import Emulator

        made = Emulator(any_model=True)
    if given.cassette is not None:
        from ...cassettes import AsyncCassette

        made = AsyncCassette(given.cassette, made)
    if given.wire:
        from ...cassettes import AsyncTap
        from ...transport import AsyncHttpTransport
        from .wire import WirePrinter

        made = AsyncTap(made or AsyncHttpTransport(), WirePrinter(plain=given.plain).print)
    return made
