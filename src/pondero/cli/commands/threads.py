"""``threads``: lists, shows, searches, exports, imports, deletes and repairs saved threads."""

import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, time
from typing import BinaryIO

import click

from ...canon import escape_controls
from ...errors import UnknownThread
from ...store import (
    Thread,
    Threads,
    from_jsonl,
    redact_secrets,
    to_html,
    to_jsonl,
    to_markdown,
    write_atomic,
)
from ...store import salvage as read_damaged
from ..command import (
    CommandGroup,
    check_free,
    check_writable,
    examples,
    force_option,
    json_option,
    print_json,
)
from ..output.echo import echo, style_text
from ..output.thread_tables import (
    message_json,
    open_threads,
    print_messages,
    print_threads,
    thread_json,
)
from . import completion

_MOMENT = 1.0  # seconds
_FORMS = {
    **dict.fromkeys(("md", "markdown", "txt"), "markdown"),
    **dict.fromkeys(("html", "htm"), "html"),
    "jsonl": "jsonl",
}


@click.group(
    cls=CommandGroup,
    epilog=examples(
        "pondero threads list",
        "pondero threads show last --thinking",
        'pondero threads search "eiffel tower"',
        "pondero threads export last --to talk.html",
        "pondero threads import talk.jsonl",
        "pondero threads prune --older 90d",
    ),
)
def threads() -> None:
    """Show, search, export and delete saved conversations.

    A thread is named by its id, the beginning of its id, or "last".
    """


@threads.command(
    "list",
    epilog=examples(
        "pondero threads list --limit 5", "pondero threads list --json | jq '.threads[].id'"
    ),
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    metavar="N",
    help="Maximum number of threads, the last used first.",
)
@json_option
def list_(*, limit: int, as_json: bool) -> None:
    """List the threads, the last used first."""
    with open_threads() as shelf:
        found = shelf.list(limit=limit)
        ends = {} if as_json else shelf.find_ends(found)
    if as_json:
        print_json({"threads": [thread_json(thread) for thread in found]})
    elif found:
        print_threads(found, ends)
    else:
        echo("no threads yet; 'pondero ask' and 'pondero chat' keep them", err=True)


@threads.command(
    epilog=examples("pondero threads show last", "pondero threads show k3f9 --last 4 --thinking")
)
@click.argument("thread", metavar="[THREAD]", default="last", shell_complete=completion.thread)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N messages.")
@click.option("--thinking", is_flag=True, help="Show the thinking too.")
@json_option
def show(thread: str, *, last: int | None, thinking: bool, as_json: bool) -> None:
    """Show a conversation; without THREAD, the last one."""
    with open_threads() as shelf:
        found = shelf.get(thread)
        kept = shelf.load_messages(found.id, last=last)
    if as_json:
        print_json(
            {"thread": thread_json(found), "messages": [message_json(each) for each in kept]}
        )
        return
    echo(style_text(f"{_title(found)}  ({found.id})", bold=True))
    echo()
    print_messages(kept, thinking=thinking)


@threads.command(
    epilog=examples("pondero threads search paris", "pondero threads search prime number --json")
)
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--limit", type=click.IntRange(1), default=50, metavar="N", help="Maximum number of results."
)
@json_option
def search(words: tuple[str, ...], *, limit: int, as_json: bool) -> None:
    """Search titles and messages for WORDS; all of them must be there.

    Thinking, tool calls and their results are searched too.
    """
    with open_threads() as shelf:
        found = shelf.find(" ".join(words), limit=limit, progress=_tell_progress(monotonic()))
    if as_json:
        places = [
            {"thread": each.thread.id, "title": each.thread.title, "number": each.number}
            | {"role": each.role, "snippet": each.snippet}
            for each in found
        ]
        print_json({"found": places})
        return
    for each in found:
        place = "title" if each.number is None else f"{each.number} {each.role}"
        echo(style_text(each.thread.id, fg="cyan"), f"  {place:<14}  {each.snippet}")
    if not found:
        echo(f"no thread contains {' '.join(words)!r}", err=True)


@threads.command(
    epilog=examples(
        "pondero threads export last > talk.md",
        "pondero threads export k3f9zq --to talk.html",
        "pondero threads export last --to talk.jsonl    nothing is lost",
    )
)
@click.argument("thread", metavar="[THREAD]", default="last", shell_complete=completion.thread)
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file to write; its extension selects the format.",
)
@force_option
@click.option(
    "--format",
    "form",
    type=click.Choice(sorted(set(_FORMS.values()))),
    help="The format. Default: by the file's extension, else markdown.",
)
def export(thread: str, *, to: Path | None, force: bool, form: str | None) -> None:
    """Write a thread as Markdown, HTML or JSON Lines.

    Only JSON Lines can be imported again.
    """
    target = None if to is None or str(to) == "-" else to
    check_free(target, force=force)
    check_writable(target)
    chosen = form or _find_form(target)
    with open_threads() as shelf:
        found = shelf.get(thread)
        if chosen == "jsonl":
            text = to_jsonl(found, shelf.lines(found.id))
        else:
            write = to_html if chosen == "html" else to_markdown
            text = write(found, shelf.load_messages(found.id))
    if target is None:
        echo(text, nl=False, exact=True)
    else:
        write_atomic(target, text)
        echo(redact_secrets(f"wrote thread {found.id} to {target}"), err=True)


def _find_form(path: Path | None) -> str:
    """Return the format of a file by its extension; raises UsageError for an unknown one."""
    extension = "" if path is None else path.suffix
    if not extension:
        return "markdown"
    if (form := _FORMS.get(extension[1:].lower())) is None:
        message = f"unknown extension {extension}; use .md .html .jsonl, or --format"
        raise click.UsageError(message)
    return form


@threads.command(
    "import",
    epilog=examples(
        "pondero threads import talk.jsonl", "ssh box cat t.jsonl | pondero threads import -"
    ),
)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@json_option
def import_(file: BinaryIO, *, as_json: bool) -> None:
    """Read a thread that was exported as JSON Lines, signatures included."""
    thread, lines = from_jsonl(file.read())
    with open_threads() as shelf:
        made = shelf.restore(thread, lines)
    if as_json:
        print_json({"thread": thread_json(made)})
    else:
        echo(f"{made.id}  {_title(made)}")


@threads.command(epilog=examples('pondero threads rename last "About primes"'))
@click.argument("thread", shell_complete=completion.thread)
@click.argument("title", nargs=-1, required=True)
def rename(thread: str, title: tuple[str, ...]) -> None:
    """Give THREAD another title."""
    if not "".join(title).strip():
        raise click.UsageError("the title is empty; write one")
    with open_threads() as shelf:
        shelf.rename(shelf.get(thread).id, " ".join(title))


@threads.command(
    epilog=examples("pondero threads delete k3f9zq", "pondero threads delete k3f9zq q7x2m1 --yes")
)
@click.argument(
    "ids", nargs=-1, required=True, metavar="THREAD...", shell_complete=completion.thread
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(ids: tuple[str, ...], *, yes: bool) -> None:
    """Delete threads for good."""
    with open_threads() as shelf:
        found = [shelf.get(id) for id in dict.fromkeys(ids)]
        for thread in found:
            if not yes:
                _confirm(f"delete {thread.id} ({_title(thread)}), {thread.messages:,} messages?")
            try:
                shelf.delete(thread.id)
            except UnknownThread:  # another program deleted it, or it was named twice
                continue
            echo(f"deleted {thread.id}", err=True)


@threads.command(
    epilog=examples(
        "pondero threads prune --older 90d --dry-run",
        "pondero threads prune --older 1y --yes",
    )
)
@click.option(
    "--older", required=True, metavar="AGE", help="Last used longer ago than this: 90d, 12w, 1y."
)
@click.option("--dry-run", is_flag=True, help="Only list them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def prune(*, older: str, dry_run: bool, yes: bool) -> None:
    """Delete the threads that were not used for some time."""
    before = time() - _parse_age(older)
    with open_threads() as shelf:
        found = [each for each in shelf.list(limit=None) if each.updated < before]
        if not found:
            echo(f"no thread was last used more than {older} ago", err=True)
            return
        if dry_run:
            print_threads(found, shelf.find_ends(found))
            return
        if not yes:
            _confirm(f"delete {len(found):,} threads that were not used for {older}?")
        deleted = shelf.prune(before=before)
        echo(f"deleted {len(deleted):,} threads; {_compact(shelf)}", err=True)


@threads.command(epilog=examples("pondero threads compact"))
def compact() -> None:
    """Give the disk space of deleted threads back."""
    with open_threads() as shelf:
        echo(_compact(shelf), err=True)


@threads.command(epilog=examples("pondero threads salvage ~/threads.db.broken-20261117-101500"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def salvage(file: Path) -> None:
    """Read back what is left of a damaged file of threads."""
    with open_threads() as shelf:
        found = read_damaged(file, shelf)
    lost = f"; {found.lost:,} rows could not be read" if found.lost else ""
    echo(f"{found.messages:,} messages in {len(found.threads):,} threads were read back{lost}")
    done = file.with_name(file.name.replace(".broken-", ".salvaged-"))
    if done != file:
        file.rename(done)
        echo(f"the damaged file is now {done}; delete it when you need no more of it", err=True)


_UNITS = {"d": 1, "w": 7, "m": 30, "y": 365}


def _parse_age(text: str) -> float:
    """Return an age as seconds; raises UsageError."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdecimal()):
        raise click.UsageError(f"invalid --older {text!r}; use a number and d, w, m or y, as 90d")
    return int(number) * _UNITS[unit] * 86_400.0


def _compact(shelf: Threads) -> str:
    before, after = shelf.compact()
    return f"{shelf.path} had {before / 1e6:,.1f} MB and now has {after / 1e6:,.1f} MB"


def _tell_progress(began: float) -> Callable[[int, int], None]:
    """Return what says on stderr that the index is being built, if it takes more than a moment."""

    def tell(done: int, whole: int) -> None:
        if monotonic() - began > _MOMENT:
            echo(f"making the index for searches: {done:,} of {whole:,} messages", err=True)

    return tell


def _title(thread: Thread) -> str:
    return " ".join(thread.title.split()) or "untitled"


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("no terminal to ask on; add --yes")
    if not click.confirm(escape_controls(question), err=True):
        raise click.exceptions.Exit(1)
