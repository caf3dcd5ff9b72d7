"""Services whose dial does not do what it says: deaf, half deaf, noisy, or never off.

==============  ===================================================================
deaf            every level thinks as much as medium
half-deaf       no level thinks more than medium
noisy 0.8       as much as the level says, times noise of this size on the log scale
not-off         off thinks as much as low
uncounted       as much as the level says; the usage does not count the thinking apart
==============  ===================================================================
"""

import math
from collections.abc import Callable, Mapping
from hashlib import blake2b
from statistics import NormalDist

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Reply
from ...errors import BadParameter
from .question import ParsedQuestion

USUAL_NOISE = 0.8
UNCOUNTED = "uncounted"
LOW, MEDIUM = 64, 128  # tokens, as thinking_text has them for these levels
_MOST = 4_096  # tokens: noise has no end, a test has
_NORMAL = NormalDist()


class DialDirective(Struct, frozen=True):
    """A word of the table and its number, if it has one."""

    word: str
    size: float = USUAL_NOISE

    @classmethod
    def parse(cls, text: str) -> "DialDirective":
        """Return the directive of a text such as ``deaf`` or ``noisy 0.8``."""
        word, _, size = text.strip().lower().partition(" ")
        try:
            if word in WORDS:
                return cls(word, float(size) if size else USUAL_NOISE)
        except ValueError:
            pass
        message = f"unknown dial {text!r}; use {' '.join(WORDS)}"
        raise BadParameter(message)


def find_dial(asked: ParsedQuestion) -> DialDirective | None:
    """Return the first directive of a question that changes the effect of the dial."""
    found = next((each for each in asked.directives if each[0] in WORDS), None)
    if found is None:
        return None
    try:
        return DialDirective.parse(" ".join(found))
    except BadParameter:  # not a number: the usual noise
        return DialDirective(found[0])


def bend_depth(tokens: int, dial: DialDirective | None, draw_key: str) -> int:
    """Return how long a service of this kind thinks in place of ``tokens``."""
    bend = None if dial is None else _BENT.get(dial.word)
    return tokens if bend is None or dial is None else bend(tokens, dial.size, draw_key)


def hide_counts(reply: Reply, dial: DialDirective | None) -> Reply:
    """Return the reply with the counts that a service of this kind gives."""
    if dial is None or dial.word != UNCOUNTED:
        return reply
    usage = reply.usage
    whole = (usage.output or 0) + (usage.thinking or 0)
    return replace(reply, usage=replace(usage, output=whole, thinking=None))


def _add_noise(tokens: int, size: float, draw_key: str) -> int:
    digest = blake2b(f"{draw_key}\0{tokens}".encode("utf-8", "replace"), digest_size=8).digest()
    draw = (int.from_bytes(digest, "big") + 0.5) / 2**64
    return min(_MOST, round(tokens * math.exp(size * _NORMAL.inv_cdf(draw))))


_BENT: Mapping[str, Callable[[int, float, str], int]] = {
    "deaf": lambda tokens, _size, _key: MEDIUM if tokens else 0,
    "half-deaf": lambda tokens, _size, _key: min(tokens, MEDIUM),
    "noisy": _add_noise,
    "not-off": lambda tokens, _size, _key: tokens or LOW,
}
WORDS = (*_BENT, UNCOUNTED)
"""Every directive that changes the effect of the dial, or what can be seen of it."""
