"""``batch``: many requests at a provider's own batch service, for its discount."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..command import (
    CommandGroup,
    check_free,
    check_writable,
    confirm,
    examples,
    force_option,
    json_option,
    offline_transport,
    print_json,
)
from ..output.echo import echo, style_text
from .completion import model as complete_model

if TYPE_CHECKING:
    from ...batch import BatchAnswer, Draft
    from ...client import Batch, Client

_ID = click.argument("id", metavar="ID")
_WAIT = click.option(
    "--wait/--no-wait", default=True, help="Wait for the answers, or leave them at the service."
)
_OUTPUT = click.option(
    "--output", type=click.Path(path_type=Path), metavar="OUT.jsonl",
    help="Write the answers here, one to a line.",
)  # fmt: skip


@click.group(
    cls=CommandGroup,
    epilog=examples(
        "pondero batch run asks.jsonl -m claude-opus-5 --thinking low --dry-run",
        "pondero batch run asks.jsonl -m gpt-5.5/high --no-wait",
        "pondero batch run asks.jsonl -m gpt-5.5 --offline   no key, no cost",
        "pondero batch list",
        "pondero batch collect last --output answers.jsonl",
    ),
)
def batch() -> None:
    """Send many requests to a provider's batch API, at its discount."""


@batch.command(
    epilog=examples(
        "pondero batch run asks.jsonl -m claude-opus-5 --thinking low",
        "pondero batch run asks.jsonl -m gemini-3-pro-preview/high --no-wait --yes",
    )
)
@click.argument("data", type=click.Path(path_type=Path), metavar="FILE.jsonl")
@click.option(
    "-m", "--model", metavar="MODEL[/LEVEL]", help="The model of requests that name none.",
    shell_complete=complete_model,
)  # fmt: skip
@click.option("--thinking", metavar="LEVEL", help="The level of requests that name none.")
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option("--max-tokens", type=int, metavar="N", help="Maximum output tokens of one answer.")
@_OUTPUT
@force_option
@_WAIT
@click.option("--offline", is_flag=True, help="Ask the built-in emulator; no key, no cost.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")
@json_option
def run(
    data: Path, model: str | None, thinking: str | None, output: Path | None, *,
    force: bool, wait: bool, offline: bool, dry_run: bool, yes: bool, as_json: bool,
    **options: Any,
) -> int:  # fmt: skip
    """Send the requests of FILE.jsonl, and print the answers by id.

    A line of FILE is a JSON string ("..."), or an object with prompt (or input), and optionally id,
    model, thinking, system and max_tokens. Everything is saved on disk before it is sent: 'pondero
    batch collect' continues after any interruption, even days later.
    """
    if offline and not wait:
        raise click.UsageError("the emulator keeps nothing after this command; leave out --no-wait")
    if output is not None and not wait:
        raise click.UsageError("--no-wait has no answers yet; give --output to 'batch collect'")
    check_free(output, force=force)
    check_writable(output)
    client = _client(offline=offline or dry_run)  # a plan needs no key
    given = {name: value for name, value in options.items() if value is not None}
    draft = client.draft_batch(_read_requests(data), model, thinking, **given)
    _print_draft(draft, err=as_json or not dry_run, offline=offline, dry_run=dry_run)
    if dry_run:
        if as_json:
            print_json(_draft_json(draft, offline=offline))
        return 0
    if not yes and not offline:
        confirm(f"send {_count_requests(sum(1 for _ in draft.asks))}?")
    with client.batch(draft) as begun:
        echo(style_text(f"batch {begun.id}", bold=True), err=True)
        _collect(begun, output, wait=wait, as_json=as_json)
        return _exit_code(begun) if wait else 0


@batch.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the batches on this disk, the newest first."""
    from msgspec import to_builtins

    from ...batch import list_batches

    found = list_batches()
    if as_json:
        print_json({"batches": to_builtins(found)})
        return
    for each in found:
        day = datetime.fromtimestamp(each.started, UTC).strftime("%Y-%m-%d %H:%M")
        what = f"{each.done:,} of {each.asks:,}  {', '.join(each.models)}  {each.owner}".rstrip()
        echo(style_text(each.id, fg="cyan"), f"  {day}  {each.state:<7}  {what}")
    if not found:
        echo("there are no batches yet; 'pondero batch run' makes one", err=True)


@batch.command(epilog=examples("pondero batch show last", "pondero batch show last --json"))
@_ID
@json_option
def show(id: str, *, as_json: bool) -> None:
    """Show the saved state of a batch, without asking the service."""
    from ...batch import BatchFile, find_batch, iter_answers

    with BatchFile.open(find_batch(id)) as file:
        known, lots = file.summary(), file.lots()
        answers = list(iter_answers(file))
    if as_json:
        print_json(
            {**_batch_json(known.id, known.state, answers), "lots": [_lot(lot) for lot in lots]}
        )
        return
    echo(
        style_text(known.id, fg="cyan"),
        f"  {known.state}  {len(answers):,} of {_count_requests(known.asks)}",
    )
    for lot in lots:
        where = lot.remote or "not at the service"
        note = f"  {lot.note}" if lot.note else ""
        what = f"{lot.provider}:{lot.model}  {_count_requests(lot.count)}"
        echo(f"  {what}  {lot.state}  {where}{note}")
    if answers:
        echo(f"  {_describe_endings(answers)}")


@batch.command(
    epilog=examples(
        "pondero batch collect last --output answers.jsonl",
        "pondero batch collect 20261116 --no-wait --json",
    )
)
@_ID
@_OUTPUT
@force_option
@_WAIT
@click.option(
    "--send-again", is_flag=True,
    help="Send requests that the service does not list again. They may be billed twice.",
)  # fmt: skip
@click.option(
    "--give-up", is_flag=True, help="Count requests that the service does not list as lost."
)
@json_option
def collect(
    id: str, output: Path | None, *, force: bool, wait: bool, send_again: bool, give_up: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Fetch the answers of a batch, and send unsent requests.

    Exits with 0 if every request has an answer.
    """
    if send_again and give_up:
        raise click.UsageError("give --send-again or --give-up, not both")
    check_free(output, force=force)
    check_writable(output)
    with _open_batch(id) as begun:
        if send_again:
            begun.send(again=True)
        if give_up:
            begun.give_up()
        _collect(begun, output, wait=wait, as_json=as_json)
        return _exit_code(begun)


@batch.command(epilog=examples("pondero batch cancel last"))
@_ID
@json_option
def cancel(id: str, *, as_json: bool) -> None:
    """Ask the service to stop a batch.

    Answers that exist by then are billed, and can be collected.
    """
    with _open_batch(id) as begun:
        state = begun.cancel()
        if as_json:
            print_json(_batch_json(begun.id, state, list(begun.answers.values())))
        else:
            echo(f"{begun.id} {state}: {_describe_endings(list(begun.answers.values()))}")


# -- what they share -------------------------------------------------------------------------------


def _client(*, offline: bool) -> "Client":
    from ...client import Client

    return Client(transport=offline_transport(offline=offline))


def _open_batch(id: str) -> "Batch":
    """Return a batch to talk about; raises UsageError for one of an emulator that is gone."""
    from ...batch import BatchFile, find_batch
    from ...errors import UsageError

    whole = find_batch(id)
    with BatchFile.open(whole) as file:
        lost = file.facts.offline and file.state != "ended"
    if lost:
        message = f"batch {whole} was with the emulator of a process that has ended; run it again"
        raise UsageError(message)
    return _client(offline=False).open_batch(whole)


def _read_requests(path: Path) -> list[Any]:
    """Return the requests of a file; raise BadParameter with the first invalid line."""
    from msgspec import DecodeError, json

    from ...client import check_batch_fields
    from ...errors import BadParameter

    try:
        lines = path.read_text("utf-8-sig").split("\n")  # a JSON string may contain U+2028
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadParameter(f"{path} cannot be read: {reason}") from None
    found, ignored = [], dict[str, None]()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                ask = json.decode(line)
            except DecodeError as error:
                raise BadParameter(f"{path}:{number}: invalid JSON: {error}") from None
            if not isinstance(ask, str | dict):
                message = f"{path}:{number}: a request is a text or an object, not {line[:40]!r}"
                raise BadParameter(message)
            if isinstance(ask, dict):
                ignored |= dict.fromkeys(name for name in _OF_SWEEPS if name in ask)
                ask = {name: value for name, value in ask.items() if name not in _OF_SWEEPS}
            try:
                check_batch_fields(ask)
            except BadParameter as error:
                raise BadParameter(f"{path}:{number}: {error}") from None
            found.append(ask)
    if ignored:
        names = " and ".join(ignored)
        echo(f"{path}: ignored {names}, which a sweep reads and a batch does not send", err=True)
    return found


_OF_SWEEPS = ("target", "metadata")  # of the questions of a sweep


def _collect(begun: "Batch", output: Path | None, *, wait: bool, as_json: bool) -> None:
    try:
        if wait:
            begun.wait(_progress)
        else:
            begun.look()
    except KeyboardInterrupt:
        how = f"'pondero batch collect {begun.id}' continues it"
        echo(f"interrupted: the batch stays at the service; {how}", err=True)
        raise click.exceptions.Exit(130) from None
    answers = list(begun.answers.values())
    if output is not None and begun.state == "ended":
        output.write_text("".join(f"{_line(each)}\n" for each in answers), "utf-8")
    elif output is not None:
        echo(f"{output} is not written before the batch has ended", err=True)
    if as_json:
        print_json(_batch_json(begun.id, begun.state, answers))
    elif output is None:
        for each in answers:
            echo(_line(each), exact=True)
    for lot in begun.lots:
        if lot.note and lot.state != "ended":
            echo(style_text(lot.note, fg="yellow"), err=True)
    said = _describe_endings(answers) or "no answers yet"
    echo(f"{begun.state}: {said}", err=True)


def _exit_code(begun: "Batch") -> int:
    """Return 0 if every request has an answer, else 1."""
    endings = [each.ending for each in begun.answers.values()]
    return 0 if endings == ["answered"] * len(begun.ids) else 1


def _progress(begun: Any) -> None:
    if sys.stderr.isatty():
        done = sum(lot.done for lot in begun.lots)
        echo(f"{begun.state}: {done:,} of {sum(lot.count for lot in begun.lots):,}", err=True)


def _line(answer: "BatchAnswer") -> str:
    from ...canon import dump_json

    return dump_json(answer.to_json())


def _batch_json(id: str, state: str, answers: "list[BatchAnswer]") -> dict[str, Any]:
    costs = [float(each.cost.usd) for each in answers if each.cost is not None]
    return {
        "batch": id,
        "state": state,
        "cost": sum(costs) if costs else None,
        "answers": [each.to_json() for each in answers],
    }


def _lot(lot: Any) -> dict[str, Any]:
    names = ("provider", "model", "count", "state", "remote", "note")
    return {name: getattr(lot, name) for name in names}


def _count_requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count:,} requests"


def _describe_endings(answers: "Iterable[BatchAnswer]") -> str:
    counts: dict[str, int] = {}
    cost = 0.0
    for each in answers:
        counts[each.ending] = counts.get(each.ending, 0) + 1
        cost += float(each.cost.usd) if each.cost is not None else 0
    words = ", ".join(f"{count:,} {ending}" for ending, count in counts.items())
    return f"{words}; ${cost:,.4f}" if cost else words


# -- before it is sent -----------------------------------------------------------------------------


def _print_draft(draft: "Draft", *, err: bool, offline: bool, dry_run: bool) -> None:
    told = _draft_json(draft, offline=offline)
    for note in told["adjustments"]:
        words = f"{note['model']}: {note['why']} ({note['code']})"
        echo(style_text(words, fg="yellow"), err=err)
    for lot in told["lots"]:
        levels = ", ".join(lot["levels"])
        echo(style_text(f"{lot['provider']}:{lot['model']}", fg="cyan"),
             f"  {_count_requests(lot['asks'])} at {levels}", err=err)  # fmt: skip
    price = draft.price()
    if price is None:
        most = "the maximum cost is unknown; give --max-tokens, or install the extra prices"
    else:
        most = f"at most ${price.batch:,.2f} as a batch, ${price.live:,.2f} live"
    if offline:
        echo("offline: the emulator answers, and nothing is paid", err=err)
        # A dry run is for planning; while the emulator answers, no dollars are spoken of.
        most = f"the service would charge {most}" if price is not None and dry_run else ""
    if most:
        echo(most, err=err)


def _draft_json(draft: "Draft", *, offline: bool) -> dict[str, Any]:
    price = None if offline else draft.price()
    notes = {
        (ask.exchange.plan.model, note.code, str(note.asked)): note
        for ask in draft.asks
        for note in ask.exchange.plan.adjustments
    }
    return {
        "batch": None,
        "asks": sum(1 for _ in draft.asks),
        "lots": [_draft_lot_json(lot) for lot in draft.lots],
        "price": None if price is None else {
            "live": float(price.live), "batch": float(price.batch)
        },
        "adjustments": [
            {"model": model, "code": code, "asked": note.asked, "got": note.got, "why": note.why}
            for (model, code, _), note in notes.items()
        ],
    }  # fmt: skip


def _draft_lot_json(lot: Any) -> dict[str, Any]:
    plans = [ask.exchange.plan for ask in lot]
    levels = dict.fromkeys(str(plan.level or plan.budget or "its own level") for plan in plans)
    origin = lot[0].exchange.origin
    return {
        "provider": origin.provider,
        "model": origin.model,
        "asks": len(lot),
        "levels": list(levels),
    }
