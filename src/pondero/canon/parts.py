"""Messages and their parts.

Some wires give a tool call no id, or arguments that are not JSON: dialects then call
``make_call_id`` and ``parse_arguments``.
"""

from typing import Any, Literal

from msgspec import DecodeError, Struct, field

from .decoder import get_decoder

Json = Any


class Signature(Struct, frozen=True):
    """A service's opaque proof of thinking; sent back byte for byte, to its maker only."""

    dialect: str
    value: Json
    model: str | None = None
    route: str | None = None


class CacheBreakpoint(Struct, frozen=True):
    """The service may cache the prompt up to here."""

    ttl: str | None = None


class Text(Struct, frozen=True, tag="text"):
    """Visible text.

    >>> pondero.Message("user", (pondero.Text("What is 17 * 23?"),)).text
    'What is 17 * 23?'
    """

    text: str
    signature: Signature | None = field(default=None, name="seal")
    citations: tuple[Json, ...] = ()
    cache: CacheBreakpoint | None = None


class Thinking(Struct, frozen=True, tag="thinking"):
    """The model's thinking; ``text`` is empty if the service sent only a signature."""

    text: str
    signature: Signature | None = field(default=None, name="seal")
    redacted: bool = False


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """The model calls a tool; ``arguments`` is a string only if it is not a JSON object."""

    id: str
    name: str
    arguments: Json
    signature: Signature | None = field(default=None, name="seal")
    minted: bool = False
    cache: CacheBreakpoint | None = None


class Image(Struct, frozen=True, tag="image"):
    """A picture: ``data`` or ``url``.

    >>> chart = pondero.Image(url="https://example.com/chart.png")
    >>> question = pondero.Message("user", (chart, pondero.Text("What does it show?")))
    >>> client.ask("claude-opus-5/low", [question]).finish
    'stop'
    """

    media_type: str | None = None
    data: bytes | None = None
    url: str | None = None
    detail: str | None = None
    cache: CacheBreakpoint | None = None
    signature: Signature | None = field(default=None, name="seal")


class Blob(Struct, frozen=True, tag="blob"):
    """Any other medium (a PDF, sound, video): ``data`` or ``url``.

    >>> report = pondero.Blob("application/pdf", data=b"%PDF-1.7", name="report.pdf")
    >>> client.ask("claude-opus-5/low", "What is in it?", attachments=[report]).finish
    'stop'
    """

    media_type: str
    data: bytes | None = None
    url: str | None = None
    name: str | None = None
    cache: CacheBreakpoint | None = None
    signature: Signature | None = field(default=None, name="seal")


class UnknownPart(Struct, frozen=True, tag="other"):
    """A part unknown to us: stored unchanged, and sent back to its maker."""

    dialect: str
    raw: Json
    signature: Signature | None = field(default=None, name="seal")


class ToolResult(Struct, frozen=True, tag="tool_result"):
    """A tool's result, or its error."""

    call_id: str
    content: tuple[Text | Image | Blob | UnknownPart, ...]
    error: bool = False
    name: str | None = None
    cache: CacheBreakpoint | None = None


Part = Text | Thinking | ToolCall | ToolResult | Image | Blob | UnknownPart


_OBJECT = get_decoder(dict[str, Json])


def make_call_id(seed: bytes) -> str:
    """Return 22 characters as the id of a call that has none; equal seeds give equal ids."""
    from base64 import urlsafe_b64encode  # noqa: PLC0415 - few calls lack an id
    from hashlib import blake2b  # noqa: PLC0415 - loads OpenSSL

    return urlsafe_b64encode(blake2b(seed, digest_size=16).digest())[:22].decode()


def parse_arguments(text: str) -> Json:
    """Return a call's arguments as an object, or the text itself if it is not one."""
    if text in ("", "null"):
        return {}
    try:
        return _OBJECT.decode(text)
    except (DecodeError, UnicodeError, RecursionError):
        return text


Role = Literal["system", "user", "assistant"]


class Origin(Struct, frozen=True):
    """The model and level that wrote a message, and when (seconds since 1970)."""

    provider: str
    model: str
    level: str | None = None
    at: float | None = None


class Message(Struct, frozen=True):
    """Parts in order of arrival; tool results are in the user's messages.

    >>> question = pondero.Message("user", (pondero.Text("What is 17 * 23?"),))
    >>> client.ask("claude-opus-5/low", [question]).message.text
    '17 * 23 = 391'
    """

    role: Role
    parts: tuple[Part, ...]
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """Return the visible text."""
        if len(self.parts) == 1 and isinstance(part := self.parts[0], Text):  # nearly always
            return part.text
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> tuple[str, ...]:
        """Return the readable thinking, one string a part."""
        return tuple(p.text for p in self.parts if isinstance(p, Thinking) and p.text)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])
