"""The matrix: every check on every client API and model, with the requests on both sides."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ...canon import HttpRequest
from ...errors import BadParameter
from . import checks, more_checks
from .checks import Check, MatrixCell, Miss, NotApplicable
from .fronts import FRONTS, KEY, Front
from .referee import Referee
from .upstreams import BACKS, Back

DEFAULT_BACKS: tuple[str, ...] = tuple(name for name, back in BACKS.items() if back.default)


class MatrixCheck(Struct, frozen=True):
    """A check, its rule in words, and where the rule is from."""

    name: str
    run: Check
    source: str

    @property
    def rule(self) -> str:
        """Return the rule in one sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]


CHECKS: tuple[MatrixCheck, ...] = tuple(
    MatrixCheck(name, run, source)
    for name, run, source in (
        ("level", checks.check_levels, "docs/levels.md"),
        ("off", checks.check_off, "docs/levels.md"),
        ("thinking", checks.check_whole_thinking, "docs/hazards.md"),
        ("signature_turn_two", checks.signature_turn_two, "docs/hazards.md"),
        ("signature_turn_three", checks.signature_turn_three, "docs/hazards.md"),
        ("usage", checks.usage, "docs/gateway.md"),
        ("model_switch", checks.switch, "docs/hazards.md"),
        ("switch_in_loop", checks.switch_in_loop, "docs/hazards.md"),
        ("errors", checks.errors, "docs/gateway.md"),
        ("hang_up", checks.hang_up, "docs/gateway.md"),
        ("parallel_calls", checks.parallel_calls, "docs/emulator.md"),
        ("in_band_level", more_checks.in_band_level, "Anthropic: effort, inside a conversation"),
        ("system_turns", more_checks.system_turns, "docs/gateway.md"),
        ("structured_output", more_checks.structured_output, "docs/gateway.md"),
        ("images", more_checks.images, "docs/gateway.md"),
    )
)
"""Every check, in the order in which they run."""

Status = Literal["passed", "missed", "n/a"]


class CellResult(Struct, frozen=True):
    """One check on one client API and model. ``sent`` and ``arrived`` are filled if it missed."""

    front: str
    model: str
    check: str
    status: Status
    detail: str = ""
    rule: str = ""
    sent: tuple[HttpRequest, ...] = ()
    arrived: tuple[HttpRequest, ...] = ()


class Score(Struct, frozen=True):
    """How many checks passed, of those that apply."""

    passed: int
    total: int

    def __str__(self) -> str:
        share = f" ({100 * self.passed / self.total:.1f} %)" if self.total else ""
        return f"{self.passed} of {self.total}{share}"


def score_of(results: Iterable[CellResult]) -> Score:
    """Return the score of results."""
    statuses = [result.status for result in results if result.status != "n/a"]
    return Score(statuses.count("passed"), len(statuses))


def parse_matrix_models(texts: Sequence[str]) -> dict[str, Back]:
    """Return the models by their names at the gateway; ``NAME=BACK`` with a name or an id.

    >>> parse_matrix_models(["my-claude=opus", "fast=openai:gpt-5.5"])["my-claude"].model
    'anthropic:claude-opus-5'
    """
    if not texts:
        return {name: BACKS[name] for name in DEFAULT_BACKS}
    found: dict[str, Back] = {}
    by_model = {back.model: back for back in BACKS.values()}
    for text in texts:
        name, equals, back = text.partition("=")
        known = BACKS.get(back or name) or by_model.get(back)
        if known is None and not (equals and ":" in back):
            message = f"--model {text}: say NAME=BACK; BACK is {' '.join(BACKS)} or PROVIDER:MODEL"
            raise BadParameter(message)
        found[name] = known or Back(back)
    return found


def check_fronts(names: Sequence[str]) -> tuple[type[Front], ...]:
    """Return the client APIs of these names; without names, the usual ones."""
    for name in names:
        if name not in FRONTS:
            message = f"--front {name}: unknown client API; use {' '.join(FRONTS)}"
            raise BadParameter(message)
    usual = [name for name, front in FRONTS.items() if front.is_usual]
    return tuple(FRONTS[name] for name in dict.fromkeys(names or usual))


def run_through(
    url: str,
    referee: Referee,
    *,
    fronts: Sequence[type[Front]],
    models: Mapping[str, Back],
    key: str = KEY,
    headers: Mapping[str, str] = {},
    streams: bool = True,
    checks: Sequence[MatrixCheck] = CHECKS,
    done: Callable[[CellResult], object] = lambda _: None,
) -> list[CellResult]:
    """Return the result of every check through the gateway at a URL."""
    results = []
    for make in fronts:
        for cell in make_cells(models, referee):
            for check in checks:
                front = make(url, key=key, headers=headers, streams=streams)
                result = run_check(front, cell, check)
                front.close()
                done(result)
                results.append(result)
    return results


def make_cells(models: Mapping[str, Back], referee: Referee) -> list[MatrixCell]:
    """Return a cell for each model; the other model of each is one of another provider."""
    cells = []
    for name, back in models.items():
        other = next(
            (each for each in _list_others(models, name) if _is_other_provider(models[each], back)),
            None,
        )
        cells.append(MatrixCell(name, back, referee, other, models[other] if other else None))
    return cells


def _list_others(models: Mapping[str, Back], name: str) -> list[str]:
    names = list(models)
    at = names.index(name)
    return [*names[at + 1 :], *names[:at]]


def _is_other_provider(candidate: Back, back: Back) -> bool:
    return candidate.provider != back.provider


def run_check(front: Front, cell: MatrixCell, check: MatrixCheck) -> CellResult:
    """Return the result of one check."""
    cell.referee.reset()
    front.sent.clear()
    base = CellResult(front.name, cell.name, check.name, "passed")
    try:
        check.run(front, cell)
    except NotApplicable as why:
        return CellResult(base.front, base.model, base.check, "n/a", str(why))
    except Miss as miss:
        detail = str(miss)
    except Exception as error:  # noqa: BLE001 - an answer that nobody foresaw must not end the run
        detail = f"{type(error).__name__}: {error}"
    else:
        return base
    return CellResult(
        base.front,
        base.model,
        base.check,
        "missed",
        detail,
        f"{check.rule} ({check.source})",
        tuple(front.sent),
        tuple(cell.referee.requests),
    )
