"""Types of what stays raw, as in the service's model (botocore 1.43.117).

Requests are judged by them in the strict reading only.
"""

from typing import Annotated, Literal

from msgspec import Meta, Raw

from ..types import Strict, decode_strict

_GUARDRAIL = (
    r"^(|[a-z0-9]+|arn:aws(-[^:]+)?:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+)$"
)
_Tag = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9\s:_@$#=/+,\-.]{1,256}$")]
_TagValue = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}$")]
_Path = Annotated[str, Meta(min_length=1, max_length=256)]
_Reference = Annotated[str, Meta(min_length=1, max_length=128)]


# -- blocks ----------------------------------------------------------------------------------


class GuardedSource(Strict, frozen=True):
    """The bytes of an image."""

    bytes: Annotated[str, Meta(min_length=1)]


class GuardedImage(Strict, frozen=True):
    """An image that a guardrail checks."""

    format: Literal["png", "jpeg"]
    source: GuardedSource


class GuardedText(Strict, frozen=True):
    """Text that a guardrail checks."""

    text: str
    qualifiers: list[Literal["grounding_source", "query", "guard_content"]] | None = None


class GuardContent(Strict, frozen=True):
    """Content that a guardrail checks: text or an image."""

    text: GuardedText | None = None
    image: GuardedImage | None = None


class Words(Strict, frozen=True):
    """A piece of a search result."""

    text: str


class CitationsConfig(Strict, frozen=True):
    """Whether a source may be cited."""

    enabled: bool


class Place(Strict, frozen=True):
    """Where in S3 an object is."""

    uri: Annotated[
        str, Meta(pattern=r"^s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?$", max_length=1024)
    ]
    bucket_owner: Annotated[str, Meta(pattern="^[0-9]{12}$")] | None = None


class Source(Strict, frozen=True, forbid_unknown_fields=False):
    """The bytes of a medium, or where they are."""

    s3_location: Place | None = None


class Medium(Strict, frozen=True, forbid_unknown_fields=False):
    """The part of a medium that has limits."""

    source: Source


class Document(Medium, frozen=True, forbid_unknown_fields=False):
    """The part of a document that stays raw."""

    citations: CitationsConfig | None = None


class SearchResult(Strict, frozen=True):
    """A search result of the caller."""

    source: str
    title: str
    content: list[Words]
    citations: CitationsConfig | None = None


class ToolReference(Strict, frozen=True):
    """Which tool."""

    type: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    name: _Reference | None = None
    server_name: _Reference | None = None


class ToolChange(Strict, frozen=True):
    """A tool that is added or removed from here on."""

    tool: ToolReference


BLOCKS: dict[str, type[Strict]] = {
    **dict.fromkeys(("image", "video", "audio"), Medium),
    "document": Document,
    "guardContent": GuardContent,
    "searchResult": SearchResult,
    "toolAddition": ToolChange,
    "toolRemoval": ToolChange,
}


def check_block(kind: str, raw: Raw, at: str) -> None:
    """Raise Rejected if what stays raw of a block does not have its type."""
    if kind in BLOCKS:
        decode_strict(raw, BLOCKS[kind], f"{at}.{kind}")


# -- the body --------------------------------------------------------------------------------


class GuardrailConfig(Strict, frozen=True):
    """Which guardrail checks the conversation."""

    guardrail_identifier: Annotated[str, Meta(pattern=_GUARDRAIL, max_length=2048)] | None = None
    guardrail_version: Annotated[str, Meta(pattern="^(|[1-9][0-9]{0,7}|DRAFT)$")] | None = None
    trace: Literal["enabled", "disabled", "enabled_full"] | None = None
    stream_processing_mode: Literal["sync", "async"] | None = None


class PromptVariable(Strict, frozen=True):
    """What a variable of a stored prompt is replaced by."""

    text: str | None = None


class PerformanceConfig(Strict, frozen=True):
    """How fast."""

    latency: Literal["standard", "optimized"] | None = None


class ServiceTier(Strict, frozen=True):
    """At which price."""

    type: Literal["priority", "default", "flex", "reserved"]


class Fields(Strict, frozen=True, forbid_unknown_fields=False):
    """The fields of a request that stay raw."""

    request_metadata: Annotated[dict[_Tag, _TagValue], Meta(min_length=1, max_length=16)] | None = (
        None
    )
    additional_model_response_field_paths: list[_Path] | None = None
    guardrail_config: GuardrailConfig | None = None
    prompt_variables: dict[str, PromptVariable] | None = None
    performance_config: PerformanceConfig | None = None
    service_tier: ServiceTier | None = None
