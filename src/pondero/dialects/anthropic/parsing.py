"""JSON of the service to typed values; what does not fit is Malformed, with its path."""

import re
from typing import TypeVar

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import Decoder

from ...errors import Malformed

T = TypeVar("T")

_PLACE = re.compile(r"^(.*) - at `(?:key in )?\$(.*)`$", re.DOTALL)
_HALF = re.compile(rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|[c-fC-F]..)")


def parse(data: bytes | Raw, decoder: Decoder[T], *, at: str = "$") -> T:
    """Return the data as the decoder's type."""
    try:
        return decoder.decode(data)
    except ValidationError as error:
        raise _misfit(error, at) from None
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _once_more(bytes(data), decoder, error, at=at)


def _once_more(data: bytes, decoder: Decoder[T], first: Exception, *, at: str) -> T:
    """Read again with half a surrogate pair as U+FFFD: it is good JSON and no text."""
    whole = _HALF.sub(lambda half: half[0] if half[1] else rb"\ufffd", data)
    if whole == data:
        raise Malformed(f"not JSON ({first}): {data[:60]!r}", path=at) from None
    try:
        return decoder.decode(whole)
    except ValidationError as error:
        raise _misfit(error, at) from None
    except (DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed(f"not JSON ({first}): {data[:60]!r}", path=at) from None


def _misfit(error: ValidationError, at: str) -> Malformed:
    place = _PLACE.match(str(error))
    if place is None:
        return Malformed(str(error), path=at)
    return Malformed(place[1], path=at + place[2])
