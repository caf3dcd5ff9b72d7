"""What ``reply`` and ``stream`` share: ids, counts, calls, and the places for thinking."""

import hashlib
import re
from typing import Literal, Protocol

import msgspec

from pondero.canon import Finish, Json, Text, Thinking, ToolCall, Usage
from pondero.dialects.dialect import Answering, Sealer

from .models import Form, Model, Provider
from .parse import Context
from .seals import opened

_CREATED = 1_763_164_800  # there is no clock here, and no client reads this
_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"
_WORDS: dict[Finish, str] = {
    "stop": "stop",
    "refusal": "stop",
    "length": "length",
    "exhausted": "length",
    "context_full": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}

_FORMATS: dict[Form, str] = {
    "signed": "anthropic-claude-v1",
    "plain": "unknown",
    "summary": "openai-responses-v1",
    "text": "google-gemini-v1",
    "encrypted": "unknown",
}


def base_of(
    answering: Answering[Context],
    kind: Literal["chat.completion", "chat.completion.chunk"],
    model: str | None,
) -> dict[str, Json]:
    """Return the fields every answer and every chunk begins with."""
    digest = hashlib.sha256(answering.seed).hexdigest()
    return {
        **answering.context.provider.beside,
        "id": f"chatcmpl-{digest[:29]}",
        "object": kind,
        "created": _CREATED,
        "model": model or answering.request.model,
        "service_tier": "default",
        "system_fingerprint": f"fp_{digest[-10:]}",
    }


def headers_of(content_type: str, base: dict[str, Json]) -> dict[str, str]:
    """Return the headers of an answer."""
    return {
        "content-type": content_type,
        "x-request-id": f"req_{base['id'][9:]}",
        "openai-version": "2020-10-01",
    }


def finish_reason(finish: Finish, raw: str | None) -> str:
    """Return the wire's finish reason; ``raw`` is what a service really sent, where known."""
    return raw or _WORDS.get(finish, "stop")


def usage_of(usage: Usage, provider: Provider) -> Json:
    """Return the token counts as this provider adds them up; None where none are known."""
    if usage == Usage():
        return None
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    beside = (usage.thinking or 0) if provider.counting == "outside" else 0
    completion = (usage.output or 0) + (usage.thinking or 0) - beside
    said: dict[str, Json] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion + beside if usage.total is None else usage.total,
    }
    cached = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    if known := {name: count for name, count in cached.items() if count is not None}:
        said["prompt_tokens_details"] = {**known, "audio_tokens": 0}
    if usage.thinking is not None and provider.counting != "never":
        said["completion_tokens_details"] = {
            "reasoning_tokens": usage.thinking,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        }
    return said


def refused(text: Text) -> bool:
    """Return whether a text is the model's refusal."""
    return bool(opened(text.seal).get("refusal"))


def call_id_of(id_: str | None, provider: Provider) -> str | None:
    """Return the id of a call in the form that this provider gives ids."""
    if id_ is None or provider.call_ids is None or re.fullmatch(provider.call_ids, id_):
        return id_
    return re.sub("[^A-Za-z0-9]", "", id_)[-9:].rjust(9, "0")


def call_of(call: ToolCall, provider: Provider, seal: Sealer) -> dict[str, Json]:
    """Return a whole call on the wire, with what the sealer adds to it."""
    arguments = call.arguments
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    if opened(call.seal).get("type") == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    function = {"name": call.name, "arguments": text}
    id_ = call_id_of(call.id, provider)
    return {"id": id_, "type": "function", "function": function, **(seal(call, "", ()) or {})}


def ending(finish: str | None, provider: Provider) -> dict[str, Json]:
    """Return the fields of a choice that say how it ended."""
    own = {"finish_reason": finish}
    return own | {"native_finish_reason": finish} if provider.native_finish else own


# -- where thinking stands -----------------------------------------------------------------------


class ThinkingWriter(Protocol):
    """Puts thinking into an answer."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put all thinking into a message that has its content already."""
        ...

    def more(self, text: str) -> Json:
        """Return the delta for some more text, or None."""
        ...

    def end(self, part: Thinking, /) -> Json:
        """Return the delta that ends a thinking part, or None."""
        ...


class Nowhere:
    """Thinking is not shown."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Leave the message as it is."""

    def more(self, text: str) -> Json:
        """Return None."""

    def end(self, part: Thinking, /) -> Json:
        """Return None."""


class InField:
    """A string in a field of the message."""

    def __init__(self, field: str) -> None:
        self._field = field

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put the text into the field."""
        if text := "".join(part.text for part in parts):
            message[self._field] = text

    def more(self, text: str) -> Json:
        """Return the text in its field."""
        return {self._field: text}

    def end(self, part: Thinking, /) -> Json:
        """Return None: the field needs no end."""


class InDetails:
    """A list of details, sealed as the upstream seals them, and the text once more beside it.

    ``signed``: a text with its signature; ``plain``: a text without; ``summary``, ``text`` and
    ``encrypted``: a summary or text, and the seal in a detail of its own under the same index.
    """

    def __init__(self, form: Form, seal: Sealer) -> None:
        self._form = form
        self._seal = seal
        self._index = 0

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put the text and the details."""
        details = [detail for index, part in enumerate(parts) for detail in self._of(part, index)]
        if details:
            message["reasoning"] = "".join(part.text for part in parts) or None
            message["reasoning_details"] = details

    def more(self, text: str) -> Json:
        """Return the text twice, as routers do."""
        return {"reasoning": text, "reasoning_details": [self._words(text, self._index)]}

    def end(self, part: Thinking, /) -> Json:
        """Return the seal alone; the next thinking part has the next index."""
        details = self._of(part, self._index)
        self._index += 1
        sealed = [
            {key: value for key, value in detail.items() if key not in ("text", "summary")}
            for detail in details
            if "signature" in detail or "data" in detail or "id" in detail
        ]
        return {"content": "", "reasoning": None, "reasoning_details": sealed} if sealed else None

    def _of(self, part: Thinking, index: int) -> list[Json]:
        seal, words = self._seal(part, part.text, ()), self._words(part.text, index)
        if isinstance(seal, list):
            return seal
        if seal is None:
            return [words]
        match self._form:
            case "signed":
                return [words | {"signature": seal}]
            case "plain":
                return [words]
            case _:
                sealed = {"type": "reasoning.encrypted", "data": seal, "index": index}
                return [words, sealed | {"format": _FORMATS[self._form]}]

    def _words(self, text: str, index: int) -> dict[str, Json]:
        kind = "summary" if self._form == "summary" else "text"
        about = {"format": _FORMATS[self._form], "index": index}
        return {"type": f"reasoning.{kind}", kind: text, **about}


class InChunks:
    """A part of the content, before the text."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Turn the content into a list, thinking first."""
        chunks: list[Json] = [
            {
                "type": "thinking",
                "closed": True,
                "thinking": [{"type": "text", "text": part.text}],
            }
            for part in parts
        ]
        if chunks and message.get("content"):
            chunks.append({"type": "text", "text": message["content"]})
        message["content"] = chunks or message.get("content")

    def more(self, text: str) -> Json:
        """Return an open chunk."""
        inner = [{"type": "text", "text": text}]
        return {"content": [{"type": "thinking", "closed": False, "thinking": inner}]}

    def end(self, _part: Thinking, /) -> Json:
        """Return the closed chunk."""
        return {"content": [{"type": "thinking", "closed": True, "thinking": []}]}


class InTags:
    """Between tags, at the beginning of the text."""

    def __init__(self) -> None:
        self._opened = False

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put thinking and tags before the text."""
        if text := "".join(part.text for part in parts):
            message["content"] = f"{_OPEN}{text}{_CLOSE}{message.get('content') or ''}"

    def more(self, text: str) -> Json:
        """Return the text, the first time after the opening tag."""
        opened, self._opened = self._opened, True
        return {"content": text if opened else _OPEN + text}

    def end(self, _part: Thinking, /) -> Json:
        """Return the closing tag."""
        return {"content": _CLOSE} if self._opened else None


def thinking_writer(answering: Answering[Context]) -> ThinkingWriter:
    """Return the writer for the place where the thinking of this answer goes."""
    provider, model = answering.context.provider, answering.request.model
    match answering.context.place if answering.shown else "none":
        case "none":
            return Nowhere()
        case "reasoning_details":
            row = provider.find(model) or Model()
            return InDetails(row.form or provider.form, answering.seal)
        case "content_chunks":
            return InChunks()
        case "think_tags":
            return InTags()
        case field:
            return InField(field)
