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

_NAMES = {
    "backends": (
        "Backend CassetteBackend EmulatorBackend HttpBackend ServedEmulatorBackend "
        "most_recorded_model"
    ),
    "guards": "GuardFinding GuardReport check_file",
    "reports": "as_junit check_writable describe_failure write",
    "runner": "SKIPPED ScenarioResult find_model representative_models run_one run_scenarios",
    "scenario": "Scenario ScenarioCheck",
    "scenarios": "SCENARIOS",
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
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
