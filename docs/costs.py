"""The tables of docs/guides/cost.md, computed with the prices that pondero itself uses."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

import pondero
from pondero.batch import batch_discount
from pondero.canon import Usage
from pondero.client import load_catalog
from pondero.client.cache_cost import format_price
from pondero.store import price_usage

DAY = datetime(2026, 11, 15, 12, tzinfo=UTC)
"""When the prices held: some change from day to day, some from hour to hour."""
MODELS = (
    "claude-opus-5",
    "claude-sonnet-4-5",
    "gpt-5.5",
    "gpt-5",
    "gemini-2.5-pro",
    "gemini-3-flash-preview",
    "deepseek:deepseek-v4-flash",
)
PROMPT, ANSWER, PREFIX = 2_000, 500, 100_000
THOUGHT = (0, 1_000, 4_000, 16_000)


def price(model: str, **tokens: int) -> Decimal:
    """Return the list price of these tokens; raises LookupError if it is unknown."""
    entry = load_catalog().entry(model)
    usage = Usage(**{"input": 0, "output": 0, **tokens})
    found = price_usage(entry.provider.name, entry.model, usage, at=DAY.timestamp())
    if found is None:
        raise LookupError(model)
    return found


def rates() -> str:
    """Return the prices of a million tokens, for prompts of the size of the examples."""
    rows = [
        [f"`{model}`", *(_rate(price(model, **{kind: 1_000}) * 1_000) for kind in KINDS)]
        for model in MODELS
    ]
    return _table(["model", *KINDS.values()], rows)


def _rate(dollars: Decimal) -> str:
    """Return dollars with cents, and with more digits if there are any."""
    cents = dollars.quantize(Decimal("0.01"))
    return f"${cents}" if cents == dollars else f"${dollars.normalize():f}"


KINDS = {"input": "input", "output": "output and thinking", "cache_read": "cached input"}


def by_thinking() -> str:
    """Return what one answer costs by the thinking that comes before it."""
    rows = []
    for model in MODELS:
        costs = [price(model, input=PROMPT, output=ANSWER, thinking=each) for each in THOUGHT]
        share = round(100 * (1 - costs[0] / costs[2]))
        rows.append([f"`{model}`", *map(format_price, costs), f"{share} %"])
    head = [f"{each:,} tokens" for each in THOUGHT]
    return _table(["model", *head, f"share at {THOUGHT[2]:,}"], rows)


def most() -> str:
    """Return what the whole budget of each level costs of models that take a number."""
    rows = []
    for model in ("claude-sonnet-4-5", "gemini-2.5-pro"):
        for level in ("low", "medium", "high"):
            for named, policy in (
                ("proportional", None),
                ("fixed", pondero.Policy(budgets="fixed")),
            ):
                budget = pondero.plan(model, level, policy=policy).budget
                if budget is None:
                    raise LookupError(model)
                cost = format_price(price(model, thinking=budget))
                rows.append([f"`{model}/{level}`", f"`{named}`", f"{budget:,}", cost])
    return _table(
        ["model and level", "policy `budgets`", "budget", "cost of the whole budget"], rows
    )


def caches() -> str:
    """Return what the prefix of a long conversation costs, cached or not."""
    rows = [
        [
            f"`{model}`",
            *(
                format_price(price(model, **{kind: PREFIX}))
                for kind in ("cache_read", "cache_write")
            ),
        ]
        for model in ("claude-opus-5", "claude-sonnet-4-5")
    ]
    return _table(["model", "the level stays: read", "the level changes: written again"], rows)


def batches() -> str:
    """Return the share of the price that a batch costs, at providers that have batches."""
    found = {
        name: batch_discount(name)
        for name, provider in load_catalog().catalog.providers.items()
        if provider.batch
    }
    rows = [[f"`{name}`", f"{100 * share:.0f} %"] for name, share in found.items()]
    return _table(["provider", "of the usual price"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


BLOCKS = {
    "cost-rates": rates,
    "cost-by-thinking": by_thinking,
    "cost-most": most,
    "cost-caches": caches,
    "cost-batches": batches,
}
