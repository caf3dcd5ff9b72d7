"""Compiles the catalog to the JSON the package loads: hand-written rows, then the public list."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..thinking import Capability
from .comparison import (
    SECOND,
    SNAPSHOT,
    VERIFIED,
    disagreements,
    litellm_map,
    provider_map,
    second_list,
    snapshot,
)
from .litellm import read_litellm
from .load import COMPILED, DATA, from_files, load_shipped
from .lookup import Lookup
from .public_list import (
    ListedModel,
    ListedProvider,
    PublicList,
    facts_of,
    providers_of,
    read_listing,
    trim_list,
)
from .schema import Catalog, Family, FamilyGroup, ListSnapshot

_NOBODY = "?"  # no model has this name: finds the family that a provider uses for any


def compile_catalog() -> bytes:
    """Return the shipped data as JSON."""
    files = sorted(Path(DATA).rglob("*.toml"))
    written = from_files({str(p.relative_to(DATA)): p.read_text("utf-8") for p in files})
    whole = with_list(written, snapshot(), provider_map(), second=second_list())
    return msgspec.json.format(msgspec.json.encode(whole), indent=1)


def write_compiled() -> None:
    """Write the JSON file."""
    Path(COMPILED).write_bytes(compile_catalog())


def write_lists(models_dev: str, litellm: str) -> None:
    """Trim downloaded lists and write them as the committed ones; skip an empty path."""
    if models_dev:
        whole = read_listing(Path(models_dev).read_bytes())
        SNAPSHOT.write_bytes(trim_list(whole, provider_map()))
    if litellm:
        second = read_litellm(
            Path(litellm).read_bytes(),
            Lookup(load_shipped()),
            ours=litellm_map(),
            name=second_list().name,
            date=second_list().date,
        )
        SECOND.write_bytes(trim_list(second, dict.fromkeys(second.providers, ())))


def with_list(
    catalog: Catalog,
    theirs: PublicList,
    ours: Mapping[str, tuple[str, ...]],
    *,
    second: PublicList | None = None,
) -> Catalog:
    """Add a list's rows and limits to a catalog; ``second`` fills in missing limits."""
    lookup = Lookup(catalog)
    groups, providers = dict(catalog.groups), dict(catalog.providers)
    limits: dict[str, msgspec.Raw] = {}
    for seller, sold in theirs.providers.items():
        names = providers_of(seller, ours, providers)
        also = (
            second.providers.get(names[0], ListedProvider({}))
            if second and names
            else ListedProvider({})
        )
        for name in names:
            windows = _windows(also.models, lookup, name) | _windows(sold.models, lookup, name)
            limits[name] = msgspec.Raw(msgspec.json.encode(windows))
        if not names or not (families := _families(names[0], sold.models, lookup, theirs)):
            continue
        group = f"{names[0]} (list)"
        groups[group] = FamilyGroup(family=families)
        for name in names:
            if set(catalog.providers[names[0]].placement) <= set(providers[name].placement):
                here = (*providers[name].families, group)
                providers[name] = replace(providers[name], families=here)
    return replace(
        catalog,
        groups=groups,
        providers=providers,
        limits=limits,
        listed=ListSnapshot(theirs.name, theirs.date),
    )


def _windows(
    models: Mapping[str, ListedModel], lookup: Lookup, provider: str
) -> dict[str, tuple[int, int]]:
    made: dict[str, tuple[int, int]] = {}
    for name, listed in sorted(models.items()):
        window = (listed.limit.context, listed.limit.output)
        if any(window):
            *_, bare = lookup.bare_names(provider, name)
            made[bare] = window
            made.setdefault(lookup.strip_date(bare), window)
    return made


def _families(
    provider: str, models: Mapping[str, ListedModel], lookup: Lookup, theirs: PublicList
) -> tuple[Family, ...]:
    marks = lookup.catalog.names.marks
    alike: dict[bytes, tuple[Capability, list[str]]] = {}
    for name, listed in sorted(models.items()):
        entry = lookup.entry(f"{provider}:{name}")
        if listed.status == "deprecated" or entry.provider.name != provider:
            continue
        if entry.evidence in VERIFIED or lookup.names(entry, name):
            continue
        if not (entry.inferred and listed.reasoning) and not any(disagreements(entry, listed)):
            continue
        if listed.reasoning and not entry.capability.thinks:
            entry = lookup.entry(f"{provider}:{_NOBODY}")
        facts = facts_of(listed, entry, theirs)
        if facts is not None:
            # The list has the limits of each model, and the provider says what each lacks.
            shared = replace(facts, max_output=None, context=None, media=None, tools="ok")
            alike.setdefault(msgspec.json.encode(shared), (shared, []))[1].append(
                name.lstrip(marks)
            )
    return tuple(
        Family(
            name=f"{provider}-{min(names, key=len).rpartition('/')[2]}",
            match=tuple(names),
            capability=facts,
        )
        for facts, names in alike.values()
    )
