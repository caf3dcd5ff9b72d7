"""``[[group]]``: keys that share a budget, a limit, and rules about levels."""

from collections.abc import Sequence

from ...catalog import did_you_mean
from .examples import EXAMPLES
from .model import GatewayGroup, GatewayKey, find_name_problem
from .rows import ConfigRows


def read_groups(rows: ConfigRows, keys: Sequence[GatewayKey]) -> tuple[GatewayGroup, ...]:
    """Return all groups; raises BadConfig, also for a key of a group that does not exist."""
    groups: list[GatewayGroup] = []
    for place, row in rows.rows("group"):
        group = rows.build_with_rules(row, GatewayGroup, place)
        if (problem := find_name_problem(group.name, "group")) is not None:
            raise rows.error((*place, "name"), problem, f"write {EXAMPLES['name']}")
        if any(each.name == group.name for each in groups):
            problem = "an earlier group has this name too"
            raise rows.error((*place, "name"), problem, "remove one, or choose another name")
        rows.check_bounds(group, place)
        groups.append(group)
    _check_members(rows, keys, [group.name for group in groups])
    return tuple(groups)


def _check_members(rows: ConfigRows, keys: Sequence[GatewayKey], names: Sequence[str]) -> None:
    for number, key in enumerate(keys):
        if key.group is not None and key.group not in names:
            known = f"use {' '.join(names)}" if names else "write a [[group]] with this name"
            cure = f"{did_you_mean(key.group, names)}{known}"
            raise rows.error(("key", number, "group"), f"unknown group {key.group!r}", cure)
