"""The parts of an answer that ``reply`` and ``stream`` share: ids, counts, calls, thinking."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec.json import encode

from pondero.canon import (
    Finish,
    Image,
    Json,
    MediaTokens,
    Signature,
    Text,
    Thinking,
    TokenLogprob,
    ToolCall,
    Usage,
    dump_json,
)
from pondero.dialects.citations import WebPage, convert_citations
from pondero.dialects.dialect import ReplyContext, Signer
from pondero.dialects.token_logprobs import write_logprobs

from .models import Form, Model, Provider
from .parse import Context
from .signatures import open_signature

_CREATED = 1_763_164_800  # this room has no clock; a gateway says when it is
_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"
_WORDS: dict[Finish, str] = {
    "stop": "stop",
    "refusal": "stop",
    "length": "length",
    "exhausted": "length",
    "context_full": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}

_FORMATS: dict[Form, str] = {
    "signed": "anthropic-claude-v1",
    "plain": "unknown",
    "summary": "openai-responses-v1",
    "text": "google-gemini-v1",
    "encrypted": "unknown",
}


_NO_USAGE = Usage()
_NO_MEDIA = MediaTokens()


def base_of(
    answering: ReplyContext[Context],
    kind: Literal["chat.completion", "chat.completion.chunk"],
    model: str | None,
) -> dict[str, Json]:
    """Return the fields every answer and every chunk begins with."""
    digest = hashlib.sha256(answering.seed).hexdigest()
    return {
        **answering.context.provider.beside,
        "id": f"chatcmpl-{digest[:29]}",
        "object": kind,
        "created": _CREATED if answering.created is None else answering.created,
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


def finish_reason(finish: Finish, raw: str | None, *, said_no: bool = True) -> str:
    """Return the finish reason (``raw``: the service's own); a textless refusal is filtered."""
    if finish == "refusal" and not raw and not said_no:
        return "content_filter"
    return raw or _WORDS.get(finish, "stop")


def usage_of(usage: Usage, provider: Provider) -> Json:
    """Return the token counts as this provider adds them up; None if unknown."""
    if usage == _NO_USAGE:
        return None
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    beside = (usage.thinking or 0) if provider.counting == "outside" else 0
    completion = (usage.output or 0) + (usage.thinking or 0) - beside
    said: dict[str, Json] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion + beside if usage.total is None else usage.total,
    }
    media = usage.media or _NO_MEDIA
    if usage.cache_read is not None or usage.cache_write is not None or usage.media is not None:
        cached = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
        said["prompt_tokens_details"] = {
            **{name: count for name, count in cached.items() if count is not None},
            "audio_tokens": media.input_audio + media.cache_read_audio,
        }
    hits = usage.cache_read or 0
    if provider.cache_counts == "hits":
        said |= {"prompt_cache_hit_tokens": hits, "prompt_cache_miss_tokens": prompt - hits}
    elif provider.cache_counts == "top":
        said["cached_tokens"] = hits
    if usage.thinking is not None and provider.counting != "never":
        said["completion_tokens_details"] = {
            "reasoning_tokens": usage.thinking,
            "audio_tokens": media.output_audio,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        }
    return said


def is_refusal(text: Text) -> bool:
    """Return whether a text is the model's refusal."""
    signature = text.signature
    return signature is not None and bool(open_signature(signature).get("refusal"))


def call_id_of(id_: str | None, provider: Provider) -> str | None:
    """Return the id of a call in the form that this provider gives ids."""
    if id_ is None or provider.call_ids is None or re.fullmatch(provider.call_ids, id_):
        return id_
    return re.sub("[^A-Za-z0-9]", "", id_)[-9:].rjust(9, "0")


class Calls:
    """Writes the calls of one answer; ``sign`` returns fields of the call, or its signature."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._provider = answering.context.provider
        self._sign = answering.sign
        self._custom = {tool.name for tool in answering.request.tools if tool.kind == "text"}

    def begin(self, id_: str | None, name: str | None, sign: Signature | None) -> dict[str, Json]:
        """Return a call as it begins, with its signature if it is known already."""
        call = ToolCall(id_ or "", name or "", "", sign)
        fields = self.fields(call) if sign is not None else {}
        return {**self._call(call), "id": call_id_of(id_, self._provider), **fields}

    def whole(self, call: ToolCall) -> dict[str, Json]:
        """Return a whole call."""
        return {**self._call(call), **self.fields(call)}

    def fields(self, call: ToolCall) -> dict[str, Json]:
        """Return the signature of a call as fields of it."""
        signed = {} if self._is_custom(call) else self._sign(call, "", ()) or {}
        if isinstance(signed, str):  # in the slot that clients of Google's models keep
            return {"extra_content": {"google": {"thought_signature": signed}}}
        return dict(signed)

    def more(self, call: dict[str, Json], text: str) -> dict[str, Json]:
        """Return the next piece of a call's arguments."""
        return (
            {"custom": {"input": text}} if "custom" in call else {"function": {"arguments": text}}
        )

    def _call(self, call: ToolCall) -> dict[str, Json]:
        arguments = call.arguments
        text = arguments if isinstance(arguments, str) else dump_json(arguments)
        id_ = call_id_of(call.id, self._provider)
        if self._is_custom(call):
            return {"id": id_, "type": "custom", "custom": {"name": call.name, "input": text}}
        function = {"name": call.name, "arguments": text}
        return {"id": id_, "type": "function", "function": function}

    def _is_custom(self, call: ToolCall) -> bool:
        return call.name in self._custom or open_signature(call.signature).get("type") == "custom"


def picture(image: Image) -> Json:
    """Return a picture of an answer, as routers write it."""
    url = image.url
    if image.data is not None:
        url = f"data:{image.media_type or 'image/png'};base64,{b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def annotations(text: Text) -> list[Json]:
    """Return the citations of a text as this wire has them."""
    if not text.citations:
        return []

    def page(found: WebPage) -> Json:
        where = {"start_index": 0, "end_index": len(text.text)}
        told = {"url": found.url, "title": found.title, **where}
        return {"type": "url_citation", "url_citation": told}

    return convert_citations(text.citations, own=_is_own, page=page)


def _is_own(citation: Json) -> bool:
    return "url_citation" in citation or "file" in citation or "type" not in citation


def write_json(value: Json) -> bytes:
    """Return JSON; lone surrogates and huge numbers are kept."""
    try:
        return encode(value)  # nearly always: what follows makes a text of it first
    except (UnicodeEncodeError, OverflowError):
        return dump_json(value).encode()


def weigh(
    answering: ReplyContext[Context],
    content: Sequence[TokenLogprob],
    refusal: Sequence[TokenLogprob] = (),
) -> Json:
    """Return the log probabilities of a choice; None if none were asked for or given."""
    top = answering.top_logprobs
    if top is None or not (content or refusal):
        return None
    written = {"content": content, "refusal": refusal}
    return {name: write_logprobs(tokens, top) or None for name, tokens in written.items()}


def ending(finish: str | None, provider: Provider) -> dict[str, Json]:
    """Return the fields of a choice that say how it ended."""
    own = {"finish_reason": finish}
    if provider.native_finish:
        own["native_finish_reason"] = finish
    return own


# -- places for thinking -------------------------------------------------------------------------


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


class _Nowhere:
    """Thinking is not shown."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Leave the message as it is."""

    def more(self, text: str) -> Json:
        """Return None."""

    def end(self, part: Thinking, /) -> Json:
        """Return None."""


class _InField:
    """A string in a field of the message, or in each of several."""

    def __init__(self, *fields: str) -> None:
        self._fields = fields

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        if text := "".join([part.text for part in parts]):
            message |= dict.fromkeys(self._fields, text)

    def more(self, text: str) -> Json:
        return dict.fromkeys(self._fields, text)

    def end(self, part: Thinking, /) -> Json:
        """Return None: the field needs no end."""


class CarriedDetail:
    """Writes each part's signature as a detail, which clients of routers send back."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._on = answering.context.provider.carries
        self._shown = _find_place(answering) == "reasoning_details"
        self._sign = answering.sign
        self._number = 0

    def write(self, part: Text | Thinking | ToolCall) -> list[Json]:
        """Return the detail with a part's signature; empty if none, or in the thinking already."""
        if not self._on or (self._shown and isinstance(part, Thinking)):
            return []
        data = self._sign(part, "", ())
        if not isinstance(data, str):
            return []
        number, self._number = self._number, self._number + 1
        named = part.id if isinstance(part, ToolCall) else f"rs_{number}"
        about = {"format": _FORMATS["encrypted"], "index": number}
        return [{"type": "reasoning.encrypted", "id": named, "data": data, **about}]


class _InDetails:
    """A list of details, signed as the upstream signs them, and a copy of the text.

    ``signed``: a text with its signature; ``plain``: a text without; ``summary``, ``text`` and
    ``encrypted``: a summary or text, and the signature in its own detail with the same index.
    """

    def __init__(self, form: Form, sign: Signer) -> None:
        self._form = form
        self._sign = sign
        self._index = 0

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        details = [
            detail
            for index, part in enumerate(parts)
            for detail in self._write_details(part, index)
        ]
        if details:
            message["reasoning"] = "".join(part.text for part in parts) or None
            message["reasoning_details"] = details

    def more(self, text: str) -> Json:
        return {"reasoning": text, "reasoning_details": [self._words(text, self._index)]}

    def end(self, part: Thinking, /) -> Json:
        details = self._write_details(part, self._index)
        self._index += 1
        signed = [
            {key: value for key, value in detail.items() if key not in ("text", "summary")}
            for detail in details
            if "signature" in detail or "data" in detail or "id" in detail
        ]
        return {"content": "", "reasoning": None, "reasoning_details": signed} if signed else None

    def _write_details(self, part: Thinking, index: int) -> list[Json]:
        signature, words = self._sign(part, part.text, ()), self._words(part.text, index)
        if isinstance(signature, list):
            return signature
        if signature is None:
            return [words]
        match self._form:
            case "signed":
                return [words | {"signature": signature}]
            case "plain":
                return [words]
            case _:
                signed = {"type": "reasoning.encrypted", "data": signature, "index": index}
                return [words, signed | {"format": _FORMATS[self._form]}]

    def _words(self, text: str, index: int) -> dict[str, Json]:
        kind = "summary" if self._form == "summary" else "text"
        about = {"format": _FORMATS[self._form], "index": index}
        return {"type": f"reasoning.{kind}", kind: text, **about}


class _InChunks:
    """A part of the content, before the text."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        chunks: list[Json] = [
            {"type": "thinking", "closed": True, "thinking": [{"type": "text", "text": part.text}]}
            for part in parts
        ]
        if chunks and message.get("content"):
            chunks.append({"type": "text", "text": message["content"]})
        message["content"] = chunks or message.get("content")

    def more(self, text: str) -> Json:
        inner = [{"type": "text", "text": text}]
        return {"content": [{"type": "thinking", "closed": False, "thinking": inner}]}

    def end(self, _part: Thinking, /) -> Json:
        return {"content": [{"type": "thinking", "closed": True, "thinking": []}]}


class _InTags:
    """Between tags, at the beginning of the text."""

    def __init__(self) -> None:
        self._opened = False

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        if text := "".join(part.text for part in parts):
            message["content"] = f"{_OPEN}{text}{_CLOSE}{message.get('content') or ''}"

    def more(self, text: str) -> Json:
        opened, self._opened = self._opened, True
        return {"content": text if opened else _OPEN + text}

    def end(self, _part: Thinking, /) -> Json:
        opened, self._opened = self._opened, False
        return {"content": _CLOSE} if opened else None


def _find_place(answering: ReplyContext[Context]) -> str:
    return (answering.place or answering.context.place) if answering.shown else "none"


def thinking_writer(answering: ReplyContext[Context]) -> ThinkingWriter:
    """Return the writer for the place where the thinking of this answer goes."""
    provider, model = answering.context.provider, answering.request.model
    match _find_place(answering):
        case "none":
            return _Nowhere()
        case "both":
            return _InField("reasoning_content", "reasoning")
        case "reasoning_details":
            row = provider.find(model) or Model()
            return _InDetails(row.form or provider.form, answering.sign)
        case "content_chunks":
            return _InChunks()
        case "think_tags" | "tags":
            return _InTags()
        case field:
            return _InField(field)
