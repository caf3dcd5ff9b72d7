"""Types of the parameters that stay raw (openai 3.49.0, 2026-11-10).

Requests are judged by them in the strict reading only.
"""

from typing import Literal

from msgspec import Struct, field

from pondero.canon import Json

from ..input.validation import read
from ..types import Function, Object, Strict


class AccessPrograms(Strict, frozen=True):
    """`access_programs`."""

    cyber: Literal["standard", "daybreak_blue", "daybreak_red"] | None = None


class ContextManagement(Strict, frozen=True):
    """An entry of `context_management`."""

    type: str
    compact_threshold: int | None = None


class Image(Strict, frozen=True):
    """`image`."""

    context_compression: Literal["auto", "enabled", "disabled"] | None = None


class ModerationMode(Strict, frozen=True):
    """What to do with one side of the conversation."""

    mode: Literal["score", "block"]


class Policy(Strict, frozen=True):
    """What to do with flagged content."""

    input: ModerationMode | None = None
    output: ModerationMode | None = None


class Moderation(Strict, frozen=True):
    """`moderation`."""

    model: str
    policy: Policy | None = None


class Prompt(Strict, frozen=True):
    """`prompt`."""

    id: str
    variables: dict[str, str | Object] | None = None
    version: str | None = None


class StoredConversation(Strict, frozen=True):
    """`conversation` as an object."""

    id: str


class Fields(Struct, frozen=True, kw_only=True):
    """The parameters that stay raw."""

    access_programs: AccessPrograms | None = None
    context_management: list[ContextManagement] | None = None
    conversation: str | StoredConversation | None = None
    image: Image | None = None
    moderation: Moderation | None = None
    prompt: Prompt | None = None


class OfferedFunction(Function, frozen=True):
    """A function tool, with what canon does not read."""

    async_: bool | None = field(default=None, name="async")


def check_field_types(body: dict[str, Json]) -> None:
    """Raise Rejected for the first parameter whose type is wrong."""
    read(body, Fields)
