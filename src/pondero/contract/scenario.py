"""A scenario of the contract: its name, what it needs of a model, and its checks."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from ..canon import Json
from ..catalog import ModelEntry
from .bench import Testbed


class ScenarioCheck(Struct, frozen=True):
    """A field, its expected and its actual value.

    ``offer``: a service may leave it out. ``unchecked``: this target cannot show it; a pass says
    so.
    """

    field: str
    expected: Json
    actual: Json
    holds: bool
    offer: bool = False
    unchecked: bool = False

    def __str__(self) -> str:
        if self.expected is None and self.actual is None:
            return self.field
        return f"{self.field}: expected {self.expected!r}, got {self.actual!r}"


def same(field: str, expected: Json, actual: Json) -> ScenarioCheck:
    """Return a check that two values are equal."""
    return ScenarioCheck(field, expected, actual, bool(expected == actual))


def true(field: str, expected: str, actual: Json, *, holds: bool) -> ScenarioCheck:
    """Return a check whose expectation is described in words."""
    return ScenarioCheck(field, expected, actual, holds)


def optional(field: str, expected: str, actual: Json, *, holds: bool) -> ScenarioCheck:
    """Return a check that a service may miss; for the emulator it must hold."""
    return ScenarioCheck(field, expected, actual, holds, offer=True)


def note_unchecked(topic: str) -> ScenarioCheck:
    """Return a note that this target cannot show something; the pass says so."""
    return ScenarioCheck(topic, None, None, holds=True, unchecked=True)


class CheckFailed(Exception):
    """A check that did not hold."""

    def __init__(self, check: ScenarioCheck) -> None:
        super().__init__(str(check))
        self.check = check


class NotSupported(CheckFailed):
    """The other side lacks this feature; nothing is wrong."""


def not_supported(why: str) -> NotSupported:
    """Return the exception for a feature that the other side lacks."""
    return NotSupported(ScenarioCheck(why, None, None, holds=False, offer=True))


Checks = Iterator[ScenarioCheck]
Run = Callable[[Testbed], Checks]


class Requirement(Struct, frozen=True):
    """A fact of the catalog that a scenario needs, and the message if it is missing."""

    met: Callable[[ModelEntry], bool]
    otherwise: str


NEEDS = {
    "thinking": Requirement(
        lambda entry: entry.capability.thinks and bool(entry.capability.levels),
        "this model has no control for thinking",
    ),
    "levels": Requirement(
        lambda entry: len(entry.capability.levels) > 1,
        "this model has fewer than two levels",
    ),
    "shown": Requirement(
        lambda entry: entry.capability.shown != "never", "this model never shows its thinking"
    ),
    "key": Requirement(lambda entry: entry.provider.auth != "none", "this provider needs no key"),
    "tools": Requirement(lambda entry: entry.takes_tools, "this model takes no function tools"),
    "cap": Requirement(
        lambda entry: "max_tokens" in entry.provider.parameters,
        "this provider takes no cap on the output",
    ),
}


class Scenario(Struct, frozen=True, kw_only=True):
    """One scenario of the contract. ``row`` is the row of docs/requirements.toml that requires it.

    The first sentence of ``shows`` is checked on every target.

    ``talks``: it has exchanges, so it has a cassette. ``basic``: a server must not reject this.
    """

    name: str
    shows: str
    run: Run
    row: str = ""
    needs: tuple[str, ...] = ()
    staged: bool = False
    talks: bool = True
    basic: bool = False

    @property
    def cassette(self) -> str:
        """Return the file name of its recording."""
        return f"{'test_contract_' if self.row.startswith('001') else ''}{self.name}.jsonl"

    def lacks(self, entry: ModelEntry) -> str | None:
        """Return why a model cannot run this according to the catalog, or None."""
        unmet = (NEEDS[each] for each in self.needs if not NEEDS[each].met(entry))
        return next((need.otherwise for need in unmet), None)


def scenario_of(
    run: Run, *, name: str = "", row: str = "", needs: Iterable[str] = (), **marks: bool
) -> Scenario:
    """Return the scenario of a function, under its name unless another is given."""
    name, shows = name or run.__name__, (run.__doc__ or "").partition("\n")[0]
    return Scenario(name=name, shows=shows, row=row, run=run, needs=tuple(needs), **marks)
