"""The cost of tokens by genai-prices, if it is installed; nothing is fetched.

The recorder of a turn, the sweep and the gateway call it.
"""

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from importlib.util import find_spec
from math import inf
from time import time
from typing import Any

from msgspec import Struct

from ..canon import Usage
from .files import load_catalog

_MILLION = 1_000_000
_THOUSAND = 1_000  # billionths of a dollar for a token, where a million of them cost one dollar
_TOKEN_PRICES = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
_BLANK = re.compile(r"[{}]")


def has_prices() -> bool:
    """Return whether genai-prices is installed."""
    return find_spec("genai_prices") is not None


def price_usage(
    provider: str, model: str, usage: Usage, *, at: float | None = None
) -> Decimal | None:
    """Return the cost of these tokens in dollars; None if unknown.

    Thinking is billed as output; cache reads and writes have their own prices. ``at``: when they
    were used, in seconds since 1970 (None: now).
    """
    if usage.input is None or usage.output is None or usage.known_total == 0:
        return None
    found = load_catalog().catalog.providers.get(provider)
    read, wrote = usage.cache_read or 0, usage.cache_write or 0
    minute = int((time() if at is None else at) // 60)  # some prices depend on the hour
    rates = _flat_rates(found.url, model, minute) if found else None
    if rates is not None and usage.input + read + wrote < rates.below:
        written = usage.output + (usage.thinking or 0)
        cost = usage.input * rates.input + written * rates.output
        if read or wrote:
            cost += read * rates.cache_read + wrote * rates.cache_write
        return cost / _MILLION
    try:
        import genai_prices  # noqa: PLC0415 - 0.3 s, and may not be installed
    except ImportError:
        return None
    counts = genai_prices.Usage(
        input_tokens=usage.input + read + wrote,
        cache_read_tokens=read or None,
        cache_write_tokens=wrote or None,
        output_tokens=usage.output + (usage.thinking or 0),
    )
    try:
        # genai-prices knows providers by their addresses.
        url = _BLANK.sub("", found.url) if found else None
        priced = _calculate(counts, model, url, minute) if url else None
    except (LookupError, ValueError):
        return None
    return priced.total_price if priced else None


def price_most(provider: str, model: str, prompt: int, output: int) -> Decimal | None:
    """Return the most that these tokens cost in dollars; None if unknown.

    Some services charge more for a prompt that they cache.
    """
    found = load_catalog().catalog.providers.get(provider)
    rates = _flat_rates(found.url, model, int(time() // 60)) if found else None
    if rates is not None and 0 < prompt < rates.below:
        dearer = max(rates.input, rates.cache_write)
        return (prompt * dearer + output * rates.output) / _MILLION
    usages = (Usage(prompt, output=output), Usage(0, cache_write=prompt, output=output))
    prices = [price_usage(provider, model, usage) for usage in usages]
    if prices[0] is None:
        return None
    return max(price for price in prices if price is not None)


class MostPrices(Struct, frozen=True):
    """The most that a token costs, in billionths of a dollar.

    They hold for prompts of fewer than ``below`` tokens.
    """

    prompt: int
    output: int
    below: float


def find_most_prices(provider: str, model: str, minute: int) -> MostPrices | None:
    """Return prices by which ``price_most`` is a sum, in a minute since 1970.

    None if no price is known, if it depends on more than tokens, or if it is in finer fractions.
    """
    found = load_catalog().catalog.providers.get(provider)
    rates = _flat_rates(found.url, model, minute) if found else None
    if rates is None:
        return None
    most = [max(rates.input, rates.cache_write) * _THOUSAND, rates.output * _THOUSAND]
    if any(each % 1 for each in most):
        return None
    prompt, output = map(int, most)
    return MostPrices(prompt, output, rates.below)


def _calculate(counts: Any, model: str, url: str, minute: int) -> Any:
    import genai_prices  # noqa: PLC0415 - as above

    when = datetime.fromtimestamp(minute * 60, UTC)
    return genai_prices.calc_price(
        counts, model, provider_api_url=url, genai_request_timestamp=when
    )


class _Rates(Struct, frozen=True):
    """Dollars per million tokens of each kind, for prompts of fewer than ``below`` tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    below: float


@lru_cache(maxsize=1024)
def _flat_rates(address: str, model: str, minute: int) -> _Rates | None:
    """Return a model's rates in this minute; None if they depend on more than the tokens.

    A cache, because genai-prices takes 0.1 ms per answer and a sweep prices many.
    """
    try:
        import genai_prices  # noqa: PLC0415 - 0.3 s, and may not be installed
    except ImportError:
        return None
    one = genai_prices.Usage(input_tokens=1, output_tokens=1)
    read = genai_prices.Usage(input_tokens=1, cache_read_tokens=1, output_tokens=1)
    wrote = genai_prices.Usage(input_tokens=1, cache_write_tokens=1, output_tokens=1)
    url = _BLANK.sub("", address)
    try:
        found = _calculate(one, model, url, minute)
        cached = [_calculate(each, model, url, minute).total_price for each in (read, wrote)]
    except (LookupError, ValueError):
        return None
    prices = {name: price for name, price in vars(found.model_price).items() if price is not None}
    if not {"input_mtok", "output_mtok"} <= set(prices) or _BY_REQUEST & set(prices):
        return None
    all_ways = [prices[name] for name in _TOKEN_PRICES if name in prices]
    tiered = [price for price in all_ways if isinstance(price, genai_prices.types.TieredPrices)]
    below = min((tier.start for price in tiered for tier in price.tiers), default=inf)
    both = (prices["input_mtok"], prices["output_mtok"])
    one_way, other_way = (Decimal(price.base if price in tiered else price) for price in both)
    # A kind without a price of its own is charged as input; genai-prices knows which.
    read_way, write_way = (cost * _MILLION - other_way for cost in cached)
    return _Rates(one_way, other_way, read_way, write_way, below)


_BY_REQUEST = frozenset(("requests_kcount", "input_mchars", "input_text_messages_kcount"))
