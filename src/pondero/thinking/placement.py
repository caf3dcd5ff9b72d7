"""How a service spells thinking: templates from the catalog, filled in and read back."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from .decision import Decision
from .intent import OFF, ON, UNSET, Intent

EFFORT, BUDGET = "$effort", "$budget"
Path = tuple[str, ...]


class Placement(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """The fields of one style of control in a body: a JSON template for each mode.

    ``show`` and ``hide`` are laid over the others. ``also`` are other spellings, read and never
    sent. ``folded`` services take snake_case and camelCase. ``tool_*`` go along with tools and
    thinking.
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


def place_fields(
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


def place_headers(decision: Decision, placement: Placement) -> dict[str, str]:
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


_MISSING = object()


class ReadThinking(Struct, frozen=True):
    """What a body says about thinking: the intent, the cap, and whether to show it."""

    intent: Intent
    max_tokens: int | None = None
    show: bool | None = None


def read_thinking(
    body: Mapping[str, Any], placement: Placement, parameters: Mapping[str, tuple[str, ...]]
) -> ReadThinking:
    """Return what this body says. ``parameters``: name -> path."""
    cap = _get(body, parameters["max_tokens"]) if "max_tokens" in parameters else _MISSING
    intent, shown = _intent(body, placement), _read_visibility(body, placement)
    if intent.kind == "unset" and shown:
        intent = ON  # a request to read thinking implies thinking, at any depth
    return ReadThinking(intent, cap if isinstance(cap, int) else None, shown)


def _intent(body: Mapping[str, Any], placement: Placement) -> Intent:
    own: dict[str, Any] = {
        "off": placement.off,
        "level": placement.level,
        "budget": placement.budget,
        "on": placement.on,
    }
    for forms in (own, *placement.also):
        if fitting := [
            found for form in forms.items() if (found := _match_form(body, form, placement))
        ]:
            _, kind, bound = max(fitting, key=lambda found: found[0])
            return _make_intent(kind, bound, placement)
    return UNSET


def _match_form(
    body: Mapping[str, Any], form: tuple[str, Any], placement: Placement
) -> tuple[tuple[int, int], str, dict[str, Any]] | None:
    kind, template = form
    bound: dict[str, Any] = {}
    if not template or not _matches(body, template, placement, bound):
        return None
    said = _leaves(template)
    return (said, said - len(bound)), kind, bound


def _leaves(template: Mapping[str, Any]) -> int:
    return sum(_leaves(v) if isinstance(v, dict) else 1 for v in template.values())


def _make_intent(kind: str, found: dict[str, Any], placement: Placement) -> Intent:
    if kind in ("off", "on"):
        return OFF if kind == "off" else ON
    effort = found.get(EFFORT)
    level = _read_word(effort, placement) if effort is not None else None
    if level in ("none", "off"):
        return OFF
    if BUDGET in found:
        return Intent("budget", level, tokens=found[BUDGET])
    return Intent("level", level)


def _read_word(word: str, placement: Placement) -> str:
    folded = word.lower()
    return next(
        (ours for ours, theirs in placement.words.items() if theirs.lower() == folded), folded
    )


def _matches(
    body: Mapping[str, Any],
    template: Mapping[str, Any],
    placement: Placement,
    found: dict[str, Any],
) -> bool:
    for key, wanted in template.items():
        value = _at(body, key, placement)
        if value is _MISSING or not _agrees(value, wanted, placement, found):
            return False
    return True


def _agrees(value: Any, wanted: Any, placement: Placement, found: dict[str, Any]) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and _matches(value, wanted, placement, found)
    if wanted == EFFORT:
        found[EFFORT] = value
        return isinstance(value, str)
    if wanted == BUDGET:
        found[BUDGET] = value
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, str) and isinstance(wanted, str):
        return value.lower() == wanted.lower()
    return type(value) is type(wanted) and bool(value == wanted)


def _at(body: Mapping[str, Any], key: str, placement: Placement) -> Any:
    if key in body or not placement.folded:
        return body.get(key, _MISSING)
    return body.get(_find_key(body, key), _MISSING)


class NativeThinking(Struct, frozen=True):
    """A body's native fields: ``depth``, how much to think; ``shown``, what is readable."""

    depth: dict[str, Any]
    shown: dict[str, Any]


def read_native(body: Mapping[str, Any], placement: Placement) -> NativeThinking:
    """Return the thinking fields of a body."""
    depth: dict[str, Any] = {}
    for path in depth_paths(placement):
        if found := _find_path(body, path, placement):
            above = found[:-1] if len(found) == len(path) > 1 else found
            _put(depth, above, _get(body, above))
    shown: dict[str, Any] = {}
    for path in visibility_paths(placement):
        if found := _find_path(body, path, placement):
            _put(shown, found, _get(body, found))
    return NativeThinking(depth, shown)


def depth_paths(placement: Placement) -> Iterator[Path]:
    """Yield every path at which a body may set whether, and how much, to think."""
    forms = (placement.off, placement.on, placement.level, placement.budget)
    for template in (*forms, *(form for each in placement.also for form in each.values())):
        yield from _paths(template or {})


def visibility_paths(placement: Placement) -> Iterator[Path]:
    """Yield every path at which a body may set how much thinking is readable."""
    for template in (placement.show, placement.hide):
        yield from _paths(template or {})


def _paths(template: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    for key, value in template.items():
        if isinstance(value, Mapping):
            yield from _paths(value, (*above, key))
        else:
            yield (*above, key)


def _find_path(body: Any, path: Path, placement: Placement) -> Path:
    found: Path = ()
    for key in path:
        if not isinstance(body, Mapping):
            break
        spelt = key if key in body or not placement.folded else _find_key(body, key)
        if spelt not in body:
            return ()
        found, body = (*found, spelt), body[spelt]
    return found


def _find_key(body: Mapping[str, Any], key: str) -> str:
    folded = key.replace("_", "").lower()
    return next((each for each in body if each.replace("_", "").lower() == folded), key)


def _read_visibility(body: Mapping[str, Any], placement: Placement) -> bool | None:
    if placement.show and _matches(body, placement.show, placement, {}):
        return True
    if placement.hide and _matches(body, placement.hide, placement, {}):
        return False
    return None


def _get(body: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = body
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return _MISSING
        value = value[key]
    return value
