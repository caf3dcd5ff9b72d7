"""What changed between two configurations, for the audit log; no key and no secret is in it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, to_builtins

from ...canon import Json
from .model import HASH, REFERENCES, GatewayConfig

_ASIDE = frozenset({"overridden", "waiting"})  # no settings of the file
_NAMES = ("name", "match")  # of a row, whatever its section calls it
_SHOWN = len(HASH) + 8  # characters of a hash
_SECRET = frozenset({"webhook"})  # who knows such an address can post to it


class ConfigChange(Struct, frozen=True):
    """The parts that differ, as they were and as they are; one that only ``after`` has is new.

    Both are empty if nothing changed.
    """

    before: dict[str, Json]
    after: dict[str, Json]


def find_changes(before: GatewayConfig, after: GatewayConfig) -> ConfigChange:
    """Return what differs, by section and by the name of its row."""
    old, new = _list_parts(before), _list_parts(after)
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ConfigChange(_pick(old, changed), _pick(new, changed))


def describe_waiting(config: GatewayConfig) -> str | None:
    """Return which settings of the file need a restart; None if all of them hold."""
    if not config.waiting:
        return None
    needs = "need" if len(config.waiting) > 1 else "needs"
    return f"{', '.join(config.waiting)} {needs} a restart"


def _list_parts(config: GatewayConfig) -> dict[str, Json]:
    """Return all parts of a configuration: settings of a table, and the rows of a list."""
    parts: dict[str, Json] = {}
    for section, value in to_builtins(config, enc_hook=str).items():
        if section in _ASIDE:
            continue
        if isinstance(value, list | tuple) and all(isinstance(each, dict) for each in value):
            for number, row in enumerate(value):
                found = (str(row[name]) for name in _NAMES if row.get(name))
                parts[f"{section} {next(found, number)}"] = row
        elif isinstance(value, dict):
            parts |= {f"{section}.{name}": each for name, each in value.items()}
        else:
            parts[section] = value
    return parts


def _pick(parts: Mapping[str, Json], names: list[str]) -> dict[str, Json]:
    return {name: _hide(name.rpartition(".")[2], parts[name]) for name in names if name in parts}


def _hide(name: str, value: Any) -> Json:
    """Return what may be shown of a setting."""
    if isinstance(value, dict):
        return {inner: _hide(inner, each) for inner, each in value.items()}
    if isinstance(value, list | tuple):
        return [_hide(name, each) for each in value]
    if name == "hash":
        return str(value)[:_SHOWN]
    if name in _SECRET and value is not None and not str(value).startswith(REFERENCES):
        return "(an address)"
    return value
