"""Sweep: which level is enough for this work, measured on the user's own questions.

The room can be called by its own name: ``pondero.sweep(data, models)`` is ``sweep.sweep``.
"""

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Unpack

from ..lazy import Loader, make_lazy_getattr
from .spec import Spec, SweepOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .arms import Arm, arms_of
    from .axes import Axis, amount_axis, share_axis
    from .batch import BatchEngine
    from .data import Data, Question, questions_of
    from .demo import demo_outline
    from .engine import CostBudget, Engine, Trial, TrialResult
    from .export import iter_jsonl
    from .inspect_log import inspect_logs
    from .judges import KINDS, Grade, Judge, make_judge
    from .library import ENGINES, asweep, check_judge, create_run, make_engine, run_sweep, sweep
    from .live import LiveEngine
    from .outline import Outline, make_outline
    from .report import render_report
    from .results import ArmResult, Measure, Recommendation, Results, choose_measure
    from .runner import PILOT, ArmProgress, Progress, Runner
    from .runs import Run, RunSummary, find_run, list_runs, runs_folder
    from .schema_check import find_problem
    from .verdicts import compute_results
    from .wording import format_cost

_HOMES = {
    "Arm": "arms",
    "ArmResult": "results",
    "Trial": "engine",
    "BatchEngine": "batch",
    "Axis": "axes",
    "Data": "data",
    "ENGINES": "library",
    "Engine": "engine",
    "Grade": "judges",
    "Judge": "judges",
    "KINDS": "judges",
    "RunSummary": "runs",
    "LiveEngine": "live",
    "Measure": "results",
    "Outline": "outline",
    "PILOT": "runner",
    "Progress": "runner",
    "CostBudget": "engine",
    "Question": "data",
    "Recommendation": "results",
    "Results": "results",
    "Run": "runs",
    "Runner": "runner",
    "TrialResult": "engine",
    "ArmProgress": "runner",
    "amount_axis": "axes",
    "arms_of": "arms",
    "run_sweep": "library",
    "asweep": "library",
    "create_run": "library",
    "check_judge": "library",
    "demo_outline": "demo",
    "format_cost": "wording",
    "make_engine": "library",
    "runs_folder": "runs",
    "inspect_logs": "inspect_log",
    "iter_jsonl": "export",
    "make_judge": "judges",
    "choose_measure": "results",
    "find_run": "runs",
    "make_outline": "outline",
    "find_problem": "schema_check",
    "questions_of": "data",
    "render_report": "report",
    "compute_results": "verdicts",
    "list_runs": "runs",
    "share_axis": "axes",
    "sweep": "library",
}

__all__ = [
    "ENGINES",
    "KINDS",
    "PILOT",
    "Arm",
    "ArmProgress",
    "ArmResult",
    "Axis",
    "BatchEngine",
    "CostBudget",
    "Data",
    "Engine",
    "Grade",
    "Judge",
    "LiveEngine",
    "Measure",
    "Outline",
    "Progress",
    "Question",
    "Recommendation",
    "Results",
    "Run",
    "RunSummary",
    "Runner",
    "Spec",
    "SweepOptions",
    "Trial",
    "TrialResult",
    "amount_axis",
    "arms_of",
    "asweep",
    "check_judge",
    "choose_measure",
    "compute_results",
    "create_run",
    "demo_outline",
    "find_problem",
    "find_run",
    "format_cost",
    "inspect_logs",
    "iter_jsonl",
    "list_runs",
    "make_engine",
    "make_judge",
    "make_outline",
    "questions_of",
    "render_report",
    "run_sweep",
    "runs_folder",
    "share_axis",
    "sweep",
]

# Load what asks and counts on first use.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)


class _Room(ModuleType):
    """This module, which is a function too."""

    def __call__(
        self,
        data: "Data" = (),
        models: str | Iterable[str] = (),
        *,
        resume: str | None = None,
        progress: "Progress | None" = None,
        **options: Unpack[SweepOptions],
    ) -> "Results":
        """Return which level of which model is enough; see ``asweep``."""
        from .library import sweep  # noqa: PLC0415 - as above

        return sweep(data, models, resume=resume, progress=progress, **options)


sys.modules[__name__].__class__ = _Room
