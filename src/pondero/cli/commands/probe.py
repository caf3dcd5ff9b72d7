"""``probe``: whether a model's levels have an effect, and which fields an unknown model takes."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..command import confirm, examples, json_option, print_json, warn
from ..output.echo import echo, style_text
from ..start import say_meaning
from . import completion

if TYPE_CHECKING:
    from decimal import Decimal

    from ...client import Client, DiscoveryResult, ProbeDraft
    from ...probe import ProbeResult

_COULD_NOT_ASK = 3
_INTERRUPTED = 130
_OFFLINE = "offline, nothing is paid"
_COLOURS = {"live": "green", "deaf": "red", "partly": "yellow", "undecided": "yellow"}


@click.command(
    epilog=examples(
        "pondero probe claude-opus-5",
        "pondero probe gpt-5.5 --levels low,medium,high --max-cost 2 --yes",
        "pondero probe vllm:my-model --base-url http://localhost:8000 --json",
        "pondero probe compatible:my-model --discover --write",
        "pondero probe gpt-5.5 --offline                 no key, no cost",
        "pondero probe gpt-5.5 --emulate deaf            what a deaf dial looks like",
    )
)
@click.argument("model", metavar="MODEL", shell_complete=completion.model)
@click.option(
    "--levels", metavar="LIST", help="Levels to compare, such as low,high. 'off' is tested too."
)
@click.option(
    "--questions", type=click.Path(path_type=Path), metavar="FILE",
    help="Your own questions: one on each line, or JSONL with the field input.",
)  # fmt: skip
@click.option("--max-cost", type=float, metavar="USD", help="Stop before it costs more than this.")
@click.option(
    "--base-url", metavar="URL", help="The provider's base URL, if it is not the usual one."
)
@click.option("--discover", is_flag=True, help="Find the fields that an unknown model takes.")
@click.option("--write", is_flag=True, help="With --discover: add the row to your models.toml.")
@click.option("--offline", is_flag=True, help="Ask the built-in emulator.")
@click.option(
    "--emulate", metavar="DIAL",
    help="Ask an emulator whose dial is deaf, half-deaf, noisy, not-off or uncounted.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")
@json_option
def probe(model: str, *, write: bool, discover: bool, as_json: bool, **options: Any) -> int:
    """Test whether a model's levels have an effect on this route.

    It asks short questions at several levels, compares how much the model thinks, and stops when
    the answer is known. First it says the most that it can cost.

    Exit 0: live; 1: deaf, partly live, or off is not off; 2: undecided; 3: it could not ask.
    """
    from ...errors import PonderoError, user_notes
    from ...store import redact_secrets

    try:
        if discover:
            return _discover(model, write=write, as_json=as_json, **options)
        return _probe(model, write=write, as_json=as_json, **options)
    except (PonderoError, click.UsageError) as error:
        text = error.message if isinstance(error, click.UsageError) else str(error)
        echo(f"pondero: {redact_secrets(text)}", err=True)
        for note in user_notes(error):
            echo(f"({redact_secrets(note)})", err=True)
        return _COULD_NOT_ASK


def _probe(
    model: str,
    *,
    levels: str | None,
    questions: Path | None,
    max_cost: float | None,
    yes: bool,
    write: bool,
    as_json: bool,
    **where: Any,
) -> int:
    if write:
        raise click.UsageError("--write goes with --discover")
    chosen = None if levels is None else [each.strip() for each in levels.split(",")]
    with _make_client(model, **where) as client:
        draft = client.draft_probe(model, chosen, questions=_read_questions(questions))
        client.prepare(draft.model, draft.questions[0], draft.levels[-1])  # is there a key?
        cost = _format_limit(draft.max_cost, max_cost, offline=_is_offline(where))
        _announce(draft, cost)
        if not yes and not _is_offline(where):
            confirm(f"send at most {draft.max_asks} requests; {cost}?")
        found = _run(client, draft, max_cost)
    if found is None:
        return _INTERRUPTED
    for note in found.notes:
        if note not in draft.notes:
            warn(note)
    _print_result(found, as_json=as_json, offline=_is_offline(where))
    return found.exit_code


def _make_client(
    model: str, *, offline: bool, emulate: str | None, base_url: str | None
) -> "Client":
    from ...client import Client, load_catalog
    from ...emulator import DialResponder, Emulator

    name = load_catalog().entry(model).provider.name
    urls = {} if base_url is None else {name: base_url}
    if emulate is not None:
        return Client(transport=Emulator(any_model=True, responder=DialResponder(emulate)))
    return Client(transport=Emulator(any_model=True) if offline else None, urls=urls)


def _is_offline(where: dict[str, Any]) -> bool:
    return bool(where["offline"] or where["emulate"] is not None)


def _read_questions(path: Path | None) -> tuple[str, ...] | None:
    if path is None:
        return None
    from ...errors import BadParameter
    from ...probe import parse_questions

    try:
        return parse_questions(path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadParameter(f"{path} cannot be read: {reason}") from None


def _announce(draft: "ProbeDraft", cost: str) -> None:
    """Say what will be asked, and the most that it can cost."""
    tokens = "" if draft.max_tokens is None else f" of at most {draft.max_tokens:,} tokens"
    *others, last = draft.levels
    compared = f"{', '.join(others)} and {last}"
    most = f"at most {draft.max_asks} requests{tokens}; {cost}"
    say_meaning(draft.model)
    echo(f"{draft.model}, {compared}: {most}", err=True)
    for note in draft.notes:
        echo(note, err=True)


def _format_limit(most: "Decimal | None", max_cost: float | None, *, offline: bool) -> str:
    from ...store import format_dollars

    if offline:
        return _OFFLINE
    known = [float(each) for each in (most, max_cost) if each is not None]
    return f"{format_dollars(str(min(known)))} at most" if known else "the cost is not known"


def _run(client: "Client", draft: "ProbeDraft", max_cost: float | None) -> "ProbeResult | None":
    """Return what a probe found; None if the user interrupted it."""
    asks, shows = 0, sys.stderr is not None and sys.stderr.isatty()

    def tell(count: int, _most: int) -> None:
        nonlocal asks
        asks = count
        if shows:
            echo(".", err=True, nl=False)

    try:
        return client.probe(draft, max_cost=max_cost, progress=tell)
    except KeyboardInterrupt:
        echo(f"interrupted after {asks} requests", err=True)
        return None
    finally:
        if shows and asks:
            echo("", err=True)


def _print_result(found: "ProbeResult", *, as_json: bool, offline: bool) -> None:
    from ...probe import describe_probe

    if as_json:
        print_json(found.to_json())
        return
    first, *others = describe_probe(found)
    echo(style_text(first, fg=_COLOURS[found.verdict]))
    for line in others:
        echo(line)
    cost = "" if found.cost is None else f", ${found.cost:.4f} by list prices"
    cost = f"; {_OFFLINE}" if offline else cost
    echo(f"{found.asks} requests{cost}", err=True)


def _discover(
    model: str,
    *,
    write: bool,
    as_json: bool,
    max_cost: float | None,
    yes: bool,
    levels: str | None,
    questions: Path | None,
    **where: Any,
) -> int:
    from ...probe import DISCOVERY_QUESTION

    if levels is not None or questions is not None:
        raise click.UsageError("--discover tries all levels with a question of its own")
    with _make_client(model, **where) as client:
        draft = client.draft_discovery(model)
        client.prepare(draft.model, DISCOVERY_QUESTION)  # is there a key?
        cost = _format_limit(draft.max_cost, max_cost, offline=_is_offline(where))
        say_meaning(draft.model)
        echo(f"{draft.model}: at most {draft.max_asks} short requests; {cost}", err=True)
        if not yes and not _is_offline(where):
            confirm(f"send at most {draft.max_asks} requests; {cost}?")
        try:
            found = client.discover(model, max_cost=max_cost)
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            return _INTERRUPTED
    written = _write_row(found) if write else None
    if as_json:
        print_json({**found.to_json(), "written": written})
        return 0
    _print_row(found)
    if not write:
        echo("(--write adds it to your models.toml)", err=True)
    return 0


def _write_row(found: "DiscoveryResult") -> str | None:
    from ...catalog import add_user_files, load_shipped
    from ...store import append_models, models_file, write_models

    text, added = append_models([found.row])
    if not added:
        warn(f"{models_file()} has a row of this model already; it stays as it is")
        return None
    add_user_files(load_shipped(), {str(models_file()): text})  # raises BadCatalog
    path = write_models(text)
    echo(f"wrote it to {path}; see 'pondero levels {found.model}'", err=True)
    return str(path)


def _print_row(found: "DiscoveryResult") -> None:
    import tomlkit

    document = tomlkit.document()
    document["model"] = [found.row]
    for trial, answer in found.trials:
        if not answer.accepted:
            echo(f"rejected: {trial.kind} {trial.word}".rstrip() + f": {answer.message}", err=True)
    echo(tomlkit.dumps(document), exact=True, nl=False)
