"""Reads a published list of models, and compares it with the catalog; ``models --refresh`` uses it.

The list has the shape of models.dev: providers by name, each with its models and the environment
variables that may hold its key. Providers are matched by name, or by such a variable.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..canon import decoded
from ..errors import BadCatalog
from .lookup import Entry, Lookup
from .schema import Provider

_ORDER = ("new", "different", "gone")


class Limit(Struct, frozen=True):
    """How many tokens a model reads and writes; 0 where the list does not have it."""

    context: int = 0
    output: int = 0


class Listed(Struct, frozen=True):
    """One model as the list has it."""

    id: str
    reasoning: bool = False
    limit: Limit = Limit()
    status: str | None = None


class Seller(Struct, frozen=True):
    """One provider as the list has it."""

    models: dict[str, Listed]
    id: str = ""
    env: tuple[str, ...] = ()


class Difference(Struct, frozen=True, kw_only=True):
    """One thing the list and the catalog do not agree on.

    ``what``: a model is new, gone from the list, or different in a ``field``. ``like`` is the
    family that stands in for a new model; None where its line is not known.
    """

    what: Literal["new", "gone", "different"]
    provider: str
    model: str
    field: str | None = None
    ours: Any = None
    theirs: Any = None
    like: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def read_listing(text: bytes) -> Mapping[str, Seller]:
    """Return the list in a JSON text; raises BadCatalog where it is not such a list."""
    try:
        found = decoded(text, dict[str, Seller])
    except msgspec.ValidationError as error:
        raise BadCatalog(f"this is JSON, but no list of models: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        begins = text[:200].decode("utf-8", "replace").strip()
        what = "a web page" if begins.startswith("<") else f"no JSON: it begins {begins[:40]!r}"
        raise BadCatalog(f"a list of models is JSON; this is {what}") from None
    if not found:
        raise BadCatalog("this list of models is empty")
    return found


def compare(theirs: Mapping[str, Seller], lookup: Lookup) -> list[Difference]:
    """Return what is new, different and gone, in that order; within it, provider by provider."""
    known = lookup.catalog.providers
    sold: dict[str, dict[str, Listed]] = {}
    for name, seller in theirs.items():
        if (provider := _ours(name, seller, known)) is not None:
            sold.setdefault(provider.name, {}).update(seller.models)
    here = [name for name in known if name in sold]
    found = [each for name in here for each in _compared(known[name], sold[name], lookup)]
    return sorted(found, key=lambda each: _ORDER.index(each.what))


def _ours(name: str, seller: Seller, known: Mapping[str, Provider]) -> Provider | None:
    if name in known:
        return known[name]
    for provider in known.values():
        blanks = {variable for fill in provider.fill.values() for variable in fill.env}
        if {*provider.keys, *blanks} & set(seller.env):
            return provider
    return None


def _compared(
    provider: Provider, models: Mapping[str, Listed], lookup: Lookup
) -> Iterator[Difference]:
    entries = {
        name: lookup.entry(f"{provider.name}:{name}", unknown="family")
        for name, model in sorted(models.items())
        if model.status != "deprecated"
    }
    for name, entry in entries.items():
        if entry.inferred:
            like = entry.family if entry.capability.style or not entry.capability.thinks else None
            thinks = models[name].reasoning
            yield Difference(
                what="new", provider=provider.name, model=name, theirs=thinks, like=like
            )
        else:
            yield from _different(entry, models[name])
    served = {entry.family for entry in entries.values()}
    yield from _gone(lookup.entries(provider.name), served)


def _different(entry: Entry, listed: Listed) -> Iterator[Difference]:
    facts, limit = entry.capability, listed.limit
    pairs = (
        ("thinks", facts.thinks, listed.reasoning),
        ("max_output", facts.max_output, limit.output or None),
        ("context", facts.context, limit.context or None),
    )
    for field, ours, theirs in pairs:
        if ours is not None and theirs is not None and ours != theirs:
            yield Difference(
                what="different",
                provider=entry.provider.name,
                model=entry.model,
                field=field,
                ours=ours,
                theirs=theirs,
                like=entry.family,
            )


def _gone(entries: Iterable[Entry], served: set[str]) -> Iterator[Difference]:
    for entry in entries:
        if entry.family not in served:
            yield Difference(what="gone", provider=entry.provider.name, model=entry.model)


def rows(
    differences: Iterable[Difference], lookup: Lookup, *, source: str, checked: str
) -> list[dict[str, Any]]:
    """Return the ``[[model]]`` rows that bring a catalog up to the list.

    What is gone from a list may still be served, and a line nobody knows has no facts to write:
    neither gets a row.
    """
    made: dict[tuple[str, str], dict[str, Any]] = {}
    for each in differences:
        if each.what == "gone" or each.like is None:
            continue
        place = (each.provider, each.model)
        if place not in made:
            made[place] = {"match": [each.model], "provider": each.provider}
            made[place] |= _facts(lookup.entry(f"{each.provider}:{each.model}"), lookup)
            made[place] |= {"source": source, "checked": checked}
        if each.field is not None:
            made[place][each.field] = each.theirs
        elif each.theirs is False:
            made[place]["thinks"] = False
    return list(made.values())


def _facts(entry: Entry, lookup: Lookup) -> dict[str, Any]:
    """Return the name of the family where all its facts hold, else every fact of the model."""
    groups = lookup.catalog.groups.values()
    named = (family for group in groups for family in group.family if family.name == entry.family)
    base = next(named, None)
    if base is not None and base.capability == entry.capability:
        return {"like": entry.family}
    facts: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(entry.capability))
    return facts
