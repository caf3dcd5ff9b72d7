"""Writes our requests for Converse; signatures go back byte for byte, in their place."""

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import json

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    HttpRequest,
    Image,
    Json,
    LevelUpdate,
    Message,
    OutputFormat,
    Part,
    ReplayRules,
    Request,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
    convert_json,
    merge_json,
)
from pondero.dialects.paths import segment
from pondero.errors import BadCatalog
from pondero.thinking import Plan

from .media import blob_block, document_name, image_block, name_documents
from .parts import NAME

UNSUPPORTED = frozenset({"parallel"})
SIGNING_NAME = "bedrock"
"""The service's name in signatures of requests without a key."""

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_THOUGHT = "/usage/output_tokens_details"  # thinking is counted only if requested by this path
_CHOICES = {"auto": "auto", "required": "any", "tool": "tool"}
_OWN = "additionalModelRequestFields"

Block = dict[str, Json]


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the HTTP request; extras override our fields, and the plan's fields override both."""
    own = _body(request, plan, read_quirks(target.quirks))
    body = merge_json(merge_json(own, request.extras or {}), plan.fields)
    verb = "converse-stream" if request.stream else "converse"
    return HttpRequest(
        "POST",
        f"{target.url.rstrip('/')}/model/{segment(request.model)}/{verb}",
        {"content-type": "application/json", **target.headers, **plan.headers},
        json.encode(body),
    )


def _body(request: Request, plan: Plan, quirks: "Quirks") -> Block:
    messages_fields = quirks.takes_messages_fields(request.model)
    tools = _tools(request, messages_fields=messages_fields)
    fields: Mapping[str, Json] = {
        "system": [block for text in request.system for block in _system_blocks(text)],
        "messages": list(_write_messages(request.messages, quirks)),
        "inferenceConfig": _limits(request, plan.dropped),
        "toolConfig": tools,
        "outputConfig": _format(request.output),
        _OWN: _own(
            request, plan.dropped, forbids=bool(messages_fields and tools) and _forbids(request)
        ),
    }
    body = {name: value for name, value in fields.items() if value}
    if messages_fields and plan.will_think is not False:
        body["additionalModelResponseFieldPaths"] = [_THOUGHT]
    return body


def _limits(request: Request, dropped: Sequence[str]) -> Block:
    limits = {
        "maxTokens": None if "max_tokens" in dropped else request.max_tokens,
        "temperature": None if "temperature" in dropped else request.temperature,
        "topP": None if "top_p" in dropped else request.top_p,
        "stopSequences": request.stop or None,
    }
    return {name: value for name, value in limits.items() if value is not None}


def _own(request: Request, dropped: Sequence[str], *, forbids: bool) -> Block:
    own: Block = {}
    if request.top_k is not None and "top_k" not in dropped:
        own["top_k"] = request.top_k
    if forbids:
        own["tool_choice"] = {"type": "none"}
    return own


# -- messages --------------------------------------------------------------------------------


def _write_messages(messages: Iterable[Message], quirks: "Quirks") -> Iterable[Block]:
    written = _messages(name_documents(messages), quirks)
    return written if quirks.bridge is None else _part_results(written, quirks.bridge)


def _messages(messages: Iterable[Message], quirks: "Quirks") -> Iterable[Block]:
    for message in messages:
        blocks = [block for part in message.parts for block in _blocks(part)]
        if any("document" in block for block in blocks):
            blocks = _with_words(blocks, message)
        if not quirks.result_status:
            for block in blocks:
                block.get("toolResult", {}).pop("status", None)
        if blocks:
            yield {"role": message.role, "content": blocks}


def _part_results(messages: Iterable[Block], bridge: str) -> Iterable[Block]:
    """Put the assistant's words between results and what else the user says."""
    answered = False
    for message in messages:
        blocks = message["content"]
        results = [each for each in blocks if "toolResult" in each]
        rest = [each for each in blocks if "toolResult" not in each]
        if results:
            points = [each for each in rest if "cachePoint" in each]
            rest = [each for each in rest if "cachePoint" not in each]
            yield {"role": "user", "content": [*results, *points]}
        if rest and message["role"] == "user" and (results or answered):
            yield {"role": "assistant", "content": [{"text": bridge}]}
        if rest:
            yield {"role": message["role"], "content": rest}
        answered = bool(results) and not rest


def _blocks(part: Part) -> list[Block]:
    block = _BLOCKS[type(part)](part)
    if block is None:
        return []
    cache = None if isinstance(part, Thinking | UnknownPart | LevelUpdate) else part.cache
    return [block] if cache is None else [block, _point(cache)]


def _system_blocks(part: Text) -> list[Block]:
    """Return the blocks of a system prompt's text, which has no citations."""
    return _blocks(msgspec.structs.replace(part, citations=()) if part.citations else part)


def _with_words(blocks: list[Block], message: Message) -> list[Block]:
    """Add a text: a document is rejected without one (AWS, Message: vendor page, 2026-11-16)."""
    if any("text" in block for block in blocks):
        return blocks
    names = (document_name(part) for part in message.parts if isinstance(part, Blob))
    return [*blocks, {"text": next(names, "document")}]


def _text(part: Text) -> Block | None:
    if part.citations:
        content = {"content": [{"text": part.text}]} if part.text else {}
        return {"citationsContent": {**content, "citations": list(part.citations)}}
    # "text content blocks must contain non-whitespace text" (NousResearch/hermes-agent#41985)
    return {"text": part.text} if part.text and not part.text.isspace() else None


def _thinking(part: Thinking) -> Block | None:
    signature = part.signature
    if signature is None or signature.dialect != NAME:
        return None
    if part.redacted:
        return {"reasoningContent": {"redactedContent": signature.value}}
    said: Block = {"text": part.text}
    if signature.value:
        said["signature"] = signature.value
    return {"reasoningContent": {"reasoningText": said}}


def _tool_use(part: ToolCall) -> Block:
    given = part.arguments
    return {
        "toolUse": {
            "toolUseId": _id(part.id),
            "name": part.name,
            "input": given if isinstance(given, dict) else {"INVALID_JSON": given},
        }
    }


def _tool_result(part: ToolResult) -> Block:
    content = [block for each in part.content if (block := _inner(each))]
    result: Block = {"toolUseId": _id(part.call_id), "content": content}
    if part.error:
        result["status"] = "error"
        result["content"] = result["content"] or [{"text": "error"}]  # it may not be empty then
    return {"toolResult": result}


def _inner(part: Json) -> Block | None:
    if isinstance(part, Text):
        return {"text": part.text}
    block: Block | None = _BLOCKS[type(part)](part)
    return block


def _id(id: str) -> str:
    if _ID.fullmatch(id):
        return id
    digest = urlsafe_b64encode(sha256(id.encode("utf-8", "surrogatepass")).digest())
    return f"tooluse_{digest[:22].decode()}"


def _other(part: UnknownPart) -> Block | None:
    return part.raw if part.dialect == NAME else None


_BLOCKS: Mapping[type, Callable[[Json], Block | None]] = {
    Text: _text,
    Thinking: _thinking,
    ToolCall: _tool_use,
    ToolResult: _tool_result,
    Image: image_block,
    Blob: blob_block,
    UnknownPart: _other,
    LevelUpdate: lambda _part: None,  # Converse has no such entry
}


def _point(cache: CacheBreakpoint) -> Block:
    point: Block = {"type": "default"}
    return {"cachePoint": {**point, "ttl": cache.ttl} if cache.ttl else point}


# -- tools and output ------------------------------------------------------------------------


def _tools(request: Request, *, messages_fields: bool) -> Block:
    """Return the tools, else those called: calls need them (onyx-dot-app/onyx#7842, 2026-01-27)."""
    tools = [block for tool in request.tools for block in _tool(tool)]
    called = {call.name for message in request.messages for call in message.tool_calls}
    if not tools:
        tools = [block for name in sorted(called) for block in _tool(Tool(name))]
    elif _forbids(request) and not messages_fields and not called:
        return {}
    if not tools:
        return {}
    config: Block = {"tools": tools}
    if request.tool_choice is not None and request.tools and not _forbids(request):
        config["toolChoice"] = _choice(request.tool_choice)
    return config


def _forbids(request: Request) -> bool:
    """Return whether no tool can be called: by choice, or because none is offered."""
    return not request.tools or (
        request.tool_choice is not None and request.tool_choice.mode == "none"
    )


_NOTHING = {"type": "object", "properties": {}}
_NO_PARAMETERS = (_NOTHING, {**_NOTHING, "additionalProperties": False})  # if strict, the second


def _tool(tool: Tool) -> list[Block]:
    if tool.raw is not None:
        blocks = [dict(tool.raw)]
    else:
        spec: Block = {"name": tool.name}
        if tool.description:
            spec["description"] = tool.description
        spec["inputSchema"] = {"json": tool.parameters or _NO_PARAMETERS[bool(tool.strict)]}
        if tool.strict is not None:
            spec["strict"] = tool.strict
        blocks = [{"toolSpec": spec}]
    return blocks if tool.cache is None else [*blocks, _point(tool.cache)]


def _choice(choice: ToolChoice) -> Block:
    named = {"name": choice.name} if choice.mode == "tool" else {}
    return {_CHOICES[choice.mode]: named}


def _format(output: OutputFormat | None) -> Block:
    if output is None or output.schema is None:
        return {}
    schema = {"schema": json.encode(output.schema).decode(), "name": output.name}
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}


# -- what can be sent back -----------------------------------------------------------------------


_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_DOCUMENTS = ("application/pdf", "text/plain", "text/csv", "text/html", "text/markdown")


def replay_rules(quirks: Mapping[str, Json]) -> ReplayRules:
    """Return which signatures, call ids and media of a history this API accepts."""
    known = read_quirks(quirks)
    images = _IMAGES if known.images else ()
    return ReplayRules(
        system_turns="lead",
        needs_turn=True,
        signature_scope="route+model",
        id_pattern=r"[a-zA-Z0-9_.:-]{1,64}",
        begins_with_user=known.begins_with_user,
        cites=known.cites,
        blank_text=False,
        result_errors=known.result_status,
        error_media=known.error_media,
        calls="tools" not in known.unsupported,
        media=(*images, *_DOCUMENTS, "application/vnd.", "application/msword", "video/"),
        result_media=_limit((*images, *_DOCUMENTS), known.result_media),
        addresses=(),  # only s3:// addresses, and only some models
    )


def _limit(kinds: tuple[str, ...], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if kind.startswith(prefixes))


# -- deployments ---------------------------------------------------------------------------------


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """Quirks; ``messages_fields_of``: prefixes of models that accept Messages API fields too.

    ``result_media``: prefixes of the media that a result may hold. ``bridge``: the assistant's
    words between results and the rest of a turn, which they may not share a turn with.
    ``result_status``: a result may say that it is an error; ``error_media``: such a result may hold
    media. ``images``: pictures are taken. ``begins_with_user``: the first message must be the
    user's. ``cites``: documents may be cited. ``unsupported``: what else a model does not take.
    """

    messages_fields_of: tuple[str, ...] = ()
    result_media: tuple[str, ...] = ("",)
    bridge: str | None = None
    result_status: bool = True
    error_media: bool = True
    images: bool = True
    begins_with_user: bool = True
    cites: bool = False
    unsupported: tuple[Literal["strict", "blank_stop", "tools", "tool_choice"], ...] = ()

    def takes_messages_fields(self, model: str) -> bool:
        """Return whether a model accepts fields of the Messages API."""
        places = (0, *(at + 1 for at, letter in enumerate(model) if letter in "./"))
        return any(model.startswith(self.messages_fields_of, at) for at in places)


def needs_cache_breakpoints(model: str, raw: Mapping[str, Json]) -> bool:
    """Return whether a model accepts cache points: only Claude is known to."""
    return read_quirks(raw).takes_messages_fields(model)


def read_quirks(raw: Mapping[str, Json]) -> Quirks:
    """Return the quirks in a mapping; raises BadCatalog if a value has the wrong type."""
    try:
        return convert_json(raw, Quirks)
    except msgspec.ValidationError as error:
        raise BadCatalog(f"a quirk of this deployment is wrong: {error}") from None
