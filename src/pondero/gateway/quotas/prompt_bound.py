"""The most tokens of a prompt: what is in the request, and what the service has stored for it."""

from collections.abc import Sequence
from functools import lru_cache
from operator import is_
from typing import cast

from msgspec import Struct

from ...canon import MEDIA, Blob, Json, MediaKind, Message, Part, Text, ToolResult
from ...catalog import ModelEntry
from ...dialects import get_dialect, may_escape_names
from ...exchange import (
    CHARACTERS,
    TextSize,
    estimate_characters,
    measure_frame,
    sum_most,
)
from ...framing import parse_json_or_none
from ...store import has_media_input
from ..requests.routed_request import RoutedRequest, address_history, is_at_home
from ..state.conversation_memo import find_last_answer
from .body_size import measure_body
from .hosted_tools import find_context
from .media_bound import list_media, measure_media

_SHORT_BODY = 4_096
"""Bytes of a body in which nothing is worth a second look."""
_WEIGHT = 200  # bytes of a size
_NO_TEXT = (Message("user", (Text(""),)),)


def find_prompt_bound(routed: RoutedRequest, entry: ModelEntry) -> int:
    """Return the most tokens of the prompt; what is not known may fill the window."""
    routed = address_history(routed, entry)
    size = _measure_messages(routed, entry)
    estimated, media = sum_most(size.text), size.media
    stored = _find_stored(routed, entry)
    if entry.provider.dialect == routed.call.client_dialect:
        if routed.stored.homes is not None and is_at_home(routed, entry):
            # The request has its past here, the body has not: what is stored counts once.
            estimated = max(estimated, _estimate_texts(routed) + (stored or 0))
            stored = None if stored is None else 0
        else:
            estimated = max(estimated, _estimate_body(routed, estimated))
    if media is None or stored is None or size.has_address or _names_stored(routed, entry):
        return max(estimated, find_context(entry))
    if not media and not stored:
        return estimated
    return min(estimated + media + stored, max(estimated, find_context(entry)))


def find_prompt_media(routed: RoutedRequest, entry: ModelEntry) -> frozenset[MediaKind]:
    """Return what the prompt may have besides text, if the price of the model depends on it."""
    if not has_media_input(entry.provider.name, entry.model):
        return frozenset()
    routed = address_history(routed, entry)
    # The content of a file elsewhere, or of stored items, is not known.
    if _is_unseen(routed, entry) or _find_stored(routed, entry):
        return frozenset(MEDIA)
    parts = (part for message in routed.request.messages for part in message.parts)
    return frozenset().union(*(list_media(part) for part in parts if type(part) is not Text))


def is_short_frame(routed: RoutedRequest) -> bool:
    """Return whether a request in a known frame is short, and the service stores nothing for it."""
    stored = routed.stored
    if len(routed.call.http.body) > _SHORT_BODY:
        return False
    return stored.tokens == 0 and stored.sent_tokens == 0 and stored.homes is None


def find_frame(routed: RoutedRequest, entry: ModelEntry) -> TextSize | None:
    """Return the size of a request without its short text; None if it names what is stored."""
    return None if _names_stored(routed, entry) else measure_frame(routed.request).add(_NO_TEXT)


def _estimate_body(routed: RoutedRequest, known: int) -> int:
    """Return an estimate of all texts in a body that is longer than what is known of it.

    A service also reads fields that are none of the conversation (documents, predictions), and
    names in other spellings.
    """
    size = len(routed.call.http.body)
    if size <= _SHORT_BODY or size <= known * CHARACTERS:
        return 0
    return _estimate_texts(routed)


def _estimate_texts(routed: RoutedRequest) -> int:
    return estimate_characters(measure_body(routed.call.http.body, routed.memo))


def describe_unseen(routed: RoutedRequest) -> str:
    """Return why a request reserves a window, for an error; empty if it has all of its text."""
    entries = routed.resolved.entries
    if any(_is_unseen(routed, entry) for entry in entries):
        return (
            "it names a file by its address, or something that the service has stored, which may "
            "fill the model's window; send the content itself"
        )
    if any(_measure_messages(routed, entry).media is None for entry in entries):
        return (
            "it has a sound, a film or a document whose length its bytes do not tell, which may "
            "fill the model's window; send PDFs of known pages, WAV, or text"
        )
    return ""


class _MessagesSize(Struct, frozen=True):
    """The size of a conversation, and what is sent with it in its ``frame``.

    ``media``: the most tokens of all pictures, documents and sounds; None if they have no limit.
    ``has_address``: the service reads a file that the request does not have.
    """

    frame: tuple[object, object, object]
    text: TextSize
    media: int | None = 0
    has_address: bool = False


def _measure_messages(routed: RoutedRequest, entry: ModelEntry) -> _MessagesSize:
    """Return the size of a conversation; messages of earlier requests are not measured again."""
    request, memo, sent = routed.request, routed.memo, routed.parsed.request.messages
    messages, key = request.messages, (entry.provider.dialect, entry.model)
    frame = (request.system, request.tools, request.output)
    count, size = 0, None
    if memo is not None and (known := memo.find_prefix(sent, "size", key)) is not None:
        before, begun = cast("tuple[tuple[Message, ...], _MessagesSize]", known[1])
        if all(map(is_, (*before, *begun.frame), (*messages[: len(before)], *frame))):
            count, size = len(before), begun
    if size is None:
        size = _MessagesSize(frame, measure_frame(request))
    elif count == len(messages):
        return size
    last = find_last_answer(messages)
    is_split = count < last and len(sent) == len(messages)
    for end in (last, len(messages)) if is_split else (len(messages),):
        size = _add_messages(size, messages[count:end], entry)
        count = end
        if memo is not None:
            state, weight = (messages[:end], size), _WEIGHT + 8 * end
            before = sent if end == len(messages) else sent[:end]
            memo.note_prefix(before, "size", key, state, weight=weight)
    return size


def _add_messages(
    size: _MessagesSize, messages: Sequence[Message], entry: ModelEntry
) -> _MessagesSize:
    rules = get_dialect(entry.provider.dialect).service().media
    media, has_address = size.media, size.has_address
    for message in messages:
        for part in message.parts:
            if type(part) is Text:  # nearly all are: it is neither a medium nor an address
                continue
            taken = measure_media(part, rules, entry.model)
            media = None if media is None or taken is None else media + taken
            has_address = has_address or _has_address(part)
    return _MessagesSize(size.frame, size.text.add(messages), media, has_address)


def _find_stored(routed: RoutedRequest, entry: ModelEntry) -> int | None:
    """Return the most tokens of stored items and answers that the service adds; None if unknown."""
    if entry.provider.dialect != routed.call.client_dialect:
        return 0  # the items that references mean were put in their places
    return routed.stored.tokens if is_at_home(routed, entry) else routed.stored.sent_tokens


def _is_unseen(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether the service reads files or answers that the request does not have."""
    if _measure_messages(routed, entry).has_address or _names_stored(routed, entry):
        return True
    return _find_stored(routed, entry) is None


def _has_address(part: Part) -> bool:
    """Return whether a part is a file or a film elsewhere; services limit the size of pictures."""
    if isinstance(part, ToolResult):
        return any(map(_has_address, part.content))
    return isinstance(part, Blob) and part.data is None


def _names_stored(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a request names text that is not in it: a cache, a file."""
    if entry.provider.dialect != routed.call.client_dialect:
        return False
    names = routed.service.passthrough.stored_at
    body = routed.call.http.body
    if not names or not _names_any(body, names):
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


def _names_any(body: bytes, names: tuple[str, ...]) -> bool:
    """Return whether a body may have a field with one of these names."""
    is_named = any(map(body.__contains__, _encode_names(names)))
    return is_named or may_escape_names(body.__contains__)


@lru_cache(maxsize=64)
def _encode_names(names: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(name.encode() for name in names)
