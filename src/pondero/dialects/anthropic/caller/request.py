"""Writes our requests for the Messages API; signatures go back byte for byte, in their place."""

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Literal

import msgspec

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    EarlierTurns,
    HttpRequest,
    Image,
    Json,
    LevelUpdate,
    Message,
    PictureLimits,
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
from pondero.dialects.level_turns import LevelTurns
from pondero.dialects.paths import resource, segment
from pondero.dialects.written_turns import encode_body, join_turns, write_turns
from pondero.errors import BadCatalog, BadParameter
from pondero.thinking import Plan, describe_unknown

from .hosted_parts import find_unpaired
from .parts import NAME

HOSTED = {
    "web_search": {"type": "web_search_20250305", "name": "web_search"},
    "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
}
"""Tools that the service runs itself (anthropic 2.8.0 types, 2026-11-10)."""

UNSUPPORTED = frozenset({"blank_stop"})
"""\"each stop sequence must contain non-whitespace\" (BerriAI/litellm#3286, 2024-04-25)."""

VERSION = {"anthropic-version": "2023-06-01"}  # every host accepts it, also with system messages
# Opens `output_config` of a system entry (pydantic-ai 2.66.0, live; wires/in-band, section 2)
_UPDATE_HEADERS = {"anthropic-beta": "mid-conversation-output-config-2026-07-01"}
_VERSION_IN_BODY = "vertex-2023-10-16"  # for rawPredict (vendor page, 2026-11-16)
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_CHOICES = {"auto": "auto", "none": "none", "required": "any", "tool": "tool"}
_SAMPLING = ("temperature", "top_p", "top_k")
# anthropic 2.8.0 types, Base64ImageSourceParam.media_type
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MEDIA = (*_IMAGES, "application/pdf", "text/plain")
_FAILED = "error"  # "content cannot be empty if `is_error` is true"

Block = dict[str, Json]


# Anthropic documentation, vision: general limits; the 400 names 10,485,760 letters of base64
_PICTURES = PictureLimits(side=8000, crowd=20, crowd_side=2000, letters=10 * 2**20)


class Quirks(msgspec.Struct, frozen=True):
    """Quirks; ``raw_predict``: model and streaming are in the address, the version in the body.

    ``system_turns``: where a deployment takes system turns, for models that obey them.
    """

    raw_predict: bool = False
    system_turns: Literal["after_user", "lead"] = "after_user"


_NONE = Quirks()


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the HTTP request; extras override our fields, and the plan's fields override both."""
    body = _body(request, target.earlier)
    if request.max_tokens is None and target.max_output is not None:
        body["max_tokens"] = target.max_output
    for name in plan.dropped:
        body.pop(name, None)
    if request.extras:
        body = merge_json(body, request.extras)
    body = merge_json(body, plan.fields)
    if "max_tokens" not in body:
        raise BadParameter(_describe_missing_limit(request, plan))
    version = VERSION
    url = _address(target.url, "/v1/messages")
    if _quirks(target.quirks).raw_predict:
        url, version = _predict(target.url, body.pop("model"), stream=request.stream), {}
        body["anthropic_version"] = _VERSION_IN_BODY
    headers = _headers({**version, **target.headers}, plan.headers)
    if _has_updates(request.messages):
        headers = _headers(headers, _UPDATE_HEADERS)  # without it the field is rejected
    return HttpRequest("POST", url, headers, encode_body(body))


def replay_rules(quirks: Mapping[str, Json]) -> ReplayRules:
    """Return which signatures, call ids and media of a history this API accepts."""
    return ReplayRules(
        system_turns=_quirks(quirks).system_turns,
        signature_scope="route+model",
        id_pattern=r"[a-zA-Z0-9_-]{1,64}",
        trailing_space=False,
        blank_text=False,
        result_errors=True,
        error_media=False,  # "all content must be type `text` if `is_error` is true"
        needs_turn=True,
        cites=True,
        unpaired=find_unpaired,
        addresses=("https?://",),
        media=_MEDIA,
        result_media=_MEDIA,
        pictures=_PICTURES,
    )


def needs_cache_breakpoints(_model: str, _raw: Mapping[str, Json]) -> bool:
    """Return True: the service caches only up to breakpoints (vendor page, 2026-11-16)."""
    return True


def _quirks(raw: Mapping[str, Json]) -> Quirks:
    if not raw:
        return _NONE
    try:
        return convert_json(raw, Quirks)
    except msgspec.ValidationError as error:
        raise BadCatalog(f"a quirk of this deployment is wrong: {error}") from None


def _predict(base: str, model: str, *, stream: bool) -> str:
    verb = "streamRawPredict" if stream else "rawPredict"
    if model.startswith("projects/"):
        return f"{resource(base, model)}:{verb}"
    return _address(base, f"/models/{segment(model)}:{verb}")


def _address(base: str, path: str) -> str:
    address, mark, query = base.partition("?")
    return f"{address.rstrip('/')}{path}{mark}{query}"


def _body(request: Request, earlier: EarlierTurns | None) -> dict[str, Json]:
    body: dict[str, Json] = {"model": request.model}
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.system and (system := _system(request.system)):
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None and request.tools:  # rejected without tools
        body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.output is not None and request.output.schema is not None:
        shape = {"type": "json_schema", "schema": request.output.schema}
        body["output_config"] = {"format": shape}
    if request.stop:
        body["stop_sequences"] = request.stop
    for name in _SAMPLING:
        if (value := getattr(request, name)) is not None:
            body[name] = value
    if request.stream:
        body["stream"] = True
    written, turns = write_turns(_Turns(), request.messages, earlier, NAME)
    if request.messages and not written and not turns:
        raise BadParameter("nothing of this conversation can be sent: its texts are blank")
    body["messages"] = turns
    _limit_marks(body)  # those that are written already have none
    if written:
        body["messages"] = join_turns(written, turns)
    return body


def _system(texts: Iterable[Text]) -> list[Block]:
    return [block for text in texts if (block := _text(text)) and not _is_blank(block)]


_MOST_MARKS = 4  # "A maximum of 4 blocks with cache_control may be provided"


def _limit_marks(body: dict[str, Json]) -> None:
    """Keep the latest marks of the messages, and none for an hour after one for five minutes."""
    lead: list[Block] = []
    rest: list[Block] = []
    _add_marked(body.get("tools", ()), lead)
    _add_marked(body.get("system", ()), lead)
    for message in body["messages"]:
        _add_marked(message["content"], rest)
    if not lead and not rest:
        return
    over = max(0, len(lead) + len(rest) - _MOST_MARKS)
    for block in [*rest, *lead][:over]:
        del block["cache_control"]
    short = False
    for block in [*lead, *rest]:
        mark = block.get("cache_control")
        if mark is not None and short and mark.get("ttl") == "1h":
            block["cache_control"] = {"type": "ephemeral"}
        short = short or (mark is not None and mark.get("ttl") != "1h")


def _add_marked(blocks: Iterable[Block], found: list[Block]) -> None:
    for block in blocks:
        if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
            _add_marked(block["content"], found)
        if isinstance(block.get("cache_control"), dict):
            found.append(block)


def _headers(targeted: Mapping[str, str], planned: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json", **targeted}
    for name, value in planned.items():
        before = headers.get(name.lower())
        headers[name.lower()] = f"{before},{value}" if before else value
    return headers


# -- messages --------------------------------------------------------------------------------


_THINKING_TYPES = ("thinking", "redacted_thinking")


def write_level_turn(word: str) -> Block:
    """Return the system entry that only sets the effort, from its place on."""
    return {"role": "system", "content": [], "output_config": {"effort": word}}


def _holds_results_only(turn: Mapping[str, Json]) -> bool:
    content = turn.get("content")
    blocks = content if isinstance(content, list) else ()
    types = [block.get("type") for block in blocks if isinstance(block, dict)]
    return bool(types) and all(each == "tool_result" for each in types)


def _drop_thinking(turn: Mapping[str, Json]) -> Mapping[str, Json]:
    content = turn.get("content")
    if turn.get("role") != "assistant" or not isinstance(content, list):
        return turn
    kept = [block for block in content if block.get("type") not in _THINKING_TYPES]
    # An answer of thinking alone would be empty, which no service takes.
    return turn if len(kept) in (0, len(content)) else {**turn, "content": kept}


LEVEL_TURNS = LevelTurns(
    at=("output_config", "effort"),
    write=write_level_turn,
    headers=_UPDATE_HEADERS,
    # With another mode, an effort that differs is rejected (pydantic-ai 2.66.0; wires/in-band)
    needs=((("thinking", "type"), ("adaptive", None)),),
    waits_after=_holds_results_only,
    drop_thinking=_drop_thinking,
)


def _has_updates(messages: Iterable[Message]) -> bool:
    for message in messages:
        if message.role == "system" and message.level_update is not None:
            return True
    return False


class _Turns:
    """Writes the messages of one request: each is a turn of its own, but marks have a limit."""

    def __init__(self) -> None:
        self._turns: list[Json] = []

    def write(self, messages: Sequence[Message]) -> list[Json]:
        """Write the next messages; return all turns since the last that were saved."""
        self._turns += _messages(messages)
        return self._turns

    def save(self) -> object:
        """Return that there is nothing to know; None after a mark, which may have to go."""
        found: list[Block] = []
        for turn in self._turns:
            _add_marked(turn["content"], found)
        if found:
            return None
        self._turns = []
        return ()

    def load(self, _state: object) -> None:
        """Do nothing: no turn depends on those before it."""


def _messages(messages: Iterable[Message]) -> list[Json]:
    written: list[Json] = []
    for message in messages:
        update = message.level_update if message.role == "system" else None
        if update is not None:  # no block: it cannot have a breakpoint
            written.append(write_level_turn(update.level))
            continue
        blocks = [block for part in message.parts if (block := _BLOCKS[type(part)](part))]
        if message.role == "user" and len(blocks) > 1:
            blocks = _results_first(blocks)
        if not all(map(_is_blank, blocks)):
            written.append({"role": message.role, "content": blocks})
    return written


def _is_blank(block: Block) -> bool:
    """Return whether a block is blanks: rejected alone (opencode#31259), accepted beside others.

    The recordings have blanks between cited texts and before calls. A block without its text is the
    service's to reject.
    """
    return block["type"] == "text" and not str(block.get("text", "?")).strip()


def _results_first(blocks: list[Block]) -> list[Block]:
    begun = False
    for block in blocks:
        if block["type"] != "tool_result":
            begun = True
        elif begun:
            return sorted(blocks, key=lambda block: block["type"] != "tool_result")
    return blocks


def _text(part: Text) -> Block | None:
    if not part.text:
        return None  # "text content blocks must be non-empty"
    block: Block = {"type": "text", "text": part.text}
    if part.citations and (citations := [*_iter_citations(part.citations)]):
        block["citations"] = citations
    return _with_cache(block, part.cache)


def _iter_citations(citations: Iterable[Json]) -> Iterator[Json]:
    """Yield Claude's own citations as a request takes them."""
    for each in citations:
        if isinstance(each, dict) and str(each.get("type")).endswith("_location"):
            yield {key: value for key, value in each.items() if key != "file_id"}


def _thinking(part: Thinking) -> Block | None:
    signature = part.signature
    if signature is None or signature.dialect != NAME or not signature.value:
        return None
    if part.redacted:
        return {"type": "redacted_thinking", "data": signature.value}
    return {"type": "thinking", "thinking": part.text, "signature": signature.value}


def _tool_use(part: ToolCall) -> Block:
    given = part.arguments
    block: Block = {
        "type": "tool_use",
        "id": _id(part.id),
        "name": part.name,
        "input": given if isinstance(given, dict) else {"INVALID_JSON": given},
    }
    if (
        part.signature is not None
        and part.signature.dialect == NAME
        and isinstance(part.signature.value, dict)
    ):
        block |= part.signature.value
    return _with_cache(block, part.cache)


def _tool_result(part: ToolResult) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": _id(part.call_id)}
    content = [inner for each in part.content if (inner := _BLOCKS[type(each)](each))]
    if not all(map(_is_blank, content)):
        block["content"] = content
    if part.error:
        block |= {"is_error": True, "content": block.get("content") or _FAILED}
    return _with_cache(block, part.cache)


def _id(id: str) -> str:
    if _ID.fullmatch(id):
        return id
    digest = urlsafe_b64encode(sha256(id.encode("utf-8", "surrogatepass")).digest())
    return f"toolu_{digest[:22].decode()}"


def _image(part: Image) -> Block:
    return _with_cache({"type": "image", "source": _source(part, part.media_type)}, part.cache)


def _document(part: Blob) -> Block:
    if part.media_type == "text/plain" and part.data is not None:
        text = part.data.decode("utf-8", "replace")
        source: Block = {"type": "text", "media_type": "text/plain", "data": text}
    elif part.media_type == "application/pdf":
        source = _source(part, part.media_type)
    else:
        raise BadParameter(f"this wire takes PDF and plain text, not {part.media_type!r}")
    block = {"type": "document", "source": source}
    if part.name:
        block["title"] = part.name
    if part.context:
        block["context"] = part.context
    if part.cited:
        block["citations"] = {"enabled": True}
    return _with_cache(block, part.cache)


def _source(part: Image | Blob, media_type: str | None) -> Block:
    if part.data is None:
        return {"type": "url", "url": part.url}
    data = b64encode(part.data).decode()
    return {"type": "base64", "media_type": media_type or _media_type(part.data), "data": data}


def _media_type(data: bytes) -> str:
    for start, media_type in (
        (b"\xff\xd8", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"RIFF", "image/webp"),
    ):
        if data.startswith(start):
            return media_type
    return "image/png"


def _other(part: UnknownPart) -> Block | None:
    return part.raw if part.dialect == NAME else None


def _with_cache(block: Block, cache: CacheBreakpoint | None) -> Block:
    if cache is not None:
        mark = {"type": "ephemeral"}
        block["cache_control"] = mark | {"ttl": cache.ttl} if cache.ttl else mark
    return block


_BLOCKS: Mapping[type, Callable[[Json], Block | None]] = {
    Text: _text,
    Thinking: _thinking,
    ToolCall: _tool_use,
    ToolResult: _tool_result,
    Image: _image,
    Blob: _document,
    UnknownPart: _other,
    LevelUpdate: lambda _part: None,
}


# -- tools and output ------------------------------------------------------------------------


def _tool(tool: Tool) -> Block:
    if tool.raw is not None:
        return _with_cache(dict(tool.raw), tool.cache)
    block: Block = {"name": tool.name}
    if tool.description:
        block["description"] = tool.description
    schema = tool.parameters or {"type": "object", "properties": {}}
    block["input_schema"] = schema
    if tool.strict is not None:
        block["strict"] = tool.strict
    return _with_cache(block, tool.cache)


def _tool_choice(choice: ToolChoice) -> Block:
    block: Block = {"type": _CHOICES[choice.mode]}
    if choice.mode == "tool":
        block["name"] = choice.name
    if choice.parallel is not None and choice.mode != "none":
        block["disable_parallel_tool_use"] = not choice.parallel
    return block


def _describe_missing_limit(request: Request, plan: Plan) -> str:
    unknown = describe_unknown(plan)
    fact = "is not in the catalog" if unknown else "has no known longest answer"
    _, asks, guess = (unknown or "").partition("; did you mean ")
    return f"{request.model!r} {fact}, and this API needs max_tokens (--max-tokens N){asks}{guess}"
