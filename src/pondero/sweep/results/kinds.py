"""Kinds: which level is enough for the questions of one ``metadata.kind``, by those alone.

Each kind has its own capital, an equal share. A kind that does not win gets the reference.
"""

from msgspec import Struct

from ..run.store import RunFacts
from ..statistics.allocation import fewest
from ..statistics.comparison import Comparison, Pool
from ..statistics.contest import kind_levels


class KindResult(Struct, frozen=True, kw_only=True):
    """The arm of one kind. ``is_shown``: its own questions show it; else it is the reference."""

    kind: str
    arm: int
    is_shown: bool
    units: int
    difference: float | None = None
    capital: float = 0.0


def by_kind(comparison: Comparison, facts: RunFacts) -> tuple[KindResult, ...]:
    """Return the result of each kind."""
    contests = comparison.kinds()
    winners = {kind: contest.winners for kind, contest in contests.items()}
    levels = kind_levels(winners, facts.reference)
    found = []
    for kind, contest in contests.items():
        arm = levels[kind]
        tried = [each for each in contest.standings.values() if each.is_tried]
        own = contest.standings.get(arm) or max(tried, key=lambda each: each.units, default=None)
        found.append(
            KindResult(
                kind=kind,
                arm=arm,
                is_shown=bool(winners[kind]),
                units=own.units if own else 0,
                difference=own.difference if own and arm == own.arm else None,
                capital=own.capital if own else 0.0,
            )
        )
    return tuple(found)


def undecidable_kinds(pool: Pool, margin: float) -> dict[str, int]:
    """Return the kinds with too few units to show anything, and how many each would need."""
    names = pool.kind_names
    if not names:
        return {}
    least = fewest(margin, 1 / len(names))
    return {name: least for name in names if pool.kinds.count(name) < least}
