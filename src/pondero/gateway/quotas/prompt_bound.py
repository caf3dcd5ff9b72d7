"""The most tokens of a prompt: what is in the request, and what the service has stored for it."""

from ...canon import Blob, Json, Part, ToolResult
from ...catalog import ModelEntry
from ...dialects import get_dialect
from ...exchange import CHARACTERS, estimate_json, estimate_most
from ...framing import parse_json_or_none
from ..requests.routed_request import RoutedRequest, address_history, is_at_home
from .hosted_tools import find_context
from .media_bound import measure_media

_SHORT_BODY = 4_096
"""Bytes of a body in which nothing is worth a second look."""


def find_prompt_bound(routed: RoutedRequest, entry: ModelEntry) -> int:
    """Return the most tokens of the prompt; what is not known may fill the window."""
    routed = address_history(routed, entry)
    estimated = estimate_most(routed.request)
    media = _find_media(routed, entry)
    stored = _find_stored(routed, entry)
    if entry.provider.dialect == routed.call.client_dialect:
        body = routed.call.http.body
        if routed.stored.homes is not None and is_at_home(routed, entry):
            # The request has its past here, the body has not: what is stored counts once.
            estimated = max(estimated, estimate_json(parse_json_or_none(body)) + (stored or 0))
            stored = None if stored is None else 0
        else:
            estimated = max(estimated, _estimate_body(body, estimated))
    if media is None or stored is None or _names_unseen(routed, entry):
        return max(estimated, find_context(entry))
    if not media and not stored:
        return estimated
    return min(estimated + media + stored, max(estimated, find_context(entry)))


def _estimate_body(body: bytes, known: int) -> int:
    """Return an estimate of all texts in a body that is longer than what is known of it.

    A service also reads fields that are none of the conversation (documents, predictions), and
    names in other spellings.
    """
    if len(body) <= _SHORT_BODY or len(body) <= known * CHARACTERS:
        return 0
    return estimate_json(parse_json_or_none(body))


def describe_unseen(routed: RoutedRequest) -> str:
    """Return why a request reserves a window, for an error; empty if it has all of its text."""
    entries = routed.resolved.entries
    if any(_names_unseen(routed, e) or _find_stored(routed, e) is None for e in entries):
        return (
            "it names a file by its address, or something that the service has stored, which may "
            "fill the model's window; send the content itself"
        )
    if any(_find_media(routed, entry) is None for entry in entries):
        return (
            "it has a sound, a film or a document whose length its bytes do not tell, which may "
            "fill the model's window; send PDFs of known pages, WAV, or text"
        )
    return ""


def _find_media(routed: RoutedRequest, entry: ModelEntry) -> int | None:
    """Return the most tokens of all pictures, documents and sounds; None if they have no limit."""
    rules = get_dialect(entry.provider.dialect).service().media
    total = 0
    for turn in routed.request.messages:
        for part in turn.parts:
            size = measure_media(part, rules, entry.model)
            if size is None:
                return None
            total += size
    return total


def _find_stored(routed: RoutedRequest, entry: ModelEntry) -> int | None:
    """Return the most tokens of stored items and answers that the service adds; None if unknown."""
    if entry.provider.dialect != routed.call.client_dialect:
        return 0  # the items that references mean were put in their places
    return routed.stored.tokens if is_at_home(routed, entry) else routed.stored.sent_tokens


def _names_unseen(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether the service reads files that the request does not have."""
    if any(_has_address(part) for turn in routed.request.messages for part in turn.parts):
        return True
    return entry.provider.dialect == routed.call.client_dialect and _names_stored(routed)


def _has_address(part: Part) -> bool:
    """Return whether a part is a file or a film elsewhere; services limit the size of pictures."""
    if isinstance(part, ToolResult):
        return any(map(_has_address, part.content))
    return isinstance(part, Blob) and part.data is None


def _names_stored(routed: RoutedRequest) -> bool:
    """Return whether a request names text that is not in it: a cache, a file."""
    names = routed.service.passthrough.stored_at
    body = routed.call.http.body
    if not names or not (b"\\u" in body or any(name.encode() in body for name in names)):
        return False
    waiting: list[Json] = [parse_json_or_none(body)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if any(value.get(name) for name in names):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False
