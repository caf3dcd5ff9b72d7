"""The matrix of checks that any gateway can run: clients in front, the referee behind."""

from . import checks, more_checks
from .checks import MatrixCell, Miss, NotApplicable
from .fronts import FRONTS, Front
from .fronts import KEY as FRONT_KEY
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
from .pointers import describe_pointers, point
from .referee import Referee
from .report import as_matrix_json, as_matrix_junit, describe_miss
from .upstreams import BACKS, Back

__all__ = [
    "BACKS",
    "CHECKS",
    "DEFAULT_BACKS",
    "FRONTS",
    "FRONT_KEY",
    "Back",
    "CellResult",
    "Front",
    "MatrixCell",
    "MatrixCheck",
    "Miss",
    "NotApplicable",
    "Referee",
    "Score",
    "as_matrix_json",
    "as_matrix_junit",
    "check_fronts",
    "checks",
    "describe_miss",
    "describe_pointers",
    "make_cells",
    "more_checks",
    "parse_matrix_models",
    "point",
    "run_check",
    "run_through",
    "score_of",
]
