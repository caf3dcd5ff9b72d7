"""The options of a sweep, from the command line or a SWEEP.toml, saved with the run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
from msgspec import Struct

from ..canon import Json, convert_json
from ..errors import BadParameter
from ..store import load_toml
from .arms import ALL
from .statistics.decision import MARGIN

Against = Literal["reference", "best"]


class SweepOptions(TypedDict, total=False):
    """The options of ``pondero.sweep``; the defaults are those of ``Spec``.

    >>> right = {f"{n} * 23": f"{n} * 23 = {n * 23}" for n in range(9)}
    >>> questions = [{"input": f"What is {q}?", "target": a} for q, a in right.items()]
    >>> options = {"levels": "off,low", "offline": True, "margin": 0.1}
    >>> pondero.sweep(questions, "claude-opus-5", **options).questions
    9
    """

    levels: str | Sequence[str] | None
    judge: str | None
    reference: str | None
    against: Against | None
    margin: float | None
    repeats: int | None
    cluster: str | None
    max_cost: float | None
    engine: str | None
    ray_address: str | None
    offline: bool | None
    unpriced: bool | None
    system: str | None
    max_tokens: int | None
    seed: int | None


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a sweep. ``margin`` is how much worse is still good enough.

    ``cluster`` is a metadata field that groups questions. ``seed`` draws their order, and
    the answers of an offline run.
    """

    models: tuple[str, ...] = ()
    levels: str | tuple[str, ...] = ALL
    judge: str = "exact"
    reference: str | None = None
    against: Against = "reference"
    margin: float = MARGIN
    repeats: int = 1
    cluster: str | None = None
    max_cost: float | None = None
    engine: str = "live"
    ray_address: str | None = None
    offline: bool = False
    unpriced: bool = False
    system: str | None = None
    max_tokens: int | None = None
    seed: int = 0


def spec_of(**options: Json) -> Spec:
    """Return a sweep's options; raise BadParameter if one is invalid."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(given.get("models"), str):
        given["models"] = [given["models"]]
    for name in given:
        if name not in Spec.__struct_fields__:
            message = f"unknown option {name!r}; use {' '.join(Spec.__struct_fields__)}"
            raise BadParameter(message)
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
    return spec


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
    "max_cost": (lambda value: 0 < value < 1e9, "use dollars above 0"),
    "max_tokens": (lambda value: value >= 1, "use 1 or more"),
}


def from_toml(path: Path) -> tuple[Path, Mapping[str, Json]]:
    """Return the data's path and the options of a SWEEP.toml; paths are beside the file."""
    values = load_toml(str(path), BadParameter).values
    data = values.pop("data", None)
    if not isinstance(data, str):
        message = f'{path} names no data; add data = "questions.jsonl"'
        raise BadParameter(message)
    for name in values:
        if name not in Spec.__struct_fields__:
            message = f"{path}: unknown key {name!r}; use data {' '.join(Spec.__struct_fields__)}"
            raise BadParameter(message)
    return path.parent / data, values
