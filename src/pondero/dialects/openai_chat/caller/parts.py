"""The parts of an answer while they arrive: begun, added to, ended and sealed.

On this wire thinking, text and calls have no order among themselves, so the order is that of
their coming.
"""

from pondero.canon import (
    Event,
    Json,
    Part,
    PartEnd,
    PartKind,
    PartStart,
    Seal,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
)

from .calls import Call
from .details import Details

NAME = "openai_chat"


class Words:
    """A text or thinking part; ``seal`` is what goes back with it."""

    __slots__ = ("citations", "details", "index", "seal", "texts", "thinking")

    def __init__(self, index: int, *, thinking: bool, seal: dict[str, Json]) -> None:
        self.index = index
        self.thinking = thinking
        self.seal = seal
        self.texts: list[str] = []
        self.citations: list[Json] = []
        self.details: Details | None = None


class Parts:
    """All parts of one answer; events go to the list given."""

    def __init__(self, *, model: str | None, route: str | None) -> None:
        self.model = model
        self.route = route
        self.begun = 0
        self.text: Words | None = None
        self.thinking: Words | None = None
        self.closing_tag = ""
        self.spoke = self.thought = self.called = self.refused = False
        self._refusal: Words | None = None
        self._open: dict[int, Words | Call] = {}

    def say(self, text: str, events: list[Event]) -> None:
        """Add to the answer."""
        part = self.text
        if part is None:
            self.rest(events)
            part = self.text = self._begin_words({}, events, thinking=False)
        elif self.thinking is not None:
            self.rest(events)
        part.texts.append(text)
        events.append(TextDelta(part.index, text))

    def think(self, text: str, seal: dict[str, Json], events: list[Event]) -> None:
        """Add to the thinking; ``seal`` is what a part that begins with this is sealed with."""
        part = self.thinking
        if part is None:
            if self.text is not None:
                self._close(self.text.index, events)
            part = self.thinking = self._begin_words(seal, events, thinking=True)
        part.texts.append(text)
        events.append(ThinkingDelta(part.index, text))

    def hidden(self, events: list[Event]) -> Words:
        """Return the thinking that something unreadable belongs to; a new one if there is none."""
        if self.thinking is None:
            self.thinking = self._begin_words({}, events, thinking=True)
        return self.thinking

    def rethink(self) -> None:
        """What was taken for text was thinking: a tag closed that nothing had opened."""
        if self.text is not None:
            self.text.thinking = True
            self.text.seal = {"tags": [""]}
            self.thinking, self.text = self.text, None

    def refuse(self, text: str, events: list[Event]) -> None:
        """Add to a refusal."""
        if self._refusal is None:
            self.rest(events)
            self._refusal = self._begin_words({"refusal": True}, events, thinking=False)
            self.refused = True
        self._refusal.texts.append(text)
        events.append(TextDelta(self._refusal.index, text))

    def call(self, call: Call, id_: str, events: list[Event]) -> None:
        """Begin a call that has a name and an id."""
        self.rest(events)
        call.part, call.answered = self._begin(), id_
        self.called = True
        self._open[call.part] = call
        events.append(PartStart(call.part, "tool_call", id_, call.name))
        if call.texts:
            events.append(ToolDelta(call.part, "".join(call.texts)))

    def add(self, kind: PartKind, part: Part, events: list[Event]) -> None:
        """Add a part that came whole."""
        index = self._begin()
        events.append(PartStart(index, kind))
        events.append(PartEnd(index, part))

    def rest(self, events: list[Event]) -> None:
        """Thinking ends where something else begins, but for details: those may be sealed later."""
        part = self.thinking
        if part is not None and part.details is None:
            self._close(part.index, events)

    def end(self, events: list[Event]) -> None:
        """End what is open."""
        for index in sorted(self._open):
            self._close(index, events)

    def _begin(self) -> int:
        self.begun += 1
        return self.begun - 1

    def _begin_words(self, seal: dict[str, Json], events: list[Event], *, thinking: bool) -> Words:
        part = Words(self._begin(), thinking=thinking, seal=seal)
        self._open[part.index] = part
        events.append(PartStart(part.index, "thinking" if thinking else "text"))
        return part

    def _close(self, index: int, events: list[Event]) -> None:
        part = self._open.pop(index)
        if isinstance(part, Call):
            events.append(PartEnd(index, self._called(part)))
        elif part.thinking:
            self.thinking = None
            events.append(PartEnd(index, self._thought(part)))
        else:
            self.text = None if part is self.text else self.text
            events.append(PartEnd(index, self._said(part)))

    def _said(self, part: Words) -> Text:
        text = "".join(part.texts)
        self.spoke = self.spoke or bool(text.strip())
        seal = self._sealed(part.seal) if part.seal else None
        return Text(text, seal, tuple(part.citations))

    def _thought(self, part: Words) -> Thinking:
        self.thought = True
        seal = part.seal
        if part.details is not None:
            rest = {"message": seal["message"]} if "message" in seal else {}
            seal = {"reasoning_details": part.details.value(), **rest}
        elif "tags" in seal:
            seal = {"tags": [*seal["tags"], self.closing_tag]}
        return Thinking("".join(part.texts), self._sealed(seal))

    def _called(self, call: Call) -> ToolCall:
        seal = dict(call.extras)
        if not call.id:  # remembers what stood there, so that ours never goes back
            seal["id"] = call.given
        if call.custom:
            seal["type"] = "custom"
        sealed = self._sealed(seal) if seal else None
        return ToolCall(call.answered, call.name, call.arguments(), sealed, minted=not call.id)

    def _sealed(self, value: dict[str, Json]) -> Seal:
        return Seal(NAME, value, self.model, self.route)
