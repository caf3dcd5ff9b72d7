"""Writes the parts of an answer as output items, for ``reply`` and ``stream``."""

from base64 import b64encode
from collections.abc import Sequence

from pondero.canon import (
    Image,
    Json,
    Part,
    Signature,
    Text,
    Thinking,
    TokenLogprob,
    ToolCall,
    UnknownPart,
)
from pondero.dialects.citations import WebPage, convert_citations
from pondero.dialects.dialect import ReplyContext
from pondero.dialects.token_logprobs import write_logprobs

from .client_tools import list_client_tools, write_call
from .input.conversation import arguments_text
from .parse import Context
from .signatures import ItemId, stem_of, write_id
from .types import NAME

Item = dict[str, Json]
_ANNOUNCED = ("text", "thinking", "tool_call")


class Writer:
    """Writes the items of one answer, in order."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._answering = answering
        self._context = answering.context
        self._stem = stem_of(answering.seed, emulated=self._context.emulated)
        self._thought: int | None = None  # the place of the latest thinking
        self._own = list_client_tools(answering.request.tools)
        self._custom = {tool.name for tool in answering.request.tools if tool.kind == "text"}

    @property
    def request_id(self) -> str:
        """Return the id of the exchange."""
        stem = stem_of(self._answering.seed)
        return f"req_{stem}{stem}"

    def head(
        self, place: int, kind: str, *, id: str | None = None, name: str | None = None
    ) -> Item:
        """Return an item as it begins, still empty."""
        if kind == "thinking":
            item = {"id": self._make_id("rs", place, None), "type": "reasoning", "summary": []}
            self._thought = place
            return item
        if kind == "tool_call":
            return self._call_head(place, id, name)
        item = {
            "id": self._make_id("msg", place, self._thought),
            "type": "message",
            "status": "in_progress",
            "content": [],
            "role": "assistant",
        }
        return {**item, "phase": "final_answer"} if self._context.phases else item

    def _call_head(self, place: int, id: str | None, name: str | None) -> Item:
        item: Item = {}
        if name in self._custom:
            item |= {"id": self._make_id("ctc", place, self._thought), "type": "custom_tool_call"}
            item |= {"status": "in_progress", "call_id": id, "input": "", "name": name}
        else:
            item |= {"id": self._make_id("fc", place, self._thought), "type": "function_call"}
            item |= {"status": "in_progress", "arguments": "", "call_id": id, "name": name}
        namespace = self._context.namespaces.get(name or "")
        if namespace is not None:
            item["namespace"] = namespace
        return item

    def comes_whole(self, kind: str | None, name: str | None) -> bool:
        """Return whether a part has no deltas: a medium, or a call of a tool of OpenAI's."""
        return kind not in _ANNOUNCED or name in self._own

    def announce(self, head: Item, before: Sequence[Item]) -> Item:
        """Return an item of thinking as a stream announces it, with preliminary content."""
        if not (self._context.sealed and self._context.preliminary):
            return head
        text = self._answering.sign(Thinking(""), "", before)
        return {**head, "encrypted_content": text[:-8]} if isinstance(text, str) else head

    def whole(
        self,
        head: Item,
        part: Part,
        before: Sequence[Item],
        *,
        cut: bool = False,
        refused: bool = False,
    ) -> Item:
        """Return an item as it ends; a part with a signature of this wire is restored from it.

        ``before``: the items before it. ``cut`` and ``refused``: how the answer ended, if it is
        the last item.
        """
        head = {**head, "status": "incomplete" if cut else "completed"}
        match part:
            case Thinking():
                del head["status"]
                return self._thinking(head, part, before)
            case ToolCall():
                return self._call(head, part)
            case Text():
                return self._message(head, part, refused=refused)
            case _:
                return head

    def write_whole(self, place: int, part: Part) -> Item | None:
        """Return the item of a part without deltas; None for raw parts and media but images."""
        if isinstance(part, UnknownPart) and part.dialect == NAME:
            return dict(part.raw)
        if isinstance(part, ToolCall) and part.name in self._own:
            id = self._make_id("fc", place, self._thought)
            return write_call(self._own[part.name], {"id": id, "status": "completed"}, part)
        if isinstance(part, Image) and part.data is not None:
            item: Item = {"id": self._make_id("ig", place, self._thought)}
            item |= {"type": "image_generation_call", "status": "completed"}
            return {**item, "result": b64encode(part.data).decode()}
        return None

    def _make_id(self, prefix: str, place: int, thought: int | None) -> str:
        return write_id(prefix, ItemId(self._stem, place, thought, self._context.stored))

    def _thinking(self, head: Item, part: Thinking, before: Sequence[Item]) -> Item:
        value = _value(part.signature)
        if value:
            return {"type": "reasoning", **value}
        item = dict(head)
        shown = part.text if self._answering.shown else ""
        if shown:
            item["summary"] = [{"type": "summary_text", "text": shown}]
        if self._context.sealed:
            text = self._answering.sign(part, shown, before)
            if text is not None:
                item["encrypted_content"] = text
        return item

    def _message(self, head: Item, part: Text, *, refused: bool) -> Item:
        value = _value(part.signature)
        if value.get("part") == "refusal" or refused:
            content: Item = {"type": "refusal", "refusal": part.text}
        else:
            content = {
                "type": "output_text",
                "annotations": annotations(part),
                "logprobs": self.weigh(part.logprobs),
                "text": part.text,
            }
        item = head
        if value:
            item = {"type": "message", "role": "assistant", **value.get("item", {})}
        return {**item, "content": [content]}

    def weigh(self, tokens: Sequence[TokenLogprob]) -> list[Json]:
        """Return the log probabilities of a text; none if they were not asked for."""
        top = self._answering.top_logprobs
        return [] if top is None else write_logprobs(tokens, top, spells=True)

    def _call(self, head: Item, part: ToolCall) -> Item:
        value = _value(part.signature)
        item = dict(head)
        if value:
            kind = value.get("type") or "function_call"
            item = {"type": kind, **value.get("item", {})}
        item |= {"call_id": part.id, "name": part.name}
        if item["type"] == "custom_tool_call":
            return {**item, "input": arguments_text(part.arguments)}
        noted = value.get("arguments")
        item["arguments"] = arguments_text(part.arguments) if noted is None else noted
        return item


_ANNOTATIONS = ("url_citation", "file_citation", "container_file_citation", "file_path")


def annotations(part: Text) -> list[Json]:
    """Return the citations of a text as this wire has them."""

    def page(found: WebPage) -> Json:
        where = {"start_index": 0, "end_index": len(part.text)}
        return {"type": "url_citation", "url": found.url, "title": found.title, **where}

    return convert_citations(part.citations, own=_is_own, page=page)


def _is_own(citation: Json) -> bool:
    return citation.get("type") in _ANNOTATIONS and "url_citation" not in citation


def _value(signature: Signature | None) -> Item:
    if signature is None or signature.dialect != NAME or not isinstance(signature.value, dict):
        return {}
    return signature.value
