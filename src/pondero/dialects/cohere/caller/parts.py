"""The types of an answer, and its events; pieces go to the open part, as numbers repeat."""

from typing import NamedTuple

import msgspec
from msgspec import Struct

from pondero.canon import (
    Event,
    Finish,
    Finished,
    Json,
    Part,
    PartEnd,
    PartKind,
    PartStart,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
    Usage,
    get_decoder,
    known_count,
    make_call_id,
)
from pondero.errors import Malformed
from pondero.framing import UNREADABLE, parse_payload


class Piece(Struct, gc=False):
    """A part of the content, whole or a piece of it."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class Function(Struct, gc=False):
    """What is called; the arguments are JSON in a string."""

    name: str | None = None
    arguments: str | None = None


class Call(Struct, gc=False):
    """A tool call, whole or a piece of it."""

    id: str | None = None
    function: Function | None = None


class StreamedMessage(Struct, gc=False):
    """A message, or an event's piece of one: an event has one thing where a message has a list."""

    content: Piece | list[Piece] | str | None = None
    tool_calls: Call | list[Call] | None = None
    tool_plan: str | None = None
    citations: Json = None


class Delta(Struct, gc=False):
    """The news of an event."""

    message: StreamedMessage | None = None
    finish_reason: str | None = None
    usage: Json = None
    error: str | None = None
    error_type: str | None = None


class Frame(Struct, gc=False):
    """One event of a stream."""

    type: str | None = None
    delta: Delta | None = None
    id: str | None = None
    logprobs: Json = None


class Body(Struct, gc=False):
    """A whole answer; where ``message`` is a string, it is an error's."""

    message: StreamedMessage | str | None = None
    id: str | None = None
    finish_reason: str | None = None
    usage: Json = None
    logprobs: Json = None


FRAMES = get_decoder(Frame)
BODIES = get_decoder(Body)
_ANYTHING: "msgspec.json.Decoder[Json]" = msgspec.json.Decoder()


def raw_part(data: bytes, number: int | None) -> Json:
    """Return a part of the content, untyped: by its number in a body, or an event's only one."""
    raw = parse_payload(data, _ANYTHING)
    message = (raw if number is not None else raw["delta"])["message"]
    return message["content"] if number is None else message["content"][number]


NAME = "cohere"

_PLAN = {"tool_plan": True}
_ENDINGS: dict[str, Finish] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "TIMEOUT": "error",
}
_NOTHING = "null"  # some calls without arguments have this instead of {}


def is_plan(signature: Signature | None) -> bool:
    """Return whether a text came as the plan before a call."""
    return signature is not None and signature.dialect == NAME and signature.value == _PLAN


class _Calling(NamedTuple):
    id: str
    name: str
    minted: bool


class Answer:
    """One answer, from its beginning to its end."""

    def __init__(self, model: str | None, route: str | None) -> None:
        self._plan_signature = Signature(NAME, _PLAN, model, route)
        self._id: str | None = None
        self._next = 0  # the index of the next part
        self._kind = ""  # of the text that is open: text, thinking or plan
        self._texts: list[str] = []
        self._calling: _Calling | None = None
        self._held = ""  # the beginning of arguments that may turn out to be null
        self._citations: list[Json] = []
        self._thought = self._answered = self._called = False
        self._logprobs: list[Json] = []

    def begin(self, id: str | None, events: list[Event]) -> None:
        """Begin the answer."""
        self._id = id
        events.append(Started(None, id))

    def say(self, kind: str, text: str, events: list[Event]) -> None:
        """Take more of a text, of thinking or of a plan."""
        if self._kind != kind:
            self.close(events)
            self._kind = kind
            signature = self._plan_signature if kind == "plan" else None
            shown: PartKind = "thinking" if kind == "thinking" else "text"
            events.append(PartStart(self._next, shown, signature=signature))
        self._texts.append(text)
        delta = ThinkingDelta if kind == "thinking" else TextDelta
        events.append(delta(self._next, text))

    def keep(self, raw: Json, events: list[Event]) -> None:
        """Take a part we do not know."""
        self.close(events)
        events.append(PartStart(self._next, "other"))
        self._add_end(UnknownPart(NAME, raw), events)

    def cite(self, citation: Json) -> None:
        """Take a citation; it goes with the text that is open, or with the next."""
        self._citations.append(citation)

    def call(self, call: Call, events: list[Event]) -> None:
        """Begin a call, with as much of its arguments as there is."""
        self.close(events)
        function = call.function
        if function is None or function.name is None:
            raise Malformed("a tool call without a name", path="$..tool_calls.function.name")
        id = call.id or self._make_id(function.name)
        self._calling = _Calling(id, function.name, minted=not call.id)
        self._called = True
        events.append(PartStart(self._next, "tool_call", id, function.name))
        if function.arguments:
            self.argue(function.arguments, events)

    def argue(self, text: str, events: list[Event]) -> None:
        """Take more arguments; a beginning that may be ``null`` waits for more."""
        if self._calling is None:
            raise Malformed("arguments of no call", path="$..tool_calls.function.arguments")
        self._texts.append(text)
        if not self._held and len(self._texts) > 1:
            events.append(ToolDelta(self._next, text))
            return
        self._held += text
        if not _NOTHING.startswith(self._held.strip()):
            events.append(ToolDelta(self._next, self._held))
            self._held = ""

    def weigh(self, logprobs: Json) -> None:
        """Take the probabilities of tokens: a list of them, or one."""
        self._logprobs += logprobs if isinstance(logprobs, list) else [logprobs]

    def close(self, events: list[Event]) -> None:
        """End the part that is open."""
        if self._calling is not None:
            calling, self._calling = self._calling, None
            arguments = _arguments(self._whole())
            self._add_end(
                ToolCall(calling.id, calling.name, arguments, minted=calling.minted), events
            )
        elif self._kind:
            kind, self._kind = self._kind, ""
            text = self._whole()
            if kind == "thinking":
                self._thought = True
                self._add_end(Thinking(text), events)
                return
            self._answered = self._answered or bool(text.strip())
            cited, self._citations = tuple(self._citations), []
            signature = self._plan_signature if kind == "plan" else None
            self._add_end(Text(text, signature, cited), events)

    def end(self, reason: str | None, counts: Json, events: list[Event]) -> None:
        """End the answer."""
        self.close(events)
        used = _usage(counts)
        events.append(
            Finished(
                self._finish(reason, thought=self._thought or bool(used.thinking)),
                usage=used,
                raw_finish=reason,
                grounding={"citations": self._citations} if self._citations else None,
                extras={"logprobs": self._logprobs} if self._logprobs else None,
            )
        )

    def _finish(self, reason: str | None, *, thought: bool) -> Finish:
        ending = _ENDINGS.get(reason or "", "other")
        if self._called and ending == "stop":
            return "tool_calls"
        spent = ending == "length" and thought and not self._answered and not self._called
        return "exhausted" if spent else ending

    def _whole(self) -> str:
        text, self._texts, self._held = "".join(self._texts), [], ""
        return text

    def _add_end(self, part: Part, events: list[Event]) -> None:
        events.append(PartEnd(self._next, part))
        self._next += 1

    def _make_id(self, name: str) -> str:
        return make_call_id(f"{self._id} {self._next} {name}".encode("utf-8", "replace"))


def _arguments(text: str) -> Json:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except UNREADABLE:
        return text
    if value is None:
        return {}
    return text if isinstance(value, str) else value


def _usage(raw: Json) -> Usage:
    """Return the tokens in disjoint buckets, unknown if not counted; images add to the input."""
    tokens = raw.get("tokens") if isinstance(raw, dict) else None
    if not isinstance(tokens, dict):
        return Usage()
    given, made = known_count(tokens.get("input_tokens")), known_count(tokens.get("output_tokens"))
    shown = known_count(tokens.get("image_tokens")) or 0
    thought, cached = (
        known_count(tokens.get("reasoning_tokens")),
        known_count(raw.get("cached_tokens")),
    )
    if given is None or made is None:
        return Usage(input=given, output=made)
    thought = None if thought is None else min(thought, made)
    cached = None if cached is None else min(cached, given)
    return Usage(
        input=given - (cached or 0) + shown,
        cache_read=cached,
        output=made - (thought or 0),
        thinking=thought,
        total=given + shown + made,
    )
