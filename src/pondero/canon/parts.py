"""Messages and their parts.

Some wires give a tool call no id, or arguments that are not JSON: dialects then call
``make_call_id`` and ``parse_arguments``.
"""

from typing import Any, Literal

from msgspec import UNSET, DecodeError, Struct, UnsetType, field

from ..errors import BadParameter
from .decoder import get_decoder
from .emulation import is_emulated

Json = Any


class Signature(Struct, frozen=True):
    """A service's opaque proof of thinking; sent back byte for byte, to its maker only.

    >>> part = client.ask("claude-opus-5/low", "What is 17 * 23?").thinking_parts[0]
    >>> part.signature.dialect, part.signature.model
    ('anthropic', 'claude-opus-5')
    """

    dialect: str
    value: Json
    model: str | None = None
    route: str | None = None

    @property
    def emulated(self) -> bool:
        """Return whether the emulator made it, by the mark inside; no service would accept it."""
        return is_emulated(self.value)


class CacheBreakpoint(Struct, frozen=True):
    """The service may cache the prompt up to here.

    >>> long = pondero.Text("The whole manual.", cache=pondero.CacheBreakpoint(ttl="1h"))
    >>> client.ask("claude-opus-5/low", "What is 17 * 23?", system=long).finish
    'stop'
    """

    ttl: str | None = None


class TokenLogprob(Struct, frozen=True, omit_defaults=True):
    """A token of a text and its log probability; ``top``: the likeliest tokens at its place.

    ``data`` are its bytes, None if they are not known: a letter may have several tokens. ``id`` is
    the service's number for it, if it tells one.

    >>> wish = {"logprobs": True, "top_logprobs": 2}
    >>> reply = client.ask("openai-chat:gpt-4.1", "What is 17 * 23?", extras=wish)
    >>> token = reply.message.parts[0].logprobs[0]
    >>> token.token, token.logprob < 0, len(token.top)
    ('17 *', True, 2)
    """

    token: str
    logprob: float
    data: bytes | None = None
    top: tuple["TokenLogprob", ...] = ()
    id: int | None = None


class Text(Struct, frozen=True, tag="text"):
    """Visible text, with its ``tokens`` if the request asked for log probabilities.

    >>> pondero.Message("user", (pondero.Text("What is 17 * 23?"),)).text
    'What is 17 * 23?'
    """

    text: str
    signature: Signature | None = field(default=None, name="seal")
    citations: tuple[Json, ...] = ()
    cache: CacheBreakpoint | None = None
    tokens: tuple[TokenLogprob, ...] | UnsetType = field(default=UNSET, name="logprobs")

    @property
    def logprobs(self) -> tuple[TokenLogprob, ...]:
        """Return the tokens with their log probabilities; none if the request asked for none."""
        return () if self.tokens is UNSET else self.tokens


class Thinking(Struct, frozen=True, tag="thinking"):
    """The model's thinking; ``text`` is empty if the service sent only a signature.

    >>> client.ask("claude-opus-5/low", "What is 17 * 23?").thinking_parts[0].text
    'The question is "What is 17 * 23?"...'
    """

    text: str
    signature: Signature | None = field(default=None, name="seal")
    redacted: bool = False


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """The model calls a tool; ``arguments`` is a string only if it is not a JSON object.

    >>> reply = client.ask("gpt-5.5/low", "What is the weather in Bern?", tools=[get_weather])
    >>> [(call.name, call.arguments) for call in reply.tool_calls]
    [('get_weather', {'city': 'Bern'})]
    """

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

    ``context``: what the model is told of it; ``cited``: the answer is to cite it.

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
    context: str | None = None
    cited: bool = False


class UnknownPart(Struct, frozen=True, tag="other"):
    """A part unknown to us: stored unchanged, and sent back to its maker.

    >>> pondero.UnknownPart("anthropic", {"type": "container_upload", "file_id": "f"}).dialect
    'anthropic'
    """

    dialect: str
    raw: Json
    signature: Signature | None = field(default=None, name="seal")


class ToolResult(Struct, frozen=True, tag="tool_result"):
    """A tool's result, or its error.

    >>> reply = client.ask("gpt-5.5/low", "What is the weather in Bern?", tools=[get_weather])
    >>> results = [
    ...     pondero.ToolResult(call.id, (pondero.Text(get_weather(**call.arguments)),))
    ...     for call in reply.tool_calls
    ... ]
    >>> asked = pondero.Message("user", (pondero.Text("What is the weather in Bern?"),))
    >>> told = [asked, reply.message, pondero.Message("user", tuple(results))]
    >>> client.ask("gpt-5.5/low", told, tools=[get_weather]).text
    'get_weather (Bern) says: Bern: sunny'
    """

    call_id: str
    content: tuple[Text | Image | Blob | UnknownPart, ...]
    error: bool = False
    name: str | None = None
    cache: CacheBreakpoint | None = None


class LevelUpdate(Struct, frozen=True, tag="level_update"):
    """The level changed here, inside the conversation; alone in a system message.

    ``level`` is the requested level as printed (``low``, ``off``, ``8000``). A model that takes a
    level inside the conversation gets it in this place, so that its prompt cache stays.

    >>> turns = [pondero.Message("system", (pondero.LevelUpdate("low"),))]
    >>> turns[0].parts[0].level
    'low'
    """

    level: str


BETWEEN_THOUGHTS = "\n\n"
"""What stands between two parts of thinking in one text."""

Part = Text | Thinking | ToolCall | ToolResult | Image | Blob | UnknownPart | LevelUpdate
"""What a message is made of: for type annotations, and for a ``match``.

>>> parts: tuple[pondero.Part, ...] = client.ask("claude-opus-5/low", "Hello").message.parts
>>> [type(part).__name__ for part in parts]
['Thinking', 'Text']
"""


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


class Origin(Struct, frozen=True, omit_defaults=True):
    """The model and level that wrote a message, and when (seconds since 1970).

    ``emulator``: the address of the emulator that wrote it in the model's place, ``offline`` for
    one inside the program; None: a service did. ``deployment``: the account of a gateway that was
    asked, in earlier versions its name; None: the provider's usual one.

    >>> origin = client.ask("claude-opus-5/low", "What is 17 * 23?").message.origin
    >>> origin.provider, origin.model, origin.level
    ('anthropic', 'claude-opus-5', 'low')
    """

    provider: str
    model: str
    level: str | None = None
    at: float | None = None
    emulator: str | None = None
    deployment: str | None = None


def is_simple(message: "Message") -> bool:
    """Return whether a message has nothing but words, thinking, calls and results that are words.

    It has no file, no unknown part, no cache breakpoint, no failed result and no level: most steps
    that fit a conversation to a service look for one of these, and pass over simple messages.
    """
    for part in message.parts:
        if isinstance(part, Text | ToolCall):
            if part.cache is not None:
                return False
        elif isinstance(part, ToolResult):
            if part.error or part.cache is not None:
                return False
            if any(not isinstance(each, Text) or each.cache is not None for each in part.content):
                return False
        elif not isinstance(part, Thinking):
            return False
    return True


_KINDS = frozenset((Text, Thinking, ToolCall, ToolResult, Image, Blob, UnknownPart, LevelUpdate))


def _make_parts_error(role: str, parts: Any) -> BadParameter:
    listed = parts if isinstance(parts, tuple | list) else (parts,)
    wrong = next((each for each in listed if type(each) not in _KINDS), parts)
    if type(wrong) in _KINDS:
        return BadParameter("the parts of a message are a tuple; use (part,)")
    if not isinstance(wrong, str):
        return BadParameter(f"a message is made of parts; {type(wrong).__name__} is not a part")
    short = wrong if len(wrong) <= _SHORT else f"{wrong[:_SHORT]}..."
    fix = f"pondero.Message({role!r}, (pondero.Text({short!r}),))"
    return BadParameter(f"a message is made of parts, not of text; use {fix}")


_SHORT = 40


class Message(Struct, frozen=True):
    """Parts in order of arrival; tool results are in the user's messages.

    >>> question = pondero.Message("user", (pondero.Text("What is 17 * 23?"),))
    >>> client.ask("claude-opus-5/low", [question]).message.text
    '17 * 23 = 391'
    """

    role: Role
    parts: tuple[Part, ...]
    origin: Origin | None = None

    def __post_init__(self) -> None:
        parts: Any = self.parts
        if not isinstance(parts, (tuple, list)) or not _KINDS.issuperset(map(type, parts)):
            raise _make_parts_error(self.role, parts)

    @property
    def text(self) -> str:
        """Return the visible text."""
        if len(self.parts) == 1 and isinstance(part := self.parts[0], Text):  # nearly always
            return part.text
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> str:
        """Return the readable thinking, with a blank line between its parts."""
        return BETWEEN_THOUGHTS.join(part.text for part in self.thinking_parts if part.text)

    @property
    def thinking_parts(self) -> tuple[Thinking, ...]:
        """Return the parts of the thinking in order, also those that are a signature alone."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return ()
        return tuple([part for part in self.parts if isinstance(part, Thinking)])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls in order."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):  # nearly always
            return ()
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def level_update(self) -> LevelUpdate | None:
        """Return the change of level that this message is, if it is one."""
        part = self.parts[0] if self.role == "system" and len(self.parts) == 1 else None
        return part if isinstance(part, LevelUpdate) else None

    def to_json(self) -> str:
        """Return the message as JSON text, with its signatures; ``from_json`` reads it back.

        >>> reply = client.ask("claude-opus-5/low", "What is 17 * 23?")
        >>> text = reply.message.to_json()
        >>> pondero.Message.from_json(text) == reply.message
        True
        """
        from .saved_form import dump_saved  # noqa: PLC0415 - that file needs this one

        return dump_saved("message", self)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Message":
        """Return a saved message; raises UsageError for another text or a newer format."""
        from .saved_form import load_saved  # noqa: PLC0415 - as above

        return load_saved("message", text, Message)
