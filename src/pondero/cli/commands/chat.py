"""``chat``: starts the chat on the terminal, drawn by ``tui``."""

import asyncio
import os
import sys
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING

import click

from ...errors import MissingExtra, StoreError, UnknownThread, UsageError
from ...extras import install_hint
from ..command import examples, parse_policy, policy_option, warn
from ..output.echo import echo
from ..start import choose_by_key, resolve_start, resolve_usual
from . import completion

if TYPE_CHECKING:
    from ...exchange import AsyncTransport
    from ...tui import Action, ChatState, DialView, LeftThread, ThreadWriter

_PACE = 0.02
"""Seconds between the pieces of an offline answer, so that it is seen arriving."""


_OFFERED = 3
"""Threads to continue that a new chat names."""


@click.command(
    epilog=examples(
        "pondero chat claude-opus-5/high",
        "pondero chat --offline                    no key, no network",
        "pondero chat --resume                     continue the last thread",
        "pondero chat --resume k3f9zq              continue another one",
        "pondero chat --resume tax                 the one with this word in it",
        "pondero chat gpt-5.1/low --system 'Answer in French.'",
        "pondero chat --tool weather.py:forecast --mcp files",
        "pondero chat --plain                      line by line",
    )
)
@click.argument(
    "model", metavar="[MODEL[/LEVEL]]", required=False, shell_complete=completion.first_model
)
@click.option("--offline", is_flag=True, help="Talk to the built-in emulator: no key, no network.")
@click.option(
    "--resume",
    metavar="[ID|WORDS]",
    is_flag=False,
    flag_value="last",
    help="Continue a thread: the last one, that with this id, or one with these words.",
    shell_complete=completion.thread,
)
@click.option("--system", metavar="TEXT", default="", help="The system prompt.")
@click.option(
    "--tool",
    "tools",
    metavar="MODULE:FUNCTION",
    multiple=True,
    help="A function the model may call: module:function, or file.py:function.",
)
@click.option(
    "--mcp",
    metavar="SERVER",
    multiple=True,
    help="An MCP server: its name in config.toml, a command line, or a URL.",
)
@click.option(
    "--approve",
    "approved",
    metavar="NAME",
    multiple=True,
    help="Run this tool (or 'all') without asking for approval.",
)
@policy_option
@click.option("--no-save", is_flag=True, help="Do not save this conversation.")
@click.option(
    "--plain",
    is_flag=True,
    help="Line by line, for screen readers, Emacs and TERM=dumb; the same commands.",
)
def chat(
    model: str | None,
    *,
    offline: bool,
    resume: str | None,
    system: str,
    tools: tuple[str, ...],
    mcp: tuple[str, ...],
    approved: tuple[str, ...],
    policies: tuple[str, ...],
    no_save: bool,
    plain: bool,
) -> int:
    """Chat with MODEL in the terminal. Type /help for commands."""
    plain = plain or _is_dumb()
    if not plain:
        _check_terminal()
        _check_textual()
    from ...cassettes import AsyncTap
    from ...client import AsyncClient, Tools
    from ...store import load_settings
    from ...tui import Session, approve, is_by_signal
    from ..ask.tools import function_of

    yours = load_settings()
    dial, state = start_state(model, policies, system=system)
    save = yours.save and not no_save
    if resume is not None and not save:
        said = "--no-save" if no_save else "save = false in config.toml"
        message = f"--resume needs saved threads, and {said} saves none; give one of the two"
        raise UsageError(message)
    writer, first = _open_writer(save=save)
    if offline:
        tip = "  it can do sums and remember; for Markdown, type: show me a table, a list and code"
        first = (_report("offline: the built-in emulator answers for every model", tip), *first)
    if resume is not None:
        first = (*_resume_actions(writer, resume, model), *first)
    tap = AsyncTap(_transport(offline=offline))
    client = AsyncClient(transport=tap, policy=dial.policy)
    functions = {named: function_of(named) for named in tools}
    session = Session(
        client,
        writer,
        dial,
        clock=monotonic,
        paid=not offline,
        tools=Tools(functions.values(), mcp=mcp, approve=approve),
        sources={each.__name__: named for named, each in functions.items()},
        approved={*approved, *yours.values.get("tools.approved", ())},
    )
    if resume is None and (missing := session.find_missing_key(state.model)):
        first = (*first, _report(f"⚠ {missing}", warning=True))
    state = state.but(unsaved=writer.why_unsaved)
    try:
        if plain:
            from ...tui import run_plain_chat

            return run_plain_chat(state, dial, session, tap=tap, clock=monotonic, first=first)
        from ...tui import run_chat, theme_of

        theme = theme_of(os.environ, yours.theme)
        code = run_chat(state, dial, session, tap=tap, clock=monotonic, first=first, theme=theme)
    finally:
        _close_writer(writer)
    if is_by_signal(code):  # all is saved: do not wait for a tool that still runs
        sys.stdout.flush()
        os._exit(code)
    return code


def _close_writer(writer: "ThreadWriter") -> None:
    """Save what waits, say what was not, and print what no disk took."""
    for line in writer.close():
        warn(line)
    for text in writer.lost:
        echo(f"\n{text}", err=True)


def _check_terminal() -> None:
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("a chat needs a terminal; use 'pondero chat --plain' or 'pondero ask'")


def _is_dumb() -> bool:
    # Windows has no TERM, and its terminals can draw.
    return os.environ.get("TERM", "ok" if os.name == "nt" else "") in ("", "dumb")


def _check_textual() -> None:
    try:
        import_module("textual")
    except ImportError:
        hint = f"{install_hint('tui')}; 'pondero chat --plain' needs nothing"
        raise MissingExtra(f"the chat is drawn with textual; {hint}") from None


def start_state(
    named: str | None, policies: tuple[str, ...], *, system: str = ""
) -> "tuple[DialView, ChatState]":
    """Return the dial of a chat and its state before the first turn."""
    from ...client import load_catalog
    from ...store import load_settings, resolve_auto
    from ...thinking import parse_intent
    from ...tui import DialView, initial_state

    settings = load_settings()
    if (model := named or settings.model) is None:
        start = resolve_usual(choose_by_key(offline=True), settings=settings)
    else:
        start = resolve_start(model, settings=settings)
    dial = DialView(load_catalog(), parse_policy(policies), resolve_auto)
    words = dial.entry(start.model).capability.extra_words
    level = parse_intent(start.thinking, words=words).as_text
    level_text = None if level is None else str(level)
    return dial, initial_state(dial, start.model, level_text, system=system)


def _open_writer(*, save: bool) -> "tuple[ThreadWriter, tuple[Action, ...]]":
    from ...store import Threads
    from ...tui import ThreadWriter

    if not save:
        return ThreadWriter(), ()
    try:
        threads = Threads.open()
    except StoreError as error:
        said = _report(f"⚠ {error}", "  → the chat continues, unsaved", warning=True)
        writer = ThreadWriter(
            unsaved=str(error), find=lambda patience: Threads.open(patience=patience)
        )
        return writer, (said,)
    notice = (_report(f"⚠ {threads.notice}", warning=True),) if threads.notice else ()
    writer = ThreadWriter(threads)
    left = writer.recover()
    recovered = [_describe_left(thread) for thread in left[:_OFFERED]]
    if more := left[_OFFERED:]:
        recovered.append(_describe_more_left(more))
    return writer, (*notice, *recovered)


def _describe_left(thread: "LeftThread") -> "Action":
    title = thread.title or "(untitled)"
    if thread.cut:
        said = f"⚠ Your last chat ended in the middle of: {title}"
        then = f"  → /resume {thread.id} continues it, with all that came and was typed"
    else:
        said = f"⚠ Words that you typed were not sent in: {title}"
        then = f"  → /resume {thread.id} continues it, with these words"
    return _report(said, then, warning=True)


def _describe_more_left(more: "tuple[LeftThread, ...]") -> "Action":
    several = "threads have" if len(more) > 1 else "thread has"
    said = f"⚠ {len(more)} more {several} a cut-off answer, or words that were not sent:"
    rows = (f"  → /resume {each.id} continues: {each.title or '(untitled)'}" for each in more)
    return _report(said, *rows, warning=True)


def _resume_actions(writer: "ThreadWriter", id: str, model: str | None) -> "tuple[Action, ...]":
    """Open the thread of this id, else the one with these words; offer them if there are more."""
    from ...tui import actions

    try:
        opened = writer.open(id)
    except UnknownThread:
        found = writer.list(id)
        if not found:
            raise
        if len(found) > 1:
            return (actions.ThreadsOffered(found),)
        opened = writer.open(found[0].value)
    return (opened,) if model is None else (opened, actions.Submitted(f"/model {model}"))


def _report(*lines: str, warning: bool = False) -> "Action":
    from ...tui import actions

    return actions.LinesReported(lines, "warning" if warning else "plain")


def _transport(*, offline: bool) -> "AsyncTransport":
    if not offline:
        from ...transport import AsyncHttpTransport

        return AsyncHttpTransport()
    from ...emulator import Emulator

    return Emulator(any_model=True, asleep=_sleep_paced)


async def _sleep_paced(seconds: float) -> None:
    await asyncio.sleep(seconds or _PACE)
