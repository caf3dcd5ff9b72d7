"""How much thinking a request asks for, by whichever knobs its service has."""

from msgspec import Struct

from ...canon import Json
from . import wire
from .denial import Denier, listed
from .tables import Knob, Model, Service

_OFF = "none"


class Wish(Struct, frozen=True):
    """What was asked (unset, off, on, level, budget), and whether the model will think."""

    kind: str
    level: str | None
    budget: int | None
    thinks: bool


def wish_of(
    body: wire.Body, beside: dict[str, Json], service: Service, model: Model, denier: Denier
) -> Wish:
    """Return the wish; refuses what this model does not take."""
    asked: dict[str, Json] = {"reasoning_effort": body.reasoning_effort, **beside}
    kind, level, budget = "unset", None, None
    for knob in service.knob:
        value = _at(asked, knob.path)
        if value is None:
            continue
        name = ".".join(knob.path)
        if knob.kind == "effort" and not isinstance(value, str) and not service.strict:
            kind, budget = _loose(value)
        elif knob.kind == "effort":
            level = _effort(value, name, model, denier)
            kind = "off" if level == _OFF else "level"
        elif knob.kind == "budget":
            budget, kind = _budget(value, name, denier), "budget"
        elif kind == "unset":
            kind = _toggle(value, name, knob, denier)
    return Wish(kind, None if kind == "off" else level, budget, _thinks(kind, model))


def _thinks(kind: str, model: Model) -> bool:
    if model.thinks in ("no", "always"):
        return model.thinks == "always"
    return kind in ("on", "level", "budget") or (kind == "unset" and model.thinks == "on")


def _effort(value: Json, name: str, model: Model, denier: Denier) -> str:
    if not isinstance(value, str):
        denier.deny(
            f"Invalid type for '{name}': expected a string.", param=name, code="invalid_type"
        )
    if not model.efforts:
        denier.unknown(name)
    if value not in model.efforts:
        denier.value(name, value, only=f"Supported values are: {listed(model.efforts)}.")
    return value


def _loose(value: Json) -> tuple[str, int | None]:
    """Return what a clone makes of an effort that is no word: a switch, or a budget."""
    if value is False or value == 0:
        return "off", None
    return ("budget", value) if isinstance(value, int) and value is not True else ("on", None)


def _budget(value: Json, name: str, denier: Denier) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        denier.deny(
            f"Invalid '{name}': must be a non-negative integer.", param=name, code="invalid_value"
        )
    return value


def _toggle(value: Json, name: str, knob: Knob, denier: Denier) -> str:
    if value in knob.on:
        return "on"
    if value in knob.off:
        return "off"
    return denier.deny(f"Invalid value for '{name}': {value!r}.", param=name, code="invalid_value")


def _at(body: dict[str, Json], path: tuple[str, ...]) -> Json:
    value: Json = body
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
