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
    from .adoption import check_shown
    from .api import (
        ENGINES,
        asweep,
        change_judge,
        check_access,
        check_judge,
        create_run,
        make_engine,
        run_sweep,
        sweep,
    )
    from .arms import Arm, arms_of, check_expected
    from .check import CalibrationCheck, check_calibration
    from .decision import ArmDecision, KindDecision, ScoreDecision, decide
    from .demo import demo_outline
    from .engines.batch import BatchEngine
    from .engines.engine import CostBudget, Engine, Trial, TrialResult
    from .engines.live import LiveEngine
    from .grading.grade import Grade, Judge, JudgeFailed, describe_failures
    from .grading.judges import KINDS, find_judge_kind, find_judge_model, make_judge
    from .grading.proposal import (
        GradedAnswer,
        JudgeProposal,
        grade_examples,
        make_examples,
        propose_judge,
    )
    from .outline import Outline, make_outline
    from .questions import Data, Question, QuestionSet, questions_of, read_questions
    from .report import render_report
    from .results.axes import Axis, amount_axis, share_axis
    from .results.ci import csv_of, decide_options, junit_of, labels_csv
    from .results.compute import compute_results
    from .results.findings import describe_forecast, describe_past_gate
    from .results.inspect_log import inspect_logs
    from .results.jsonl import iter_jsonl
    from .results.number_format import format_cost
    from .results.values import ArmResult, Measure, Recommendation, SweepResults, choose_measure
    from .run.answer_labels import LabelState, label_run
    from .run.gate import GateExample, GateProblem, check_trial_grades
    from .run.growth import add_run_arm, extend_run, raise_budget
    from .run.runner import ArmProgress, Progress, Runner
    from .run.store import Run, find_run, list_runs, runs_folder
    from .statistics.allocation import pilot_size

_NAMES = {
    "api": (
        "ENGINES asweep change_judge check_access check_judge create_run make_engine run_sweep "
        "sweep"
    ),
    "adoption": "check_shown",
    "arms": "Arm arms_of check_expected",
    "check": "CalibrationCheck check_calibration",
    "decision": "ArmDecision ScoreDecision KindDecision decide",
    "demo": "demo_outline",
    "engines.batch": "BatchEngine",
    "engines.engine": "CostBudget Engine Trial TrialResult",
    "engines.live": "LiveEngine",
    "grading.grade": "Grade Judge JudgeFailed describe_failures",
    "grading.judges": "KINDS find_judge_kind find_judge_model make_judge",
    "grading.proposal": "GradedAnswer JudgeProposal grade_examples make_examples propose_judge",
    "outline": "Outline make_outline",
    "questions": "Data Question QuestionSet questions_of read_questions",
    "report": "render_report",
    "results.axes": "Axis amount_axis share_axis",
    "results.ci": "csv_of decide_options junit_of labels_csv",
    "results.compute": "compute_results",
    "results.findings": "describe_forecast describe_past_gate",
    "results.inspect_log": "inspect_logs",
    "results.jsonl": "iter_jsonl",
    "results.number_format": "format_cost",
    "results.values": "ArmResult Measure Recommendation SweepResults choose_measure",
    "run.growth": "add_run_arm extend_run raise_budget",
    "run.answer_labels": "LabelState label_run",
    "run.gate": "GateExample GateProblem check_trial_grades",
    "run.runner": "ArmProgress Progress Runner",
    "statistics.allocation": "pilot_size",
    "run.store": "Run find_run list_runs runs_folder",
}

__all__ = [
    "ENGINES",
    "KINDS",
    "Arm",
    "ArmDecision",
    "ArmProgress",
    "ArmResult",
    "Axis",
    "BatchEngine",
    "CalibrationCheck",
    "CostBudget",
    "Data",
    "Engine",
    "GateExample",
    "GateProblem",
    "Grade",
    "GradedAnswer",
    "Judge",
    "JudgeFailed",
    "JudgeProposal",
    "KindDecision",
    "LabelState",
    "LiveEngine",
    "Measure",
    "Outline",
    "Progress",
    "Question",
    "QuestionSet",
    "Recommendation",
    "Run",
    "Runner",
    "ScoreDecision",
    "Spec",
    "SweepOptions",
    "SweepResults",
    "Trial",
    "TrialResult",
    "add_run_arm",
    "amount_axis",
    "arms_of",
    "asweep",
    "change_judge",
    "check_access",
    "check_calibration",
    "check_expected",
    "check_judge",
    "check_shown",
    "check_trial_grades",
    "choose_measure",
    "compute_results",
    "create_run",
    "csv_of",
    "decide",
    "decide_options",
    "demo_outline",
    "describe_failures",
    "describe_forecast",
    "describe_past_gate",
    "extend_run",
    "find_judge_kind",
    "find_judge_model",
    "find_run",
    "format_cost",
    "grade_examples",
    "inspect_logs",
    "iter_jsonl",
    "junit_of",
    "label_run",
    "labels_csv",
    "list_runs",
    "make_engine",
    "make_examples",
    "make_judge",
    "make_outline",
    "pilot_size",
    "propose_judge",
    "questions_of",
    "raise_budget",
    "read_questions",
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
