"""Every dialect as a service to talk to: its own answers, decoded as a client decodes them."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from msgspec import structs
from tests.laws.strategies import arranged, told
from tests.laws.wire import Wire, wire
from tests.plans import plan

from pondero.canon import (
    RECORDING,
    Assembler,
    Event,
    HttpRequest,
    Message,
    Origin,
    Part,
    ReplayRules,
    Reply,
    Request,
    ResponseHead,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.dialects import NAMES, AcceptedRequest, AnswerContext, Dialect, get_dialect
from pondero.handoff import Destination, handoff

THOUGHT = "first the moons of Saturn, then the cheese"
TOOLS = (
    Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}}),
)


@dataclass(frozen=True, eq=False)
class Service:
    """One model at one deployment, and what the plan adds to make it think."""

    name: str
    wire: Wire
    model: str
    service: str
    target: Target
    thinking: Any
    thinks: bool = True

    def __repr__(self) -> str:
        return f"{self.target.route}:{self.model}"

    @property
    def dialect(self) -> Dialect:
        return get_dialect(self.name)

    def destination(self, **facts: Any) -> Destination:
        """Return the facts a client fills in, with some of them changed."""
        known: dict[str, Any] = {
            "dialect": self.name,
            "model": self.model,
            "provider": self.target.route,
            "route": self.target.route,
            "takes": self.dialect.caller().replay_rules(self.target.quirks),
            "emulator": RECORDING,  # the emulated side signs, and the law is about the models
        }
        wanted = {name: facts.pop(name) for name in ReplayRules.__struct_fields__ if name in facts}
        known["takes"] = structs.replace(known["takes"], **wanted)
        return Destination(**known | facts)

    def encoded(self, messages: tuple[Message, ...], *, tools: bool = True) -> HttpRequest:
        request = Request(self.model, messages, tools=TOOLS if tools else (), max_tokens=4096)
        return self.dialect.caller().encode(request, plan(self.name, self.thinking), self.target)

    def accepted(self, messages: tuple[Message, ...]) -> AcceptedRequest:
        """Return what the service understands; raises Rejected where it refuses."""
        return self.dialect.service().accept(self.encoded(messages), self.service)

    def events(self, messages: tuple[Message, ...], parts: tuple[Part, ...]) -> list[Event]:
        """Return an answer of the service's own, as it streams in."""
        accepted = self.accepted(messages)
        arranged_parts = arranged(parts, self.wire)
        called = any(isinstance(part, ToolCall) for part in parts)
        reply = Reply(Message("assistant", arranged_parts), "tool_calls" if called else "stop")
        stream = self.dialect.service().stream(accepted)
        sent = b"".join(map(stream.feed, told(structs.replace(reply, model=self.model))))
        reader = self.dialect.caller().stream(
            ResponseHead(200), AnswerContext(self.model, self.target.route, self.target.quirks)
        )
        return [*reader.feed(sent + stream.eof()), *reader.eof()]

    def message(self, events: list[Event]) -> Message:
        assembler = Assembler()
        for event in events:
            assembler.feed(event)
        return assembler.message(Origin(self.target.route, self.model))


def service(name: str, **other: Any) -> Service:
    """Return the dialect's usual service, or another model, route or wish of it."""
    row = wire(name)
    usual = Service(name, row, row.model, row.service, row.target, dict(row.thinking))
    return replace(usual, **other)


def _other_route(name: str, route: str, **other: Any) -> Service:
    target = structs.replace(wire(name).target, route=route, quirks={})
    return service(name, target=target, **other)


USUAL = [service(name) for name in NAMES]
RELATED = [
    service("anthropic", model="claude-opus-4-8"),
    service(
        "anthropic",
        model="claude-sonnet-4-0",
        thinking={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
    service("openai_responses", model="gpt-5.1"),
    service("openai_responses", model="gpt-4.1", thinking={}, thinks=False),
    service("gemini", model="gemini-3-pro-preview"),
    service("gemini", model="gemini-2.5-flash"),
    _other_route("gemini", "vertex", service="vertex"),
    service("openai_chat", model="glm-5.2"),
    _other_route("openai_chat", "openai-chat", service="openai", model="gpt-4.1", thinks=False),
    service("cohere", model="command-a-reasoning-08-2025"),
    _other_route("ollama", "ollama", service="ollama", model="gpt-oss:20b", thinking={}),
]
ALL = [*USUAL, *RELATED]


def _calls(step: int, count: int) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(f"call_{step}{each}", "weather", {"city": f"town {each}"}) for each in range(count)
    )


def script(talker: Service) -> list[tuple[Part, ...]]:
    """Return what the service says in turn: two calls at once, one more, then its answer."""
    thoughts: tuple[Part, ...] = (Thinking(THOUGHT),) if talker.thinks else ()
    if talker.thinks and talker.wire.says("redacted"):
        thoughts = (*thoughts, Thinking("", redacted=True))
    return [
        (*thoughts, Text("Let me look."), *_calls(1, 2)),
        (*thoughts, *_calls(2, 1)),
        (*thoughts, Text("It rains in both.")),
    ]


def results(message: Message) -> Message:
    """Return what the tools answer."""
    answers = [
        ToolResult(call.id, (Text(f"rain, {n} mm"),)) for n, call in enumerate(message.tool_calls)
    ]
    return Message("user", tuple(answers))


@cache
def conversation(talker: Service) -> tuple[Message, ...]:
    """Return a thread with thinking and tools, made by the service itself, each turn accepted."""
    thread: list[Message] = [Message("user", (Text("Where does it rain?"),))]
    for parts in script(talker):
        view = handoff(thread, talker.destination())
        thread.append(talker.message(talker.events(view.messages, parts)))
        if thread[-1].tool_calls:
            thread.append(results(thread[-1]))
    return (*thread, Message("user", (Text("And tomorrow?"),)))
