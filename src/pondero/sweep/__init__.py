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
    from .api import ENGINES, asweep, check_judge, create_run, make_engine, run_sweep, sweep
    from .arms import Arm, arms_of
    from .demo import demo_outline
    from .engines.batch import BatchEngine
    from .engines.engine import CostBudget, Engine, Trial, TrialResult
    from .engines.live import LiveEngine
    from .grading.judges import KINDS, Grade, Judge, make_judge
    from .outline import Outline, make_outline
    from .questions import Data, Question, questions_of
    from .report import render_report
    from .results.axes import Axis, amount_axis, share_axis
    from .results.compute import compute_results
    from .results.inspect_log import inspect_logs
    from .results.jsonl import iter_jsonl
    from .results.number_format import format_cost
    from .results.values import ArmResult, Measure, Recommendation, SweepResults, choose_measure
    from .run.runner import PILOT, ArmProgress, Progress, Runner
    from .run.store import Run, find_run, list_runs, runs_folder

_HOMES = {
    "Arm": "arms",
    "ArmResult": "results.values",
    "Trial": "engines.engine",
    "BatchEngine": "engines.batch",
    "Axis": "results.axes",
    "Data": "questions",
    "ENGINES": "api",
    "Engine": "engines.engine",
    "Grade": "grading.judges",
    "Judge": "grading.judges",
    "KINDS": "grading.judges",
    "LiveEngine": "engines.live",
    "Measure": "results.values",
    "Outline": "outline",
    "PILOT": "run.runner",
    "Progress": "run.runner",
    "CostBudget": "engines.engine",
    "Question": "questions",
    "Recommendation": "results.values",
    "SweepResults": "results.values",
    "Run": "run.store",
    "Runner": "run.runner",
    "TrialResult": "engines.engine",
    "ArmProgress": "run.runner",
    "amount_axis": "results.axes",
    "arms_of": "arms",
    "run_sweep": "api",
    "asweep": "api",
    "create_run": "api",
    "check_judge": "api",
    "demo_outline": "demo",
    "format_cost": "results.number_format",
    "make_engine": "api",
    "runs_folder": "run.store",
    "inspect_logs": "results.inspect_log",
    "iter_jsonl": "results.jsonl",
    "make_judge": "grading.judges",
    "choose_measure": "results.values",
    "find_run": "run.store",
    "make_outline": "outline",
    "questions_of": "questions",
    "render_report": "report",
    "compute_results": "results.compute",
    "list_runs": "run.store",
    "share_axis": "results.axes",
    "sweep": "api",
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
    "Run",
    "Runner",
    "Spec",
    "SweepOptions",
    "SweepResults",
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
    ) -> "SweepResults":
        """Return which level of which model is enough; see ``asweep``."""
        from .api import sweep  # noqa: PLC0415 - as above

        return sweep(data, models, resume=resume, progress=progress, **options)


sys.modules[__name__].__class__ = _Room
