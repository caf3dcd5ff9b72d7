"""What the chat shows on request, without known keys: /raw, /export, /doctor."""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

import msgspec

from ..cassettes import AsyncTap, Redactor
from ..errors import PonderoError, StoreError, UsageError, user_notes
from ..store import Threads, redact_secrets, to_html, to_jsonl, to_markdown, write_atomic
from .session import Session
from .state import ChatState, actions, describe_trouble

_LONGEST = 20_000
_NAMES = 24
_ABOUT = 200
_MARKS = {True: "✓", False: "✗", None: "·"}


def wire(tap: AsyncTap | None) -> tuple[str, ...]:
    """Return the last exchange as lines: the request, then the answer."""
    last = tap.last if tap is not None else None
    if last is None:
        return ("nothing went over the wire yet",)
    request, head = last.request, last.head
    named = Redactor()  # by the names of headers and parameters, however short a key is
    lines = [f"{request.method} {named.url(request.url)}"]
    lines += [*_headers(named.headers(request.headers)), ""]
    lines += [*_body(request.body), ""]
    if head is not None:
        lines += [str(head.status), *_headers(named.headers(head.headers)), "", *_body(last.body)]
    if last.end is not None and last.end.message:
        lines.append(last.end.message)
    return tuple(redact_secrets(line) for line in lines)


def export_thread(threads: Threads, id: str, path: str) -> str:
    """Write a thread to a new file, in the format of its suffix; return a line that says so."""
    file = Path(path).expanduser()
    if file.exists():
        raise UsageError(f"{path} is there already; name another file")
    thread = threads.get(id)
    if path.endswith(".jsonl"):
        text = to_jsonl(thread, threads.lines(id))
    else:
        text = (to_html if path.endswith(".html") else to_markdown)(
            thread, threads.load_messages(id)
        )
    made = "" if file.parent.exists() else f", in the new folder {file.parent}"
    try:
        write_atomic(file, text)
    except StoreError as error:
        error.add_note("name a file in a folder of yours: /export ~/" + file.name)
        raise
    return f"✓ The thread is in {path}{made}"


def describe_end(state: ChatState) -> str:
    """Return how to continue the thread of a chat that ends; empty if it is not saved."""
    if state.thread is None or state.unsaved:
        return ""
    offline = "" if state.paid else " --offline"
    id = state.thread.id
    return f"saved as thread {id}; continue with: pondero chat --resume {id}{offline}"


def run_doctor() -> tuple[str, ...]:
    """Return the findings of ``pondero doctor`` as lines."""
    from ..client import run_checks  # noqa: PLC0415 - 20 ms, and only the curious need it

    with redirect_stdout(sys.__stdout__):  # Textual replaces sys.stdout
        found = run_checks()
    column = max(len(finding.check) for finding in found) + 2
    lines = []
    for finding in found:
        lines.append(f"{_MARKS[finding.ok]} {finding.check:<{column}}{finding.value}")
        if finding.fix:
            lines.append(f"  {'':<{column}}→ {finding.fix}")
    return tuple(redact_secrets(line) for line in lines)


def tools(session: Session) -> tuple[str, ...]:
    """Return the tools of a chat as lines: each with where it is from and whether it is asked."""
    listed = session.tools.list_tools()
    if not listed:
        return ("there are no tools; pondero chat --tool module:function, or --mcp SERVER",)
    sources = session.sources()
    column = min(_NAMES, max(len(each.tool.name) for each in listed)) + 2
    lines = []
    for each in listed:
        name = each.tool.name
        asked = "needs no approval" if session.is_approved(name) else "asks"
        lines.append(f"{name:<{column}}{asked}, from {sources[name]}")
        if about := " ".join(each.tool.description.split()):
            lines.append(f"{'':<{column}}{about[:_ABOUT]}")
    return tuple(redact_secrets(line) for line in lines)


def describe_error(error: PonderoError) -> actions.LinesReported:
    """Return an error as lines, without keys."""
    return actions.LinesReported(
        tuple(redact_secrets(line) for line in describe_trouble(error)), "error"
    )


def redact_ended(ended: actions.TurnEnded) -> actions.TurnEnded:
    """Return the end of a turn with no key in its error: services repeat what they were sent."""
    error = ended.error
    if error is None:
        return ended
    notes = user_notes(error)
    if all(redact_secrets(text) == text for text in (str(error), *notes)):
        return ended
    clean: PonderoError = error.__class__.__new__(error.__class__)
    clean.args = (redact_secrets(str(error)),)
    for note in notes:
        clean.add_note(redact_secrets(note))
    return msgspec.structs.replace(ended, error=clean)


def _headers(headers: Mapping[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def _body(body: bytes) -> list[str]:
    try:
        text = msgspec.json.format(body, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = body.decode("utf-8", "replace")
    text = redact_secrets(text)  # before it is cut, perhaps in the middle of a key
    more = len(text) - _LONGEST
    lines = text[:_LONGEST].rstrip().splitlines()
    return [*lines, f"… and {more:,} more characters"] if more > 0 else lines
