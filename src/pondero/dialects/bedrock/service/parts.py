"""Writes parts as the service's blocks, for whole answers and for streams."""

from collections.abc import Iterator

from msgspec.json import encode

from pondero.canon import Json, Other, Part, Text, Thinking, ToolCall
from pondero.dialects.dialect import Answering

from .parse import Context
from .types import NAME

Frame = tuple[str, dict[str, Json]]


class BlockWriter:
    """Writes the blocks of one answer."""

    def __init__(self, answering: Answering[Context]) -> None:
        self._answering = answering
        self._written: list[Json] = []

    def blocks(self, part: Part) -> list[Json]:
        """Return the block of a part; none where this wire has no such block."""
        match part:
            case Text() if part.citations:
                content = [{"text": part.text}] if part.text else []
                block: Json = {
                    "citationsContent": {"content": content, "citations": list(part.citations)}
                }
            case Text():
                block = {"text": part.text}
            case Thinking():
                block = self._thinking(part)
            case ToolCall():
                arguments = part.arguments if isinstance(part.arguments, dict) else {}
                block = {"toolUse": {"input": arguments, "name": part.name, "toolUseId": part.id}}
            case Other() if part.dialect == NAME:
                block = part.raw
            case _:
                return []
        if block is None:
            return []
        self._written.append(block)
        return [block]

    def rest(self, block: Json, *, begun: bool) -> Iterator[Frame]:
        """Yield the frames of a block that are still to send; ``begun``: its text was sent."""
        kind = next(iter(block))
        fields = block[kind]
        match kind:
            case "text" if not begun:
                yield _delta({"text": fields})
            case "citationsContent":
                words = "".join(each["text"] for each in fields["content"])
                if words and not begun:
                    yield _delta({"text": words})
                for citation in fields["citations"]:
                    yield _delta({"citation": citation})
            case "reasoningContent":
                yield from _thought(fields, begun=begun)
            case "toolUse":
                yield from _call(fields)
            case "toolResult":
                start = {key: value for key, value in fields.items() if key != "content"}
                yield "contentBlockStart", {"start": {"toolResult": start}}
                yield _delta({"toolResult": fields["content"]})

    # -- thinking --------------------------------------------------------------------------------

    def _thinking(self, part: Thinking) -> Json:
        context, shows = self._answering.context, self._answering.shown
        if context.display == "nothing":
            return None
        if not context.signed:
            shown = part.text if shows else "[REDACTED]"
            return {"reasoningContent": {"reasoningText": {"text": shown}}}
        shown = part.text if shows and not part.redacted else ""
        seal = self._answering.seal(part, shown, self._written)
        if seal is None and not shown:
            return None
        if part.redacted:
            return {"reasoningContent": {"redactedContent": seal}}
        text = {"text": shown} if seal is None else {"text": shown, "signature": seal}
        return {"reasoningContent": {"reasoningText": text}}


def _delta(delta: Json) -> Frame:
    return "contentBlockDelta", {"delta": delta}


def _thought(fields: Json, *, begun: bool) -> Iterator[Frame]:
    if "redactedContent" in fields:
        yield _delta({"reasoningContent": fields})
        return
    text = fields["reasoningText"]
    if text["text"] and not begun:
        yield _delta({"reasoningContent": {"text": text["text"]}})
    if "signature" in text:
        yield _delta({"reasoningContent": {"signature": text["signature"]}})


def _call(fields: Json) -> Iterator[Frame]:
    start = {key: fields[key] for key in ("toolUseId", "name", "type") if key in fields}
    yield "contentBlockStart", {"start": {"toolUse": start}}
    written = encode(fields["input"]).decode()
    middle = len(written) // 2
    for piece in (written[:middle], written[middle:]):
        yield _delta({"toolUse": {"input": piece}})
