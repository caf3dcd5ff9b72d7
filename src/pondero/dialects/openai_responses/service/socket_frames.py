"""The API over a WebSocket: ``response.create`` messages in, the events of answers out.

Sources: OpenAI, WebSocket mode (vendor page, 2026-11-17): the body without ``stream`` and
``background``, ``generate: false``, errors as events with a status, an hour for a connection;
openai 3.49.0 types (``responses_client_event``).
"""

import msgspec
from msgspec import Raw

from pondero.canon import HttpResponse, get_decoder
from pondero.dialects.dialect import Rejected, ReplyContext
from pondero.dialects.kept_responses import SocketRequest

from .errors import build_error, reject
from .parse import Context
from .reply import Ending, answer, write_json

_CREATE = "response.create"
_ONLY_HERE = ("type", "generate", "stream", "background")
_FIELDS = get_decoder(dict[str, Raw])


def read(message: str | bytes) -> SocketRequest:
    """Return the request in a message; raises Rejected."""
    try:
        fields = _FIELDS.decode(message)
        kind = msgspec.json.decode(fields.get("type", Raw(b"null")))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        reject("not_json")
    if kind != _CREATE:
        text = f"this connection takes messages of type '{_CREATE}'; got {kind!r}"
        raise Rejected(build_error(400, text, param="type", code="invalid_value"))
    if bytes(fields.get("stream_id", b"null")) != b"null":
        text = "stream_id: this connection answers one request after the other; leave it out"
        raise Rejected(build_error(400, text, param="stream_id", code="unsupported_parameter"))
    is_empty = bytes(fields.get("generate", b"")) == b"false"
    for name in _ONLY_HERE:
        fields.pop(name, None)
    fields.pop("stream_id", None)
    fields["stream"] = Raw(b"true")
    return SocketRequest(msgspec.json.encode(fields), is_empty)


def write_error(response: HttpResponse) -> str:
    """Return an error as a message."""
    told = msgspec.json.decode(response.body).get("error")
    said = {"type": "error", "status": response.status, "error": told}
    return msgspec.json.encode(said).decode()


def write_empty(answering: ReplyContext[Context]) -> tuple[bytes, ...]:
    """Return the events of an answer without output."""
    begun = answer(answering, [])
    whole = answer(answering, [], end=Ending("completed"))
    kinds = (("response.created", begun), ("response.completed", whole))
    return tuple(
        write_json({"type": kind, "sequence_number": number, "response": each})
        for number, (kind, each) in enumerate(kinds)
    )


def too_old() -> HttpResponse:
    """Return the error that ends a connection after its time."""
    text = "Responses websocket connection limit reached (60 minutes). Create a new connection."
    return build_error(400, text, code="websocket_connection_limit_reached")
