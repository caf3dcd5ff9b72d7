"""What the record and the headers of an answer say of its plan."""

from msgspec import Struct

from ...catalog import ModelEntry
from ...thinking import Plan
from ..levels.level_rules import AppliedLevel, show_sent
from ..observability.receipt import NO_LEVEL
from ..requests.attempt import Attempt
from ..requests.routed_request import RoutedRequest


class DescribedPlan(Struct, frozen=True):
    """What the record and the headers of an answer say of its model and its level."""

    model: str
    asked: str
    sent: str
    why: str | None
    codes: tuple[str, ...]
    adjustments: tuple[str, ...]
    thinking: str


def describe_attempt(routed: RoutedRequest, attempt: Attempt) -> DescribedPlan:
    """Return it; requests that differ in their only text share it."""
    needs = (attempt.entry, attempt.level, attempt.exchange.plan)
    if routed.framed is None:
        return _write_plan(*needs)
    return routed.framed.frame.find_fact("plan", needs, _write_plan, *needs)


def _write_plan(entry: ModelEntry, level: AppliedLevel, plan: Plan) -> DescribedPlan:
    return DescribedPlan(
        model=entry.id,
        asked=level.requested,
        sent=show_sent(plan) if plan.level or plan.budget is not None else NO_LEVEL,
        why=level.why,
        codes=tuple([note.code for note in plan.adjustments]),
        adjustments=tuple([f"{note.code}:{note.what}" for note in plan.adjustments]),
        thinking=level.header(plan),
    )
