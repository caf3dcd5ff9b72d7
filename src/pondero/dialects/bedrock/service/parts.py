"""Writes parts as the service's blocks, for whole answers and for streams."""

from base64 import b64encode
from collections.abc import Iterator, Mapping

from msgspec.json import encode

from pondero.canon import Image, Json, Part, Text, Thinking, ToolCall, UnknownPart
from pondero.dialects.citations import WebPage, convert_citations
from pondero.dialects.dialect import ReplyContext

from .parse import Context
from .types import NAME

Frame = tuple[str, dict[str, Json]]

_FORMATS: Mapping[str, str] = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_CITATION = frozenset({"title", "source", "sourceContent", "location"})
_INVALID = "INVALID_JSON"  # key for arguments that are not an object; the parser removes it


class BlockWriter:
    """Writes the blocks of one answer."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._answering = answering
        self._written: list[Json] = []

    def blocks(self, part: Part) -> list[Json]:
        """Return the block of a part; empty if this API has none for it."""
        match part:
            case Text():
                block: Json = _text(part)
            case Thinking():
                block = self._thinking(part)
            case ToolCall():
                given = part.arguments
                arguments = given if isinstance(given, dict) else {_INVALID: given}
                block = {"toolUse": {"input": arguments, "name": part.name, "toolUseId": part.id}}
            case Image(data=bytes(data), media_type=str(kind)) if kind in _FORMATS:
                source = {"bytes": b64encode(data).decode()}
                block = {"image": {"format": _FORMATS[kind], "source": source}}
            case UnknownPart() if part.dialect == NAME:
                block = part.raw
            case _:
                return []
        if block is None:
            return []
        self._written.append(block)
        return [block]

    def rest(self, block: Json, *, begun: bool) -> Iterator[Frame]:
        """Yield the frames of a block that were not sent yet; ``begun``: its content was."""
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
                yield from _iter_thinking(fields, begun=begun)
            case "toolUse" if not begun:
                yield call_start(fields)
                yield _delta({"toolUse": {"input": encode(fields["input"]).decode()}})
            case "image":
                yield "contentBlockStart", {"start": {"image": {"format": fields["format"]}}}
                yield _delta({"image": {"source": fields["source"]}})
            case "toolResult":
                start = {key: value for key, value in fields.items() if key != "content"}
                yield "contentBlockStart", {"start": {"toolResult": start}}
                yield _delta({"toolResult": fields["content"]})

    def _thinking(self, part: Thinking) -> Json:
        context, shows = self._answering.context, self._answering.shown
        if context.display == "nothing":
            return None
        if not context.signed:
            shown = part.text if shows else "[REDACTED]"
            return {"reasoningContent": {"reasoningText": {"text": shown}}}
        shown = part.text if shows and not part.redacted else ""
        signature = self._answering.sign(part, shown, self._written)
        if signature is None and not shown:
            return None
        if part.redacted:
            return {"reasoningContent": {"redactedContent": signature}}
        text = {"text": shown} if signature is None else {"text": shown, "signature": signature}
        return {"reasoningContent": {"reasoningText": text}}


def call_start(fields: Json) -> Frame:
    """Return the start of a call; its arguments follow."""
    start = {key: fields[key] for key in ("toolUseId", "name", "type") if key in fields}
    return "contentBlockStart", {"start": {"toolUse": start}}


def _text(part: Text) -> Json:
    citations = convert_citations(part.citations, own=_is_own_citation, page=_citation)
    if citations:
        content = [{"text": part.text}] if part.text else []
        return {"citationsContent": {"content": content, "citations": citations}}
    return {"text": part.text} if part.text else None


def _is_own_citation(citation: Json) -> bool:
    return _CITATION.issuperset(citation)


def _citation(page: WebPage) -> Json:
    titled = {"title": page.title} if page.title else {}
    return {**titled, "location": {"web": {"url": page.url}}}


def _delta(delta: Json) -> Frame:
    return "contentBlockDelta", {"delta": delta}


def _iter_thinking(fields: Json, *, begun: bool) -> Iterator[Frame]:
    if "redactedContent" in fields:
        yield _delta({"reasoningContent": fields})
        return
    text = fields["reasoningText"]
    if text["text"] and not begun:
        yield _delta({"reasoningContent": {"text": text["text"]}})
    if "signature" in text:
        yield _delta({"reasoningContent": {"signature": text["signature"]}})
