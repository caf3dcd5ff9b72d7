"""HTTP requests and responses as values, and secrets in the environment. No I/O."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct


class HttpRequest(Struct, frozen=True):
    """A request ready to be sent; header names are lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""

    def __repr__(self) -> str:
        """Omit header values: one of them is a key."""
        return (
            f"HttpRequest({self.method!r}, {self.url!r}, headers={sorted(self.headers)}, "
            f"body={len(self.body)} bytes)"
        )

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("method", self.method), ("url", self.url), ("headers", sorted(self.headers))]


class ResponseHead(Struct, frozen=True):
    """The beginning of a response; header names are lower case."""

    status: int
    headers: Mapping[str, str] = {}

    @property
    def retry_after(self) -> float | None:
        """Return the seconds to wait; a date counts from the response's own date."""
        if (seconds := parse_duration(self.headers.get("retry-after-ms"))) is not None:
            return seconds / 1000
        text = self.headers.get("retry-after")
        if (seconds := parse_duration(text)) is not None or text is None:
            return seconds
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - dates are rare

        try:
            then, now = (parsedate_to_datetime(date) for date in (text, self.headers["date"]))
            return max((then - now).total_seconds(), 0.0)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            return None


class HttpResponse(Struct, frozen=True):
    """A whole response."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


def parse_duration(text: str | None) -> float | None:
    """Return the text as seconds; None if it is not a number from 0 to 1e9."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def format_seconds(seconds: float) -> str:
    """Return a number of seconds as headers have it: to the millisecond, without an exponent."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


# A shorter value of a header or variable is a word rather than a key: "EMPTY", "not-needed".
LEAST_LEARNED = 12
HIDDEN = "REDACTED"
"""The replacement for a secret."""

_VARIABLE = re.compile(
    r"(?:.*_)?(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD)|AWS_BEARER_TOKEN_.*", re.IGNORECASE
)


def find_secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables that are named like keys."""
    for name, value in environment.items():
        if _names_secret(name) and len(value.strip()) >= LEAST_LEARNED:
            yield value.strip()


@lru_cache(maxsize=4096)
def _names_secret(variable: str) -> bool:
    return _VARIABLE.fullmatch(variable) is not None


def read_count(text: str) -> int | None:
    """Return the whole number that a client wrote in digits; None for anything else.

    Python raises ValueError for a number of many digits.
    """
    is_count = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_count else None


_MOST_DIGITS = 18
