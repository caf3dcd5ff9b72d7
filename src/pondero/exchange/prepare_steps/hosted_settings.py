"""Carries the settings of a hosted tool, such as the domains of a search, between services."""

from collections.abc import Iterator, Mapping

from ...canon import Json, Tool, get_path
from ...dialects import NAMES, get_dialect
from ...thinking import Adjustment

_PATHS = Mapping[str, tuple[str, ...]]
# What the client protects itself by: without it the tool would reach more than it may.
_LIMITS = frozenset({"allowed_domains", "blocked_domains", "external_web_access"})
_NAMING = frozenset({"type", "name", "description", "cache_control"})


class MissingLimit(Exception):
    """A limit that this service has no field for."""


def carry_settings(
    tool: Tool, raw: Mapping[str, Json], to: _PATHS
) -> tuple[dict[str, Json], list[Adjustment]]:
    """Return a hosted tool with the settings that both services have; a note for each other one.

    ``to``: where the service has each setting. Raises MissingLimit for a limit that it lacks.
    """
    made: dict[str, Json] = dict(raw)
    notes: list[Adjustment] = []
    for name, value in _iter_settings(tool):
        path = to.get(name)
        if path is not None and _may_carry(name, value):
            made = _put_at(made, path, value)
        elif name in _LIMITS:
            raise MissingLimit(name)
        else:
            why = "this service's own tool has no such setting"
            notes.append(Adjustment("dropped_parameter", f"tools.{name}", value, None, why))
    return made, notes


def _may_carry(name: str, value: Json) -> bool:
    """Return whether a value means the same elsewhere: only Anthropic takes paths for domains."""
    if not name.endswith("_domains"):
        return True
    return isinstance(value, list) and not any("/" in str(each) for each in value)


def _iter_settings(tool: Tool) -> Iterator[tuple[str, Json]]:
    """Yield the settings of a tool: by our name if there is one, otherwise by the client's."""
    if not isinstance(tool.raw, Mapping):
        return
    known: _PATHS = {}
    if tool.dialect in NAMES:
        known = get_dialect(tool.dialect).caller().hosted_settings.get(tool.kind, {})
    names = {path: name for name, path in known.items()}
    for path, value in _iter_leaves(tool.raw, frozenset(names)):
        name = names.get(path)
        if name is None and path[-1] in _NAMING:
            continue
        if value not in (None, [], {}) and not (name == "external_web_access" and value is True):
            yield name or path[-1], value


def _iter_leaves(
    raw: Mapping[str, Json], known: frozenset[tuple[str, ...]], at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Json]]:
    for key, value in raw.items():
        path = (*at, key)
        if path not in known and isinstance(value, Mapping):
            yield from _iter_leaves(value, known, path)
        else:
            yield path, value


def _put_at(raw: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    first, *rest = path
    inner = get_path(raw, (first,)) or {}
    return {**raw, first: _put_at(inner, tuple(rest), value) if rest else value}
