"""Changes a refused request where the refusal's message says what would be taken.

The exchange sends what ``repair`` returns once more.
"""

import re

import msgspec

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment, closest, offered_levels, why_substituted

_CANNOT_THINK = re.compile(r"does not support thinking")
_BAD_WORD = re.compile(r"invalid think value")


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request as the server would take it; None where the refusal names no cure."""
    body = msgspec.json.decode(request.body)
    note = _silent(body, error.message) or _lower(body, error.message)
    if note is None:
        return None
    encoded = msgspec.json.encode(body)
    sent = HttpRequest(request.method, request.url, request.headers, encoded)
    return Repair(sent, note, "model")


def _silent(body: dict[str, Json], message: str) -> Adjustment | None:
    if not body.get("think") or not _CANNOT_THINK.search(message):
        return None
    asked = body.pop("think")
    why = "the server says that this model cannot think"
    return Adjustment("no_thinking", "level", "on" if asked is True else asked, "off", why)


def _lower(body: dict[str, Json], message: str) -> Adjustment | None:
    """Take the next of the levels that an older server lists."""
    asked, words = body.get("think"), offered_levels(message.replace("must be", "must be one of"))
    if not isinstance(asked, str) or not words or asked in words or not _BAD_WORD.search(message):
        return None
    got = body["think"] = closest(asked, words)
    why = f"the server takes {' '.join(words)}; {why_substituted(got, asked, words)}"
    return Adjustment("unsupported_level", "level", asked, got, why)
