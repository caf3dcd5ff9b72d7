"""A scenario: its name, what it shows, what a target must be able to do, and the checks."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from ..catalog import Entry
from .bench import Bench
from .check import Check

Run = Callable[[Bench], Iterator[Check]]


class Need(Struct, frozen=True):
    """Something the catalog says of a model, and what is said where it does not."""

    met: Callable[[Entry], bool]
    otherwise: str


NEEDS = {
    "thinking": Need(
        lambda entry: entry.capability.thinks and bool(entry.capability.levels),
        "nothing can be said to this model about thinking",
    ),
    "levels": Need(
        lambda entry: len(entry.capability.levels) > 1,
        "this model has no two levels to choose from",
    ),
    "shown": Need(
        lambda entry: entry.capability.shown != "never", "this model never shows its thinking"
    ),
    "key": Need(lambda entry: entry.provider.auth != "none", "this provider asks for no key"),
    "cap": Need(
        lambda entry: "max_tokens" in entry.provider.parameters,
        "this provider takes no cap on the output",
    ),
}


class Scenario(Struct, frozen=True, kw_only=True):
    """One contract. ``row`` is where the documents ask for it.

    ``staged``: its answers must be staged. ``talks``: exchanges are had, so that there is a
    cassette. ``basic``: who refuses this cannot be talked to at all.
    """

    name: str
    shows: str
    row: str
    run: Run
    needs: tuple[str, ...] = ()
    staged: bool = False
    talks: bool = True
    basic: bool = False

    @property
    def cassette(self) -> str:
        """Return the name of its recording, as the documents have it."""
        return (
            f"{self.name}.jsonl"
            if self.row.startswith("000")
            else f"test_contract_{self.name}.jsonl"
        )

    def lacks(self, entry: Entry) -> str | None:
        """Return why a model cannot do this, by what the catalog says of it."""
        unmet = (NEEDS[each] for each in self.needs if not NEEDS[each].met(entry))
        return next((need.otherwise for need in unmet), None)


def of(run: Run, *, row: str, needs: Iterable[str] = (), **marks: bool) -> Scenario:
    """Return the scenario of a function: its name, and the first line of what it says of itself."""
    shows = (run.__doc__ or "").partition("\n")[0]
    return Scenario(name=run.__name__, shows=shows, row=row, run=run, needs=tuple(needs), **marks)
