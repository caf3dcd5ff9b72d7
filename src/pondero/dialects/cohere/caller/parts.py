"""An answer's pieces to events, in the order they come.

Parts follow each other, so the one that is open is meant: recorded streams number two parts alike.
The plan before a call is words, kept apart by a seal so that it goes back as what it was.
"""

from typing import NamedTuple

import msgspec

from pondero.canon import (
    Event,
    Finish,
    Finished,
    Json,
    Other,
    Part,
    PartEnd,
    PartStart,
    Seal,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    minted,
)
from pondero.errors import Malformed
from pondero.framing import UNREADABLE

from .chunks import Call
from .messages import NAME
from .usage import usage_of

_ENDINGS: dict[str, Finish] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "TIMEOUT": "error",
}
_NOTHING = "null"  # what a call without arguments may say


class _Calling(NamedTuple):
    id: str
    name: str
    minted: bool


class Answer:
    """One answer; ``over`` once the service has said that it ends."""

    def __init__(self, model: str | None, route: str | None) -> None:
        self.over = False
        self._plan_seal = Seal(NAME, {"tool_plan": True}, model, route)
        self._id: str | None = None
        self._next = 0  # the index of the next part
        self._kind = ""  # of the words that are open: text, thinking or plan
        self._texts: list[str] = []
        self._calling: _Calling | None = None
        self._held = ""  # arguments that may turn out to be nothing
        self._citations: list[Json] = []
        self._thought = self._answered = self._called = False
        self._logprobs: list[Json] = []

    def begin(self, id: str | None, events: list[Event]) -> None:
        """Begin; said once."""
        self._id = id
        events.append(Started(None, id))

    def say(self, kind: str, text: str, events: list[Event]) -> None:
        """Take more words: text, thinking or plan."""
        if self._kind != kind:
            self.close(events)
            self._kind = kind
            events.append(PartStart(self._next, "thinking" if kind == "thinking" else "text"))
        self._texts.append(text)
        delta = ThinkingDelta if kind == "thinking" else TextDelta
        events.append(delta(self._next, text))

    def keep(self, raw: Json, events: list[Event]) -> None:
        """Take a part we do not know."""
        self.close(events)
        events.append(PartStart(self._next, "other"))
        self._done(Other(NAME, raw), events)

    def cite(self, citation: Json) -> None:
        """Take where words are from; it goes with the text that is open, or the next."""
        self._citations.append(citation)

    def call(self, call: Call, events: list[Event]) -> None:
        """Begin a call, with as much of its arguments as there is."""
        self.close(events)
        function = call.function
        if function is None or function.name is None:
            raise Malformed("a tool call without a name", path="$..tool_calls.function.name")
        id = call.id or self._minted(function.name)
        self._calling = _Calling(id, function.name, minted=not call.id)
        self._called = True
        events.append(PartStart(self._next, "tool_call", id, function.name))
        if function.arguments:
            self.argue(function.arguments, events)

    def argue(self, text: str, events: list[Event]) -> None:
        """Take more arguments; what may be nothing at all waits for more."""
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
        """End what is open."""
        if self._calling is not None:
            calling, self._calling = self._calling, None
            arguments = _arguments(self._whole())
            self._done(ToolCall(calling.id, calling.name, arguments, minted=calling.minted), events)
        elif self._kind:
            kind, self._kind = self._kind, ""
            text = self._whole()
            if kind == "thinking":
                self._thought = True
                self._done(Thinking(text), events)
                return
            self._answered = self._answered or bool(text.strip())
            cited, self._citations = tuple(self._citations), []
            seal = self._plan_seal if kind == "plan" else None
            self._done(Text(text, seal, cited), events)

    def end(self, reason: str | None, counts: Json, events: list[Event]) -> None:
        """End the answer."""
        self.close(events)
        self.over = True
        used = usage_of(counts)
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

    def _done(self, part: Part, events: list[Event]) -> None:
        events.append(PartEnd(self._next, part))
        self._next += 1

    def _minted(self, name: str) -> str:
        return minted(f"{self._id} {self._next} {name}".encode("utf-8", "replace"))


def _arguments(text: str) -> Json:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except UNREADABLE:
        return text
    if value is None:
        return {}
    return text if isinstance(value, str) else value
