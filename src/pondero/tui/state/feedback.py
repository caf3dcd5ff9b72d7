"""What a change of model or level means, said when it is made: provider, level, figure, warning."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...catalog import Entry
from ...thinking import BENIGN, Plan, share

_CANNOT = "This model does not support disabling thinking"


def switched(entry: Entry, plan: Plan) -> tuple[str, ...]:
    """Return what is said when a chat goes on with another model."""
    api = f" ({entry.provider.api})" if entry.provider.api and not _is_least(plan) else ""
    return (f"✓ Switched to {entry.provider.label} {entry.model}{api}", *meaning(entry, plan))


def meaning(entry: Entry, plan: Plan) -> tuple[str, ...]:
    """Return what a level means on this model: warnings first, then the level and its figure."""
    return (*_warnings(plan), f"  Thinking: {described(plan, entry)}", *_advice(entry, plan))


def described(plan: Plan, entry: Entry | None = None) -> str:
    """Return in a few words what the model will get."""
    least = _is_least(plan)
    if plan.budget is not None:
        return _in_tokens(plan, least=least)
    if plan.asked is None:
        unasked = {True: "as the model likes", False: "off"}
        return unasked.get(plan.will_think, "up to the model")  # type: ignore[arg-type]  # or None
    if plan.will_think is False or plan.level is None:
        return plan.level or "up to the model"
    said = _native(plan.fields, plan.level)
    words = f"{said[1]} {_kind(said[0])}".rstrip() if said else plan.level
    if least:
        return f"{words} (minimum)"
    if entry is not None and entry.provider.output_buffer and plan.level in _SHARED:
        return f"{words} (~{share(plan.level)}% of output budget)"
    return words


_SHARED = ("low", "medium", "high", "xhigh")


def _in_tokens(plan: Plan, *, least: bool) -> str:
    figure = f"{plan.budget:,} tokens"
    if plan.nominal is not None and plan.nominal != plan.budget:
        figure = f"{plan.budget:,} of {plan.nominal:,} tokens"
    if least:
        return f"{figure} (minimum)"
    return f"{plan.level} ({figure})" if plan.level else figure


def _warnings(plan: Plan) -> Iterator[str]:
    for note in plan.adjustments:
        if note.code == "cannot_disable":
            yield f"  ⚠ {_CANNOT}"
        elif note.code not in BENIGN or note.code == "unknown_model":
            yield f"  ⚠ {note.why[:1].upper()}{note.why[1:]}"


def _advice(entry: Entry, plan: Plan) -> Iterator[str]:
    advised = plan.will_think and plan.asked is not None and not _is_least(plan)
    if entry.provider.output_buffer and advised:
        yield f"  Recommended output buffer: {entry.provider.output_buffer:,} tokens"


def _is_least(plan: Plan) -> bool:
    return any(note.code == "cannot_disable" for note in plan.adjustments)


def _native(fields: Mapping[str, Any], level: str) -> tuple[str, str] | None:
    """Return the field that carries the level, and the service's own spelling of it."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            if found := _native(value, level):
                return found
        elif isinstance(value, str) and value.lower() == level:
            return name, value
    return None


def _kind(field: str) -> str:
    """Return what a service calls its levels, from the name of the field they stand in."""
    return next((word for word in ("effort", "level") if word in field.lower()), "")
