"""The options of a sweep, from the command line or a SWEEP.toml, saved with the run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
from msgspec import Struct

from ..canon import Json, convert_json
from ..client import explain_unknown
from ..errors import BadParameter
from ..store import load_toml
from .arms import ALL
from .statistics.allocation import PILOT
from .statistics.contest import MARGIN

Against = Literal["reference", "best"]


class SweepOptions(TypedDict, total=False):
    """The options of ``pondero.sweep``; the defaults are those of ``Spec``.

    >>> right = {f"{n} * 23": f"{n} * 23 = {n * 23}" for n in range(9)}
    >>> questions = [{"input": f"What is {q}?", "target": a} for q, a in right.items()]
    >>> options = {"levels": "off,low", "offline": True, "margin": 0.1}
    >>> pondero.sweep(questions, "claude-opus-5", **options).pool
    9
    """

    levels: str | Sequence[str] | None
    judge: str | None
    reference: str | None
    against: Against | None
    margin: float | None
    repeats: int | None
    cluster: str | None
    budget: float | None
    pilot: int | None
    once: bool | None
    fresh: bool | None
    past_gate: bool | None
    engine: str | None
    ray_address: str | None
    offline: bool | None
    unpriced: bool | None
    system: str | None
    max_tokens: int | None
    seed: int | None
    label_share: float | None


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a sweep. ``margin`` is how much worse is still good enough.

    ``cluster`` is a metadata field that groups questions. ``seed`` draws their order, and
    the answers of an offline run. ``budget`` is in dollars, the judge's cost included. ``once``
    tests a small pool one single time, at its end. ``fresh`` reuses no answer of an earlier run.
    ``past_gate`` continues after a sanity gate that failed. ``label_share`` of the questions are
    labelled by people, which corrects the judge.
    """

    models: tuple[str, ...] = ()
    levels: str | tuple[str, ...] = ALL
    judge: str = "exact"
    reference: str | None = None
    against: Against = "reference"
    margin: float = MARGIN
    repeats: int = 1
    cluster: str | None = None
    budget: float | None = None
    pilot: int = PILOT
    once: bool = False
    fresh: bool = False
    past_gate: bool = False
    engine: str = "live"
    ray_address: str | None = None
    offline: bool = False
    unpriced: bool = False
    system: str | None = None
    max_tokens: int | None = None
    seed: int = 0
    label_share: float | None = None


def spec_of(**options: Json) -> Spec:
    """Return a sweep's options; raise BadParameter if one is invalid."""
    given = rename_options({name: v for name, v in options.items() if v is not None})
    if isinstance(given.get("models"), str):
        given["models"] = [given["models"]]
    for name in given:
        if name not in Spec.__struct_fields__:
            raise BadParameter(explain_unknown(name, Spec.__struct_fields__))
    try:
        spec = convert_json(msgspec.to_builtins(given), Spec)
    except msgspec.ValidationError as error:
        message = f"invalid option of a sweep: {error}"
        raise BadParameter(message) from None
    for name in Spec.__struct_fields__:
        _check_text(name, getattr(spec, name))
    for name, (good, how) in _LIMITS.items():
        value = getattr(spec, name)
        if value is not None and not good(value):
            message = f"invalid {name}={value!r}; {how}"
            raise BadParameter(message)
    if spec.once and spec.label_share is not None:
        raise BadParameter("once is for answers that are right or wrong; use no label_share")
    if spec.once and (spec.repeats > 1 or spec.cluster):
        raise BadParameter(
            "once is for single answers that are right or wrong; use no repeats or cluster"
        )
    return spec


def rename_options(given: Mapping[str, Json]) -> dict[str, Json]:
    """Return options by their present names; files written earlier have former ones."""
    return {_FORMER.get(name, name): value for name, value in given.items()}


_FORMER = {"max_cost": "budget"}


def _check_text(name: str, value: object) -> None:
    """Raise BadParameter for a text that is not UTF-8, such as bytes of a command line."""
    for text in value if isinstance(value, tuple) else (value,):
        try:
            str(text).encode()
        except UnicodeEncodeError:
            message = f"invalid {name}={text!r}; use UTF-8 text"
            raise BadParameter(message) from None


_LIMITS: dict[str, tuple[Any, str]] = {
    "margin": (lambda value: 0 < value < 1, "use a share above 0, such as 0.05 for five points"),
    "repeats": (lambda value: 1 <= value <= 1_000, "use 1 to 1000"),
    "budget": (lambda value: 0 < value < 1e9, "use dollars above 0"),
    "pilot": (lambda value: 0 <= value <= 1_000, "use 0 to 1000"),
    "label_share": (lambda value: 0 < value <= 1, "use a share above 0, at most 1"),
    "max_tokens": (lambda value: value >= 1, "use 1 or more"),
}


def from_toml(path: Path) -> tuple[Path, Mapping[str, Json]]:
    """Return the data's path and the options of a SWEEP.toml; paths are relative to the file."""
    values = rename_options(load_toml(str(path), BadParameter).values)
    data = values.pop("data", None)
    if not isinstance(data, str):
        message = f'{path} names no data; add data = "questions.jsonl"'
        raise BadParameter(message)
    for name in values:
        if name not in Spec.__struct_fields__:
            known = ("data", *Spec.__struct_fields__)
            raise BadParameter(f"{path}: {explain_unknown(name, known, kind='key')}")
    return path.parent / data, values
