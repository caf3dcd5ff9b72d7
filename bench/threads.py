"""A long conversation with thinking and tools, and a plan that adds nothing to it."""

from typing import Any

from pondero.canon import (
    Message,
    Part,
    Request,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.thinking import Plan, PlanSources

Json = Any
SEALS: dict[str, Json] = {
    "anthropic": "CAIS" + "A" * 300,
    "openai_responses": {"id": "rs_01", "encrypted_content": "gAAAA" + "B" * 300},
    "openai_chat": None,
    "gemini": "C" * 300,
    "cohere": None,
    "ollama": None,
    "bedrock": "EpMC" + "D" * 300,
    "interactions": "E" * 300,
}


def thread(dialect: str, messages: int, *, model: str = "m") -> Request:
    """Return a request with so many messages, four to a turn: question, call, result, answer."""
    value = SEALS[dialect]
    seal = None if value is None else Signature(dialect, value, model, dialect)
    said: list[Message] = []
    for number in range(0, messages, 4):
        call = ToolCall(f"call_{number}", "look", {"where": "Paris", "how many": number})
        result: Part = ToolResult(call.id, (Text("Sunny, 21 degrees. " * 5),), name="look")
        said += [
            Message("user", (Text("What about the weather there, then? " * 3),)),
            Message("assistant", (Thinking("I had better look it up. " * 8, seal), call)),
            Message("user", (result,)),
            Message("assistant", (Text("It is sunny, and it will stay so. " * 10),)),
        ]
    schema = {"type": "object", "properties": {"where": {"type": "string"}}}
    return Request(
        model=model,
        messages=tuple(said),
        system=(Text("You are a weather frog."),),
        tools=(Tool("look", "Look out of the window.", schema),),
        max_tokens=4096,
    )


def bare_plan(dialect: str) -> Plan:
    """Return a plan that adds nothing."""
    return Plan(
        model="bench:m",
        dialect=dialect,
        family="bench",
        asked=None,
        level=None,
        budget=None,
        nominal=None,
        will_think=None,
        fields={},
        headers={},
        dropped=(),
        adjustments=(),
        facts=PlanSources("bench", ""),
    )
