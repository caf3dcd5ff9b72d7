"""``ask``: one question; the answer goes to stdout, everything else to stderr."""

import sys
from pathlib import Path
from time import monotonic
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from ..canon import (
    Blob,
    Event,
    Finished,
    Image,
    Note,
    Part,
    Reply,
    Text,
    TextDelta,
    ThinkingDelta,
    dumped,
)
from ..client import Client, Recorder, lookup
from ..exchange import Transport
from .ask_thread import Start, begun, continued, saved
from .command import examples, policy_of, policy_option
from .completion import first_model
from .completion import model as complete_model
from .output import Typing, echo, styled

_REFUSED = ("refusal", "content_filter")


@click.command(
    epilog=examples(
        'pondero ask claude-opus-5/high "Is 3,599 prime?"',
        "pondero ask gpt-5.1/low --system 'Answer in French.' < question.txt",
        'git diff | pondero ask gemini-3-flash-preview "Review this."',
        'pondero ask claude-opus-5 -f chart.png "What does it show?"',
        'pondero ask -m gpt-5.1/low "Why is the sky blue?"',
        'pondero ask "Why is the sky blue?"            with your default model',
        'pondero ask -c "And 3,601?"                   goes on with the last thread',
        'pondero ask -c k3f9zq gpt-5.1/low "And you?"  with that one, another model',
        'pondero ask --offline claude-opus-5/max "What is 17 * 23?"',
    )
)
@click.argument(
    "words", nargs=-1, metavar="[MODEL[/LEVEL]] [PROMPT]...", shell_complete=first_model
)
@click.option(
    "-m",
    "--model",
    "named",
    metavar="MODEL[/LEVEL]",
    help="The model; every word is then the PROMPT.",
    shell_complete=complete_model,
)
@click.option(
    "-c",
    "--continue",
    "go_on",
    is_flag=True,
    help="Go on with the last thread, or with the one whose id comes first; MODEL may be left out.",
)
@click.option("--no-save", is_flag=True, help="Keep nothing of it on disk.")
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file to ask about: text, an image, a PDF; may be repeated.",
)
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option("--offline", is_flag=True, help="Ask the built-in emulator: no key, no network.")
@click.option(
    "--thinking/--no-thinking",
    "shown",
    default=None,
    help="Show the thinking on stderr; unsaid, only on a terminal.",
)
@click.option("--max-tokens", type=int, metavar="N", help="The most it may write.")
@policy_option
@click.option(
    "--cassette",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Play this recording; with VCR_RECORD=1 make it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON, one a line.")
def ask(  # noqa: PLR0913 - one for each option
    words: tuple[str, ...],
    *,
    named: str | None,
    go_on: bool,
    no_save: bool,
    files: tuple[Path, ...],
    system: str | None,
    offline: bool,
    shown: bool | None,
    cassette: Path | None,
    policies: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> int:
    """Ask MODEL once. Without a PROMPT, or beside it, standard input is read.

    The model is the one of -m, else a first word that is a known model, else PONDERO_MODEL, else
    the one set with 'pondero config set model MODEL'.

    Question and answer are kept as a thread; see 'pondero threads'.
    """
    start, prompt = (continued if go_on else begun)(words, named)
    start = start if system is None else replace(start, system=system)
    parts = _question(prompt, files)
    paid = not offline and cassette is None
    page = _Events(start, paid=paid) if as_json else _Page(start, shown=shown)
    with Client(transport=_transport(cassette, offline=offline), policy=policy_of(policies)) as to:
        talk = start.chat(to, **options)
        recorder = Recorder(monotonic, paid=paid)
        stream = talk.stream(parts, keep=True)
        with saved(start, talk, stream, recorder, save=not no_save), stream:
            for event in stream:
                recorder.feed(event)
                page.write(event)
    page.end(stream.reply)
    return _ended(stream.reply)


def _question(prompt: tuple[str, ...], files: tuple[Path, ...]) -> list[Part]:
    parts = [_attached(file) for file in files]
    piped = _piped()
    words = " ".join(prompt) if prompt != ("-",) else ""
    parts += [Text(text) for text in (piped, words) if text]
    if not parts:
        message = "there is no question; write one, or pipe one in"
        raise click.UsageError(message)
    return parts


def _piped() -> str:
    """Return the text of standard input, if something is piped in."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        raw = getattr(sys.stdin, "buffer", None)
        text = sys.stdin.read() if raw is None else str(raw.read(), "utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        message = "what is piped in is no text; give a picture or a PDF with -f FILE"
        raise click.UsageError(message)
    return text.strip()


def _attached(file: Path) -> Part:
    import mimetypes

    data = file.read_bytes()
    kind = mimetypes.guess_type(file.name)[0] or ""
    if kind.startswith("image/"):
        return Image(kind, data)
    if kind == "application/pdf" or kind.startswith(("audio/", "video/")):
        return Blob(kind, data, name=file.name)
    try:
        return Text(f"{file.name}:\n\n{data.decode('utf-8')}")
    except UnicodeDecodeError:
        message = f"{file} is no text, image or PDF"
        raise click.BadParameter(message, param_hint="--file") from None


def _transport(cassette: Path | None, *, offline: bool) -> Transport | None:
    inner: Transport | None = None
    if offline:
        from ..emulator import Emulator

        inner = Emulator(any_model=True)
    if cassette is None:
        return inner
    from ..transport import Cassette

    return Cassette(cassette, inner)


class _Page:
    """Thinking on stderr, dim; the answer on stdout; never both on one line of a terminal."""

    def __init__(self, start: Start, *, shown: bool | None) -> None:
        self._start = start
        self._show = sys.stderr.isatty() if shown is None else shown
        self._due = bool(shown)  # thinking was asked for in so many words, and none came yet
        self._thinking = False
        self._answer = Typing()
        self._thoughts = Typing(err=True, dim=True)

    def write(self, event: Event) -> None:
        """Print one event, if it has something to read."""
        if isinstance(event, ThinkingDelta):
            if self._show and event.text:
                self._thoughts.write(event.text)
                self._thinking, self._due = True, False
        elif isinstance(event, TextDelta):
            if self._thinking:
                self._thoughts.end()
                echo("\n", err=True)
                self._thinking = False
            self._answer.write(event.text)

    def end(self, reply: Reply) -> None:
        """End the last line, then print the adjustments of the plan, and why no thinking came."""
        self._thoughts.end()
        self._answer.end()
        echo()
        if self._due:
            _say(f"no thinking to show: {_unseen(self._start, reply)}")
        for note in reply.adjustments:
            _say(f"{note.why} ({note.code})")


class _Events:
    """Events as JSON, one a line; a Finished event with its cost, where that is known.

    The last line is the last Finished event; the adjustments of the plan stand before it.
    """

    def __init__(self, start: Start, *, paid: bool) -> None:
        self._start = start
        self._paid = paid
        self._noted: list[Any] = []
        self._finished: Any = None

    def write(self, event: Event) -> None:
        """Print one event, without its seal."""
        raw = msgspec.to_builtins(event)
        if isinstance(part := raw.get("part"), dict):
            part.pop("seal", None)
        if isinstance(event, Note):
            self._noted.append(event.adjustment)
        self._print_finished()
        if isinstance(event, Finished):
            raw["cost"] = self._start.price(event.usage) if self._paid else None
            self._finished = raw
        else:
            echo(dumped(raw), exact=True)

    def end(self, reply: Reply) -> None:
        """Print the adjustments that did not come as events, then the last Finished event."""
        for adjustment in msgspec.to_builtins(reply.adjustments):
            if adjustment not in self._noted:
                echo(dumped(msgspec.to_builtins(Note(adjustment))), exact=True)
        self._print_finished()

    def _print_finished(self) -> None:
        if self._finished is not None:
            echo(dumped(self._finished), exact=True)
            self._finished = None


def _unseen(start: Start, reply: Reply) -> str:
    """Return why --thinking has nothing to show."""
    entry = lookup().entry(start.model)
    facts = entry.capability
    if not facts.thinks:
        return f"{entry.id} does not think"
    if facts.shown == "never":
        return f"{entry.id} never shows its thinking"
    if start.thinking is None and facts.levels:
        return f"no level was asked for; try {start.model}/{facts.levels[-1]}"
    if reply.usage.thinking:
        return f"{reply.usage.thinking:,} tokens of thinking came without their text"
    return "none came"


def _ended(reply: Reply) -> int:
    if reply.verdict == "exhausted":
        _say(f"all output went into thinking, none into an answer; try --max-tokens {reply.cap}")
        return 1
    if reply.finish == "length":
        _say("the answer was cut off at max_tokens")
    return 3 if reply.finish in _REFUSED else 0


def _say(text: str) -> None:
    echo(styled(text, fg="yellow"), err=True)
