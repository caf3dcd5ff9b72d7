"""Ids of stored interactions, their continuations and environments, in requests and answers.

A gateway binds them to its clients, which share one account.
"""

from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec
from msgspec import Raw, Struct

from pondero.canon import HttpRequest, HttpResponse, Json, get_decoder
from pondero.dialects.dialect import GivenAnswer, StoredCall, StoredId
from pondero.dialects.escaped_names import may_escape_names
from pondero.dialects.resource_names import find_resource

from .errors import own_error

MARKS = (b'"interaction.created"', b'"interaction.completed"', b'"continuation_token"')
"""In every event of a stream that gives an id, or a token to continue with."""
END_MARKS = (b'"interaction.completed"',)
"""In the event that ends a stream."""
_NAMES = ("previous_interaction_id", "continuation_token", "environment")
NAMED_AT = (
    *("uri", "file_uri", "fileUri", "file_search_store_names", "fileSearchStoreNames"),
    *("cached_content", "cachedContent"),
)
"""Fields of files, of stores of them, and of cached content."""
_FOLDED = {name.replace("_", ""): name for name in _NAMES}
_QUERY = ("stream", "last_event_id", "include_input")
_HEADERS = ("accept", "api-revision")
_FIELDS = get_decoder(dict[str, Raw])
# Values that name something which this API did not make, at any depth.
_FILES = frozenset({"uri", "fileuri", "filesearchstorenames", "cachedcontent"})
_MARKS = (
    *(b"files", b"ileSearchStores", b"cachedContents", b"%"),
    *(b'%b"' % each.encode() for each in NAMED_AT),  # the name itself may be in another spelling
)


class _Counts(Struct):
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_thought_tokens: int | None = None
    total_tool_use_tokens: int | None = None


class _Interaction(Struct):
    """An interaction, or an event with one; an update of its status has a token of its own."""

    id: str | None = None
    continuation_token: str | None = None
    environment_id: str | None = None
    usage: _Counts | None = None
    interaction: "_Interaction | None" = None


_INTERACTION = get_decoder(_Interaction)


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return what a request continues or uses, in any spelling of its names."""
    try:
        fields = _FIELDS.decode(http.body)
        named = [
            (known, msgspec.json.decode(value))
            for name, value in fields.items()
            if (known := _FOLDED.get(name.replace("_", "").casefold())) is not None
        ]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    return (
        *(
            StoredId(each, str(id), is_history=True)
            for each, said in named
            if (id := _find_id(said))
        ),
        *(StoredId("file", id, may_be_dropped=True, is_shared=True) for id in _find_files(http)),
    )


def _find_files(http: HttpRequest) -> list[str]:
    """Return the names of files, of stores of them, and of cached content."""
    contains = http.body.__contains__
    if not (any(map(contains, _MARKS)) or may_escape_names(contains)):
        return []
    try:
        body = msgspec.json.decode(http.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    return [name for text in _iter_addresses(body) if (name := find_resource(text)) is not None]


def _iter_addresses(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _iter_addresses(each)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name.replace("_", "").casefold() in _FILES:
                said = inner if isinstance(inner, list) else [inner]
                yield from (text for text in said if isinstance(text, str))
            yield from _iter_addresses(inner)


def _find_id(said: Json) -> Json:
    """Return an id; an environment may be an object, which names one or describes a new one."""
    if not isinstance(said, dict):
        return said
    return next((said[name] for name in said if _is_environment(name)), None)


def _is_environment(name: str) -> bool:
    return name.replace("_", "").casefold() == "environmentid"


def reject(stored: StoredId) -> HttpResponse:
    """Return the service's answer to an id that it does not know."""
    what = {"environment": "Environment", "file": "File"}.get(stored.field, "Interaction")
    return own_error(404, f"{what} '{stored.id}' not found.")


def forward(http: HttpRequest, call: StoredCall, home: HttpRequest) -> HttpRequest:
    """Return a request about a stored interaction for the service that has it."""
    address = home.url.partition("?")[0]
    cancel = "/cancel" if call.verb == "cancel" else ""
    kept = [pair for pair in parse_qsl(urlsplit(http.url).query) if pair[0] in _QUERY]
    query = f"?{urlencode(kept)}" if kept else ""
    url = f"{address}/{quote(call.id, safe='')}{cancel}{query}"
    sent = {name: http.headers[name] for name in _HEADERS if name in http.headers}
    return HttpRequest(http.method, url, {**home.headers, **sent})


def find_given(data: bytes, *, stream: bool) -> Iterator[str]:
    """Yield the ids of an answer, or if ``stream`` of one event."""
    whole = _read(data)
    for found in (whole, whole.interaction) if stream and whole is not None else (whole,):
        if found is not None:
            ids = (found.id, found.continuation_token, found.environment_id)
            yield from (id for id in ids if id)


def find_answer(data: bytes, *, stream: bool) -> GivenAnswer | None:
    """Return an answer, or if ``stream`` that of one event; None if it has none."""
    found = _read(data)
    if stream and found is not None:
        found = found.interaction
    if found is None or not found.id:
        return None
    counts = found.usage or _Counts()
    read = counts.total_input_tokens
    written = (counts.total_output_tokens or 0) + (counts.total_thought_tokens or 0)
    return GivenAnswer(
        id=found.id,
        input=read if read is None else read + (counts.total_tool_use_tokens or 0),
        output=None if found.usage is None else written,
    )


def _read(data: bytes) -> _Interaction | None:
    try:
        return _INTERACTION.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
