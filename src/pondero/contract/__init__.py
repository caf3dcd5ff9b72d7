"""Scenarios that hold a service, a recording or the emulator to its wire contract."""

from ..lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .check import Check
    from .counterpart import Counterpart, Emulated, Reached, Served, Taped, recorded_model
    from .failure import report
    from .guarding import Finding, Report, guard
    from .junit import as_junit, check_place, write
    from .running import SKIPPED, Result, run, run_one
    from .scenario import Scenario
    from .scenarios import SCENARIOS
    from .stand_in import named, stand_ins

_HOMES = {
    "SCENARIOS": "scenarios",
    "SKIPPED": "running",
    "Check": "check",
    "Counterpart": "counterpart",
    "Emulated": "counterpart",
    "Finding": "guarding",
    "Reached": "counterpart",
    "Report": "guarding",
    "Result": "running",
    "Scenario": "scenario",
    "Served": "counterpart",
    "Taped": "counterpart",
    "as_junit": "junit",
    "check_place": "junit",
    "guard": "guarding",
    "named": "stand_in",
    "recorded_model": "counterpart",
    "report": "failure",
    "run": "running",
    "run_one": "running",
    "stand_ins": "stand_in",
    "write": "junit",
}

__all__ = [
    "SCENARIOS",
    "SKIPPED",
    "Check",
    "Counterpart",
    "Emulated",
    "Finding",
    "Reached",
    "Report",
    "Result",
    "Scenario",
    "Served",
    "Taped",
    "as_junit",
    "check_place",
    "guard",
    "named",
    "recorded_model",
    "report",
    "run",
    "run_one",
    "stand_ins",
    "write",
]

# Load what is asked for on first use: a guard needs no scenario, nor a scenario a guard.
__getattr__ = lazily(__name__, _HOMES)
