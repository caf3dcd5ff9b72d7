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
    Request,
    ResponseHead,
    Signature,
    Target,
    Text,
)
from pondero.dialects import AcceptedRequest, AnswerContext, Rejected
from pondero.dialects.gemini.caller import CALLER
from pondero.dialects.gemini.service import SERVICE
from pondero.dialects.gemini.service.signatures import sign

NAME = "gemini"
OLD, NEW = "gemini-2.5-flash", "gemini-3-flash-preview"
OK = ResponseHead(200)
URL = "https://generativelanguage.googleapis.com/v1beta"
GOOGLE = Target("google", URL, {"x-goog-api-key": "k"})
VERTEX = Target(
    "vertex", "https://aiplatform.googleapis.com/v1beta1/p", {"authorization": "Bearer k"}
)
HELLO = Message("user", (Text("Hello"),))
SIGNATURE = "EqoeCqceAdHtim9/+ab="
Json = Any


def chunk(*parts: Json, finish: str | None = "STOP", **beside: Json) -> Json:
    """Return one piece of an answer; ``beside`` goes into the candidate."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **beside}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-x", "responseId": "r-1"}


def call(
    name: str = "f", id: str | None = None, signature: str | None = None, **args: Json
) -> Json:
    function = {"name": name, "args": args} | ({"id": id} if id else {})
    return {"functionCall": function} | ({"thoughtSignature": signature} if signature else {})


def sse(*chunks: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\r\n\r\n" for each in chunks)


def array(*chunks: Json) -> bytes:
    """Return the form without alt=sse: pretty-printed, elements after a comma of their own."""
    return b"[" + b"\n,\r\n".join(json.dumps(each, indent=2).encode() for each in chunks) + b"\n]"


def ndjson(*chunks: Json) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in chunks)


def whole(body: Json, *, model: str | None = NEW, route: str | None = "google") -> list[Event]:
    """Return the events of a whole answer."""
    return CALLER.decode(OK, json.dumps(body).encode(), AnswerContext(model, route))


def streamed(data: bytes, *, size: int = 1 << 30) -> list[Event]:
    """Return the events of a stream fed in pieces of this size."""
    stream = CALLER.stream(OK, AnswerContext(NEW, "google"))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return [event for piece in pieces for event in stream.feed(piece)] + stream.eof()


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    assert grammar(events) is None, grammar(events)
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def parts_of(events: list[Event]) -> tuple[Any, ...]:
    return assembled(events)[0].parts


def seal(value: str = SIGNATURE, model: str = NEW, route: str = "google") -> Signature:
    return Signature(NAME, value, model, route)


def signed(provider: str = "google", about: str = "x") -> str:
    """Return a signature the emulated service takes."""
    return sign(provider, about)


def asked(
    *messages: Message, model: str = NEW, target: Target = GOOGLE, **fields: Json
) -> HttpRequest:
    """Return an encoded request; ``fields`` are what the plan adds."""
    request = Request(model, messages or (HELLO,))
    return CALLER.encode(request, plan(NAME, fields), target)


def body_of(http: HttpRequest) -> Json:
    return json.loads(http.body)


def posted(
    body: Json, *, model: str = NEW, method: str = "generateContent", **headers: str
) -> HttpRequest:
    """Return a request as any client would write it."""
    sent = {"x-goog-api-key": "k"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return HttpRequest("POST", f"{URL}/models/{model}:{method}", sent, json.dumps(body).encode())


def accepted(body: Json, *, provider: str = "google", **where: str) -> AcceptedRequest:
    return SERVICE.accept(posted(body, **where), provider)


def refusal(body: Json, *, provider: str = "google", **where: str) -> tuple[int, str, Json]:
    """Return status, message and the error of a request that must be refused."""
    with pytest.raises(Rejected) as refused:
        accepted(body, provider=provider, **where)
    response = refused.value.response
    error = json.loads(response.body)["error"]
    return response.status, error["message"], error
