"""What is in a frame: JSON to typed values; what does not fit is Malformed, with its path."""

import re
from typing import TypeVar

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import Decoder

from ..canon import Json
from ..errors import Malformed

T = TypeVar("T")

UNREADABLE = (DecodeError, UnicodeError, RecursionError)
"""What a decoder raises for bytes that it cannot read as its type."""

_ANYTHING: Decoder[Json] = Decoder()
_PLACE = re.compile(r"^(.*) - at `(?:key in )?\$(.*)`$", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")


def parse(data: bytes | Raw, decoder: Decoder[T], *, at: str = "$") -> T:
    """Return the data as the decoder's type; ``at`` is where in the frame it stands."""
    try:
        return decoder.decode(data)
    except ValidationError as error:
        raise _misfit(error, at) from None
    except UNREADABLE as error:
        return _once_more(bytes(data), decoder, error, at=at)


def json_of(data: bytes) -> Json:
    """Return what the data says; None where it is not JSON."""
    try:
        return _ANYTHING.decode(data)
    except UNREADABLE:
        return None


def _once_more(data: bytes, decoder: Decoder[T], first: Exception, *, at: str) -> T:
    """Read again with half a surrogate pair as U+FFFD: it is good JSON and no text."""
    import json  # noqa: PLC0415 - only for what msgspec refuses

    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return decoder.decode(_HALF.sub("\ufffd", text))
    except ValidationError as error:
        raise _misfit(error, at) from None
    except (ValueError, RecursionError):
        raise Malformed(f"not JSON ({first}): {data[:60]!r}", path=at) from None


def _misfit(error: ValidationError, at: str) -> Malformed:
    place = _PLACE.match(str(error))
    if place is None:
        return Malformed(str(error), path=at)
    return Malformed(place[1], path=at + place[2])
