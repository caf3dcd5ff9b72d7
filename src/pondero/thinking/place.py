"""How does this service say it? Templates from the catalog, filled in; paths, no policy."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .decision import Decision

EFFORT, BUDGET = "$effort", "$budget"


class Placement(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """Where one style of control stands in the body: a JSON template for each thing to say.

    ``$effort`` and ``$budget`` are filled in; ``words`` spells an effort the service's way.
    ``show`` asks for readable thinking and ``hide`` for none, laid over the others. ``also``
    are other spellings the service takes, which we read and never send. ``folded`` services
    take snake_case and camelCase alike. ``tool_headers`` and ``tool_fields`` go along when
    there are tools and the model thinks.
    """

    off: Mapping[str, Any] | None = None
    on: Mapping[str, Any] | None = None
    level: Mapping[str, Any] | None = None
    budget: Mapping[str, Any] | None = None
    show: Mapping[str, Any] | None = None
    hide: Mapping[str, Any] | None = None
    words: Mapping[str, str] = {}
    also: tuple[Mapping[str, Any], ...] = ()
    folded: bool = False
    tool_headers: Mapping[str, str] = {}
    tool_fields: Mapping[str, Any] | None = None


NOWHERE = Placement()


def place(
    decision: Decision, placement: Placement, parameters: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Return the fields to merge into the service's body. ``parameters``: name -> path."""
    fields: dict[str, Any] = {}
    if (template := _TEMPLATES[decision.mode](decision, placement)) is not None:
        _lay(fields, template, decision, placement)
    if decision.show is not None and decision.mode != "off":
        extra = placement.show if decision.show else placement.hide
        if extra is not None:
            _lay(fields, extra, decision, placement)
    if decision.tools and decision.mode in _THINKING and placement.tool_fields is not None:
        _lay(fields, placement.tool_fields, decision, placement)
    for name, value in decision.parameters.items():
        _put(fields, parameters[name], value)
    return fields


def headers(decision: Decision, placement: Placement) -> dict[str, str]:
    """Return the headers that go with it."""
    if decision.tools and decision.mode in _THINKING:
        return dict(placement.tool_headers)
    return {}


_THINKING = ("on", "level", "budget")


def _budget(decision: Decision, placement: Placement) -> Mapping[str, Any] | None:
    if decision.effort is not None and placement.level is not None:
        return placement.level
    return placement.budget


_TEMPLATES = {
    "unset": lambda _decision, _placement: None,
    "native": lambda _decision, _placement: None,
    "off": lambda _decision, placement: placement.off,
    "on": lambda _decision, placement: placement.on,
    "level": lambda _decision, placement: placement.level,
    "budget": _budget,
}


def _lay(
    fields: dict[str, Any], template: Mapping[str, Any], decision: Decision, placement: Placement
) -> None:
    for key, value in template.items():
        if isinstance(value, dict):
            _lay(fields.setdefault(key, {}), value, decision, placement)
        elif value == EFFORT:
            word = decision.effort or ""
            fields[key] = placement.words.get(word, word)
        else:
            fields[key] = decision.budget if value == BUDGET else value


def _put(fields: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for key in path[:-1]:
        fields = fields.setdefault(key, {})
    fields[path[-1]] = value
