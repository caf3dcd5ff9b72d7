"""Small hand-made wire values, and the shortest way to each verb."""

import json
from typing import Any

import pytest
from tests.grammar import grammar
from tests.plans import plan

from pondero.canon import (
    Assembler,
    Event,
    Finished,
    HttpRequest,
    Message,
    Part,
    Request,
    ResponseHead,
    Target,
    Text,
)
from pondero.dialects import AcceptedRequest, AnswerContext, Rejected
from pondero.dialects.cohere.caller import CALLER
from pondero.dialects.cohere.service import SERVICE

NAME = "cohere"
OK = ResponseHead(200)
THINKER, PLAIN, SEES = "command-a-reasoning-08-2025", "command-a-03-2025", "command-a-plus-05-2026"
HOME = Target("cohere", "https://api.cohere.com", {"authorization": "Bearer k"})
USAGE = {
    "billed_units": {"input_tokens": 1, "output_tokens": 2},
    "tokens": {"input_tokens": 10, "output_tokens": 7, "reasoning_tokens": 4},
    "cached_tokens": 3,
}
Json = Any


def body(*content: Json, finish: str = "COMPLETE", usage: Json = None, **message: Json) -> Json:
    """Return a whole answer; strings are words."""
    parts = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
    spoken = {"role": "assistant", "content": parts, **message}
    return {"id": "r-1", "message": spoken, "finish_reason": finish, "usage": usage or USAGE}


def thought(text: str) -> Json:
    return {"type": "thinking", "thinking": text}


def call(arguments: str = "{}", id: str = "f_1", name: str = "f") -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def event(name: str, index: int | None = None, **message: Json) -> Json:
    said: Json = {"type": name} if index is None else {"type": name, "index": index}
    return said | {"delta": {"message": message}} if message else said


def begin() -> Json:
    return {"type": "message-start", "id": "r-1", "delta": {"message": {"content": []}}}


def end(finish: str = "COMPLETE", **more: Json) -> Json:
    return {"type": "message-end", "delta": {"finish_reason": finish, "usage": USAGE, **more}}


def sse(*events: Json) -> bytes:
    frames = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    return "".join(frames).encode() + b"data: [DONE]\n\n"


def whole(raw: Json) -> list[Event]:
    return CALLER.decode(OK, json.dumps(raw).encode(), AnswerContext(THINKER, NAME))


def streamed(data: bytes) -> list[Event]:
    stream = CALLER.stream(OK, AnswerContext(THINKER, NAME))
    return stream.feed(data) + stream.eof()


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    assert grammar(events) is None, grammar(events)
    assembler = Assembler()
    for each in events:
        assembler.feed(each)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def encoded(*messages: Message, fields: Json = None, **more: Json) -> HttpRequest:
    asked = {"model": THINKER, "messages": messages or (user(Text("Hello")),), **more}
    return CALLER.encode(Request(**asked), plan(NAME, fields), HOME)


def sent(*messages: Message, fields: Json = None, **more: Json) -> Json:
    """Return the body our own side writes."""
    return json.loads(encoded(*messages, fields=fields, **more).body)


def user(*parts: Part) -> Message:
    return Message("user", parts)


def said(*parts: Part) -> Message:
    return Message("assistant", parts)


def asked(*, headers: Json = None, **more: Json) -> AcceptedRequest:
    """Return what the service makes of a plain question with these fields."""
    raw = {"model": THINKER, "messages": [{"role": "user", "content": "Hello"}], **more}
    key = {"authorization": "Bearer k"} if headers is None else headers
    url = "https://api.cohere.com/v2/chat"
    return SERVICE.accept(HttpRequest("POST", url, key, json.dumps(raw).encode()), NAME)


def refused(**more: Json) -> tuple[int, str]:
    """Return the status and words of a refusal."""
    with pytest.raises(Rejected) as no:
        asked(**more)
    return no.value.response.status, json.loads(no.value.response.body)["message"]
