"""Reads content blocks into parts; in streams only calls and unknown blocks have a start frame."""

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

MakeSignature = Callable[[Json], Signature]


class Reasoning(Struct, gc=False, rename="camel"):
    """A delta of thinking: text, a piece of the signature, or redacted content."""

    text: str = ""
    signature: str = ""
    redacted_content: str = ""


class Input(Struct, gc=False):
    """A delta of a call: JSON text."""

    input: str = ""


class Delta(Struct, gc=False, rename="camel"):
    """One delta: it has one of these fields, or an unknown one."""

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
        """Return the part's start, and the content of a whole block."""

    def add(self, delta: Delta, payload: bytes) -> Event | None:
        """Add a delta; return its event, if it has one. ``payload`` is the delta's raw frame."""

    def end(self, sign: MakeSignature) -> Part:
        """Return the finished part."""


class _TextBlock:
    """Text and its citations."""

    def __init__(self, index: int, text: str = "", citations: tuple[Json, ...] = ()) -> None:
        self.index = index
        self._texts = [text]
        self._citations = [*citations]

    def begin(self) -> list[Event]:
        begun: list[Event] = [PartStart(self.index, "text")]
        return [*begun, TextDelta(self.index, self._texts[0])] if self._texts[0] else begun

    def add(self, delta: Delta, _payload: bytes) -> Event | None:
        text = delta.text
        if text:
            self._texts.append(text)
            return TextDelta(self.index, text)
        if delta.citation is not None:
            self._citations.append(delta.citation)
        if delta.reasoning_content is not None:
            raise Malformed("thinking within words", path="$.delta.reasoningContent")
        return None

    def end(self, _sign: MakeSignature) -> Part:
        return Text("".join(self._texts), citations=tuple(self._citations))


class _ThinkingBlock:
    """Thinking and its signature, which only some makers return; or redacted thinking."""

    def __init__(self, index: int, text: str = "", signature: str = "", redacted: str = "") -> None:
        self.index = index
        self._texts = [text]
        self._signature = signature
        self._redacted = [redacted] if redacted else []

    def begin(self) -> list[Event]:
        begun: list[Event] = [PartStart(self.index, "thinking")]
        return [*begun, ThinkingDelta(self.index, self._texts[0])] if self._texts[0] else begun

    def add(self, delta: Delta, _payload: bytes) -> Event | None:
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

    def end(self, sign: MakeSignature) -> Part:
        """Return the thinking; an empty signature still names the model."""
        text = "".join(self._texts)
        if self._redacted and not text:
            return Thinking("", sign(_join_base64(self._redacted)), redacted=True)
        return Thinking(text, sign(self._signature))


class _CallBlock:
    """A call; its arguments come as JSON text in pieces, or whole."""

    def __init__(self, index: int, id: str, name: str, arguments: str = "") -> None:
        self.index = index
        self._id, self._name = id, name
        self._pieces = [arguments] if arguments else []

    def begin(self) -> list[Event]:
        begun: list[Event] = [PartStart(self.index, "tool_call", self._id, self._name)]
        if self._pieces and self._pieces[0] not in ("{}", "null"):
            begun.append(ToolDelta(self.index, self._pieces[0]))
        return begun

    def add(self, delta: Delta, _payload: bytes) -> Event | None:
        if delta.tool_use is None or not delta.tool_use.input:
            return None
        self._pieces.append(delta.tool_use.input)
        return ToolDelta(self.index, delta.tool_use.input)

    def end(self, _sign: MakeSignature) -> Part:
        return ToolCall(self._id, self._name, parse_arguments("".join(self._pieces)))


class _OtherBlock:
    """A block of unknown kind: its JSON, with its deltas applied."""

    def __init__(self, index: int, kind: str, fields: Json) -> None:
        self.index = index
        self._kind, self._fields = kind, fields
        self._pieces: list[str] = []

    def begin(self) -> list[Event]:
        return [PartStart(self.index, "other")]

    def add(self, delta: Delta, payload: bytes) -> Event | None:
        """Apply a delta: JSON text is input, a list is content, the fields of an object merge."""
        if delta.tool_use is not None:
            self._pieces.append(delta.tool_use.input)
            return None
        more = parse_payload(payload, _DELTA).delta.get(self._kind)
        if isinstance(self._fields, dict) and isinstance(more, list):
            self._fields["content"] = [*(self._fields.get("content") or []), *more]
        elif isinstance(self._fields, dict) and isinstance(more, dict):
            self._fields |= more
        return None

    def end(self, _sign: MakeSignature) -> Part:
        if self._pieces and isinstance(self._fields, dict):
            self._fields["input"] = parse_arguments("".join(self._pieces))
        return UnknownPart(NAME, {self._kind: self._fields})


def _join_base64(pieces: list[str]) -> str:
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


class _CitedText(Struct):
    content: list[_Words] | None = None
    citations: list[Json] | None = None


class _ThinkingFields(Struct, rename="camel"):
    reasoning_text: Reasoning | None = None
    redacted_content: str | None = None


_CALL = get_decoder(_Call)
_CITED = get_decoder(_CitedText)
_THOUGHT = get_decoder(_ThinkingFields)
_STRING = get_decoder(str)
_ANY: Decoder[Json] = Decoder()


def open_first(delta: Delta, index: int) -> Block | None:
    """Return the part that a delta without a start opens; None if its kind is unknown."""
    if delta.text is not None or delta.citation is not None:
        return _TextBlock(index)
    return _ThinkingBlock(index) if delta.reasoning_content is not None else None


def block(raw: Mapping[str, Raw], index: int, *, at: str) -> Block | None:
    """Return the part that a whole block, or its start, opens; None if it has no kind."""
    kind = next((key for key in raw if key != "type"), None)
    if kind is None:
        return None
    path = f"{at}.{kind}"
    return _KINDS.get(kind, _open_other)(raw[kind], index, kind, path)


def _open_text(raw: Raw, index: int, _kind: str, at: str) -> Block:
    return _TextBlock(index, parse_payload(raw, _STRING, at=at))


def _open_cited_text(raw: Raw, index: int, _kind: str, at: str) -> Block:
    cited = parse_payload(raw, _CITED, at=at)
    text = "".join(words.text for words in cited.content or ())
    return _TextBlock(index, text, tuple(cited.citations or ()))


def _open_thinking(raw: Raw, index: int, kind: str, at: str) -> Block:
    thought = parse_payload(raw, _THOUGHT, at=at)
    if thought.redacted_content is not None:
        return _ThinkingBlock(index, redacted=thought.redacted_content)
    if thought.reasoning_text is None:
        return _open_other(raw, index, kind, at)
    return _ThinkingBlock(index, thought.reasoning_text.text, thought.reasoning_text.signature)


def _open_call(raw: Raw, index: int, kind: str, at: str) -> Block:
    call = parse_payload(raw, _CALL, at=at)
    if call.type == "server_tool_use":  # the service runs it itself and takes no result for it
        return _open_other(raw, index, kind, at)
    parse_payload(raw, _ANY, at=at)  # checks that the arguments, kept as text, are JSON
    return _CallBlock(index, call.tool_use_id, call.name, bytes(call.input).decode())


def _open_other(raw: Raw, index: int, kind: str, at: str) -> Block:
    return _OtherBlock(index, kind, parse_payload(raw, _ANY, at=at))


_KINDS: Mapping[str, Callable[[Raw, int, str, str], Block]] = {
    "text": _open_text,
    "citationsContent": _open_cited_text,
    "reasoningContent": _open_thinking,
    "toolUse": _open_call,
}
