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
from pondero.dialects.ollama.caller import CALLER
from pondero.dialects.ollama.service import SERVICE

NAME = "ollama"
OK = ResponseHead(200)
THINKER, PLAIN, ALWAYS = "qwen3:8b", "llama3.2", "gpt-oss:20b"
LOCAL = Target("ollama", "http://localhost:11434")
PNG = b"\x89PNG\r\n\x1a\n"
Json = Any


def line(done: str | None = None, *, at: str = "2026-11-15T12:00:00Z", **message: Json) -> Json:
    """Return one line of an answer; ``done`` is why it ends."""
    spoken = {"role": "assistant", "content": "", **message}
    said = {"model": THINKER, "created_at": at, "message": spoken, "done": done is not None}
    ending = {"done_reason": done, "prompt_eval_count": 10, "eval_count": 7}
    return said if done is None else said | ending


def call(name: str = "f", id: str | None = None, **arguments: Json) -> Json:
    function = {"function": {"name": name, "arguments": arguments}}
    return function if id is None else {"id": id, **function}


def ndjson(*lines: Json) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def whole(body: Json) -> list[Event]:
    return CALLER.decode(OK, json.dumps(body).encode(), AnswerContext(THINKER, NAME))


def streamed(data: bytes) -> list[Event]:
    stream = CALLER.stream(OK, AnswerContext(THINKER, NAME))
    return stream.feed(data) + stream.eof()


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    assert grammar(events) is None, grammar(events)
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def sent(*messages: Message, fields: Json = None, target: Target = LOCAL, **more: Json) -> Json:
    """Return the body our own side writes."""
    return json.loads(encoded(*messages, fields=fields, target=target, **more).body)


def encoded(
    *messages: Message, fields: Json = None, target: Target = LOCAL, **more: Json
) -> HttpRequest:
    asked = {"model": THINKER, "messages": messages or (user(Text("Hello")),), **more}
    return CALLER.encode(Request(**asked), plan(NAME, fields), target)


def user(*parts: Part) -> Message:
    return Message("user", parts)


def said(*parts: Part) -> Message:
    return Message("assistant", parts)


def asked(
    body: Json = None, *, service: str = NAME, headers: Json = None, **more: Json
) -> AcceptedRequest:
    """Return what the service makes of a body, by default of a plain question."""
    usual = {"model": THINKER, "messages": [{"role": "user", "content": "Hello"}]}
    data = json.dumps(usual | more if body is None else body).encode()
    http = HttpRequest("POST", "http://localhost:11434/api/chat", headers or {}, data)
    return SERVICE.accept(http, service)


def refused(body: Json = None, **more: Json) -> tuple[int, str]:
    """Return the status and words of a refusal."""
    with pytest.raises(Rejected) as no:
        asked(body, **more)
    return no.value.response.status, json.loads(no.value.response.body)["error"]
