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
    from .through import (
        CHECKS,
        FRONT_KEY,
        CellResult,
        MatrixCheck,
        Referee,
        as_matrix_json,
        as_matrix_junit,
        check_fronts,
        describe_miss,
        describe_pointers,
        parse_matrix_models,
        point,
        run_through,
        score_of,
    )

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
    "through": (
        "CHECKS FRONT_KEY CellResult MatrixCheck Referee as_matrix_json as_matrix_junit score_of "
        "check_fronts describe_miss describe_pointers parse_matrix_models point run_through"
    ),
}

__all__ = [
    "CHECKS",
    "FRONT_KEY",
    "SCENARIOS",
    "SKIPPED",
    "Backend",
    "CassetteBackend",
    "CellResult",
    "EmulatorBackend",
    "GuardFinding",
    "GuardReport",
    "HttpBackend",
    "MatrixCheck",
    "Referee",
    "Scenario",
    "ScenarioCheck",
    "ScenarioResult",
    "ServedEmulatorBackend",
    "as_junit",
    "as_matrix_json",
    "as_matrix_junit",
    "check_file",
    "check_fronts",
    "check_writable",
    "describe_failure",
    "describe_miss",
    "describe_pointers",
    "find_model",
    "most_recorded_model",
    "parse_matrix_models",
    "point",
    "representative_models",
    "run_one",
    "run_scenarios",
    "run_through",
    "score_of",
    "write",
]

# Load on first use: the guard needs no scenario, and a scenario no guard.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
