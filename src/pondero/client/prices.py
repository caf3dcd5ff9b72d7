"""What an exchange costs in dollars, where genai-prices is installed and knows the model.

Its prices come with the package: nothing is fetched. What it does not know is unknown, not 0.
"""

import re
from decimal import Decimal
from importlib.util import find_spec

from ..canon import Usage
from ..store import lookup

_BLANK = re.compile(r"[{}]")


def has_prices() -> bool:
    """Return whether genai-prices is installed."""
    return find_spec("genai_prices") is not None


def cost(provider: str, model: str, usage: Usage) -> Decimal | None:
    """Return the price of these tokens; None where it is not known.

    Thinking is billed as output; what was read from or written to a cache has prices of its own.
    """
    if usage.input is None or usage.output is None or usage.counted == 0:
        return None
    found = lookup().catalog.providers.get(provider)
    try:
        import genai_prices  # noqa: PLC0415 - 0.3 s, and may not be installed
    except ImportError:
        return None
    read, wrote = usage.cache_read or 0, usage.cache_write or 0
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
