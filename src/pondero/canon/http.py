"""HTTP as values, and which values of an environment are secret; nothing here moves bytes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct


class HttpRequest(Struct, frozen=True):
    """A request ready to be sent; header names are lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""

    def __repr__(self) -> str:
        """Leave out the values of headers: a key is among them."""
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
        """Return the seconds to wait by the headers; a date is relative to the answer's own."""
        if (waiting := parse_duration(self.headers.get("retry-after-ms"))) is not None:
            return waiting / 1000
        said = self.headers.get("retry-after")
        if (waiting := parse_duration(said)) is not None or said is None:
            return waiting
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - dates are rare

        try:
            then, now = (parsedate_to_datetime(date) for date in (said, self.headers["date"]))
            return max((then - now).total_seconds(), 0.0)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            return None


class HttpResponse(Struct, frozen=True):
    """A whole response."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


def parse_duration(text: str | None) -> float | None:
    """Return the text as seconds to wait; None where it is no number, negative or absurdly long."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


# Found where nobody registered them (a header, a variable), shorter values are rather words:
# "EMPTY", "lm-studio", "not-needed".
LEAST_LEARNED = 12
HIDDEN = "REDACTED"
"""What stands where a secret was."""

_VARIABLE = re.compile(
    r"(?:.*_)?(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD)|AWS_BEARER_TOKEN_.*", re.IGNORECASE
)


def find_secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables whose names say that they hold a key."""
    for name, value in environment.items():
        if _VARIABLE.fullmatch(name) and len(value.strip()) >= LEAST_LEARNED:
            yield value.strip()
