"""What a chat has to know of models: where each lives, what a wish becomes there, what it has."""

import re
from collections.abc import Iterator

from msgspec import Struct

from ..catalog import Entry, Lookup
from ..errors import PonderoError
from ..exchange import plan
from ..thinking import LEVELS, Asked, Plan, Policy, parse


class Choice(Struct, frozen=True):
    """Something to be picked from a list: its value, and what is said about it."""

    value: str
    label: str
    detail: str = ""


class Dial:
    """The catalog under one policy. ``policy`` records adjustments and warns nobody by itself."""

    def __init__(self, lookup: Lookup, policy: Policy) -> None:
        quiet = "strict" if policy.unsupported == "strict" else "adjust"
        self.policy = policy.but(unsupported=quiet)
        self._lookup = lookup
        self._ids: tuple[str, ...] | None = None

    def entry(self, model: str) -> Entry:
        """Return where a model lives; raises for one that nobody knows."""
        return self._lookup.entry(model, unknown=self.policy.unknown)

    def split(self, text: str) -> tuple[str, str | None]:
        """Return a model's full name and the wish that was said with it."""
        return self.entry(text).id, self._lookup.split(text).wish

    def plan(self, model: str, wish: str | None, *, context: int | None = None) -> Plan:
        """Return what this model would be sent for a wish."""
        entry = self.entry(model)
        intent = parse(wish, words=entry.capability.extra_words)
        return plan(entry, intent, asked=Asked(context=context), policy=self.policy)

    def levels(self, model: str) -> tuple[str, ...]:
        """Return the levels this model really has, weakest first."""
        facts = self.entry(model).capability
        return (*(("off",) if facts.off else ()), *facts.levels)

    def choices(self, model: str) -> tuple[Choice, ...]:
        """Return the levels of a model as something to pick from."""
        return tuple(
            Choice(level, level, self._detail(model, level)) for level in self.levels(model)
        )

    def names(self, beginning: str, *, most: int) -> tuple[str, ...]:
        """Return the models whose names begin so, then those that have it somewhere in them."""
        wanted = beginning.lower()
        if self._ids is None:
            self._ids = tuple(dict.fromkeys(entry.id for entry in self._lookup.entries()))
        found = [id for id in self._ids if wanted in id.lower()]
        newest_first = sorted(found, key=_numbers, reverse=True)
        ranked = sorted(newest_first, key=lambda id: _rank(id, wanted))
        return tuple(self._said(id, wanted) for id in ranked[:most])

    def _said(self, id: str, wanted: str) -> str:
        """Return the shortest name that still means this model."""
        bare = id.partition(":")[2]
        if wanted.startswith(id.partition(":")[0] + ":"):
            return id
        try:
            return bare if self.entry(bare).id == id else id
        except PonderoError:
            return id

    def wishes(self, model: str) -> Iterator[str]:
        """Yield what can be said of thinking to this model, most useful first."""
        yield from self.levels(model)
        yield from (level for level in LEVELS if level not in self.levels(model))

    def _detail(self, model: str, level: str) -> str:
        made = self.plan(model, level)
        return f"{made.budget:,} tokens" if made.budget is not None else ""


def _rank(id: str, wanted: str) -> int:
    """Return 0 for a model whose own name begins so, 1 for a provider's, 2 for the rest."""
    bare = id.lower().partition(":")[2]
    return 0 if bare.startswith(wanted) else 1 if id.lower().startswith(wanted) else 2


def _numbers(id: str) -> tuple[str, list[int], str]:
    """Return what orders the names of one line by their version, dated ones first of all."""
    bare = id.partition(":")[2]
    line, *rest = re.split(r"[-.](?=\d)", bare)
    versions = [int(part) for part in rest if part.isdigit() and len(part) < 4]
    return line, versions, id
