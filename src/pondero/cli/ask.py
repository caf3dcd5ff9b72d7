"""``ask``: one question, its answer on stdout, what else there is to say on stderr."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from ..canon import Blob, Event, Image, Part, Reply, Text, TextDelta, ThinkingDelta
from ..client import Client
from ..exchange import Transport
from .examples import examples
from .policies import POLICY, policy_of

_REFUSED = ("refusal", "content_filter")


@click.command(
    epilog=examples(
        'pondero ask claude-opus-5/high "Is 3,599 prime?"',
        "pondero ask gpt-5.1/low --system 'Answer in French.' < question.txt",
        'git diff | pondero ask gemini-3-flash-preview "Review this."',
        'pondero ask claude-opus-5 -f chart.png "What does it show?"',
        'pondero ask --offline claude-opus-5/max "What is 17 * 23?"',
    )
)
@click.argument("model", metavar="MODEL[/LEVEL]")
@click.argument("prompt", nargs=-1, metavar="[PROMPT]...")
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
@click.option("--policy", "policies", multiple=True, metavar="K=V", help=POLICY)
@click.option(
    "--cassette",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Play this recording; with VCR_RECORD=1 make it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON, one a line.")
def ask(
    model: str,
    prompt: tuple[str, ...],
    *,
    files: tuple[Path, ...],
    offline: bool,
    shown: bool | None,
    cassette: Path | None,
    policies: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> int:
    """Ask MODEL once. Without a PROMPT, or beside it, standard input is read."""
    parts = _question(prompt, files)
    show = sys.stderr.isatty() if shown is None else shown
    write = _json if as_json else _Page(show=show).write
    with ExitStack() as stack:
        client = stack.enter_context(
            Client(transport=_transport(cassette, offline=offline), policy=policy_of(policies))
        )
        stream = stack.enter_context(client.stream(model, parts, **options))
        for event in stream:
            write(event)
    return _ended(stream.reply, as_json=as_json)


def _question(prompt: tuple[str, ...], files: tuple[Path, ...]) -> list[Part]:
    parts = [_attached(file) for file in files]
    piped = "" if sys.stdin.isatty() else sys.stdin.read().strip()
    words = " ".join(prompt) if prompt != ("-",) else ""
    parts += [Text(text) for text in (piped, words) if text]
    if not parts:
        message = "there is no question; write one, or pipe one in"
        raise click.UsageError(message)
    return parts


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

        inner = Emulator()
    if cassette is None:
        return inner
    from ..transport import Cassette

    return Cassette(cassette, inner)


class _Page:
    """Thinking on stderr, dim; the answer on stdout; never both on one line of a terminal."""

    def __init__(self, *, show: bool) -> None:
        self._show = show
        self._thinking = False

    def write(self, event: Event) -> None:
        """Print one event, if it has something to read."""
        if isinstance(event, ThinkingDelta):
            if self._show and event.text:
                click.echo(click.style(event.text, dim=True), nl=False, err=True)
                self._thinking = True
        elif isinstance(event, TextDelta):
            if self._thinking:
                click.echo("\n", err=True)
                self._thinking = False
            click.echo(event.text, nl=False)


def _json(event: Event) -> None:
    """Print one event as a line of JSON, without what is for its maker's eyes only."""
    raw = msgspec.to_builtins(event)
    if isinstance(part := raw.get("part"), dict):
        part.pop("seal", None)
    click.echo(msgspec.json.encode(raw).decode())


def _ended(reply: Reply, *, as_json: bool) -> int:
    if not as_json:
        click.echo()
        for note in reply.plan.adjustments:
            _say(f"{note.why} ({note.code})")
    if reply.verdict == "exhausted":
        _say(f"all output went into thinking, none into an answer; try --max-tokens {reply.cap}")
        return 1
    if reply.finish == "length":
        _say("the answer was cut off at max_tokens")
    return 3 if reply.finish in _REFUSED else 0


def _say(text: str) -> None:
    click.echo(click.style(text, fg="yellow"), err=True)
