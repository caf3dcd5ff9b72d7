"""A request whose signatures were refused, as the service takes it."""

import re
from collections.abc import Iterator

import msgspec

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError
from pondero.thinking import Adjustment

from .contents import UNSIGNED

_REFUSED = re.compile(
    r"(?:corrupted|invalid) thought.?signature|thought.?signature is not valid|TYPE_BYTES"
    r"|missing a thought_signature",
    re.IGNORECASE,
)
_KEYS = ("thoughtSignature", "thought_signature")


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request with stand-ins for its signatures; None for any other refusal."""
    if not _REFUSED.search(error.message):
        return None
    body = msgspec.json.decode(request.body)
    inner = body.get("request", body)
    unsealed = [seal for each in inner.get("contents", ()) for seal in _seals(each)]
    for content in inner.get("contents", ()):
        content["parts"] = list(_unsigned(content.get("parts", ())))
    inner["contents"] = [each for each in inner.get("contents", ()) if each["parts"]]
    why = "a thought signature was not accepted; the documented word for none stands in for it"
    note = Adjustment("seal_refused", "thinking", "replayed", "dropped", why)
    encoded = msgspec.json.encode(body)
    bare = HttpRequest(request.method, request.url, request.headers, encoded)
    return Repair(bare, note, "thread", tuple(unsealed))


def _seals(content: Json) -> Iterator[str]:
    for part in content.get("parts", ()):
        yield from (part[key] for key in _KEYS if key in part and part[key] != UNSIGNED)


def _unsigned(parts: list[Json]) -> Iterator[Json]:
    """Yield the parts without signatures; the first call of a step gets the stand-in."""
    called = False
    for part in parts:
        bare = {key: value for key, value in part.items() if key not in _KEYS}
        if "functionCall" in bare and not called:
            called = True
            bare["thoughtSignature"] = UNSIGNED
        if bare != {"text": ""}:
            yield bare
