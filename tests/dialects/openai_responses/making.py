"""Small hand-made wire values, and the shortest way to each verb."""

import json
from typing import Any

from pondero.canon import (
    Assembler,
    Event,
    HttpRequest,
    Message,
    Request,
    ResponseHead,
    Signature,
    Started,
    Target,
    Text,
)
from pondero.dialects import AcceptedRequest, AnswerContext, Rejected
from pondero.dialects.openai_responses.caller import CALLER
from pondero.dialects.openai_responses.service import SERVICE
from pondero.thinking import Plan, PlanSources

NAME = "openai_responses"
MODEL = "gpt-5.6-sol"
OK = ResponseHead(200)
TARGET = Target("openai", "https://api.openai.com/v1", {"authorization": "Bearer k"})
HELLO = (Message("user", (Text("Hello"),)),)


def plan(**changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "model": f"openai:{MODEL}",
        "dialect": NAME,
        "family": "gpt-5.6",
        "asked": None,
        "level": None,
        "budget": None,
        "nominal": None,
        "will_think": True,
        "fields": {},
        "headers": {},
        "dropped": (),
        "adjustments": (),
        "facts": PlanSources("test", "2026-11-15"),
    }
    return Plan(**(fields | changes))


def seal(value: Any) -> Signature:
    return Signature(NAME, value, MODEL, "openai")


# -- the caller's side -----------------------------------------------------------------------------


def encoded(request: Request, a_plan: Plan | None = None, target: Target = TARGET) -> Any:
    return json.loads(CALLER.encode(request, a_plan or plan(), target).body)


def items_of(*messages: Message, quirks: dict[str, Any] | None = None) -> Any:
    target = Target("openai", TARGET.url, TARGET.headers, quirks=quirks or {})
    return encoded(Request(MODEL, messages), target=target)["input"]


def answer(*output: Any, **changes: Any) -> dict[str, Any]:
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": MODEL,
        "output": list(output),
        "usage": None,
        "error": None,
        "incomplete_details": None,
    }
    return whole | changes


def decoded(raw: Any, *, model: str | None = MODEL) -> list[Event]:
    body = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    return CALLER.decode(OK, body, AnswerContext(model, "openai"))


def sse(*events: Any) -> bytes:
    frames = []
    for number, event in enumerate(events):
        data = json.dumps({"sequence_number": number, **event})
        frames.append(f"event: {event['type']}\ndata: {data}\n\n")
    return "".join(frames).encode()


def streamed(data: bytes, *, size: int | None = None) -> list[Event]:
    stream = CALLER.stream(OK, AnswerContext(MODEL, "openai"))
    events: list[Event] = []
    step = size or max(1, len(data))
    for at in range(0, len(data), step):
        events += stream.feed(data[at : at + step])
    return events + stream.eof()


def assembled(events: list[Event]) -> Assembler:
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler


def parts_of(events: list[Event]) -> Any:
    return assembled(events).message().parts


def begun(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, Started)]


# -- the service's side ----------------------------------------------------------------------------


def posted(body: Any, **headers: str) -> HttpRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"authorization": "Bearer k", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return HttpRequest("POST", "https://api.openai.com/v1/responses", named, data)


def accepted(body: Any, *, provider: str = "openai", **headers: str) -> AcceptedRequest:
    return SERVICE.accept(posted(body, **headers), provider)


def refused(body: Any, **headers: str) -> Any:
    """Return the refusal's error object, with its status."""
    try:
        accepted(body, **headers)
    except Rejected as rejected:
        return {"status": rejected.response.status} | json.loads(rejected.response.body)["error"]
    raise AssertionError("it was accepted")


def asking(*items: Any, **changes: Any) -> dict[str, Any]:
    """Return a request body with these items after a question."""
    return {"model": MODEL, "input": [{"role": "user", "content": "Hi"}, *items], **changes}
