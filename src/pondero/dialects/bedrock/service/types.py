"""Types of the request body; a field that is not here is rejected."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, NoReturn, TypeVar

from msgspec import DecodeError, Meta, Raw, Struct, ValidationError
from msgspec.json import decode, encode

from pondero.canon import Json, ToolKind, decode_json
from pondero.dialects.bodies import UnknownFields, describe_invalid_json, make_lenient_type

from .errors import reject, reject_key

NAME = "bedrock"

ToolUseId = Annotated[str, Meta(pattern="^[a-zA-Z0-9_.:-]{1,64}$")]
ToolName = Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]{1,64}$")]
NonEmpty = Annotated[str, Meta(min_length=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Union = dict[str, Raw]
"""An object with one key, which says what it is."""


class Strict(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """No other key is permitted."""


# -- content ---------------------------------------------------------------------------------


class S3Location(Strict, frozen=True):
    """An object in S3."""

    uri: Annotated[str, Meta(pattern="^s3://.+")]
    bucket_owner: str | None = None


class Source(Strict, frozen=True):
    """The bytes, their location, or text instead of them: exactly one."""

    bytes: NonEmpty | None = None
    s3_location: S3Location | None = None
    text: str | None = None
    content: list[Json] | None = None


class ImageBlock(Strict, frozen=True):
    """An image."""

    format: Literal["png", "jpeg", "gif", "webp"]
    source: Source


class DocumentBlock(Strict, frozen=True):
    """A document; its name may hold letters, digits, single spaces, _, - and brackets."""

    name: Annotated[str, Meta(pattern=r"^(?:[0-9A-Za-z()\[\]_-]|\s(?!\s)){1,200}$")]
    source: Source
    format: Literal["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"] | None = None
    context: str | None = None
    citations: Json = None


class VideoBlock(Strict, frozen=True):
    """A video; formats are also taken as media types (recording rig us.amazon.nova-pro-v1:0)."""

    format: Annotated[
        str, Meta(pattern="^(?:video/)?(?:mkv|mov|mp4|webm|flv|mpeg|mpg|wmv|three_gp)$")
    ]
    source: Source


class AudioBlock(Strict, frozen=True):
    """A sound."""

    format: str
    source: Source


class ToolUseBlock(Strict, frozen=True):
    """A tool call of an earlier answer."""

    tool_use_id: ToolUseId
    name: ToolName
    input: dict[str, Json]
    type: Literal["server_tool_use"] | None = None


class ToolResultBlock(Strict, frozen=True):
    """The result of a tool call."""

    tool_use_id: ToolUseId
    content: list[Union]
    status: Literal["success", "error"] | None = None
    type: str | None = None


class CachePoint(Strict, frozen=True):
    """The prompt up to here may be cached."""

    type: Literal["default"]
    ttl: Literal["5m", "1h"] | None = None


class ReasoningText(Strict, frozen=True):
    """Readable thinking of an earlier answer, and its signature."""

    text: str
    signature: str | None = None


class Reasoning(Strict, frozen=True):
    """Readable or redacted thinking of an earlier answer: exactly one."""

    reasoning_text: ReasoningText | None = None
    redacted_content: str | None = None


class Words(Strict, frozen=True):
    """A piece of cited text."""

    text: str


class Guarded(Strict, frozen=True):
    """Text that a guardrail checks."""

    text: str
    qualifiers: list[str] | None = None


class GuardContent(Strict, frozen=True):
    """Content that a guardrail checks: text or an image."""

    text: Guarded | None = None
    image: Json = None


class CitationsBlock(Strict, frozen=True):
    """Text and its citations."""

    content: list[Words] | None = None
    citations: list[dict[str, Json]] | None = None


Typed = (
    str
    | ImageBlock
    | DocumentBlock
    | VideoBlock
    | AudioBlock
    | ToolUseBlock
    | ToolResultBlock
    | CachePoint
    | Reasoning
    | CitationsBlock
)
TYPED: dict[str, type[Typed]] = {
    "text": str,
    "image": ImageBlock,
    "document": DocumentBlock,
    "video": VideoBlock,
    "audio": AudioBlock,
    "toolUse": ToolUseBlock,
    "toolResult": ToolResultBlock,
    "cachePoint": CachePoint,
    "reasoningContent": Reasoning,
    "citationsContent": CitationsBlock,
}


class LooseToolUse(ToolUseBlock, frozen=True, kw_only=True):
    """A tool call of an earlier answer, whose arguments may be anything."""

    input: Json = {}


LOOSE: dict[str, type[Typed]] = TYPED | {"toolUse": LooseToolUse}
"""The same blocks, read leniently."""

HOSTED: dict[str, ToolKind] = {
    "nova_grounding": "web_search",
    "nova_code_interpreter": "code_execution",
}
"""Hosted tools that other services have too, by name (Amazon Nova user guide)."""

# Blocks that stay raw; ``checks.field_types`` has their types.
UNTYPED = frozenset({"guardContent", "searchResult", "toolAddition", "toolRemoval"})
RESULTS = frozenset({"text", "json", "image", "document", "video", "searchResult"})


# -- the body --------------------------------------------------------------------------------


class MessageIn(Strict, frozen=True):
    """A message."""

    role: Literal["user", "assistant", "system"]
    content: list[Union]


class Limits(Strict, frozen=True):
    """What every model takes: a cap, sampling, stop sequences."""

    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Share | None = None
    top_p: Share | None = None
    stop_sequences: Annotated[list[NonEmpty], Meta(max_length=2500)] | None = None


class Schema(Strict, frozen=True):
    """The JSON schema of a tool's input."""

    json: dict[str, Json]


class ToolSpec(Strict, frozen=True):
    """A function of the caller."""

    name: ToolName
    input_schema: Schema
    description: NonEmpty | None = None
    strict: bool | None = None


class ToolConfig(Strict, frozen=True):
    """The tools, and which of them must be called."""

    tools: Annotated[list[Union], Meta(min_length=1)]
    tool_choice: Union | None = None


class OneTool(Strict, frozen=True):
    """This tool must be called."""

    name: ToolName


class Empty(Strict, frozen=True):
    """An object without fields."""


class JsonSchema(Strict, frozen=True):
    """A JSON schema, as text."""

    schema: str
    name: str | None = None
    description: str | None = None


class Structure(Strict, frozen=True):
    """How the schema is given."""

    json_schema: JsonSchema


class TextFormat(Strict, frozen=True):
    """The schema of the answer."""

    type: Literal["json_schema"]
    structure: Structure


class OutputConfig(Strict, frozen=True):
    """Effort, and the schema of the answer."""

    text_format: TextFormat | None = None
    effort: Annotated[str, Meta(max_length=16)] | None = None


class Body(Strict, frozen=True):
    """The whole request."""

    messages: list[MessageIn]
    model_id: str | None = None  # named in the path; ignored here
    system: list[Union] | None = None
    inference_config: Limits | None = None
    tool_config: ToolConfig | None = None
    additional_model_request_fields: Raw = Raw(b"{}")
    additional_model_response_field_paths: Annotated[list[str], Meta(max_length=10)] | None = None
    output_config: OutputConfig | None = None
    guardrail_config: Json = None
    prompt_variables: Json = None
    request_metadata: dict[str, str] | None = None
    performance_config: Json = None
    service_tier: Json = None


# Fields that canon lacks; the request keeps them as extras.
BESIDE = (
    *("guardrailConfig", "promptVariables", "requestMetadata"),
    *("performanceConfig", "serviceTier"),
)


# -- reading ---------------------------------------------------------------------------------

T = TypeVar("T")

_PLACE = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_INDEX = re.compile(r"\[(\d+|\.\.\.)\]")


def decode_strict(
    raw: bytes | Raw, kind: type[T], at: str = "", unknown: UnknownFields | None = None
) -> T:
    """Return the JSON as this type; ``unknown`` collects extra fields and turns off ranges."""
    try:
        return decode_json(raw, kind)
    except ValidationError as error:
        if unknown is None:
            _reject_misfit(str(error), at)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        reject("not_json", why=describe_invalid_json(error))
    try:
        known = unknown.strip_unknown(decode(raw), kind, at=at)
        read: T = decode_json(encode(known), make_lenient_type(kind))
    except ValidationError as error:
        _reject_misfit(str(error), at)
    return read


def one_key(union: Mapping[str, Raw], at: str) -> str:
    """Return the only key of a union; raises Rejected if it has none or several."""
    if len(union) != 1:
        reject("union", at=at)
    return next(iter(union))


def _reject_misfit(error: str, at: str) -> NoReturn:
    found = _PLACE.match(error)
    said, place = (found[1], found[2] or "") if found else (error, "")
    path = _INDEX.sub(r".\1", f"{at}{place}").lstrip(".")
    if unknown := _UNKNOWN.match(said):
        reject_key(unknown[1], path)
    if missing := _MISSING.match(said):
        reject("missing_member", at=f"{path}.{missing[1]}" if path else missing[1])
    reject("constraint", at=path, why=said)
