"""What opens a part: a block, its start, or the first delta of one that has no start."""

from collections.abc import Callable, Mapping

from msgspec import Raw, Struct
from msgspec.json import Decoder

from pondero.canon import Json
from pondero.framing import parse

from .parts import Block, CallBlock, Delta, OtherBlock, Reasoning, TextBlock, ThinkingBlock


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


_CALL = Decoder(_Call)
_CITED = Decoder(_Cited)
_THOUGHT = Decoder(_Thought)
_STRING = Decoder(str)
_ANY: Decoder[Json] = Decoder()


def first_of(delta: Delta, index: int) -> Block | None:
    """Return the part that a delta opens; None where we know of no such part."""
    if delta.text is not None or delta.citation is not None:
        return TextBlock(index)
    return ThinkingBlock(index) if delta.reasoning_content is not None else None


def block(raw: Mapping[str, Raw], index: int, *, at: str) -> Block | None:
    """Return the part of a block, or of its start; None where it does not say what it is."""
    kind = next((key for key in raw if key != "type"), None)
    if kind is None:
        return None
    path = f"{at}.{kind}"
    return _KINDS.get(kind, _other)(raw[kind], index, kind, path)


def _text(raw: Raw, index: int, _kind: str, at: str) -> Block:
    return TextBlock(index, parse(raw, _STRING, at=at))


def _cited(raw: Raw, index: int, _kind: str, at: str) -> Block:
    cited = parse(raw, _CITED, at=at)
    text = "".join(words.text for words in cited.content or ())
    return TextBlock(index, text, tuple(cited.citations or ()))


def _thought(raw: Raw, index: int, kind: str, at: str) -> Block:
    thought = parse(raw, _THOUGHT, at=at)
    if thought.redacted_content is not None:
        return ThinkingBlock(index, redacted=thought.redacted_content)
    if thought.reasoning_text is None:
        return _other(raw, index, kind, at)
    return ThinkingBlock(index, thought.reasoning_text.text, thought.reasoning_text.signature)


def _call(raw: Raw, index: int, kind: str, at: str) -> Block:
    call = parse(raw, _CALL, at=at)
    if call.type == "server_tool_use":  # the service runs it, and nobody here may answer it
        return _other(raw, index, kind, at)
    parse(raw, _ANY, at=at)  # reads all of it: what is left is text
    return CallBlock(index, call.tool_use_id, call.name, bytes(call.input).decode())


def _other(raw: Raw, index: int, kind: str, at: str) -> Block:
    return OtherBlock(index, kind, parse(raw, _ANY, at=at))


_KINDS: Mapping[str, Callable[[Raw, int, str, str], Block]] = {
    "text": _text,
    "citationsContent": _cited,
    "reasoningContent": _thought,
    "toolUse": _call,
}
