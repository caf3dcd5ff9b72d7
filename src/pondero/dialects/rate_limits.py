"""What the headers of an answer say about an account's rate limits; each API has its own names."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

LimitUnit = Literal["requests", "tokens", "output_tokens"]
"""What a limit counts; how many output tokens a request takes is known when it ends."""

_MOMENTS = 1e9  # from here on, a number is a moment in seconds since 1970: no wait takes 30 years
_MILLISECONDS = 1e11  # and from here on in milliseconds
_STEP = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, None: 1.0}


class RateLimit(Struct, frozen=True):
    """What is left of one of an account's limits.

    ``most``: None if the service does not say; ``wait``: seconds until ``left`` is reset.
    ``name`` is that of the header with ``left``, and tells it from others of the same unit.
    """

    unit: LimitUnit
    left: int
    most: int | None
    wait: float
    name: str = ""


class LimitNames(Struct, frozen=True):
    """The names of the headers about one limit; ``period``: seconds if there is no reset."""

    unit: LimitUnit
    left: str
    most: str
    reset: str
    period: float = 60.0


class RateLimitHeaders(Struct, frozen=True):
    """The limits that an API reports with every answer.

    A reset is a moment (RFC 3339, or seconds or milliseconds since 1970), a duration such as
    ``6m0s``, or a number of seconds.
    """

    limits: tuple[LimitNames, ...] = ()

    def read(self, headers: Mapping[str, str], now: float) -> list[RateLimit]:
        """Return the limits in an answer's headers; ``now`` is in seconds since 1970."""
        found: list[RateLimit] = []
        for names in self.limits:
            left = _read_count(headers.get(names.left))
            if left is not None:
                wait = _read_wait(headers.get(names.reset, "").strip(), now)
                most = _read_count(headers.get(names.most))
                wait = names.period if wait is None else wait
                found.append(RateLimit(names.unit, left, most, wait, names.left))
        return found


def _read_count(text: str | None) -> int | None:
    with suppress(ValueError, OverflowError):
        return None if text is None else max(0, int(float(text)))
    return None


def _read_wait(text: str, now: float) -> float | None:
    """Return seconds from now; None for what no known service writes."""
    steps = [*_STEP.finditer(text)]
    if steps and "".join(step[0] for step in steps) == text:
        seconds = sum(float(step[1]) * _SECONDS[step[2]] for step in steps)
        if seconds < _MOMENTS:
            return seconds
        return max(0.0, (seconds if seconds < _MILLISECONDS else seconds / 1000) - now)
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now)
    return None


def _name(kind: str, *, unit: LimitUnit, period: float = 60.0) -> LimitNames:
    name = f"x-ratelimit-{{}}-{kind}".format
    return LimitNames(unit, name("remaining"), name("limit"), name("reset"), period)


OPENAI_RATE_LIMITS = RateLimitHeaders(
    (
        # OpenAI, Azure, Groq and most others; a reset is a duration, Azure has none
        _name("requests", unit="requests"),
        _name("tokens", unit="tokens"),
        # Cerebras has a reset in seconds, Mistral none
        _name("requests-day", unit="requests", period=86_400.0),
        _name("requests-minute", unit="requests"),
        _name("req-minute", unit="requests"),
        _name("tokens-minute", unit="tokens"),
        # OpenRouter's free models; a reset is a moment
        LimitNames("requests", "x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset"),
    )
)
"""Of APIs that are like OpenAI's (recorded exchanges)."""
