"""``models``: lists the catalog; ``--refresh`` compares it with another list of models."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ..catalog import Difference, compare, extended, read_listing, rows
from ..client import lookup
from ..client import models as catalogued
from ..errors import BadCatalog, BadParameter, ServiceError
from . import completion
from .command import examples, print_json
from .output import echo

_OK = 200
_SHOWN = 40  # rows of a table; --json has them all


@click.command(
    epilog=examples(
        "pondero models --provider anthropic",
        "pondero models --json | jq '.models[].id'",
        "pondero models --refresh https://models.dev/api.json    what is new there",
    )
)
@click.option(
    "--provider",
    metavar="P",
    help="Only this provider's models.",
    shell_complete=completion.provider,
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.option(
    "--refresh", metavar="URL|FILE", help="Compare with a list in the shape of models.dev."
)
@click.option("--write", is_flag=True, help="With --refresh: write your models.toml.")
@click.option("--yes", is_flag=True, help="With --write: do not ask.")
def models(
    *, provider: str | None, as_json: bool, refresh: str | None, write: bool, yes: bool
) -> None:
    """List the models the catalog knows, and what each can do."""
    if refresh is not None:
        _compare(refresh, provider=provider, as_json=as_json, write=write, yes=yes)
        return
    if write or yes:
        message = "--write and --yes go with --refresh"
        raise click.UsageError(message)
    entries = catalogued(provider)
    if as_json:
        print_json({"models": [entry.to_json() for entry in entries]})
        return
    if not entries:
        echo(f"no names are listed for {provider}: it takes any, {provider}:NAME", err=True)
        return
    from .tables import print_models

    print_models(entries)


def _compare(where: str, *, provider: str | None, as_json: bool, write: bool, yes: bool) -> None:
    """Report how a list differs from the catalog, and with ``write`` add to models.toml."""
    if provider is not None:
        lookup().entries(provider)  # raises UnknownProvider
    if write and not yes and (as_json or not sys.stdin.isatty()):
        raise BadParameter("nobody can be asked here: add --yes to --write")
    found = compare(read_listing(_read(where)), lookup())
    if provider is not None:
        found = [each for each in found if each.provider == provider]
    text, added = _written(found, where) if write else ("", 0)
    if not as_json:
        _print(found)
    path = _write(text, added, yes=yes) if added else None
    if as_json:
        said = {"source": where, **_counted(found), "written": str(path) if path else None}
        print_json({**said, "added": added, "differences": [each.to_json() for each in found]})
    elif write and not added:
        echo("nothing to write: models.toml has all of it, or nothing is known of it")


def _read(where: str) -> bytes:
    if not where.startswith(("https://", "http://")):
        try:
            return Path(where).read_bytes()
        except OSError as error:
            message = f"{where} cannot be read: {error.strerror or error}"
            raise BadParameter(message) from None
    from ..canon import HttpRequest
    from ..exchange import Timeouts
    from ..transport import HttpTransport

    transport = HttpTransport()
    try:
        answer = transport.send(HttpRequest("GET", where, {}), Timeouts())
        body = b"".join(answer)
    finally:
        transport.close()
    if (status := answer.head.status) != _OK:
        moved = answer.head.headers.get("location")
        message = f"{where} answered with status {status}"
        raise ServiceError(f"{message}: it is at {moved}" if moved else message, status=status)
    return body


def _written(found: list[Difference], where: str) -> tuple[str, int]:
    from ..store import models_file, with_models

    today = datetime.now(UTC).date().isoformat()
    finder = lookup()
    made = [row for row in rows(found, finder, source=where, checked=today) if _is_good(row)]
    text, added = with_models(made)
    extended(finder.catalog, {str(models_file()): text})  # raises BadCatalog
    return text, added


def _is_good(row: dict[str, Any]) -> bool:
    """Return whether the catalog takes this row; it may contradict the facts of a family."""
    import tomlkit

    document = tomlkit.document()
    document["model"] = [row]
    try:
        extended(lookup().catalog, {"models.toml": tomlkit.dumps(document)})
    except BadCatalog:
        return False
    return True


def _write(text: str, added: int, *, yes: bool) -> Path | None:
    from ..store import models_file, write_models

    if not yes and not click.confirm(f"write {added:,} models to {models_file()}?"):
        return None
    path = write_models(text)
    echo(f"wrote {added:,} models to {path}", err=True)
    return path


def _counted(found: list[Difference]) -> dict[str, int]:
    return {what: sum(e.what == what for e in found) for what in ("new", "gone", "different")}


def _print(found: list[Difference]) -> None:
    from .tables import Screen, table

    counts = ", ".join(f"{count:,} {what}" for what, count in _counted(found).items())
    screen = Screen()
    screen.print(f"against the catalog: {counts}")
    if not found:
        return
    sheet = table("model", "", "here", "there")
    for each in found[:_SHOWN]:
        sheet.add_row(f"{each.provider}:{each.model}", _what(each), *_sides(each))
    screen.print(sheet)
    if len(found) > _SHOWN:
        screen.print(f"and {len(found) - _SHOWN:,} more; --json has them all")


def _what(each: Difference) -> str:
    return each.what if each.field is None else f"{each.field} differs"


def _sides(each: Difference) -> tuple[str, str]:
    if each.what == "new":
        there = "thinks" if each.theirs else "does not think"
        return (f"taken for {each.like}" if each.like else "its line is not known"), there
    if each.what == "gone":
        return "known", "not listed"
    return _said(each.ours), _said(each.theirs)


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
