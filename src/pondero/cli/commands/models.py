"""``models``: searches the catalog; ``--refresh`` compares it with another list of models."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

import click
from msgspec.structs import replace

from ...catalog import (
    SCHEMA,
    Catalog,
    CatalogComparison,
    Lookup,
    ModelEntry,
    PublicList,
    add_user_files,
    compare_lists,
    find_meanings,
    load_explained,
    provider_map,
    read_listing,
    rows_to_add,
    search_models,
)
from ...client import load_catalog
from ...client import models as list_models
from ...errors import BadCatalog, BadParameter, ServiceError, UnknownModel
from ...store import append_models, models_file, write_models
from ..command import examples, print_json
from ..output.catalog_diff import count_differences, print_comparison
from ..output.echo import echo
from . import completion

_OK = 200
_SHOWN = 20  # models that a search prints: they fit on a screen
_LIST = "https://models.dev/api.json"


class Flags(TypedDict):
    """What goes with ``--refresh``."""

    write: bool
    force: bool
    yes: bool
    check: bool


@click.command(
    epilog=examples(
        "pondero models opus                what opus means, and all models with it",
        "pondero models flash google        models that fit both words",
        "pondero models free tools          that cost nothing and take tools",
        "pondero models --provider anthropic",
        "pondero models --json | jq '.models[].id'",
        "pondero models --refresh           where models.dev differs",
        "pondero models --refresh list.json --write    take over what is new",
    )
)
@click.argument("words", nargs=-1, metavar="[WORD]...", shell_complete=completion.model)
@click.option(
    "--provider",
    metavar="P",
    help="Only this provider's models.",
    shell_complete=completion.provider,
)
@click.option("--all", "whole", is_flag=True, help="Print every model that fits.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.option(
    "--refresh",
    metavar="[URL|FILE]",
    is_flag=False,
    flag_value=_LIST,
    help="Compare with a list in the format of models.dev.",
)
@click.option("--write", is_flag=True, help="With --refresh: write your models.toml.")
@click.option("--force", is_flag=True, help="With --write: also override verified facts.")
@click.option("--yes", is_flag=True, help="With --write: skip the confirmation prompt.")
@click.option(
    "--check",
    is_flag=True,
    help="With --refresh: exit with an error if any difference is unexplained.",
)
def models(
    words: tuple[str, ...],
    *,
    provider: str | None,
    whole: bool,
    as_json: bool,
    refresh: str | None,
    **flags: Unpack[Flags],
) -> None:
    """Search models by words; without any, list short names.

    All words must fit. A WORD is a part of a name, a product line, a provider, or one of these:
    local free thinks tools batch.
    """
    if refresh is not None:
        if words:
            raise click.UsageError("--refresh compares the whole catalog; take the words away")
        _refresh(refresh, provider=provider, as_json=as_json, flags=flags)
        return
    if any(flags.values()):
        raise click.UsageError("--write, --force, --yes and --check go with --refresh")
    if not words and provider is None and not whole and not as_json:
        from ..output.tables import print_short_names

        print_short_names(load_catalog())
        return
    entries = _find(words, provider)
    if as_json:
        listed = load_catalog().catalog.listed
        source = {"name": listed.name, "date": listed.date} if listed else None
        made = {"version": SCHEMA, "list": source}
        print_json({**made, "models": [entry.to_json() for entry in entries]})
        return
    if not entries:
        echo(f"no names are listed for {provider}: it takes any, {provider}:NAME", err=True)
        return
    from ..output.tables import print_found, print_models

    if words:
        shown = entries if whole else entries[:_SHOWN]
        print_found(shown, of=len(entries), meanings=find_meanings(load_catalog(), words))
    else:
        print_models(entries)


def _find(words: tuple[str, ...], provider: str | None) -> list[ModelEntry]:
    """Return the models of a provider that fit all words, in the catalog's order without words."""
    entries = list_models(provider)
    if not words:
        return entries
    found = search_models(load_catalog(), words)
    found = [entry for entry in found if provider in (None, entry.provider.name)]
    if found:
        return found
    said, of = " ".join(words), "" if provider is None else f" of {provider}"
    if provider is not None and search_models(load_catalog(), words):
        raise UnknownModel(f"no model{of} fits {said!r}; others do: 'pondero models {said}'")
    close = load_catalog().close("-".join(words))
    guess = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise UnknownModel(f"no model{of} fits {said!r}; {guess}'pondero models --all' lists all")


def _refresh(where: str, *, provider: str | None, as_json: bool, flags: Flags) -> None:
    if provider is not None:
        load_catalog().entries(provider)  # raises UnknownProvider
    if flags["write"] and not flags["yes"] and (as_json or not sys.stdin.isatty()):
        raise BadParameter("no terminal to ask on; add --yes to --write")
    theirs, ours = read_listing(_read(where)), provider_map()
    if not flags["check"]:
        here = {name: (name,) for name in load_catalog().catalog.providers}
        ours = {**here, **provider_map(hosts=True)}
    found = compare_lists(theirs, load_catalog(), ours=ours, settled=load_explained())
    if provider is not None:
        mine = tuple(each for each in found.differences if each.provider == provider)
        found = replace(found, differences=mine)
    text, added = "", list[dict[str, Any]]()
    if flags["write"]:
        text, added = append_models(_rows(theirs, found, ours, force=flags["force"]))
    if not as_json:
        print_comparison(found, added)
    path = _write(text, len(added), yes=flags["yes"]) if added else None
    if as_json:
        print_json(_report(found, where, path, added))
    elif flags["write"] and not added:
        echo("nothing to write: models.toml has all of it, or the list does not say it")
    if flags["check"] and found.open:
        echo(f"{len(found.open):,} disagreements are neither fixed nor settled", err=True)
        raise click.exceptions.Exit(1)


def _report(
    found: CatalogComparison, where: str, path: Path | None, added: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "version": SCHEMA,
        "source": where,
        "date": found.date,
        "models": found.models,
        "right": found.right,
        "settled": found.settled,
        "open": len(found.open),
        **count_differences(found),
        "written": str(path) if path else None,
        "added": len(added),
        "rows": added,
        "differences": [each.to_json() for each in found.differences],
    }


def _read(where: str) -> bytes:
    if not where.startswith(("https://", "http://")):
        try:
            return Path(where).read_bytes()
        except OSError as error:
            raise BadParameter(f"{where} cannot be read: {error.strerror or error}") from None
    from ...canon import HttpRequest
    from ...exchange import Timeouts
    from ...transport import HttpTransport

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


def _rows(
    theirs: PublicList,
    found: CatalogComparison,
    ours: Mapping[str, tuple[str, ...]],
    *,
    force: bool,
) -> list[dict[str, Any]]:
    """Return the rows to write; a row may be another's relative, so compare until none is new."""
    finder, made = load_catalog(), list[dict[str, Any]]()
    while True:
        known = {(row["provider"], *row["match"]) for row in made}
        new = [
            row
            for row in rows_to_add(theirs, found, finder, ours=ours, force=force)
            if (row["provider"], *row["match"]) not in known and _extend_catalog([row]) is not None
        ]
        whole = _extend_catalog([*made, *new])
        if not new or whole is None:
            return made
        made += new
        wanted = {each.provider for each in found.differences}
        finder = Lookup(whole)
        again = compare_lists(theirs, finder, ours=ours, settled=load_explained())
        mine = tuple(each for each in again.differences if each.provider in wanted)
        found = replace(again, differences=mine)


def _extend_catalog(made: list[dict[str, Any]]) -> Catalog | None:
    """Return the catalog with these rows; None if they contradict the facts of a family."""
    import tomlkit

    document = tomlkit.document()
    document["model"] = made
    try:
        return add_user_files(load_catalog().catalog, {"models.toml": tomlkit.dumps(document)})
    except BadCatalog:
        return None


def _write(text: str, added: int, *, yes: bool) -> Path | None:
    if not yes and not click.confirm(f"write {added:,} models to {models_file()}?"):
        return None
    path = write_models(text)
    echo(f"wrote {added:,} models to {path}", err=True)
    return path
