"""The most that a request costs under a cost budget, in billionths of a dollar."""

from collections.abc import Sequence
from itertools import repeat
from math import ceil

from ...canon import MediaKind
from ...catalog import ModelEntry
from ...errors import PermissionDenied
from ...extras import install_hint
from ...store import has_prices, price_most
from .hosted_tools import AddedTokens
from .quota import BILLION

TEXT: frozenset[MediaKind] = frozenset()
"""A prompt of text alone."""


def price_calls(calls: Sequence[AddedTokens], media: frozenset[MediaKind]) -> int:
    """Return the most that all costs; each model's tokens together, as a long prompt costs more."""
    if len(calls) == 1:
        (only,) = calls
        return price_tokens(only.entry, only.input, only.output, media)
    sums: dict[ModelEntry, tuple[int, int]] = {}
    for each in calls:
        prompt, output = sums.get(each.entry, (0, 0))
        sums[each.entry] = prompt + each.input, output + each.output
    return sum(price_tokens(entry, *tokens, media) for entry, tokens in sums.items())


def price_each(entries: Sequence[ModelEntry], prompt: int, outputs: Sequence[int]) -> int:
    """Return the most that a prompt of text costs, whichever of its models answers."""
    return max(map(price_tokens, entries, repeat(prompt), outputs))


def price_tokens(
    entry: ModelEntry, prompt: int, output: int, media: frozenset[MediaKind] = TEXT
) -> int:
    """Return the most a request costs; services charge more for a prompt that they cache."""
    price = price_most(entry.provider.name, entry.model, prompt, output, media=media)
    if price is not None:
        return ceil(price * BILLION)
    if entry.provider.auth == "none":  # the user's own server
        return 0
    cure = "" if has_prices() else f"; prices come with {install_hint('prices')}"
    message = f"no price is known for {entry.id}, so a cost budget cannot be enforced{cure}"
    raise PermissionDenied(message, status=403)
