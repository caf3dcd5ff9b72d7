"""What an administrator sees of quotas before a request meets them."""

import pytest

from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    SpendBudget,
)
from pondero.gateway.config.routing import Routing
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.quotas.quota import find_quotas
from pondero.gateway.quotas.quota_preview import describe_quotas, find_lowered_limits
from pondero.store import load_catalog

ROUTES = (
    GatewayRoute("opus", ("anthropic:claude-opus-5",)),
    GatewayRoute("flash", ("google:gemini-3-flash-preview",)),
)


def key(**rules: object) -> GatewayKey:
    return GatewayKey("ci", hash_key("the-key"), **rules)  # type: ignore[arg-type]  # any rule


def test_quotas_are_said_in_words():
    limit = RateLimitRule(requests=60, tokens=200_000)
    budget = SpendBudget(cost=0.5, thinking_tokens=5_000, per="day")
    assert describe_quotas(key(limit=limit, budget=budget)) == (
        "60 requests per minute, 200,000 tokens per minute, $0.50 per day, "
        "5,000 thinking tokens per day"
    )
    assert describe_quotas(key()) == ""


@pytest.mark.parametrize(
    ("budget", "models", "lowered"),
    [
        (None, None, []),
        (SpendBudget(cost=0.5), None, [("anthropic:claude-opus-5", 20_000)]),
        (SpendBudget(cost=0.5), ("flash",), []),
        (
            SpendBudget(tokens=1000, per="day"),
            ("flash",),
            [("google:gemini-3-flash-preview", 1000)],
        ),
        (SpendBudget(cost=50), None, []),
    ],
)
def test_the_models_are_named_whose_answers_a_budget_shortens(budget, models, lowered):
    holder = key(budget=budget, models=models)
    routing = Routing(GatewayConfig(routes=ROUTES, keys=(holder,)), load_catalog())
    found = find_lowered_limits(holder, routing)
    assert [(each.model, each.max_tokens) for each in found] == lowered


def test_what_is_used_of_a_budget_covers_nothing_more():
    holder = key(budget=SpendBudget(cost=0.5))
    routing = Routing(GatewayConfig(routes=ROUTES, keys=(holder,)), load_catalog())
    (budget,) = find_quotas(holder)
    found, *_ = find_lowered_limits(holder, routing, taken={budget.name: budget.most * 9 // 10})
    assert (found.model, found.max_tokens) == ("anthropic:claude-opus-5", 2_000)
