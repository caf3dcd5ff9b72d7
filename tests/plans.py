"""A plan for tests that are not about planning."""

from typing import Any

from pondero.thinking import Plan
from pondero.thinking.plan import PlanSources


def plan(
    dialect: str,
    fields: dict[str, Any] | None = None,
    *,
    headers: dict[str, str] | None = None,
    dropped: tuple[str, ...] = (),
) -> Plan:
    """Return a plan that adds these fields and headers, and nothing else."""
    return Plan(
        model="test:model",
        dialect=dialect,
        family="test",
        asked=None,
        level=None,
        budget=None,
        nominal=None,
        will_think=None,
        fields=fields or {},
        headers=headers or {},
        dropped=dropped,
        adjustments=(),
        facts=PlanSources("test", ""),
    )
