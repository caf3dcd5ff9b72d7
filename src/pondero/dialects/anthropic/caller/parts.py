"""Reads content blocks into parts; the class is chosen once, so that a delta costs one call."""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Raw, Struct

from pondero.canon import (
    Event,
    Json,
    Part,
    PartStart,
    Signature,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
    get_decoder,
    parse_arguments,
)
from pondero.errors import Malformed
from pondero.framing import parse_payload

NAME = "anthropic"

MakeSignature = Callable[[Json], Signature]


class Delta(Struct, gc=False):
    """The fields of all kinds of deltas; each block reads those of its own kind."""

    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    citation: Json = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Json = None
    container: Json = None


class Block(Protocol):
    """A part while it is open."""

    index: int

    def begin(self, sign: MakeSignature) -> list[Event]:
        """Return the part's start, and the content of a whole block."""

    def add(self, delta: Delta, frame: bytes) -> Event | None:
        """Add a delta; return its event, if it has one. ``frame`` is the delta's raw frame."""

    def end(self, sign: MakeSignature) -> Part:
        """Return the finished part."""


class _Type(Struct):
    type: str


class _Text(Struct):
    text: str
    citations: list[Json] | None = None


class _Thinking(Struct):
    thinking: str | None = None
    text: str | None = None  # some compatible servers use this key,
    reasoning: str | None = None  # or this one
    signature: str = ""


class _RedactedThinking(Struct):
    data: str


class _ToolUse(Struct):
    id: str
    name: str
    input: Raw = Raw(b"{}")


class _Frame(Struct):
    delta: dict[str, Json]


_TYPE = get_decoder(_Type)
_TEXT = get_decoder(_Text)
_THINKING = get_decoder(_Thinking)
_REDACTED = get_decoder(_RedactedThinking)
_TOOL_USE = get_decoder(_ToolUse)
_ANY = get_decoder(dict[str, Json])
_FRAME = get_decoder(_Frame)


class TextBlock:
    """Text and its citations."""

    def __init__(self, raw: Raw, index: int, *, at: str) -> None:
        start = parse_payload(raw, _TEXT, at=at)
        self.index = index
        self.texts: list[str] = [start.text]
        self._citations = start.citations or []

    def begin(self, _sign: MakeSignature) -> list[Event]:
        """Return the start; a whole block has its text with it."""
        begun: list[Event] = [PartStart(self.index, "text")]
        return [*begun, TextDelta(self.index, self.texts[0])] if self.texts[0] else begun

    def add(self, delta: Delta, _frame: bytes) -> Event | None:
        """Add text or a citation."""
        if text := self.words(delta):
            return self.say([text])[0]
        if delta.citation is not None:
            self._citations.append(delta.citation)
        return None

    def words(self, delta: Delta) -> str:
        """Return the text in a delta."""
        return delta.text

    def say(self, texts: list[str]) -> list[Event]:
        """Add texts; return their events."""
        self.texts += texts
        index = self.index
        return [TextDelta(index, text) for text in texts]

    def end(self, _sign: MakeSignature) -> Part:
        """Return the text."""
        return Text("".join(self.texts), citations=tuple(self._citations))


class ThinkingBlock:
    """Thinking and its signature; the text is empty if it is not shown."""

    def __init__(self, raw: Raw, index: int, *, at: str) -> None:
        start = parse_payload(raw, _THINKING, at=at)
        named = (start.thinking, start.text, start.reasoning)
        text = next((each for each in named if each is not None), None)
        if text is None:
            raise Malformed("Object missing required field `thinking`", path=at)
        self.index = index
        self.texts: list[str] = [text]
        self._signature = start.signature

    def begin(self, _sign: MakeSignature) -> list[Event]:
        """Return the start; a whole block has its text with it."""
        begun: list[Event] = [PartStart(self.index, "thinking")]
        return [*begun, ThinkingDelta(self.index, self.texts[0])] if self.texts[0] else begun

    def add(self, delta: Delta, _frame: bytes) -> Event | None:
        """Add thinking, or the signature that closes it."""
        if text := self.words(delta):
            return self.say([text])[0]
        self._signature += delta.signature
        return None

    def words(self, delta: Delta) -> str:
        """Return the thinking in a delta."""
        return delta.thinking or delta.text

    def say(self, texts: list[str]) -> list[Event]:
        """Add thinking; return its events."""
        self.texts += texts
        index = self.index
        return [ThinkingDelta(index, text) for text in texts]

    def end(self, sign: MakeSignature) -> Part:
        """Return the thinking, with its signature if it has one."""
        text = "".join(self.texts)
        return Thinking(text, sign(self._signature) if self._signature else None)


class _RedactedBlock:
    """Encrypted thinking: all of it comes at the start."""

    def __init__(self, raw: Raw, index: int, *, at: str) -> None:
        self.index = index
        self._data = parse_payload(raw, _REDACTED, at=at).data

    def begin(self, sign: MakeSignature) -> list[Event]:
        return [PartStart(self.index, "thinking", signature=sign(self._data))]

    def add(self, _delta: Delta, _frame: bytes) -> Event | None:
        return None  # this block has no deltas

    def end(self, sign: MakeSignature) -> Part:
        return Thinking("", sign(self._data), redacted=True)


class _ToolUseBlock:
    """A call; its arguments come as JSON text in pieces, or whole at the start, never both."""

    def __init__(self, raw: Raw, index: int, *, at: str) -> None:
        start = parse_payload(raw, _TOOL_USE, at=at)
        self.index = index
        self._id, self._name = start.id, start.name
        # Parses the whole block, so that the arguments, kept as text, are known to be JSON.
        self._further = _further(parse_payload(raw, _ANY, at=at))
        self._input = bytes(start.input).decode()
        self._pieces: list[str] = []

    def begin(self, sign: MakeSignature) -> list[Event]:
        known = sign(self._further) if self._further else None
        begun: list[Event] = [PartStart(self.index, "tool_call", self._id, self._name, known)]
        if self._input in ("{}", "null", ""):  # a stream starts with an empty input
            return begun
        return [*begun, ToolDelta(self.index, self._input)]

    def add(self, delta: Delta, _frame: bytes) -> Event | None:
        piece = delta.partial_json
        if not piece:
            return None
        self._pieces.append(piece)
        return ToolDelta(self.index, piece)

    def end(self, sign: MakeSignature) -> Part:
        return ToolCall(
            self._id,
            self._name,
            parse_arguments("".join(self._pieces) or self._input),
            sign(self._further) if self._further else None,
        )


class _OtherBlock:
    """A block of unknown type: its JSON, with its deltas applied."""

    def __init__(self, raw: Raw, index: int, *, at: str) -> None:
        self.index = index
        self._raw = parse_payload(raw, _ANY, at=at)
        self._pieces: list[str] = []

    def begin(self, _sign: MakeSignature) -> list[Event]:
        return [PartStart(self.index, "other")]

    def add(self, delta: Delta, frame: bytes) -> Event | None:
        """Append strings to strings; replace other values."""
        if delta.partial_json:
            self._pieces.append(delta.partial_json)
            return None
        for key, value in parse_payload(frame, _FRAME).delta.items():
            before = self._raw.get(key)
            if key == "citation":
                self._raw["citations"] = [*(self._raw.get("citations") or []), value]
            elif key not in ("type", "partial_json"):
                joins = isinstance(before, str) and isinstance(value, str)
                self._raw[key] = before + value if joins else value
        return None

    def end(self, _sign: MakeSignature) -> Part:
        if self._pieces:
            self._raw["input"] = parse_arguments("".join(self._pieces))
        return UnknownPart(NAME, self._raw)


_BLOCKS: Mapping[str, Callable[..., Block]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "reasoning": ThinkingBlock,  # the name that some compatible servers give it
    "redacted_thinking": _RedactedBlock,
    "tool_use": _ToolUseBlock,
}


def block(raw: Raw, index: int, *, at: str) -> Block:
    """Return the open part of a block that starts."""
    kind = parse_payload(raw, _TYPE, at=at).type
    return _BLOCKS.get(kind, _OtherBlock)(raw, index, at=at)


def _further(raw: dict[str, Json]) -> dict[str, Json]:
    further = {key: raw[key] for key in raw if key not in ("type", "id", "name", "input")}
    if further.get("caller") == {"type": "direct"}:
        del further["caller"]
    return {key: value for key, value in further.items() if value is not None}
