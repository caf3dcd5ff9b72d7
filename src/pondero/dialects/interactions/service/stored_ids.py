"""Ids of stored interactions: where requests name them, and answers give them.

A gateway binds them to its clients, which share one account.
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec
from msgspec import Raw, Struct

from pondero.canon import HttpRequest, HttpResponse, get_decoder
from pondero.dialects.dialect import GivenAnswer, StoredCall, StoredId

from .errors import own_error

MARKS = (b'"interaction.created"', b'"interaction.completed"', b'"continuation_token"')
"""In every event of a stream that gives an id, or a token that continues an answer."""
END_MARKS = (b'"interaction.completed"',)
"""In the event that ends a stream."""
_NAMES = {
    "previousinteractionid": "previous_interaction_id",
    "continuationtoken": "continuation_token",
}
_MARK = re.compile(rb"previous_?interaction|continuation_?token|\\u00", re.IGNORECASE)
_QUERY = ("stream", "last_event_id", "include_input")
_HEADERS = ("accept", "api-revision")
_FIELDS = get_decoder(dict[str, Raw])


class _Counts(Struct):
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_thought_tokens: int | None = None


class _Interaction(Struct):
    id: str | None = None
    continuation_token: str | None = None
    usage: _Counts | None = None
    interaction: "_Interaction | None" = None


_INTERACTION = get_decoder(_Interaction)


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the interaction that a request continues, named in any spelling of its field."""
    body = http.body
    if _MARK.search(body) is None:
        return ()
    try:
        named = [
            (field, msgspec.json.decode(raw))
            for name, raw in _FIELDS.decode(body).items()
            if (field := _NAMES.get(name.replace("_", "").casefold())) is not None
        ]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    return tuple(StoredId(field, str(id), is_history=True) for field, id in named if id)


def reject(stored: StoredId) -> HttpResponse:
    """Return the service's answer to an id that it does not know."""
    return own_error(404, f"Interaction '{stored.id}' not found.")


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
    """Yield the id of an answer, or if ``stream`` of one event, and its continuation token."""
    event = _read(data)
    for found in (event, event.interaction if stream and event is not None else None):
        if found is not None:
            yield from (each for each in (found.id, found.continuation_token) if each)


def find_answer(data: bytes, *, stream: bool) -> GivenAnswer | None:
    """Return an answer, or if ``stream`` that of one event; None if it has none."""
    found = _read(data)
    if stream and found is not None:
        found = found.interaction
    if found is None or not found.id:
        return None
    counts = found.usage or _Counts()
    written = (counts.total_output_tokens or 0) + (counts.total_thought_tokens or 0)
    return GivenAnswer(
        id=found.id,
        input=counts.total_input_tokens,
        output=None if found.usage is None else written,
    )


def _read(data: bytes) -> _Interaction | None:
    try:
        return _INTERACTION.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
