"""The matrix of checks that any gateway can run: clients in front, the referee behind."""

from . import checks, more_checks
from .checks import MatrixCell, Miss, NotApplicable
from .fronts import FRONTS, Front
from .matrix import (
    CHECKS,
    DEFAULT_BACKS,
    CellResult,
    MatrixCheck,
    Score,
    check_fronts,
    make_cells,
    parse_matrix_models,
    run_check,
    run_through,
    score_of,
)
from .referee import BACKS, Back, Referee

__all__ = [
    "BACKS",
    "CHECKS",
    "DEFAULT_BACKS",
    "FRONTS",
    "Back",
    "CellResult",
    "Front",
    "MatrixCell",
    "MatrixCheck",
    "Miss",
    "NotApplicable",
    "Referee",
    "Score",
    "check_fronts",
    "checks",
    "make_cells",
    "more_checks",
    "parse_matrix_models",
    "run_check",
    "run_through",
    "score_of",
]
