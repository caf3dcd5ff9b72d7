"""Parts to output items: what the service writes, with ids and seals of its own."""

import json

import msgspec
from msgspec import Struct

from pondero.canon import Finish, Json, Other, Part, Seal, Text, Thinking, ToolCall, Usage
from pondero.dialects.dialect import Answering

from .seals import Mark, Sealed, issue, seal, stem_of

NAME = "openai_responses"

Item = dict[str, Json]

_CREATED_AT = 1_763_164_800  # there is no clock here, and a time must stand there
_INCOMPLETE = {
    "length": "max_output_tokens",
    "exhausted": "max_output_tokens",
    "context_full": "max_output_tokens",
    "content_filter": "content_filter",
}
_REASONS = frozenset({"max_output_tokens", "max_messages", "content_filter", "steered"})
_STATUSES = frozenset({"completed", "incomplete", "cancelled", "queued", "in_progress", "failed"})


class Ending(Struct, frozen=True):
    """How the answer ended, in the service's words."""

    status: str
    reason: str | None = None
    refused: bool = False


def ending(finish: Finish, raw: str | None) -> Ending:
    """Return the status and the reason that say this finish."""
    if raw in _REASONS:
        return Ending("incomplete", raw)
    if finish in _INCOMPLETE:
        return Ending("incomplete", _INCOMPLETE[finish])
    if finish == "error":
        return Ending("failed")
    if finish == "other" and raw in _STATUSES:
        return Ending(raw)
    return Ending("completed", refused=finish == "refusal")


class Scribe:
    """Writes the items of one answer, in order."""

    def __init__(self, accepted: Answering[Json]) -> None:
        self._accepted = accepted
        self._raw = accepted.context
        self._stem = stem_of(accepted.context["body"])
        self._stored = accepted.context["body"].get("store") is not False
        self._thought: int | None = None  # where the latest thinking stands
        self._custom = {
            tool.name
            for tool in accepted.request.tools
            if isinstance(tool.raw, dict) and tool.raw.get("type") == "custom"
        }

    @property
    def request_id(self) -> str:
        """Return the id of the exchange."""
        return f"req_{self._stem}{self._stem}"

    def head(
        self, place: int, kind: str, *, id: str | None = None, name: str | None = None
    ) -> Item:
        """Return an item as it begins, with nothing in it."""
        if kind == "thinking":
            item = {"id": self._issue("rs", place, None), "type": "reasoning", "summary": []}
            self._thought = place
            return item
        if kind == "tool_call":
            return self._call_head(place, id, name)
        item = {
            "id": self._issue("msg", place, self._thought),
            "type": "message",
            "status": "in_progress",
            "content": [],
            "role": "assistant",
        }
        return {**item, "phase": "final_answer"} if self._raw["phases"] else item

    def _call_head(self, place: int, id: str | None, name: str | None) -> Item:
        if name in self._custom:
            item = {"id": self._issue("ctc", place, self._thought), "type": "custom_tool_call"}
            return {**item, "status": "in_progress", "call_id": id, "input": "", "name": name}
        item = {"id": self._issue("fc", place, self._thought), "type": "function_call"}
        return {**item, "status": "in_progress", "arguments": "", "call_id": id, "name": name}

    def preliminary(self, head: Item) -> Item:
        """Return an item of thinking as a stream first shows it: its seal is not the final one."""
        if not self._raw["sealed"]:
            return head
        sealed = seal(Sealed(head["id"], "", self._accepted.request.model))
        return {**head, "encrypted_content": sealed[:-8]}

    def whole(self, head: Item, part: Part, *, end: Ending | None = None) -> Item:
        """Return an item as it ends; a part that has a seal of ours goes out as the seal says.

        ``end`` is how the answer ended, where this was the last of it.
        """
        cut = end is not None and end.status == "incomplete"
        head = {**head, "status": "incomplete" if cut else "completed"}
        match part:
            case Thinking():
                del head["status"]
                return self._thinking(head, part)
            case ToolCall():
                return self._call(head, part)
            case Other():
                return dict(part.raw)
            case Text():
                return self._message(head, part, refused=end is not None and end.refused)
            case _:
                return head

    def _issue(self, prefix: str, place: int, thought: int | None) -> str:
        return issue(prefix, Mark(self._stem, place, thought, self._stored))

    def _thinking(self, head: Item, part: Thinking) -> Item:
        value = _value(part.seal)
        if value:
            return {"type": "reasoning", **value}
        item = dict(head)
        if part.text and self._accepted.shown:
            item["summary"] = [{"type": "summary_text", "text": part.text}]
        if self._raw["sealed"]:
            sealed = Sealed(head["id"], part.text, self._accepted.request.model)
            item["encrypted_content"] = seal(sealed)
        return item

    def _message(self, head: Item, part: Text, *, refused: bool) -> Item:
        value = _value(part.seal)
        if value.get("part") == "refusal" or refused:
            content: Item = {"type": "refusal", "refusal": part.text}
        else:
            content = {
                "type": "output_text",
                "annotations": list(part.citations),
                "logprobs": [],
                "text": part.text,
            }
        item = head
        if value:
            item = {"type": "message", "role": "assistant", **value.get("item", {})}
        return {**item, "content": [content]}

    def _call(self, head: Item, part: ToolCall) -> Item:
        value = _value(part.seal)
        item = dict(head)
        if value:
            kind = value.get("type") or "function_call"
            item = {"type": kind, **value.get("item", {})}
        item |= {"call_id": part.id, "name": part.name}
        if item["type"] == "custom_tool_call":
            return {**item, "input": part.arguments}
        noted = value.get("arguments")
        item["arguments"] = arguments_text(part.arguments) if noted is None else noted
        return item

    # -- the answer around them --------------------------------------------------------------------

    def answer(
        self,
        output: list[Item],
        *,
        end: Ending | None = None,
        usage: Usage | None = None,
        model: str | None = None,
    ) -> Item:
        """Return the response object; without an end, as it begins."""
        body = self._raw["body"]
        cap = body.get("max_output_tokens")
        done = end is not None and end.status == "completed"
        return {
            "id": f"resp_{self._stem}{self._stem}",
            "object": "response",
            "created_at": _CREATED_AT,
            "status": end.status if end else "in_progress",
            "background": False,
            "completed_at": _CREATED_AT if done else None,
            "error": _FAILED if end and end.status == "failed" else None,
            "frequency_penalty": 0.0,
            "incomplete_details": {"reason": end.reason} if end and end.reason else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": cap,
            "max_tool_calls": body.get("max_tool_calls"),
            "model": model or body["model"],
            "output": output,
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            "presence_penalty": 0.0,
            "previous_response_id": None,
            "prompt_cache_key": body.get("prompt_cache_key"),
            "reasoning": self._raw["reasoning"],
            "safety_identifier": body.get("safety_identifier"),
            "service_tier": "default" if end else body.get("service_tier") or "auto",
            "store": self._stored,
            "temperature": _or(body.get("temperature"), 1.0),
            "text": {"format": {"type": "text"}, "verbosity": "medium", **(body.get("text") or {})},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "top_logprobs": body.get("top_logprobs") or 0,
            "top_p": _or(body.get("top_p"), 1.0),
            "truncation": body.get("truncation") or "disabled",
            "usage": usage_of(usage) if usage is not None else None,
            "user": body.get("user"),
            "metadata": body.get("metadata") or {},
        }


_FAILED = {
    "code": "server_error",
    "message": "The server had an error while processing your request. Sorry about that!",
}


def usage_of(usage: Usage) -> Item | None:
    """Return the counts as this wire adds them up: details are inside the totals."""
    if usage == Usage():
        return None
    given = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    written = (usage.output or 0) + (usage.thinking or 0)
    return {
        "input_tokens": given,
        "input_tokens_details": {
            "cache_write_tokens": usage.cache_write or 0,
            "cached_tokens": usage.cache_read or 0,
        },
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.thinking or 0},
        "total_tokens": given + written,
    }


def _value(seal: Seal | None) -> Item:
    ours = seal is not None and seal.dialect == NAME and isinstance(seal.value, dict)
    return seal.value if seal is not None and ours else {}


def _or(value: Json, otherwise: float) -> Json:
    return otherwise if value is None else value


# -- JSON as the service writes it -----------------------------------------------------------------


def arguments_text(arguments: Json) -> str:
    """Return the arguments of a call as text; what is text already is no JSON and stays."""
    if isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.encode(arguments).decode()
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(arguments, separators=(",", ":"))


def written(value: Json) -> bytes:
    """Return a body."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(value, separators=(",", ":")).encode()
