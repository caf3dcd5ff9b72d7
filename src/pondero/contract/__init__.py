"""The contract kit: scenarios that hold a service, a recording or the emulator to its wire."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .backends import Backend, Emulated, Reached, Served, Taped, recorded_model
    from .guards import Finding, Report, guard
    from .reports import as_junit, check_place, report, write
    from .runner import SKIPPED, Result, named, run, run_one, stand_ins
    from .scenario import Check, Scenario
    from .scenarios import SCENARIOS

_HOMES = {
    "SCENARIOS": "scenarios",
    "SKIPPED": "runner",
    "Check": "scenario",
    "Backend": "backends",
    "Emulated": "backends",
    "Finding": "guards",
    "Reached": "backends",
    "Report": "guards",
    "Result": "runner",
    "Scenario": "scenario",
    "Served": "backends",
    "Taped": "backends",
    "as_junit": "reports",
    "check_place": "reports",
    "guard": "guards",
    "named": "runner",
    "recorded_model": "backends",
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
    "Check",
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
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
