"""Compares a public list with the catalog; unexplained differences fail catalog-check."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..thinking import Capability, Evidence
from .load import DATA, TomlFile, parse_toml
from .lookup import Lookup, ModelEntry
from .public_list import (
    ListedModel,
    ListedThinking,
    PublicList,
    facts_of,
    providers_of,
    read_listing,
)

LISTS = Path(DATA) / "lists"
SNAPSHOT = LISTS / "models-dev.json"
SECOND = LISTS / "litellm.json"

Field = Literal["thinks", "off", "words", "budget", "max_output", "context"]
CONTROL: tuple[Field, ...] = ("thinks", "off", "words", "budget")
_ORDER = ("new", "different", "gone")
VERIFIED: tuple[Evidence, ...] = ("recorded", "vendor page", "SDK type")


class ExplainedDifference(Struct, frozen=True, forbid_unknown_fields=True):
    """Known differences: why the catalog is right. ``models`` may contain ``*``."""

    provider: str
    models: tuple[str, ...]
    fields: tuple[Field, ...]
    evidence: Evidence
    why: str

    def covers(self, provider: str, model: str, field: str | None = None) -> bool:
        """Return whether this explains that model, and that field of it."""
        here = provider == self.provider and (field is None or field in self.fields)
        return here and any(fnmatchcase(model, each) for each in self.models)


class CatalogDifference(Struct, frozen=True, kw_only=True):
    """One difference; ``like``: the family of a new model; ``evidence``: the catalog's source."""

    what: Literal["new", "gone", "different"]
    provider: str
    model: str
    field: Field | None = None
    ours: Any = None
    theirs: Any = None
    like: str | None = None
    evidence: Evidence = "inferred"
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made


class CatalogComparison(Struct, frozen=True):
    """A list against the catalog; ``right``: controls agree; ``settled``: differ, explained."""

    source: str
    date: str
    differences: tuple[CatalogDifference, ...]
    models: int
    right: int
    settled: int

    @property
    def open(self) -> list[CatalogDifference]:
        """Return the unexplained differences of known models."""
        return [each for each in self.differences if each.what == "different" and not each.why]


def provider_map(*, hosts: bool = False) -> Mapping[str, tuple[str, ...]]:
    """Map the list's providers to ours; ``hosts`` adds those that only host models."""
    file = _file("providers.toml")
    tables = ("providers", "hosts") if hosts else ("providers",)
    return {
        name: ours
        for table in tables
        for name, ours in file.convert(file.values[table], dict[str, tuple[str, ...]]).items()
    }


def litellm_map() -> Mapping[str, str]:
    """Map LiteLLM's providers to ours."""
    file = _file("providers.toml")
    return file.convert(file.values["litellm"], dict[str, str])


def load_explained() -> tuple[ExplainedDifference, ...]:
    """Load the explained differences."""
    file = _file("explained.toml")
    rows = enumerate(file.rows("settled"))
    return tuple(
        file.convert(row, ExplainedDifference, table="settled", number=n) for n, row in rows
    )


def snapshot() -> PublicList:
    """Load the committed copy of the public list."""
    return read_listing(SNAPSHOT.read_bytes())


def second_list() -> PublicList:
    """Load the committed facts of LiteLLM, under our providers' names."""
    return read_listing(SECOND.read_bytes())


def _file(name: str) -> TomlFile:
    return parse_toml((LISTS / name).read_text("utf-8"), f"lists/{name}")


def compare_lists(
    theirs: PublicList,
    lookup: Lookup,
    *,
    ours: Mapping[str, tuple[str, ...]],
    settled: Iterable[ExplainedDifference] = (),
) -> CatalogComparison:
    """Return new, then different, then gone models, provider by provider."""
    known, settled = lookup.catalog.providers, tuple(settled)
    found: list[CatalogDifference] = []
    models, right, explained = 0, 0, 0
    for seller, sold in theirs.providers.items():
        for name in providers_of(seller, ours, known)[:1]:
            live = {m: row for m, row in sorted(sold.models.items()) if row.status != "deprecated"}
            entries = {m: lookup.entry(f"{name}:{m}", unknown="family") for m in live}
            for model, entry in entries.items():
                about = list(_iter_differences(name, model, entry, live[model], settled))
                found += about
                wrong = [each for each in about if each.field in CONTROL]
                models += live[model].reasoning
                right += live[model].reasoning and not wrong
                explained += bool(live[model].reasoning and wrong and all(e.why for e in wrong))
            found += _iter_gone(lookup.entries(name), {entry.family for entry in entries.values()})
    ordered = tuple(sorted(found, key=lambda each: _ORDER.index(each.what)))
    return CatalogComparison(theirs.name, theirs.date, ordered, models, right, explained)


def _iter_differences(
    name: str,
    model: str,
    entry: ModelEntry,
    listed: ListedModel,
    settled: tuple[ExplainedDifference, ...],
) -> Iterator[CatalogDifference]:
    shared = {"provider": name, "model": model, "evidence": entry.evidence}
    if entry.inferred and (listed.reasoning or entry.capability.thinks):
        like = entry.family if entry.capability.style or not entry.capability.thinks else None
        why = next((row.why for row in settled if row.covers(name, model)), None)
        yield CatalogDifference(what="new", theirs=listed.reasoning, like=like, why=why, **shared)  # type: ignore[arg-type]  # evidence is one of its words
    for field, ours, theirs in disagreements(entry, listed):
        if entry.inferred and field not in CONTROL:
            continue
        why = next((row.why for row in settled if row.covers(name, model, field)), None)
        yield CatalogDifference(
            what="different",
            field=field,
            ours=ours,
            theirs=theirs,
            like=entry.family,
            why=why,
            **shared,  # type: ignore[arg-type]  # as above
        )


def disagreements(entry: ModelEntry, listed: ListedModel) -> Iterator[tuple[Field, Any, Any]]:
    """Yield each field that differs, with the catalog's value and the list's."""
    facts, control, limit = entry.capability, listed.control, listed.limit
    if facts.thinks != control.thinks:
        yield "thinks", facts.thinks, control.thinks
    elif facts.thinks:
        yield from _controls(facts, control)
    for field, ours, theirs in (
        ("max_output", facts.max_output, limit.output),
        ("context", facts.context, limit.context),
    ):
        if ours is not None and theirs and ours != theirs:
            yield field, ours, theirs  # type: ignore[misc]  # both are fields


def _controls(facts: Capability, control: ListedThinking) -> Iterator[tuple[Field, Any, Any]]:
    if control.off is not None and facts.off != control.off:
        yield "off", facts.off, control.off
    if control.words is not None:
        words, taken = set(control.words), {*facts.efforts, *facts.tolerates}
        if not set(facts.efforts) <= words <= taken:
            yield "words", list(facts.efforts), list(control.words)
    if control.budget is not None and any(control.budget):
        ours = (facts.budget.min, facts.budget.max) if facts.budget else (None, None)
        pairs = zip(ours, control.budget, strict=True)
        if any(theirs is not None and mine != theirs for mine, theirs in pairs):
            yield "budget", list(ours), list(control.budget)


def _iter_gone(entries: Iterable[ModelEntry], served: set[str]) -> Iterator[CatalogDifference]:
    for entry in entries:
        if entry.family not in served:
            yield CatalogDifference(
                what="gone",
                provider=entry.provider.name,
                model=entry.model,
                evidence=entry.evidence,
            )


# -- rows for a user's models.toml ---------------------------------------------------------------


def rows_to_add(
    theirs: PublicList,
    found: CatalogComparison,
    lookup: Lookup,
    *,
    ours: Mapping[str, tuple[str, ...]],
    force: bool = False,
) -> list[dict[str, Any]]:
    """Return ``[[model]]`` rows to add from a list; for verified models only with ``force``."""
    wanted = {
        (each.provider, each.model)
        for each in found.differences
        if each.what != "gone" and (force or each.evidence not in VERIFIED)
    }
    made = []
    for seller, sold in theirs.providers.items():
        for name in providers_of(seller, ours, lookup.catalog.providers)[:1]:
            for model in sorted(set(sold.models) & {each for at, each in wanted if at == name}):
                entry = lookup.entry(f"{name}:{model}")
                facts = facts_of(sold.models[model], entry, theirs)
                if facts is None and not entry.inferred:
                    facts = entry.capability  # only its limits are different
                if facts is not None:
                    bare = model.lstrip(lookup.catalog.names.marks)
                    made.append(_row(bare, entry, facts, sold.models[model]))
    return made


def _row(model: str, entry: ModelEntry, facts: Capability, listed: ListedModel) -> dict[str, Any]:
    limits = {"max_output": listed.limit.output, "context": listed.limit.context}
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(facts))
    told |= {name: tokens for name, tokens in limits.items() if tokens}
    return {"match": [model], "provider": entry.provider.name, **told}
