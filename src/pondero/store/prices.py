"""The cost of tokens by genai-prices, if it is installed; nothing is fetched.

The recorder of a turn, the sweep and the gateway call it.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from importlib.util import find_spec
from math import inf
from time import time
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..canon import MEDIA, MediaKind, MediaTokens, Usage, fit_media
from .files import load_catalog

_MILLION = 1_000_000
_THOUSAND = 1_000  # billionths of a dollar for a token, where a million of them cost one dollar
_BLANK = re.compile(r"[{}]")


def has_prices() -> bool:
    """Return whether genai-prices is installed."""
    return find_spec("genai_prices") is not None


def price_usage(
    provider: str, model: str, usage: Usage, *, at: float | None = None
) -> Decimal | None:
    """Return the cost of these tokens in dollars; None if unknown.

    Thinking is billed as output; cache reads and writes have their own prices, and so have audio,
    images and video at some models. ``at``: when they were used, in seconds since 1970 (None: now).
    """
    if usage.input is None or usage.output is None:
        return None
    read, wrote = usage.cache_read or 0, usage.cache_write or 0
    prompt, written = usage.input + read + wrote, usage.output + (usage.thinking or 0)
    if prompt + written == 0:
        return None
    found = load_catalog().catalog.providers.get(provider)
    minute = int((time() if at is None else at) // 60)  # some prices depend on the hour
    rates = _flat_rates(found.url, model, minute) if found else None
    is_flat = rates is not None and (usage.media is None or not rates.has_media)
    if rates is not None and is_flat and prompt < rates.below:
        cost = usage.input * rates.input + written * rates.output
        if read or wrote:
            cost += read * rates.cache_read + wrote * rates.cache_write
        return cost / _MILLION
    try:
        import genai_prices  # noqa: PLC0415 - 0.3 s, and may not be installed
    except ImportError:
        return None
    counts = genai_prices.Usage(
        input_tokens=prompt,
        cache_read_tokens=read or None,
        cache_write_tokens=wrote or None,
        output_tokens=written,
        **_count_media(usage),
    )
    try:
        # genai-prices knows providers by their addresses.
        url = _BLANK.sub("", found.url) if found else None
        priced = _calculate(counts, model, url, minute) if url else None
    except (LookupError, ValueError):
        return None
    return priced.total_price if priced else None


def _count_media(usage: Usage) -> dict[str, int]:
    """Return media as genai-prices counts them: all of the prompt, and those in the cache again."""
    if usage.media is None:
        return {}
    known = usage.media
    fitted = fit_media(  # genai-prices has no price for parts that exceed the whole
        input=usage.input,
        cache_read=usage.cache_read,
        output=(usage.output or 0) + (usage.thinking or 0),
        prompt=known.sum_counts("input", "cache_read"),
        cached=known.sum_counts("cache_read"),
        written=known.sum_counts("output"),
    )
    if fitted is None:
        return {}
    prompt, cached = fitted.sum_counts("input", "cache_read"), fitted.sum_counts("cache_read")
    written = fitted.sum_counts("output")
    return {
        **{f"input_{medium}_tokens": count for medium, count in prompt.items()},
        **{f"cache_{medium}_read_tokens": count for medium, count in cached.items()},
        **{f"output_{medium}_tokens": count for medium, count in written.items()},
    }


def price_most(
    provider: str, model: str, prompt: int, output: int, *, media: Collection[MediaKind] = ()
) -> Decimal | None:
    """Return the most that these tokens cost in dollars; None if unknown.

    Some services charge more for a prompt that they cache. ``media``: what a prompt may have
    besides text; an answer may be of any medium.
    """
    rates = _find_rates(provider, model)
    if rates is not None and 0 < prompt < rates.below:
        dearer = max(rates.input, rates.cache_write)
        for medium in media:
            dearer = max(dearer, rates.media_input.get(medium, dearer))
        return (prompt * dearer + output * rates.dearest_output) / _MILLION
    usages = (Usage(prompt, output=output), Usage(0, cache_write=prompt, output=output))
    prices = [
        price_usage(provider, model, assume_media(provider, model, usage, media=media))
        for usage in usages
    ]
    if prices[0] is None:
        return None
    return max(price for price in prices if price is not None)


def assume_media(
    provider: str,
    model: str,
    usage: Usage,
    *,
    media: Collection[MediaKind] = MEDIA,
    has_answer: bool = False,
) -> Usage:
    """Return an estimate in which all tokens are of the medium that costs most.

    ``media``: what the prompt may have besides text. An answer may be of any medium, unless the
    service has reported it (``has_answer``).
    """
    rates = _find_rates(provider, model)
    if rates is None or not rates.has_media:
        return usage
    known = usage.media or MediaTokens()
    counts: dict[str, int] = {}
    prompt = {each: rates.media_input[each] for each in media if each in rates.media_input}
    if prompt and max(prompt.values()) > rates.input:
        counts |= {f"input_{each}": 0 for each in MEDIA}
        counts[f"input_{max(prompt, key=prompt.__getitem__)}"] = usage.input or 0
    answer = rates.media_output
    if rates.dearest_output > rates.output and not has_answer:
        counts |= {f"output_{each}": 0 for each in MEDIA}
        dearest = max(answer, key=answer.__getitem__)
        counts[f"output_{dearest}"] = (usage.output or 0) + (usage.thinking or 0)
    return replace(usage, media=replace(known, **counts)) if any(counts.values()) else usage


def has_media_input(provider: str, model: str) -> bool:
    """Return whether the price of a prompt depends on the media in it."""
    rates = _find_rates(provider, model)
    return rates is not None and bool(rates.media_input)


class MostPrices(Struct, frozen=True):
    """The most that a token costs, in billionths of a dollar.

    They hold for prompts of text of fewer than ``below`` tokens, and for any answer.
    """

    prompt: int
    output: int
    below: float


def find_most_prices(provider: str, model: str, minute: int) -> MostPrices | None:
    """Return prices by which ``price_most`` of a text is a sum, in a minute since 1970.

    None if no price is known, if it depends on more than tokens, or if it is in finer fractions.
    """
    found = load_catalog().catalog.providers.get(provider)
    rates = _flat_rates(found.url, model, minute) if found else None
    if rates is None:
        return None
    most = [max(rates.input, rates.cache_write) * _THOUSAND, rates.dearest_output * _THOUSAND]
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
    media_input: dict[MediaKind, Decimal] = {}
    media_output: dict[MediaKind, Decimal] = {}
    dearest_output: Decimal = Decimal(0)
    has_media: bool = False


def _find_rates(provider: str, model: str) -> _Rates | None:
    """Return a model's rates now."""
    found = load_catalog().catalog.providers.get(provider)
    return _flat_rates(found.url, model, int(time() // 60)) if found else None


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
    if "input_mtok" not in prices or _BY_REQUEST & set(prices):
        return None
    all_ways = [price for name, price in prices.items() if name.endswith("_mtok")]
    tiered = [price for price in all_ways if isinstance(price, genai_prices.types.TieredPrices)]
    below = min((tier.start for price in tiered for tier in price.tiers), default=inf)
    base = {
        name: Decimal(price.base if price in tiered else price)
        for name, price in prices.items()
        if name.endswith("_mtok")
    }
    # An embedding has no answer, and no price for one.
    one_way, other_way = base["input_mtok"], base.get("output_mtok", Decimal(0))
    # A kind without a price of its own is charged as input; genai-prices knows which.
    read_way, write_way = (cost * _MILLION - other_way for cost in cached)
    media_input = {each: base[name] for each in MEDIA if (name := f"input_{each}_mtok") in base}
    media_output = {each: base[name] for each in MEDIA if (name := f"output_{each}_mtok") in base}
    return _Rates(
        one_way,
        other_way,
        read_way,
        write_way,
        below,
        media_input=media_input,
        media_output=media_output,
        dearest_output=max([other_way, *media_output.values()]),
        has_media=bool(media_input or media_output),
    )


_BY_REQUEST = frozenset(("requests_kcount", "input_mchars", "input_text_messages_kcount"))
