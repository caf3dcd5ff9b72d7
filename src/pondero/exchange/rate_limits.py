"""Reads rate-limit headers: durations (OpenAI, Groq; Cerebras by day, minute), Anthropic dates."""

import re
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from ..canon import parse_duration

_HEADER = re.compile(
    r"[\w-]*ratelimit-(?:(?P<first>remaining|reset)-(?P<what>[\w-]+)"
    r"|(?P<which>[\w-]+)-(?P<last>remaining|reset))"
)
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_SECONDS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)


class RateLimit(Struct, frozen=True):
    """The remaining amount of one kind, and the seconds until it is full again."""

    what: str
    left: float
    seconds: float

    @property
    def counts_tokens(self) -> bool:
        """Return whether it counts tokens, not requests."""
        return "token" in self.what


def parse_rate_limits(headers: Mapping[str, str], *, now: float) -> tuple[RateLimit, ...]:
    """Parse an answer's rate-limit headers; ``now`` is seconds since 1970."""
    left: dict[str, float] = {}
    resets: dict[str, float] = {}
    for name, value in headers.items():
        if "ratelimit" in name and (found := _HEADER.fullmatch(name)):
            kind = found["first"] or found["last"]
            what = found["what"] or found["which"]
            number = parse_duration(value) if kind == "remaining" else _parse_reset(value, now)
            if number is not None:
                (left if kind == "remaining" else resets)[what] = number
    return tuple(
        RateLimit(what, count, resets[what]) for what, count in left.items() if what in resets
    )


def _parse_reset(value: str, now: float) -> float | None:
    if (plain := parse_duration(value)) is not None:
        return plain
    if value and (found := _DURATION.fullmatch(value)):
        parts = zip(found.groups(), _SECONDS, strict=True)
        return sum(float(count) * unit for count, unit in parts if count)
    try:
        return max(0.0, datetime.fromisoformat(value).timestamp() - now)
    except ValueError:
        return None
