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

_NAMES = {
    "api": "ENGINES asweep check_judge create_run make_engine run_sweep sweep",
    "arms": "Arm arms_of",
    "demo": "demo_outline",
    "engines.batch": "BatchEngine",
    "engines.engine": "CostBudget Engine Trial TrialResult",
    "engines.live": "LiveEngine",
    "grading.judges": "KINDS Grade Judge make_judge",
    "outline": "Outline make_outline",
    "questions": "Data Question questions_of",
    "report": "render_report",
    "results.axes": "Axis amount_axis share_axis",
    "results.compute": "compute_results",
    "results.inspect_log": "inspect_logs",
    "results.jsonl": "iter_jsonl",
    "results.number_format": "format_cost",
    "results.values": "ArmResult Measure Recommendation SweepResults choose_measure",
    "run.runner": "PILOT ArmProgress Progress Runner",
    "run.store": "Run find_run list_runs runs_folder",
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
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)


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
