"""The contract kit: scenarios that hold a service, a recording or the emulator to its wire."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .backends import (
        Backend,
        CassetteBackend,
        Emulated,
        HttpBackend,
        ServedEmulatorBackend,
        most_recorded_model,
    )
    from .guards import GuardFinding, GuardReport, check_file
    from .reports import as_junit, check_writable, report, write
    from .runner import SKIPPED, ScenarioResult, find_model, run, run_one, stand_ins
    from .scenario import Scenario, ScenarioCheck
    from .scenarios import SCENARIOS

_HOMES = {
    "SCENARIOS": "scenarios",
    "SKIPPED": "runner",
    "ScenarioCheck": "scenario",
    "Backend": "backends",
    "Emulated": "backends",
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
    "report": "reports",
    "run": "runner",
    "run_one": "runner",
    "stand_ins": "runner",
    "write": "reports",
}

__all__ = [
    "SCENARIOS",
    "SKIPPED",
    "Backend",
    "CassetteBackend",
    "Emulated",
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
    "find_model",
    "most_recorded_model",
    "report",
    "run",
    "run_one",
    "stand_ins",
    "write",
]

# Load what is asked for on first use: a guard needs no scenario, nor a scenario a guard.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
