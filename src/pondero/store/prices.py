"""Prices of tokens: what an answer cost.

They come with genai-prices where it is installed: nothing is fetched, and what it does not know is
unknown. The recorder of a turn, the sweep and the gateway ask here.
"""

import re
from decimal import Decimal
from functools import lru_cache
from importlib.util import find_spec
from math import inf
from time import time

from msgspec import Struct

from ..canon import Usage
from .files import load_catalog

_BLANK = re.compile(r"[{}]")


def has_prices() -> bool:
    """Return whether genai-prices is installed."""
    return find_spec("genai_prices") is not None


def price_usage(provider: str, model: str, usage: Usage) -> Decimal | None:
    """Return the price of these tokens; None where it is not known.

    Thinking is billed as output; what was read from or written to a cache has prices of its own.
    """
    if usage.input is None or usage.output is None or usage.known_total == 0:
        return None
    found = load_catalog().catalog.providers.get(provider)
    read, wrote = usage.cache_read or 0, usage.cache_write or 0
    minute = int(time() // 60)  # some prices depend on the hour
    rates = _flat_rates(found.url, model, minute) if found and not read and not wrote else None
    if rates is not None and usage.input < rates.below:
        said = usage.output + (usage.thinking or 0)
        return (usage.input * rates.input + said * rates.output) / 1_000_000
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
        priced = genai_prices.calc_price(counts, model, provider_api_url=url) if url else None
    except (LookupError, ValueError):
        return None
    return priced.total_price if priced else None


class _Rates(Struct, frozen=True):
    """Dollars a million tokens cost, in and out, for prompts below so many tokens."""

    input: Decimal
    output: Decimal
    below: float


@lru_cache(maxsize=1024)
def _flat_rates(address: str, model: str, _minute: int) -> _Rates | None:
    """Return the rates of a model whose tokens have one price each; None where more decides it.

    They are those of this minute. genai-prices takes a tenth of a millisecond for each answer; this
    is for those who price many.
    """
    try:
        import genai_prices  # noqa: PLC0415 - 0.3 s, and may not be installed
    except ImportError:
        return None
    one = genai_prices.Usage(input_tokens=1, output_tokens=1)
    try:
        found = genai_prices.calc_price(one, model, provider_api_url=_BLANK.sub("", address))
    except (LookupError, ValueError):
        return None
    prices = {name: price for name, price in vars(found.model_price).items() if price is not None}
    if not {"input_mtok", "output_mtok"} <= set(prices) or _BY_REQUEST & set(prices):
        return None
    both = [prices["input_mtok"], prices["output_mtok"]]
    tiered = [price for price in both if isinstance(price, genai_prices.types.TieredPrices)]
    below = min((tier.start for price in tiered for tier in price.tiers), default=inf)
    one_way, other_way = (price.base if price in tiered else price for price in both)
    return _Rates(Decimal(one_way), Decimal(other_way), below)


_BY_REQUEST = frozenset(("requests_kcount", "input_mchars", "input_text_messages_kcount"))
