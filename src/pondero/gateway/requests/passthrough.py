"""The road of a request whose model speaks the client's own wire: it passes as it came.

``answers`` takes this road where nothing of the conversation has to change. Of the request, only
what the dial decided is replaced; of the answer, only the model's name. ``CapturingTransport``
keeps what is read, so that the answer can be counted and passed on at once.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from ...canon import (
    HttpRequest,
    HttpResponse,
    Json,
    Message,
    Request,
    ResponseHead,
    Text,
    get_decoder,
)
from ...catalog import ModelEntry
from ...dialects import PassthroughRules
from ...exchange import (
    AsyncResponse,
    AsyncTransport,
    Exchange,
    Timeouts,
    compose,
    plan,
    thinking_paths,
    with_fields,
    with_list_headers,
)
from ...thinking import DEFAULT, UNSET, Plan, RequestParameters

_SENT_BACK = re.compile(
    r"content-type|.*request-?id|retry-after(?:-ms)?|x-should-retry|.*ratelimit.*|.*-processing-ms"
)
_FIELDS = get_decoder(dict[str, Raw])

Places = tuple[tuple[str, ...], ...]
"""Where an answer names its model."""


def is_exact(front: str, entry: ModelEntry) -> bool:
    """Return whether a model is served on exactly the wire that the client speaks."""
    return entry.provider.exact and entry.provider.dialect == front


def readdress(
    http: HttpRequest,
    passing: PassthroughRules,
    entry: ModelEntry,
    made: Plan,
    template: Exchange,
    *,
    untouched: bool,
) -> Exchange:
    """Return the client's request readdressed; ``untouched``: its thinking fields say the plan.

    ``template`` is a request of our own to the same model: its address, its key, and the fields
    that this deployment wants beside the conversation.
    """
    own: dict[str, Json] = msgspec.json.decode(template.http.body)
    sent = _FIELDS.decode(http.body)
    more = {name: own[name] for name in passing.added_fields if name in own and name not in sent}
    without: list[tuple[str, ...]] = []
    if "model" in own:
        more["model"] = own["model"]
    else:
        without.append(("model",))
    if not untouched:
        without += thinking_paths(entry, made)
        more |= made.fields
    body = with_fields(http.body, without, more)
    ours = msgspec.structs.replace(template.http, method=http.method, body=body)
    ours = _with_headers_of(http, passing, ours, {} if untouched else made.headers)
    return msgspec.structs.replace(template, http=ours, plan=made)


def with_own(exchange: Exchange, http: HttpRequest, passing: PassthroughRules) -> Exchange:
    """Return a request in our words with the headers of the client's: both speak one wire."""
    ours = _with_headers_of(http, passing, exchange.http, exchange.plan.headers)
    return msgspec.structs.replace(exchange, http=ours)


def _with_headers_of(
    http: HttpRequest, passing: PassthroughRules, ours: HttpRequest, more: Mapping[str, str]
) -> HttpRequest:
    """Return a request with what the client's headers and address say to the service."""
    headers = {name: http.headers[name] for name in passing.headers if name in http.headers}
    url = ours.url
    if "beta=true" in urlsplit(http.url).query and "?" not in url:
        url = f"{url}?beta=true"
    headers = {**ours.headers, **with_list_headers(headers, more)}
    return msgspec.structs.replace(ours, url=url, headers=headers)


class CapturingTransport:
    """A transport that keeps what it reads of the last answer, until it is taken."""

    needs_key = True

    def __init__(self, transport: AsyncTransport) -> None:
        self.head: ResponseHead = ResponseHead(200)
        self._transport = transport
        self._kept: list[bytes] = []
        self._answer: AsyncResponse | None = None

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "_Tapped":
        """Send it and return the answer as soon as its head is there."""
        answer = await self._transport.send(request, timeouts)
        self._kept.clear()
        self.head = answer.head
        self._answer = tapped = _Tapped(answer, self._kept)
        return tapped

    async def aclose(self) -> None:
        """Leave the connections open: they are not this request's."""

    def take(self) -> bytes:
        """Return what came since the last time."""
        kept = b"".join(self._kept)
        self._kept.clear()
        return kept

    async def rest(self) -> bytes:
        """Return what comes behind the end of an answer, such as a last mark of the stream."""
        if self._answer is not None:
            async for _ in self._answer:
                pass
        return self.take()


class _Tapped:
    """An answer that is kept while it is read."""

    def __init__(self, answer: AsyncResponse, kept: list[bytes]) -> None:
        self.head = answer.head
        self._answer = answer
        self._pieces = aiter(answer)
        self._keep = kept.append

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._pieces)
        self._keep(piece)
        return piece

    async def aclose(self) -> None:
        """Close the connection at once, read to the end or not."""
        await self._answer.aclose()


def headers_back(head: ResponseHead) -> dict[str, str]:
    """Return the headers of an answer that clients read."""
    return {name: value for name, value in head.headers.items() if _SENT_BACK.fullmatch(name)}


# -- the model's name ----------------------------------------------------------------------------


def rename_model(body: bytes, places: Places, model: str) -> bytes:
    """Return a JSON object in which the answering model has this name; other bytes stay."""
    for path in places:
        if b'"%b"' % path[-1].encode() in body:
            body = _renamed(body, path, model)
    return body


def _renamed(body: bytes, path: tuple[str, ...], model: str) -> bytes:
    try:
        fields = _FIELDS.decode(body)
    except msgspec.DecodeError:
        return body
    if path[0] not in fields:
        return body
    inner = bytes(fields[path[0]])
    new = msgspec.json.encode(model) if len(path) == 1 else _renamed(inner, path[1:], model)
    if new == inner:
        return body
    pairs = ((name, new if name == path[0] else bytes(raw)) for name, raw in fields.items())
    return b"{%b}" % b",".join(b"%b:%b" % (msgspec.json.encode(k), v) for k, v in pairs)


class ModelRenamer:
    """Bytes of a stream in, the same bytes out, whole lines at a time, under another name."""

    def __init__(self, places: Places, model: str, content_type: str) -> None:
        self._rename = _LINES.get(content_type.partition(";")[0].strip(), _as_it_is)
        self._places = places
        self._model = model
        self._begun = b""

    def feed(self, data: bytes) -> bytes:
        """Return what is complete; of the last line, nothing before its end has come."""
        if self._rename is _as_it_is:
            return data
        whole, newline, self._begun = (self._begun + data).rpartition(b"\n")
        return self._lines(whole) + newline if newline else b""

    def eof(self) -> bytes:
        """Return the last line."""
        last, self._begun = self._begun, b""
        return self._lines(last) if last else b""

    def _lines(self, lines: bytes) -> bytes:
        if not any(b'"%b"' % path[-1].encode() in lines for path in self._places):
            return lines  # nearly all of a stream: only its first events name the model
        return b"\n".join(
            self._rename(line, self._places, self._model) for line in lines.split(b"\n")
        )


def _sse_line(line: bytes, places: Places, model: str) -> bytes:
    if not line.startswith(b"data:"):
        return line
    data = line[5:].strip()
    if b'"model":"%b"' % model.encode() in data:
        return line
    new = rename_model(data, places, model)
    end = b"\r" if line.endswith(b"\r") else b""  # some SDKs know an event by both its ends
    return line if new == data else b"data: %b%b" % (new, end)


def _array_line(line: bytes, places: Places, model: str) -> bytes:
    """Rename in a line of JSON; of an indented array, no line is a whole object."""
    if line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}"):
        return rename_model(line, places, model)
    name = b"|".join(path[0].encode() for path in places if len(path) == 1)
    found = re.match(rb'(\s*"(?:%b)"\s*:\s*)"[^"\\]*"' % name, line) if name else None
    return found[1] + msgspec.json.encode(model) + line[found.end() :] if found else line


def _as_it_is(line: bytes, _places: Places, _model: str) -> bytes:
    return line


_LINES: Mapping[str, Callable[[bytes, Places, str], bytes]] = {
    "text/event-stream": _sse_line,
    "application/x-ndjson": _array_line,
    "application/json": _array_line,
}


@lru_cache(maxsize=256)
def template_of(entry: ModelEntry, *, stream: bool, url: str, key: str | None) -> Exchange:
    """Return the shortest request of our own to a model, as ``readdress`` wants it."""
    hello = Request(entry.model, (Message("user", (Text("."),)),), stream=stream)
    nothing = plan(entry, UNSET, asked=RequestParameters(), policy=DEFAULT)
    return compose(entry, hello, nothing, url=url, key=key)


def parse_passed_answer(
    tap: CapturingTransport, body: bytes, places: Places, model: str
) -> HttpResponse:
    """Return a whole answer under the name that was asked for."""
    return HttpResponse(tap.head.status, headers_back(tap.head), rename_model(body, places, model))
