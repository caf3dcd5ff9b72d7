"""The Messages wire in small: frames by hand, and the shortest way through each side."""

import json
from typing import Any

from tests.plans import plan

from pondero.canon import (
    Assembler,
    Event,
    Finished,
    HttpRequest,
    Message,
    Request,
    ResponseHead,
    Target,
    Text,
)
from pondero.dialects import AcceptedRequest, AnswerContext, Rejected, get_dialect

Json = Any
WIRE = get_dialect("anthropic")
TARGET = Target("anthropic", "https://api.anthropic.com", {"x-api-key": "k"})
START: Json = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 1},
    },
}
STOP: Json = {"type": "message_stop"}


def end(word: str | None = "end_turn", **usage: Json) -> Json:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": word, "stop_sequence": None, "stop_details": None},
        "usage": {"output_tokens": 20, **usage},
    }


def begin(index: int, block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: int, **delta: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def stop(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def sse(*events: Json) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


def fed(*pieces: bytes, model: str | None = "asked", route: str | None = "here") -> list[Event]:
    stream = WIRE.caller().stream(ResponseHead(200), AnswerContext(model, route))
    return [event for piece in pieces for event in stream.feed(piece)] + stream.eof()


def whole(body: Json) -> list[Event]:
    data = json.dumps(body).encode()
    return WIRE.caller().decode(ResponseHead(200), data, AnswerContext("asked", "here"))


def message(content: list[Json], **more: Json) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": content,
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 20},
        **more,
    }


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def ask(*parts: Json, model: str = "claude-sonnet-4-6", **fields: Json) -> Request:
    """A request with one question, or with the messages given."""
    messages = fields.pop("messages", None) or (Message("user", parts or (Text("hi"),)),)
    return Request(model, messages, **{"max_tokens": 4096, "stream": False, **fields})


def encoded(request: Request, fields: Json = None, **planned: Json) -> HttpRequest:
    return WIRE.caller().encode(request, plan("anthropic", fields, **planned), TARGET)


def body_of(request: Request, fields: Json = None, **planned: Json) -> Json:
    return json.loads(encoded(request, fields, **planned).body)


def sent(body: Json, **headers: str) -> AcceptedRequest:
    """Send a raw body, the rest of the request being in order."""
    given = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    http = HttpRequest("POST", "https://x/v1/messages", given, json.dumps(body).encode())
    return WIRE.service().accept(http, "anthropic")


def refusal(body: Json, **headers: str) -> tuple[int, str, str]:
    """Return the status, type and message a raw body is refused with."""
    try:
        sent(body, **headers)
    except Rejected as refused:
        error = json.loads(refused.response.body)["error"]
        return refused.response.status, error["type"], error["message"]
    raise AssertionError("the request was accepted")


def raw(*messages: Json, model: str = "claude-sonnet-4-6", **fields: Json) -> Json:
    turns = messages or ({"role": "user", "content": "hi"},)
    return {"model": model, "max_tokens": 4096, "messages": list(turns), **fields}
