"""Bytes to typed values, or Malformed with a path; nothing else escapes."""

import json
import re
from typing import Any, TypeVar

import msgspec

from ...canon import Json
from ...errors import Malformed

T = TypeVar("T")

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_PATH = re.compile(r"^(.*) - at `(.*)`$", re.DOTALL)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(data: bytes | msgspec.Raw, decoder: "msgspec.json.Decoder[T]", *, at: str = "$") -> T:
    """Return the value; ``at`` is where in the frame this piece of JSON stands."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise misshapen(error, at=at) from None
    except UNREADABLE as error:
        value: T = _without_lone_surrogates(bytes(data), decoder.type, error, at=at)
        return value


def misshapen(error: msgspec.ValidationError, *, at: str = "$") -> Malformed:
    """Return what msgspec found, with its path put after ours."""
    found = _PATH.match(str(error))
    message, path = (found[1], found[2].removeprefix("$")) if found else (str(error), "")
    return Malformed(message, path=f"{at}{path}")


def _without_lone_surrogates(data: bytes, kind: Any, error: Exception, *, at: str) -> Any:
    """Read once more: half of a surrogate pair is good JSON and no text; it becomes U+FFFD."""
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return msgspec.json.decode(_LONE_SURROGATE.sub("\ufffd", text), type=kind)
    except msgspec.ValidationError as shape:
        raise misshapen(shape, at=at) from None
    except (ValueError, RecursionError, msgspec.DecodeError):
        raise Malformed(f"not JSON: {error}", path=at) from None


def dump(value: Json) -> bytes:
    """Return what was parsed as JSON again, also where an integer is longer than a machine's."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(value).encode()


def as_dict(value: Json, *, at: str) -> dict[str, Json]:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise Malformed(f"expected an object, got {type(value).__name__}", path=at)
    return value


def as_text(value: Json, *, at: str) -> str:
    """Return the value if it is text; nothing at all reads as no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"expected text, got {type(value).__name__}", path=at)
    return value
