"""Which models stand for a provider: one for each way its models are told to think."""

from ..catalog import Entry
from ..client import lookup

_ANY = "any-model"  # where a server serves whatever it was given


def stand_ins(provider: str) -> tuple[Entry, ...]:
    """Return one model for each way of saying it, the most capable of its kind, best first."""
    entries = lookup().entries(provider)
    best: dict[str | None, Entry] = {}
    for entry in entries:
        style = entry.capability.style if entry.capability.thinks else None
        if style not in best or _ability(entry) > _ability(best[style]):
            best[style] = entry
    thinking = [entry for style, entry in best.items() if style is not None]
    found = sorted(thinking, key=_ability, reverse=True) or list(best.values())[:1]
    return tuple(found) or (lookup().entry(f"{provider}:{_ANY}"),)


def named(provider: str, model: str) -> Entry:
    """Return a model of a provider by its name."""
    return lookup().entry(f"{provider}:{model.removeprefix(f'{provider}:')}")


def _ability(entry: Entry) -> tuple[bool, bool, bool, bool, int]:
    facts = entry.capability
    several = len(facts.levels) > 1
    free = facts.tools == "ok" and facts.forced_tools == "ok"
    return (facts.shown != "never", several, facts.off, free, len(facts.levels))
