"""The Converse wire in small: frames by hand, and the shortest way through each side."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from tests.framing.aws import aws_event, aws_frame
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
WIRE = get_dialect("bedrock")
CLAUDE = "us.anthropic.claude-sonnet-4-6"
OLDER = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BOUND = "us.anthropic.claude-opus-5-5"
TARGET = Target(
    "bedrock",
    "https://bedrock.invalid",
    {"authorization": "Bearer k"},
    quirks={"messages_fields_of": ["claude-"]},
)
HEADERS = {"x-amzn-requestid": "r-1"}
START = aws_event("messageStart", {"role": "assistant", "p": "abc"})


def more(index: int, **delta: Json) -> bytes:
    return aws_event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta, "p": "ab"})


def thought(index: int, **delta: Json) -> bytes:
    return more(index, reasoningContent=delta)


def begin(index: int, **start: Json) -> bytes:
    return aws_event("contentBlockStart", {"contentBlockIndex": index, "start": start})


def stop(index: int) -> bytes:
    return aws_event("contentBlockStop", {"contentBlockIndex": index, "p": "abcd"})


def end(word: str = "end_turn", **more: Json) -> bytes:
    return aws_event("messageStop", {"stopReason": word, **more})


def metadata(**usage: int) -> bytes:
    counted = usage or {"inputTokens": 10, "outputTokens": 20, "totalTokens": 30}
    return aws_event("metadata", {"usage": counted, "metrics": {"latencyMs": 7}})


def exception(name: str, **said: Json) -> bytes:
    headers = {
        ":exception-type": name,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return aws_frame(headers, json.dumps(said).encode())


def fed(*pieces: bytes, model: str | None = "asked") -> list[Event]:
    stream = WIRE.caller().stream(ResponseHead(200, HEADERS), AnswerContext(model, "here"))
    return [event for piece in pieces for event in stream.feed(piece)] + stream.eof()


def whole(body: Json) -> list[Event]:
    data = json.dumps(body).encode()
    return WIRE.caller().decode(ResponseHead(200), data, AnswerContext("asked", "here"))


def answer(*content: Json, **more: Json) -> Json:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 20, "totalTokens": 30},
        "metrics": {"latencyMs": 7},
        **more,
    }


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def ask(*parts: Json, model: str = CLAUDE, **fields: Json) -> Request:
    """A request with one question, or with the messages given."""
    messages = fields.pop("messages", None) or (Message("user", parts or (Text("hi"),)),)
    return Request(model, messages, **{"max_tokens": 4096, "stream": False, **fields})


def encoded(request: Request, fields: Json = None, **planned: Json) -> HttpRequest:
    return WIRE.caller().encode(request, plan("bedrock", fields, **planned), TARGET)


def body_of(request: Request, fields: Json = None, **planned: Json) -> Json:
    return json.loads(encoded(request, fields, **planned).body)


def sent(
    body: Json, model: str = CLAUDE, verb: str = "converse", **headers: str
) -> AcceptedRequest:
    """Send a raw body, the rest of the request being in order."""
    given = {"authorization": "Bearer k"} | headers
    url = f"https://x/model/{quote(model, safe='')}/{verb}"
    http = HttpRequest("POST", url, given, json.dumps(body).encode())
    return WIRE.service().accept(http, "bedrock")


def refusal(body: Json, model: str = CLAUDE, **headers: str) -> str:
    """Return the message a raw body is refused with, with a status of 400."""
    with pytest.raises(Rejected) as refused:
        sent(body, model, **headers)
    assert refused.value.response.status == 400
    return str(json.loads(refused.value.response.body)["message"])


def raw(*messages: Json, **fields: Json) -> Json:
    turns = messages or ({"role": "user", "content": [{"text": "hi"}]},)
    return {"messages": list(turns), **fields}


def said(role: str, *content: Json) -> Json:
    return {"role": role, "content": list(content)}
