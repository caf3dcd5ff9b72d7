"""Runs scenarios on models: which models represent a provider, and the result of each run."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct

from ..cassettes import RecordedExchange
from ..catalog import ModelEntry
from ..client import load_catalog
from ..errors import PonderoError, ServiceError
from ..store import redact_secrets
from .backends import Backend, is_unsupported
from .bench import Testbed
from .scenario import CheckFailed, NotSupported, Scenario, ScenarioCheck
from .wire import printable

_ANY = "any-model"  # for a server that ignores the model name


def representative_models(provider: str) -> tuple[ModelEntry, ...]:
    """Return the most capable model of each style of control, best first."""
    entries = load_catalog().entries(provider)
    best: dict[str | None, ModelEntry] = {}
    for entry in entries:
        style = entry.capability.style if entry.capability.thinks else None
        if style not in best or _ability(entry) > _ability(best[style]):
            best[style] = entry
    thinking = [entry for style, entry in best.items() if style is not None]
    found = sorted(thinking, key=_ability, reverse=True) or list(best.values())[:1]
    return tuple(found) or (load_catalog().entry(f"{provider}:{_ANY}"),)


def find_model(provider: str, model: str) -> ModelEntry:
    """Return a model of a provider by its name, or by a short name that means one of its own."""
    entry = load_catalog().entry(f"{provider}:{model.removeprefix(f'{provider}:')}")
    meant = load_catalog().short_names.get(model.lower())
    if meant is None or not entry.inferred or entry.near is None:
        return entry
    return load_catalog().entry(f"{provider}:{entry.near}")


def _ability(entry: ModelEntry) -> tuple[bool, bool, bool, bool, int]:
    facts = entry.capability
    several = len(facts.levels) > 1
    free = facts.tools == "ok" and facts.forced_tools == "ok"
    return (facts.shown != "never", several, facts.off, free, len(facts.levels))


Status = Literal["passed", "failed", "skipped", "unsupported"]
SKIPPED = "PONDERO_SKIP_CONTRACT is set: nothing was checked"
BROKEN = "our own code"
"""The field of a check that failed because of an unexpected exception."""
_NOT_STAGED = "its answers must be staged, which only the emulator does"


class ScenarioResult(Struct, frozen=True):
    """The result of one scenario on one model; ``check`` and ``exchange`` say where it failed.

    ``detail`` is the reason; of a pass, it says what this target could not show.
    """

    provider: str
    model: str
    scenario: str
    status: Status
    detail: str = ""
    check: ScenarioCheck | None = None
    exchange: RecordedExchange | None = None

    def to_json(self) -> dict[str, str]:
        """Return it as plain JSON values; the keys are a stable contract."""
        names = ("provider", "model", "scenario", "status", "detail")
        return {name: getattr(self, name) for name in names}


def run_scenarios(
    entries: Iterable[ModelEntry],
    scenarios: Iterable[Scenario],
    backend: Backend,
    *,
    skip: bool = False,
    done: Callable[[ScenarioResult], object] = lambda _: None,
) -> list[ScenarioResult]:
    """Return the result of every scenario on every model; ``done`` is called with each."""
    results = []
    todo = tuple(scenarios)
    for entry in entries:
        for scenario in todo:
            if skip:
                result = _result(entry, scenario, "skipped", SKIPPED)
            else:
                result = _run_and_replay(entry, scenario, backend)
            done(result)
            results.append(result)
    return results


def _run_and_replay(entry: ModelEntry, scenario: Scenario, backend: Backend) -> ScenarioResult:
    result = run_one(entry, scenario, backend)
    if result.status not in ("passed", "unsupported") or (proof := backend.proof) is None:
        return result
    return run_one(entry, scenario, proof)


def run_one(entry: ModelEntry, scenario: Scenario, backend: Backend) -> ScenarioResult:
    """Return the result of one scenario on one model."""
    if (why := scenario.lacks(entry)) is not None:
        return _result(entry, scenario, "unsupported", why)
    terms = backend.terms(entry, scenario)
    if scenario.staged and not terms.stages:
        return _result(entry, scenario, "skipped", _NOT_STAGED)
    bench: Testbed | None = None
    try:
        with backend.bench(entry, scenario) as bench:
            notes = _raise_first_failure(scenario.run(bench), strict=bench.strict)
    except Exception as error:  # noqa: BLE001 - one scenario must not end the others
        if is_unsupported(error, scenario, terms):
            return _result(entry, scenario, "unsupported", _describe_rejection(error))
        return _make_failed_result(entry, scenario, bench, error)
    return _result(entry, scenario, "passed", f"Not checked: {'; '.join(notes)}." if notes else "")


def _describe_rejection(error: Exception) -> str:
    return f"rejected: {_line(error)}" if isinstance(error, ServiceError) else _line(error)


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _raise_first_failure(checks: Iterator[ScenarioCheck], *, strict: bool) -> list[str]:
    """Raise the first check that does not hold; return what could not be checked."""
    notes: dict[str, None] = {}
    for check in checks:
        if not check.holds:
            raise NotSupported(check) if check.offer and not strict else CheckFailed(check)
        if check.unchecked:
            notes[check.field] = None
    return list(notes)


def _result(entry: ModelEntry, scenario: Scenario, status: Status, detail: str) -> ScenarioResult:
    return ScenarioResult(entry.provider.name, entry.model, scenario.name, status, detail)


def _make_failed_result(
    entry: ModelEntry, scenario: Scenario, bench: Testbed | None, error: Exception
) -> ScenarioResult:
    exchanges = bench.listener.exchanges if bench is not None else ()
    check, detail = _failure(error)
    return ScenarioResult(
        entry.provider.name,
        entry.model,
        scenario.name,
        "failed",
        detail,
        check,
        exchanges[-1] if exchanges else None,
    )


def _failure(error: Exception) -> tuple[ScenarioCheck, str]:
    match error:
        case CheckFailed():
            return error.check, _line(error.check)
        case PonderoError():  # the line has room for the error only
            check = ScenarioCheck("the exchange", "an answer", _describe_error(error), holds=False)
            return check, _line(_describe_error(error))
        case _:
            check = ScenarioCheck(BROKEN, "no such error", _describe_error(error), holds=False)
            return check, _line(check)


def _line(value: object) -> str:
    text = printable(" ".join(redact_secrets(str(value)).split()))
    return text if len(text) <= 300 else f"{text[:297]}..."
