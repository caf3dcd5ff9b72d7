"""The contract kit: scenarios that test a service, a recording or the emulator, and the guard."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .backends import (
        Backend,
        CassetteBackend,
        EmulatorBackend,
        HttpBackend,
        ServedEmulatorBackend,
        most_recorded_model,
    )
    from .guards import GuardFinding, GuardReport, check_file
    from .reports import as_junit, check_writable, describe_failure, write
    from .runner import (
        SKIPPED,
        ScenarioResult,
        find_model,
        representative_models,
        run_one,
        run_scenarios,
    )
    from .scenario import Scenario, ScenarioCheck
    from .scenarios import SCENARIOS

_HOMES = {
    "SCENARIOS": "scenarios",
    "SKIPPED": "runner",
    "ScenarioCheck": "scenario",
    "Backend": "backends",
    "EmulatorBackend": "backends",
    "GuardFinding": "guards",
    "HttpBackend": "backends",
    "GuardReport": "guards",
    "ScenarioResult": "runner",
    "Scenario": "scenario",
    "ServedEmulatorBackend": "backends",
    "CassetteBackend": "backends",
    "as_junit": "reports",
    "check_writable": "reports",
    "check_file": "guards",
    "find_model": "runner",
    "most_recorded_model": "backends",
    "describe_failure": "reports",
    "run_scenarios": "runner",
    "run_one": "runner",
    "representative_models": "runner",
    "write": "reports",
}

__all__ = [
    "SCENARIOS",
    "SKIPPED",
    "Backend",
    "CassetteBackend",
    "EmulatorBackend",
    "GuardFinding",
    "GuardReport",
    "HttpBackend",
    "Scenario",
    "ScenarioCheck",
    "ScenarioResult",
    "ServedEmulatorBackend",
    "as_junit",
    "check_file",
    "check_writable",
    "describe_failure",
    "find_model",
    "most_recorded_model",
    "representative_models",
    "run_one",
    "run_scenarios",
    "write",
]

# Load on first use: the guard needs no scenario, and a scenario no guard.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
