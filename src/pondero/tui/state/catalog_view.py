"""The catalog as the chat uses it: a model's home, its levels, and the plan for a level."""

import re
from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct

from ...canon import Origin
from ...catalog import Lookup, ModelEntry, search_models
from ...errors import PonderoError
from ...exchange import plan
from ...thinking import LEVELS, Intent, Plan, Policy, RequestParameters, parse_intent

SUMMARIES = ("summary", "ask")
"""Values of ``shown`` where the service shows a summary of the thinking it bills."""

_VERSION = re.compile(r"\d{1,3}(?!\d)")


class Choice(Struct, frozen=True):
    """An item of a picker: its value, its label, and a detail."""

    value: str
    label: str
    detail: str = ""


class AutoResolver(Protocol):
    """Finds the level of ``auto`` in the user's calibrations."""

    def __call__(self, entry: ModelEntry, intent: Intent, *, policy: Policy) -> Intent:
        """Return the intent with that level."""
        ...


class DialView:
    """The catalog under one policy, which records adjustments without warnings of its own."""

    def __init__(
        self, lookup: Lookup, policy: Policy, resolve_auto: AutoResolver | None = None
    ) -> None:
        self._resolve_auto = resolve_auto
        strict = policy.unsupported == "strict"
        self.policy: Policy = policy if strict else policy.but(unsupported="adjust")
        self._lookup = lookup
        self._ids: dict[str, str] | None = None
        self._unknown: set[str] = set()

    def entry(self, model: str) -> ModelEntry:
        """Return the catalog entry of a model; raises UnknownModel."""
        return self._lookup.entry(model, unknown=self.policy.unknown)

    def split(self, text: str) -> tuple[str, str | None]:
        """Return a model's full name, and the level after its slash."""
        return self.entry(text).id, self._lookup.split(text).level

    def plan(self, model: str, level_text: str | None, *, context: int | None = None) -> Plan:
        """Return what this model would be sent for a level."""
        entry = self.entry(model)
        intent = self._intent(entry, level_text)
        return plan(entry, intent, asked=RequestParameters(context=context), policy=self.policy)

    def _intent(self, entry: ModelEntry, level_text: str | None) -> Intent:
        intent = parse_intent(level_text, words=entry.capability.extra_words)
        if self._resolve_auto is None:
            return intent
        return self._resolve_auto(entry, intent, policy=self.policy)

    def summarises(self, origin: Origin | None) -> bool:
        """Return whether what this model shows of its thinking is a summary, as far as is known."""
        if origin is None:
            return False
        try:
            return self.entry(f"{origin.provider}:{origin.model}").capability.shown in SUMMARIES
        except PonderoError:
            return False

    def levels(self, model: str) -> tuple[str, ...]:
        """Return the levels this model really has, weakest first."""
        facts = self.entry(model).capability
        return (*(("off",) if facts.off else ()), *facts.levels)

    def choices(self, model: str) -> tuple[Choice, ...]:
        """Return the levels of a model as items of a picker."""
        return tuple(
            Choice(level, level, self._detail(model, level))
            for level in (*self.levels(model), *self._autos(model))
        )

    def _autos(self, model: str) -> tuple[str, ...]:
        intent = self._intent(self.entry(model), "auto")
        found = intent.auto.found if intent.auto is not None else ()
        return ("auto",) if any(code == "calibrated" for code, _ in found) else ()

    def names(self, beginning: str, *, most: int) -> tuple[str, ...]:
        """Return models that begin with this, then those that contain it; newer ones first."""
        wanted = beginning.lower()
        if self._ids is None:
            self._ids = {entry.id: self._shortest_name(entry) for entry in self._lookup.entries()}
        found = [id for id in self._ids if wanted in id.lower()]
        ranked = sorted(found, key=lambda id: self._rank(id, wanted))
        whose = ":" in wanted
        return tuple(id if whose else self._ids[id] for id in ranked[:most])

    def search(self, words: str, *, most: int) -> tuple[str, ...]:
        """Return the models that fit all words, best first.

        Without words, these are the models that ``pondero models`` lists: those of the usual
        providers first, and last those whose level cannot be set.
        """
        if words:
            found = search_models(self._lookup, words.split())
        else:
            shorts = self._lookup.short_names.items()
            newest = dict.fromkeys(short.id for name, short in shorts if "-" not in name)
            usual = [*self._lookup.catalog.names.defaults, *self._lookup.catalog.providers]
            entries = map(self.entry, newest)
            found = sorted(
                entries,
                key=lambda each: (not self.levels(each.id), usual.index(each.provider.name)),
            )
        return tuple(map(self._shortest_name, found[:most]))

    def _shortest_name(self, entry: ModelEntry) -> str:
        groups = self._lookup.catalog.groups
        homes = (groups[name].home for name in entry.provider.families if name in groups)
        at_home = entry.provider.name in homes and self.entry(entry.model).id == entry.id
        return entry.model if at_home else entry.id

    def _rank(self, id: str, wanted: str) -> tuple[bool, bool, list[int], str, str]:
        bare = id.partition(":")[2]
        begins = bare.lower().startswith(wanted) or id.lower().startswith(wanted)
        at_home = (self._ids or {}).get(id) == bare
        line, *rest = re.split(r"[-.](?=\d)", bare)
        versions = [-int(number[0]) for part in rest if (number := _VERSION.match(part))]
        return not begins, not at_home, [*versions, 0], line, bare

    def is_known(self, model: str) -> bool:
        """Return whether this is a model; unknown ones are remembered, as their search is slow."""
        if model in self._unknown:
            return False
        try:
            self.entry(model)
        except PonderoError:
            self._unknown.add(model)
            return False
        return True

    def is_catalogued(self, model: str) -> bool:
        """Return whether the catalog has this model, not only its family."""
        return self.is_known(model) and not self.entry(model).inferred

    def level_texts(self, model: str) -> Iterator[str]:
        """Yield the levels to complete for this model, those it has first."""
        yield from self.levels(model)
        yield from self._autos(model)
        yield from (level for level in LEVELS if level not in self.levels(model))

    def _detail(self, model: str, level: str) -> str:
        made = self.plan(model, level)
        if level == "auto":
            return f"{made.level or made.budget}, by your calibration"
        return f"{made.budget:,} tokens" if made.budget is not None else ""
