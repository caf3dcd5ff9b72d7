"""One exchange with an emulator, from a model's name to what was decoded."""

from typing import Any, NamedTuple

from tests.targets import target

import pondero
from pondero.canon import (
    Assembler,
    Event,
    Finished,
    HttpRequest,
    Message,
    Request,
    ResponseHead,
    Text,
    Tool,
    ToolResult,
)
from pondero.client import load_catalog
from pondero.dialects import AnswerContext, get_dialect
from pondero.emulator import Emulator

MODELS = (
    "claude-opus-5",
    "gpt-6-sol",
    "openai-chat:gpt-5",
    "gemini-3-flash-preview",
    "bedrock:us.anthropic.claude-sonnet-4-6",
)
"""One of each wire; all of them think when asked and take tools."""

WEATHER = Tool(
    "get_weather",
    "Tells the weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


class Got(NamedTuple):
    """What came back: the message and how it ended."""

    message: Message
    end: Finished

    @property
    def text(self) -> str:
        return self.message.text


def said(words: str) -> Message:
    return Message("user", (Text(words),))


def results(message: Message, *texts: str, error: bool = False) -> Message:
    """Return what a user sends back for the calls of a message."""
    calls = message.tool_calls
    assert len(calls) == len(texts), calls
    return Message(
        "user",
        tuple(
            ToolResult(call.id, (Text(text),), error=error, name=call.name)
            for call, text in zip(calls, texts, strict=True)
        ),
    )


def encoded(
    model: str, thinking: Any, *messages: Message | str, stream: bool = True, **more: Any
) -> HttpRequest:
    """Return the request for a conversation, as our own caller's side writes it."""
    entry = load_catalog().entry(model)
    plan = pondero.plan(
        model, thinking, tools=bool(more.get("tools")), max_tokens=more.get("max_tokens")
    )
    thread = tuple(said(each) if isinstance(each, str) else each for each in messages)
    request = Request(entry.model, thread, stream=stream, **more)
    return get_dialect(entry.provider.dialect).caller().encode(request, plan, target(entry))


def decoded(model: str, head: ResponseHead, body: bytes, *, stream: bool = True) -> list[Event]:
    """Return the events of an answer; raises what our own caller's side would."""
    entry = load_catalog().entry(model)
    wire = get_dialect(entry.provider.dialect).caller()
    where = AnswerContext(entry.model, entry.provider.name, entry.provider.quirks)
    if head.status != 200:
        raise wire.error(head, body)
    if not stream:
        return wire.decode(head, body, where)
    reader = wire.stream(head, where)
    return reader.feed(body) + reader.eof()


def talk(
    emulator: Emulator,
    model: str,
    thinking: object,
    *messages: Message | str,
    stream: bool = True,
    **more: Any,
) -> Got:
    """Return what an emulator answers."""
    answer = emulator.send(encoded(model, thinking, *messages, stream=stream, **more))
    assembler = Assembler()
    for event in decoded(model, answer.head, b"".join(answer), stream=stream):
        assembler.feed(event)
    assert assembler.finished is not None
    return Got(assembler.message(), assembler.finished)
