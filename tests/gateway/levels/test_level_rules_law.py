"""The law of caps and floors: never more than the cap, never less than the floor, for every model.

The judge reads the fields of the plan, with an order of levels and figures of its own. It does not
use the code that compares.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero import models, plan
from pondero.catalog import ModelEntry
from pondero.exchange import plan as make_plan
from pondero.gateway.config.model import LevelRules, PurposeRule, RuleMatch
from pondero.gateway.levels.level_rules import RequestedLevel, apply_rules
from pondero.store import load_catalog
from pondero.thinking import DEFAULT, UNSET, Intent, Plan, RequestParameters, parse_intent

# Tokens in common use for each word; the vendors' examples have them (docs/levels).
ORDER = {
    "off": 0,
    "none": 0,
    "disabled": 0,
    "minimal": 1_024,
    "low": 4_096,
    "medium": 8_192,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 64_000,
}
LIMITS = {
    "generationConfig": "maxOutputTokens",
    "generation_config": "max_output_tokens",
    "inferenceConfig": "maxTokens",
    "options": "num_predict",
}
"""Fields with a limit of the output, which is no depth."""
ALIKE = {
    (entry.provider.dialect, repr(entry.capability)): entry
    for entry in models()
    if entry.capability.thinks and entry.capability.style is not None
}
MODELS = sorted(ALIKE.values(), key=lambda entry: entry.id)
"""One model of each kind: others with the same facts get the same plan."""
LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
levels = st.sampled_from(LEVELS) | st.integers(1, 100_000).map(str)
requests = st.sampled_from([*LEVELS, "on", None]) | st.integers(1, 200_000)
parameters = st.builds(
    RequestParameters,
    max_tokens=st.none() | st.integers(1, 200_000),
    tools=st.booleans(),
    tool_choice=st.sampled_from(["auto", "required"]),
)


level_rules = st.one_of(
    st.builds(LevelRules, force=levels),
    st.builds(LevelRules, cap=levels),
    st.builds(LevelRules, floor=levels),
    st.builds(LevelRules, default=levels, cap=levels),
)
purpose_rules = st.none() | st.builds(
    PurposeRule, when=st.just(RuleMatch("title")), thinking=level_rules, name=st.just("title")
)
"""What the rule of a purpose may say: route and key have the last word."""


def plan_under(
    entry: ModelEntry,
    request: object,
    *rules: LevelRules,
    asked: RequestParameters | None = None,
    rule: PurposeRule | None = None,
) -> tuple[Plan, str | None]:
    """Return the plan for a request under these rules, and the rule that changed it."""
    asked = asked or RequestParameters()
    intent = request if isinstance(request, Intent) else parse_intent(request)
    level = RequestedLevel(intent, "unset" if intent == UNSET else "body")
    applied = apply_rules(level, entry, rules, rule=rule, asked=asked)
    return make_plan(entry, applied.intent, asked=asked, policy=DEFAULT), applied.why


def sent(value: Any) -> Iterator[str | int]:
    """Yield the words and the numbers of tokens that fields ask for."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name != "thinking_summaries":  # how much is shown, and its word is none too
                yield from sent(inner)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, str) and value.lower() in ORDER:
        yield value.lower()


def reasoning(made: Plan, entry: ModelEntry) -> list[str | int]:
    """Return the words and numbers of a plan; the service's words in ours."""
    theirs = {word.lower(): ours for ours, word in entry.placement.words.items()}
    fields = {k: v for k, v in made.fields.items() if not k.startswith("max_")}
    for outer, inner in LIMITS.items():
        fields[outer] = {k: v for k, v in fields.get(outer, {}).items() if k != inner}
    return [theirs.get(each, each) if isinstance(each, str) else each for each in sent(fields)]


def figure(entry: ModelEntry, rule: str, *, tokens: bool) -> float:
    """Return what a rule means on a model, for a number of tokens or for a word."""
    if rule.isdigit():
        return int(rule)
    budget = (
        plan(entry.id, parse_intent(rule)).budget if tokens and entry.capability.by_budget else None
    )
    return ORDER[rule] if budget is None else budget


def is_at_most(made: Plan, entry: ModelEntry, cap: str) -> bool:
    """Return whether a plan asks for no more than a cap."""
    if (found := reasoning(made, entry)) and made.level != "on":
        return all(
            (each if isinstance(each, int) else ORDER[each])
            <= figure(entry, cap, tokens=isinstance(each, int))
            for each in found
        )
    return not made.will_think if made.will_think is not None else cap in ("max", "xhigh", "high")


def is_off(made: Plan) -> bool:
    return made.level == "off" or made.will_think is False


@given(st.sampled_from(MODELS), requests, levels, parameters, purpose_rules)
def test_no_request_asks_for_more_than_the_cap_whatever_a_rule_says(
    entry, request, cap, asked, rule
):
    made, _ = plan_under(entry, request, LevelRules(cap=cap), asked=asked, rule=rule)
    least = make_plan(entry, parse_intent("off"), asked=asked, policy=DEFAULT)
    same = reasoning(made, entry) == reasoning(least, entry)
    if same and made.will_think == least.will_think:
        assert is_off(made) or not entry.capability.off  # it has nothing lower
        return
    top = entry.capability.efforts[-1:] or entry.capability.levels[-1:]
    if not reasoning(made, entry) or made.level == "on":  # the model decides, within its own range
        default = entry.capability.default
        known = ORDER.get(default)
        bound = figure(entry, cap, tokens=entry.capability.by_budget)
        if known is None and entry.capability.by_budget:
            known = entry.capability.budget.max
        if known is None:
            known = 1 if top in ((), ("on",)) else ORDER[top[0]]  # a switch has no depth
        assert known <= bound
        return
    assert is_at_most(made, entry, cap)


@given(st.sampled_from(MODELS), requests, levels, purpose_rules)
def test_no_request_asks_for_less_than_the_floor_whatever_a_rule_says(entry, request, floor, rule):
    made, _ = plan_under(entry, request, LevelRules(floor=floor), rule=rule)
    if floor == "off":
        return
    found = reasoning(made, entry)
    if found in [reasoning(plan(entry.id, most), entry) for most in ("max", 10_000_000)]:
        return  # it has nothing higher
    if not found or made.level == "on":
        assert made.will_think
        default = entry.capability.default
        budget = entry.capability.budget
        if ORDER.get(default):
            least = ORDER[default]
        elif entry.capability.by_budget and budget is not None:
            least = budget.min
        else:
            least = ORDER[(entry.capability.efforts or ("medium",))[0]]
        assert least >= figure(entry, floor, tokens=entry.capability.by_budget)
        return
    for each in found:
        depth = each if isinstance(each, int) else ORDER[each]
        assert depth >= figure(entry, floor, tokens=isinstance(each, int))


@given(
    st.sampled_from(MODELS), st.sampled_from(LEVELS[1:]) | st.integers(1, 200_000), levels, levels
)
def test_a_request_between_floor_and_cap_is_unchanged(entry, request, floor, cap):
    free = plan(entry.id, request)
    made, why = plan_under(entry, request, LevelRules(floor=floor, cap=cap))
    found = reasoning(free, entry)
    if not found or free.level in ("on", "off") or free.adjustments:
        return
    inside = all(
        figure(entry, floor, tokens=isinstance(each, int))
        <= (each if isinstance(each, int) else ORDER[each])
        <= figure(entry, cap, tokens=isinstance(each, int))
        for each in found
    )
    if inside:
        assert (made.fields, why) == (free.fields, None)


@given(st.sampled_from(MODELS), requests, levels, parameters)
def test_a_cap_never_raises_a_request(entry, request, cap, asked):
    """A cap of 5,000 once sent 22,016 tokens for low."""
    if request is None:
        return
    free = make_plan(entry, parse_intent(request), asked=asked, policy=DEFAULT)
    made, _ = plan_under(entry, request, LevelRules(cap=cap), asked=asked)
    if free.budget is not None and made.budget is not None:
        assert made.budget <= free.budget
    if free.level in ORDER and made.level in ORDER and free.budget is made.budget is None:
        assert ORDER[made.level] <= ORDER[free.level]


@given(st.sampled_from(MODELS), requests, level_rules, level_rules)
def test_the_force_of_route_or_key_wins_over_a_rule(entry, request, said, forced):
    if forced.force is None:
        return
    rule = PurposeRule(RuleMatch("title"), said, name="title")
    made, why = plan_under(entry, request, forced, rule=rule)
    alone, _ = plan_under(entry, request, forced)
    assert (made.fields, why) == (alone.fields, "force")


@given(st.sampled_from(MODELS), requests, level_rules)
def test_a_rule_alone_does_what_the_same_words_of_a_route_do(entry, request, said):
    rule = PurposeRule(RuleMatch("title"), said, name="title")
    made, why = plan_under(entry, request, rule=rule)
    same, reason = plan_under(entry, request, said)
    assert made == same
    assert why == (None if reason is None else "rule:title")


@pytest.mark.parametrize(
    ("model", "request_", "cap", "budget"),
    [
        ("claude-sonnet-4-5", 5_000, "low", 5_000),
        ("gemini-2.5-flash", 5_000, "low", 5_000),
        ("claude-sonnet-4-5", "low", "5000", 5_000),
        ("claude-sonnet-4-5", "max", "low", 22_016),
        ("claude-sonnet-4-5", "max", "500", None),
        ("gemini-2.5-pro", "max", "64", 128),
    ],
)
def test_the_smaller_of_request_and_cap_is_sent_in_this_models_tokens(model, request_, cap, budget):
    entry = load_catalog().entry(model)
    made, _ = plan_under(entry, request_, LevelRules(cap=cap))
    assert made.budget == budget


def test_a_cap_in_tokens_is_the_highest_level_that_is_not_above_it():
    entry = load_catalog().entry("gpt-5.5")
    assert plan_under(entry, "max", LevelRules(cap="10000"))[0].level == "medium"
    assert (
        plan_under(entry, "max", LevelRules(cap="9000"), LevelRules(cap="5000"))[0].level == "low"
    )
    assert plan_under(entry, "max", LevelRules(cap="10"))[0].level == "off"


SWITCHES = [entry for entry in MODELS if entry.capability.levels[-1:] == ("on",)]


@pytest.mark.parametrize("entry", SWITCHES, ids=lambda entry: entry.id)
def test_a_model_with_a_switch_is_on_under_every_cap_but_off(entry):
    caps = [*LEVELS[1:], "1"]
    made = {cap: plan_under(entry, "high", LevelRules(cap=cap))[0].level for cap in caps}
    assert set(made.values()) == {"on"}
    off, _ = plan_under(entry, "high", LevelRules(cap="off"))
    assert is_off(off) or not entry.capability.off


def test_a_budget_that_goes_with_an_effort_is_capped_in_both():
    entry = load_catalog().entry("claude-opus-4-5")
    made, why = plan_under(entry, Intent("budget", "high", 2_000), LevelRules(cap="low"))
    assert why == "cap"
    assert made.fields["thinking"] == {"type": "enabled", "budget_tokens": 2_000}
    assert made.fields["output_config"] == {"effort": "low"}


def test_a_cap_holds_for_a_model_of_unknown_depth():
    entry = load_catalog().entry("openai:somebodys-own-model")
    made, why = plan_under(entry, "max", LevelRules(cap="low"))
    assert (made.asked, why) == ("low", "cap")
    assert plan_under(entry, "low", LevelRules(cap="medium"))[1] is None
