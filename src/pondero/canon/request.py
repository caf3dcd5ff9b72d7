"""What is asked of a model, where it goes, and what that place accepts of earlier messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from .parts import CacheBreakpoint, Json, Message, Part, Text

ToolKind = Literal["function", "text", "web_search", "code_execution", "other"]
"""What a tool is, in words that no wire owns.

A ``text`` tool takes one text, which need not be JSON. The service itself runs a ``web_search``
and a ``code_execution``. Only one wire has what is ``other``.
"""


class Tool(Struct, frozen=True):
    """A function the model may call, or another ``kind`` of tool.

    ``raw`` holds a service's own tool as ``dialect`` writes it; None is the one it is sent on. The
    ``parameters`` of a ``text`` tool, if there are any, are the schema of the text.

    >>> city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    >>> tool = pondero.Tool("get_weather", "Return the weather in a city.", city)
    >>> reply = client.ask("claude-opus-5/low", "What is the weather in Bern?", tools=[tool])
    >>> reply.tool_calls[0].arguments
    {'city': 'Bern'}
    """

    name: str
    description: str = ""
    parameters: Json = None
    strict: bool | None = None
    cache: CacheBreakpoint | None = None
    raw: Json = None
    dialect: str | None = None
    kind: ToolKind = "function"


class ToolChoice(Struct, frozen=True):
    """Whether, and which, tool must be called; ``required`` and ``tool`` force one."""

    mode: Literal["auto", "none", "required", "tool"] = "auto"
    name: str | None = None
    parallel: bool | None = None

    @property
    def forced(self) -> bool:
        """Return whether the model has no choice but to call."""
        return self.mode in ("required", "tool")


class OutputFormat(Struct, frozen=True):
    """The shape the answer must have; without a schema, any JSON."""

    schema: Json = None
    name: str = "answer"
    strict: bool | None = None


class Request(Struct, frozen=True):
    """What is asked in one exchange; the plan beside it says what to send about thinking."""

    model: str
    messages: tuple[Message, ...]
    system: tuple[Text, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    output: OutputFormat | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = True
    extras: Json = None


Scope = Literal["dialect", "model", "route", "route+model"]
"""How closely the reader must match a seal's maker, besides the dialect: model, route, or both."""


class SavedRepair(Struct, frozen=True, omit_defaults=True):
    """What a dialect does to a request that was refused, as a value that chats and threads keep.

    ``kind`` is the dialect's own name for it. ``words`` are the levels that the service takes, and
    ``at`` is the message from which on the cure applies.
    """

    kind: str
    words: tuple[str, ...] = ()
    at: int = 0


class ReplayRules(Struct, frozen=True, kw_only=True):
    """What of an earlier conversation a service takes back; the handoff leaves in no more.

    The defaults are strict about seals only.

    Thinking: ``signature_scope`` says who may read them; ``allows_unsigned`` whether thinking
    without a seal may go back to its maker. ``unpaired`` returns the places of those parts of an
    answer that the wire takes only beside a part that is not there, each with the reason.

    Calls: an id must match ``id_pattern`` (None: any); a new one has ``id_length`` letters and
    digits. ``minted``: ids that we made up may be sent. ``answers_calls``: the calls of an
    unfinished last turn must have results too.

    Turns: ``merges``: neighbouring messages of one role become one. ``begins_with_user``: the
    first message must be the user's. ``trailing_space``: an unfinished last answer may end in
    blanks.

    Media: prefixes of the media types accepted in user messages, in tool results and in the
    assistant's own messages (``spoken_media``); an empty prefix accepts all. ``addresses``: a
    medium may be given by its URL.
    """

    signature_scope: Scope = "route+model"
    allows_unsigned: bool = False
    unpaired: Callable[[Sequence[Part]], Mapping[int, str]] | None = None

    id_pattern: str | None = None
    id_length: int = 22
    minted: bool = True
    answers_calls: bool = True

    merges: bool = False
    begins_with_user: bool = False
    trailing_space: bool = True

    media: tuple[str, ...] = ("",)
    result_media: tuple[str, ...] = ("",)
    spoken_media: tuple[str, ...] = ()
    addresses: bool = True


class Target(Struct, frozen=True):
    """The provider a request goes to. ``route`` tells its seals from another provider's.

    ``headers`` carry the authorisation; ``max_output`` is what the model can write, for wires
    where a cap must be sent; ``quirks`` are the provider's typed oddities from the catalog.
    """

    route: str
    url: str
    headers: Mapping[str, str] = {}
    max_output: int | None = None
    quirks: Mapping[str, Json] = {}

    def __repr__(self) -> str:
        """Leave out the values of headers: a key is among them."""
        return f"Target({self.route!r}, {self.url!r}, headers={sorted(self.headers)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("route", self.route), ("url", self.url), ("headers", sorted(self.headers))]
