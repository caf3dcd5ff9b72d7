"""Parts as the service's blocks; each signature on thinking knows what came before it."""

from collections.abc import Iterator

from msgspec.json import encode

from pondero.canon import Json, Other, Part, Text, Thinking, ToolCall
from pondero.dialects.dialect import Answering

from .seals import UNBOUND, hidden, prefix, sign
from .types import NAME

Said = tuple[str, dict[str, Json]]


class Scribe:
    """Writes the blocks of one answer."""

    def __init__(self, accepted: Answering[Json]) -> None:
        self._accepted = accepted
        self._body = accepted.context["body"]
        self._written: list[Json] = []

    def blocks(self, part: Part) -> list[Json]:
        """Return the block of a part; none for what this wire cannot say."""
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

    def rest(self, block: Json, *, begun: bool) -> Iterator[Said]:
        """Yield what a stream has still to say of a block: all of it, or its last deltas."""
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
        if self._accepted.context["display"] == "nothing":
            return None
        if not self._accepted.context["sealed"]:
            shown = part.text if self._accepted.shown else "[REDACTED]"
            return {"reasoningContent": {"reasoningText": {"text": shown}}}
        shown = part.text if self._accepted.shown and not part.redacted else ""
        proof = self._proof(part, shown)
        if part.redacted:
            return {"reasoningContent": {"redactedContent": proof}}
        return {"reasoningContent": {"reasoningText": {"text": shown, "signature": proof}}}

    def _proof(self, part: Thinking, shown: str) -> Json:
        """Return what proves a thought: the seal it already has, else a new one."""
        if part.seal is not None and part.seal.dialect == NAME:
            return part.seal.value
        made = sign(
            shown,
            model=self._accepted.request.model,
            thought=f"{len(self._written)} {part.text}",
            prefix=self._prefix(),
        )
        return hidden(made) if part.redacted else made

    def _prefix(self) -> bytes:
        if not self._accepted.context["bound"]:
            return UNBOUND
        messages = list(self._body["messages"])
        if self._written:
            messages.append({"role": "assistant", "content": self._written})
        tools = (self._body.get("toolConfig") or {}).get("tools")
        return prefix(self._body.get("system"), tools, messages)


def _delta(delta: Json) -> Said:
    return "contentBlockDelta", {"delta": delta}


def _thought(fields: Json, *, begun: bool) -> Iterator[Said]:
    if "redactedContent" in fields:
        yield _delta({"reasoningContent": fields})
        return
    text = fields["reasoningText"]
    if text["text"] and not begun:
        yield _delta({"reasoningContent": {"text": text["text"]}})
    if "signature" in text:
        yield _delta({"reasoningContent": {"signature": text["signature"]}})


def _call(fields: Json) -> Iterator[Said]:
    start = {key: fields[key] for key in ("toolUseId", "name", "type") if key in fields}
    yield "contentBlockStart", {"start": {"toolUse": start}}
    written = encode(fields["input"]).decode()
    middle = len(written) // 2
    for piece in (written[:middle], written[middle:]):
        yield _delta({"toolUse": {"input": piece}})
