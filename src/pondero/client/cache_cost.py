"""What a change of level does to the prompt cache, in tokens, dollars and words."""

from collections.abc import Sequence
from decimal import Decimal

from msgspec.structs import replace

from ..canon import Message, Usage
from ..catalog import ModelEntry
from ..exchange import Prepared, preview_level
from ..store import has_prices, price_usage
from ..thinking import Adjustment, Plan, Policy

CACHE_CODES = ("cache_kept", "cache_lost")


def count_prompt_tokens(usage: Usage) -> int | None:
    """Return the tokens of a prompt, cached or not; None if the service counted none."""
    return replace(usage, output=None, thinking=None).known_total or None


def add_price(entry: ModelEntry, prepared: Prepared) -> Prepared:
    """Add the price of a lost cache to the plan, if there is one and its price is known."""
    plan = prepared.plan
    if not plan.adjustments or not any(note.code == "cache_lost" for note in plan.adjustments):
        return prepared
    notes = tuple(_add_price(entry, note) for note in plan.adjustments)
    exchange = replace(prepared.exchange, plan=replace(plan, adjustments=notes))
    return replace(prepared, exchange=exchange)


def _add_price(entry: ModelEntry, note: Adjustment) -> Adjustment:
    if note.code != "cache_lost" or (price := find_write_price(entry, note.got)) is None:
        return note
    return replace(note, why=f"{note.why} (about {format_price(price)})")


def find_write_price(entry: ModelEntry, tokens: int) -> Decimal | None:
    """Return the price of writing these tokens to the cache; None if unknown."""
    if not tokens or not has_prices():
        return None
    return price_usage(entry.provider.name, entry.model, Usage(0, cache_write=tokens, output=0))


def format_price(price: Decimal) -> str:
    """Return dollars, with cents or with as many digits as a small amount needs."""
    return f"${price:.2f}" if price >= 1 else f"${price:.4f}"


def preview_change(
    entry: ModelEntry,
    plan: Plan,
    messages: Sequence[Message],
    *,
    policy: Policy,
    last_prompt: int | None = None,
    paid: bool = True,
) -> str | None:
    """Return what the next request of a conversation does to the cache, in a few words.

    None: the level does not change, or no answer of this model came before.
    """
    note = preview_level(entry, plan, messages, policy=policy, last_prompt=last_prompt)
    return None if note is None else describe_cache(entry, note, paid=paid)


def describe_cache(entry: ModelEntry, note: Adjustment, *, paid: bool = True) -> str:
    """Return ``cache kept``, or how many tokens are billed again and what they cost."""
    if note.code == "cache_kept":
        return "cache kept"
    return describe_lost_cache(entry, note.got, paid=paid)


def describe_lost_cache(entry: ModelEntry, tokens: int, *, paid: bool = True) -> str:
    """Return how many tokens are billed again and what they cost, to be cached once more."""
    price = find_write_price(entry, tokens) if paid else None
    cost = f" (about {format_price(price)})" if price else ""
    return f"cache lost, {tokens:,} tokens billed again{cost}"
