"""Reads content blocks into parts: one small class for each kind of block, fed with its deltas.

``response`` and ``stream`` both use it. In a stream, text and thinking begin with their first
delta; only calls and unknown blocks have a start of their own.
"""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Raw, Struct
from msgspec.json import Decoder

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

NAME = "bedrock"

Sealer = Callable[[Json], Signature]


class Reasoning(Struct, gc=False, rename="camel"):
    """What a delta adds to thinking: text, a piece of the signature, or redacted content."""

    text: str = ""
    signature: str = ""
    redacted_content: str = ""


class Input(Struct, gc=False):
    """What a delta adds to a call: JSON text."""

    input: str = ""


class Delta(Struct, gc=False, rename="camel"):
    """One delta: it has one of these fields, or one that we do not know."""

    text: str | None = None
    reasoning_content: Reasoning | None = None
    tool_use: Input | None = None
    citation: Json = None


class _Delta(Struct):
    delta: dict[str, Json]


_DELTA = get_decoder(_Delta)


class Block(Protocol):
    """A part while it is open."""

    index: int

    def begin(self) -> list[Event]:
        """Return the part's start, and what came with it."""
        ...

    def add(self, delta: Delta, payload: bytes) -> Event | None:
        """Take a delta, and the payload it came in; return the event it is, if any."""
        ...

    def end(self, seal: Sealer) -> Part:
        """Return the finished part."""
        ...


class TextBlock:
    """Text and its citations."""

    def __init__(self, index: int, text: str = "", citations: tuple[Json, ...] = ()) -> None:
        self.index = index
        self._texts = [text]
        self._citations = [*citations]

    def begin(self) -> list[Event]:
        """Return the start; a whole block has its text with it."""
        begun: list[Event] = [PartStart(self.index, "text")]
        return [*begun, TextDelta(self.index, self._texts[0])] if self._texts[0] else begun

    def add(self, delta: Delta, _payload: bytes) -> Event | None:
        """Take more text, or a citation."""
        text = delta.text
        if text:
            self._texts.append(text)
            return TextDelta(self.index, text)
        if delta.citation is not None:
            self._citations.append(delta.citation)
        if delta.reasoning_content is not None:
            raise Malformed("thinking within words", path="$.delta.reasoningContent")
        return None

    def end(self, _seal: Sealer) -> Part:
        """Return the text."""
        return Text("".join(self._texts), citations=tuple(self._citations))


class ThinkingBlock:
    """Thinking and its signature, which only some makers give; or redacted thinking."""

    def __init__(self, index: int, text: str = "", signature: str = "", redacted: str = "") -> None:
        self.index = index
        self._texts = [text]
        self._signature = signature
        self._redacted = [redacted] if redacted else []

    def begin(self) -> list[Event]:
        """Return the start; a whole block has its text with it."""
        begun: list[Event] = [PartStart(self.index, "thinking")]
        return [*begun, ThinkingDelta(self.index, self._texts[0])] if self._texts[0] else begun

    def add(self, delta: Delta, _payload: bytes) -> Event | None:
        """Take more thinking, its signature, or redacted content."""
        more = delta.reasoning_content
        if more is None:
            if delta.text:
                raise Malformed("words within thinking", path="$.delta.text")
            return None
        if more.text:
            self._texts.append(more.text)
            return ThinkingDelta(self.index, more.text)
        self._signature += more.signature
        if more.redacted_content:
            self._redacted.append(more.redacted_content)
        return None

    def end(self, seal: Sealer) -> Part:
        """Return the thinking; a seal without a signature only names the model."""
        text = "".join(self._texts)
        if self._redacted and not text:
            return Thinking("", seal(_joined(self._redacted)), redacted=True)
        return Thinking(text, seal(self._signature))


class CallBlock:
    """A call; its arguments come as JSON text in pieces, or whole."""

    def __init__(self, index: int, id: str, name: str, arguments: str = "") -> None:
        self.index = index
        self._id, self._name = id, name
        self._pieces = [arguments] if arguments else []

    def begin(self) -> list[Event]:
        """Return the start; a whole block has its arguments with it."""
        begun: list[Event] = [PartStart(self.index, "tool_call", self._id, self._name)]
        if self._pieces and self._pieces[0] not in ("{}", "null"):
            begun.append(ToolDelta(self.index, self._pieces[0]))
        return begun

    def add(self, delta: Delta, _payload: bytes) -> Event | None:
        """Take more of the arguments."""
        if delta.tool_use is None or not delta.tool_use.input:
            return None
        self._pieces.append(delta.tool_use.input)
        return ToolDelta(self.index, delta.tool_use.input)

    def end(self, _seal: Sealer) -> Part:
        """Return the call."""
        return ToolCall(self._id, self._name, parse_arguments("".join(self._pieces)))


class OtherBlock:
    """A block of a kind we do not know: kept as it came, with its deltas applied."""

    def __init__(self, index: int, kind: str, fields: Json) -> None:
        self.index = index
        self._kind, self._fields = kind, fields
        self._pieces: list[str] = []

    def begin(self) -> list[Event]:
        """Return the start."""
        return [PartStart(self.index, "other")]

    def add(self, delta: Delta, payload: bytes) -> Event | None:
        """Apply a delta: JSON text is input, a list is content, an object's fields are merged."""
        if delta.tool_use is not None:
            self._pieces.append(delta.tool_use.input)
            return None
        more = parse_payload(payload, _DELTA).delta.get(self._kind)
        if isinstance(self._fields, dict) and isinstance(more, list):
            self._fields["content"] = [*(self._fields.get("content") or []), *more]
        elif isinstance(self._fields, dict) and isinstance(more, dict):
            self._fields |= more
        return None

    def end(self, _seal: Sealer) -> Part:
        """Return the block."""
        if self._pieces and isinstance(self._fields, dict):
            self._fields["input"] = parse_arguments("".join(self._pieces))
        return UnknownPart(NAME, {self._kind: self._fields})


def _joined(pieces: list[str]) -> str:
    """Return one base64 text for several; a single piece stays as it is."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join(b64decode(piece) for piece in pieces)).decode()
    except (Error, ValueError):
        raise Malformed("a piece of base64 is broken", path="$.delta.redactedContent") from None


# -- opening a part ------------------------------------------------------------------------------


class _Call(Struct, rename="camel"):
    tool_use_id: str
    name: str
    type: str | None = None
    input: Raw = Raw(b"")


class _Words(Struct):
    text: str = ""


class _Cited(Struct):
    content: list[_Words] | None = None
    citations: list[Json] | None = None


class _Thought(Struct, rename="camel"):
    reasoning_text: Reasoning | None = None
    redacted_content: str | None = None


_CALL = get_decoder(_Call)
_CITED = get_decoder(_Cited)
_THOUGHT = get_decoder(_Thought)
_STRING = get_decoder(str)
_ANY: Decoder[Json] = Decoder()


def first_of(delta: Delta, index: int) -> Block | None:
    """Return the part that a delta without a start opens; None where we do not know the kind."""
    if delta.text is not None or delta.citation is not None:
        return TextBlock(index)
    return ThinkingBlock(index) if delta.reasoning_content is not None else None


def block(raw: Mapping[str, Raw], index: int, *, at: str) -> Block | None:
    """Return the part that a whole block, or its start, opens; None where it has no kind."""
    kind = next((key for key in raw if key != "type"), None)
    if kind is None:
        return None
    path = f"{at}.{kind}"
    return _KINDS.get(kind, _other)(raw[kind], index, kind, path)


def _text(raw: Raw, index: int, _kind: str, at: str) -> Block:
    return TextBlock(index, parse_payload(raw, _STRING, at=at))


def _cited(raw: Raw, index: int, _kind: str, at: str) -> Block:
    cited = parse_payload(raw, _CITED, at=at)
    text = "".join(words.text for words in cited.content or ())
    return TextBlock(index, text, tuple(cited.citations or ()))


def _thought(raw: Raw, index: int, kind: str, at: str) -> Block:
    thought = parse_payload(raw, _THOUGHT, at=at)
    if thought.redacted_content is not None:
        return ThinkingBlock(index, redacted=thought.redacted_content)
    if thought.reasoning_text is None:
        return _other(raw, index, kind, at)
    return ThinkingBlock(index, thought.reasoning_text.text, thought.reasoning_text.signature)


def _call(raw: Raw, index: int, kind: str, at: str) -> Block:
    call = parse_payload(raw, _CALL, at=at)
    if call.type == "server_tool_use":  # the service runs it itself and takes no result for it
        return _other(raw, index, kind, at)
    parse_payload(raw, _ANY, at=at)  # checks the whole: arguments are handed on as text
    return CallBlock(index, call.tool_use_id, call.name, bytes(call.input).decode())


def _other(raw: Raw, index: int, kind: str, at: str) -> Block:
    return OtherBlock(index, kind, parse_payload(raw, _ANY, at=at))


_KINDS: Mapping[str, Callable[[Raw, int, str, str], Block]] = {
    "text": _text,
    "citationsContent": _cited,
    "reasoningContent": _thought,
    "toolUse": _call,
}
