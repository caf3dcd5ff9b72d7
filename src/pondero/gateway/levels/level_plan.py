"""Plans the level of one request to one model, under the rules of its route, group and key."""

from functools import lru_cache, partial

from msgspec.structs import replace

from ...catalog import ModelEntry
from ...exchange import plan as make_plan
from ...store import resolve_auto
from ...thinking import Intent, Plan, Policy, RequestParameters
from ..config.model import LevelRules, PurposeRule, RuleMatch
from ..requests.routed_request import RoutedRequest
from .level_rules import RULE, AppliedLevel, RequestedLevel, apply_rules

_NO_RULES = LevelRules()


def plan_attempt(
    routed: RoutedRequest, entry: ModelEntry, requested: RequestedLevel | None = None
) -> tuple[AppliedLevel, Plan]:
    """Apply the level rules of route, group and key for one model, and plan it; raises UsageError.

    ``requested`` is planned in place of the level that the request as a whole asks for.
    """
    rules = routed.rules
    policy, parameters = routed.policy, routed.parameters
    wanted = requested or routed.requested_level
    rule = routed.purpose.rule
    if rule is not None and rule.thinking == _NO_RULES:
        rule = None
    if routed.lowered_to is not None:
        rule = _lower_rule(rule, routed.lowered_to)
    if rules.levels or rule is not None or wanted.intent.kind == "auto":
        level = apply_rules(
            wanted,
            entry,
            rules.levels,
            rule=rule,
            asked=parameters,
            policy=policy,
            resolve=partial(resolve_auto, entry, policy=policy),
        )
    else:  # what no rule binds stays as requested
        level = AppliedLevel(wanted.intent, wanted)
    if routed.lowered_to is not None and (level.why or "").startswith(RULE):
        level = replace(level, why="exhausted")
    if rules.counts:
        level = replace(level, is_counted=True)
    # No two requests have the same fields of their own, so caching those plans would not help.
    plan = make_plan if level.intent.fields is not None else _plan_cached
    return level, plan(entry, level.intent, asked=parameters, policy=policy)


def _lower_rule(rule: PurposeRule | None, most: str) -> PurposeRule:
    """Return a rule with a lower maximum: route and key still have the last word."""
    rules = rule.thinking if rule is not None else _NO_RULES
    return PurposeRule(RuleMatch(), replace(rules, cap=most, floor=None))


@lru_cache(maxsize=1024)
def _plan_cached(
    entry: ModelEntry, intent: Intent, *, asked: RequestParameters, policy: Policy
) -> Plan:
    return make_plan(entry, intent, asked=asked, policy=policy)
