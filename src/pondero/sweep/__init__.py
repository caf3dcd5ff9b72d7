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
    from .engine import Ask, Engine, Purse, Settled
    from .export import jsonl_of
    from .inspect_log import inspect_logs
    from .judges import KINDS, Grade, Judge, judge_of
    from .library import ENGINES, asked, asweep, begin, check_judge, engine_of, sweep
    from .live import LiveEngine
    from .outline import Outline, outlined
    from .report import report_of
    from .results import ArmResult, Measure, Recommendation, Results, measure_of
    from .runner import PILOT, Progress, Runner, Tally
    from .runs import Listed, Run, all_runs, folder, named
    from .schema_check import problem
    from .verdicts import results_of
    from .wording import dollars

_HOMES = {
    "Arm": "arms",
    "ArmResult": "results",
    "Ask": "engine",
    "BatchEngine": "batch",
    "Axis": "axes",
    "Data": "data",
    "ENGINES": "library",
    "Engine": "engine",
    "Grade": "judges",
    "Judge": "judges",
    "KINDS": "judges",
    "Listed": "runs",
    "LiveEngine": "live",
    "Measure": "results",
    "Outline": "outline",
    "PILOT": "runner",
    "Progress": "runner",
    "Purse": "engine",
    "Question": "data",
    "Recommendation": "results",
    "Results": "results",
    "Run": "runs",
    "Runner": "runner",
    "Settled": "engine",
    "Tally": "runner",
    "amount_axis": "axes",
    "arms_of": "arms",
    "asked": "library",
    "asweep": "library",
    "begin": "library",
    "check_judge": "library",
    "demo_outline": "demo",
    "dollars": "wording",
    "engine_of": "library",
    "folder": "runs",
    "inspect_logs": "inspect_log",
    "jsonl_of": "export",
    "judge_of": "judges",
    "measure_of": "results",
    "named": "runs",
    "outlined": "outline",
    "problem": "schema_check",
    "questions_of": "data",
    "report_of": "report",
    "results_of": "verdicts",
    "all_runs": "runs",
    "share_axis": "axes",
    "sweep": "library",
}

__all__ = [
    "ENGINES",
    "KINDS",
    "PILOT",
    "Arm",
    "ArmResult",
    "Ask",
    "Axis",
    "BatchEngine",
    "Data",
    "Engine",
    "Grade",
    "Judge",
    "Listed",
    "LiveEngine",
    "Measure",
    "Outline",
    "Progress",
    "Purse",
    "Question",
    "Recommendation",
    "Results",
    "Run",
    "Runner",
    "Settled",
    "Spec",
    "SweepOptions",
    "Tally",
    "all_runs",
    "amount_axis",
    "arms_of",
    "asked",
    "asweep",
    "begin",
    "check_judge",
    "demo_outline",
    "dollars",
    "engine_of",
    "folder",
    "inspect_logs",
    "jsonl_of",
    "judge_of",
    "measure_of",
    "named",
    "outlined",
    "problem",
    "questions_of",
    "report_of",
    "results_of",
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
