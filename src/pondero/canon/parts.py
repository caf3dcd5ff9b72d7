"""What a message is made of.

A seal is what a service gave us to hand back unread: opaque, any JSON, tagged with who made it.
"""

from typing import Any

from msgspec import Struct

Json = Any


class Seal(Struct, frozen=True):
    """Opaque proof of thought; goes back byte for byte, to its maker only."""

    dialect: str
    value: Json
    model: str | None = None
    route: str | None = None


class Cache(Struct, frozen=True):
    """A mark that the prompt up to here may be cached."""

    ttl: str | None = None


class Text(Struct, frozen=True, tag="text"):
    """Words for people."""

    text: str
    seal: Seal | None = None
    citations: tuple[Json, ...] = ()
    cache: Cache | None = None


class Thinking(Struct, frozen=True, tag="thinking"):
    """What the model thought; ``text`` is empty when only the seal came."""

    text: str
    seal: Seal | None = None
    redacted: bool = False


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """The model asks for a tool; ``arguments`` is a string only when it is not valid JSON."""

    id: str
    name: str
    arguments: Json
    seal: Seal | None = None
    minted: bool = False
    cache: Cache | None = None


class Image(Struct, frozen=True, tag="image"):
    """A picture: ``data`` or ``url``."""

    media_type: str | None = None
    data: bytes | None = None
    url: str | None = None
    detail: str | None = None
    cache: Cache | None = None
    seal: Seal | None = None


class Blob(Struct, frozen=True, tag="blob"):
    """Any other medium (a PDF, sound, video): ``data`` or ``url``."""

    media_type: str
    data: bytes | None = None
    url: str | None = None
    name: str | None = None
    cache: Cache | None = None
    seal: Seal | None = None


class Other(Struct, frozen=True, tag="other"):
    """What we do not know yet: kept as it came, and given back to its maker."""

    dialect: str
    raw: Json
    seal: Seal | None = None


class ToolResult(Struct, frozen=True, tag="tool_result"):
    """What the tool answered, or how it failed."""

    call_id: str
    content: tuple[Text | Image | Blob | Other, ...]
    error: bool = False
    name: str | None = None
    cache: Cache | None = None


Part = Text | Thinking | ToolCall | ToolResult | Image | Blob | Other
