"""A request to a model, the provider it goes to, and the provider's rules for earlier messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from .parts import CacheBreakpoint, Json, Message, Part, Text
from .written_turns import EarlierTurns

ToolKind = Literal["function", "text", "web_search", "code_execution", "other"]
"""The kind of a tool, independent of any wire.

A ``text`` tool takes one text, which need not be JSON. The service itself runs ``web_search`` and
``code_execution``. An ``other`` tool exists on one wire only.
"""


class Tool(Struct, frozen=True):
    """A function the model may call, or another ``kind`` of tool.

    ``raw``: a service's own tool as ``dialect`` writes it (None: the dialect of the request). The
    ``parameters`` of a ``text`` tool are the schema of the text.

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
    """Which tool must be called, if any; ``required`` and ``tool`` force a call.

    ``allowed`` are the only tools that may be called (empty: all that are on offer).

    >>> one = pondero.ToolChoice("auto", parallel=False)
    >>> question = "What is the weather in Bern?"
    >>> reply = client.ask("gpt-5.5/low", question, tools=[get_weather], tool_choice=one)
    >>> reply.finish
    'tool_calls'
    """

    mode: Literal["auto", "none", "required", "tool"] = "auto"
    name: str | None = None
    parallel: bool | None = None
    allowed: tuple[str, ...] = ()

    @property
    def forced(self) -> bool:
        """Return whether the model must call a tool."""
        return self.mode in ("required", "tool")


class OutputFormat(Struct, frozen=True):
    """The required shape of the answer; without a schema, any JSON."""

    schema: Json = None
    name: str = "answer"
    strict: bool | None = None


class Request(Struct, frozen=True):
    """The request of one exchange; its plan holds the fields for thinking."""

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
"""What a reader must share with a signature's maker besides the dialect: model, route, or both."""


class SavedRepair(Struct, frozen=True, omit_defaults=True):
    """A dialect's change to a rejected request, as chats and threads store it.

    ``kind`` is the dialect's name for it, ``words`` the levels that the service accepts, and
    ``at`` the first message that it changes.
    """

    kind: str
    words: tuple[str, ...] = ()
    at: int = 0


SystemTurns = Literal["anywhere", "after_user", "lead"]
"""Where a system turn may stand: anywhere, between a user turn and its answer, or first only."""


class PictureLimits(Struct, frozen=True, kw_only=True):
    """The largest pictures that a service takes.

    ``side``: pixels of the longer side; ``crowd_side``: the same if there are more than ``crowd``
    pictures. ``letters``: of the bytes in base64.
    """

    side: int
    crowd: int
    crowd_side: int
    letters: int


class ReplayRules(Struct, frozen=True, kw_only=True):
    """Which parts of a history a service accepts; the handoff removes the others.

    The defaults are strict about signatures only.

    Thinking: ``signature_scope`` says who may read signatures, ``allows_unsigned`` whether
    thinking without one may go back to its maker. ``unpaired`` returns the indexes of parts that
    lack a part the wire requires with them, each with the reason.

    Calls: an id must match ``id_pattern`` (None: any); a new one has ``id_length`` letters and
    digits. ``minted``: generated ids may be sent. ``answers_calls``: the calls of an unfinished
    last turn must have results too. ``result_errors``: a result can say that it is an error;
    ``error_media``: such a result may hold media. ``calls``: calls and results are taken; otherwise
    they are told in words, if every one is answered.

    Turns: ``merges``: adjacent messages of one role become one. ``begins_with_user``: the first
    message must be the user's. ``needs_turn``: a system prompt alone is rejected.
    ``trailing_space``: an unfinished last answer may end in blanks. ``blank_text``: a message
    may be blanks alone.
    ``system_turns``: where system turns may stand; with ``after_user`` the model must obey them.

    Media: prefixes of the media types accepted in user messages, in tool results and in the
    assistant's messages (``spoken_media``); an empty prefix accepts all. ``addresses``: patterns of
    the URLs that may replace the bytes, from their beginning; none: bytes alone are accepted.
    ``cites``: a document may have a context, and ask to be cited.

    ``pictures``: the largest that are accepted.
    ``missing_parts``: fields of parts that another service of the dialect has, and this one not.
    """

    signature_scope: Scope = "route+model"
    allows_unsigned: bool = False
    unpaired: Callable[[Sequence[Part]], Mapping[int, str]] | None = None

    id_pattern: str | None = None
    id_length: int = 22
    minted: bool = True
    answers_calls: bool = True
    result_errors: bool = False
    calls: bool = True
    error_media: bool = True

    merges: bool = False
    begins_with_user: bool = False
    needs_turn: bool = False
    trailing_space: bool = True
    blank_text: bool = True
    system_turns: SystemTurns = "anywhere"

    media: tuple[str, ...] = ("",)
    result_media: tuple[str, ...] = ("",)
    spoken_media: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ("",)
    pictures: PictureLimits | None = None
    cites: bool = False
    missing_parts: tuple[str, ...] = ()


class Target(Struct, frozen=True):
    """The provider a request goes to. ``route`` identifies its signatures.

    ``headers`` carry the authorisation. ``max_output``: the model's limit, for wires that require
    one. ``quirks``: the provider's typed quirks from the catalog. ``earlier``: the turns of this
    conversation that earlier requests wrote.
    """

    route: str
    url: str
    headers: Mapping[str, str] = {}
    max_output: int | None = None
    quirks: Mapping[str, Json] = {}
    earlier: EarlierTurns | None = None

    def __repr__(self) -> str:
        """Omit header values: one of them is a key."""
        return f"Target({self.route!r}, {self.url!r}, headers={sorted(self.headers)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("route", self.route), ("url", self.url), ("headers", sorted(self.headers))]
