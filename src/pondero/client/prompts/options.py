"""The options of a question or chat, and the request they make; the clients call it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Generic, NamedTuple, TypedDict, cast

from ...canon import Json, Message, Reply, Request, Text, Tool, ToolChoice, V
from ...errors import BadParameter
from ...exchange import Timeouts
from ...handoff import Rejection
from ...store import ServerLike, ToolServer
from ...thinking import RequestParameters, ThinkingLike
from ..dial import PolicyLike, check_parameters
from ..tools.tools import Approve, ToolLike, Tools
from .attachments import Attachment, Source, parse_attachments
from .messages import Prompt, System, parse_prompt, parse_system
from .option_names import explain_unknown
from .output import OutputLike, parse_output, parse_retries

_MODES = {
    "auto": ToolChoice("auto"),
    "none": ToolChoice("none"),
    "required": ToolChoice("required"),
}


class ChatOptions(TypedDict, Generic[V], total=False):
    """The options of a chat or of one of its questions.

    ``output``: a type (a dataclass, a TypedDict, a pydantic model, a list of them ...), a JSON
    schema, or True for any JSON. ``seed``: the same seed and request give the same answer, as far
    as the service can. ``extras``: the service's own fields. ``stream``: False requests
    the answer in one piece; long thinking may then exceed the timeout. ``context``: tokens in the
    conversation so far, for the policy's context_cap; a chat counts them itself. ``timeout``:
    seconds for the connection, for the first byte and between bytes. ``headers`` are added to
    ours; pass keys to the client instead. ``attachments``: paths, URLs, bytes or parts, placed
    before the prompt's text; a model that cannot read one is not asked. ``retries``: how often
    ``ask`` and ``send`` ask again if the answer does not fit ``output``; usage is added up.
    ``cache``: whether to set cache breakpoints for a service that caches no prompt without them,
    if the prompt has none; a chat does unless this is False, a question only if it is True.
    """

    thinking_effort: ThinkingLike
    system: System
    tool_choice: str | ToolChoice | None
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    seed: int | None
    stop: str | Sequence[str]
    extras: Mapping[str, Json] | None
    policy: PolicyLike
    stream: bool
    context: int | None
    timeout: float | Timeouts | None
    headers: Mapping[str, str] | None
    attachments: Iterable[Source]
    retries: int
    cache: bool
    output: OutputLike[V]


class ToolRunOptions(TypedDict, total=False):
    """The options of a chat that runs tools."""

    tools: Iterable[ToolLike]
    mcp: Iterable[ServerLike]
    approve: Approve | None
    max_steps: int


class ChatStartOptions(ChatOptions, total=False):
    """The options of a new chat."""

    tools: Iterable[ToolLike] | Tools
    mcp: Iterable[ServerLike]
    approve: Approve | None
    max_steps: int
    messages: Sequence[Message]


class Options(ChatOptions[V], ToolRunOptions, total=False):
    """The options of one question: those of a chat, and tools.

    With ``mcp``, ``approve`` or ``max_steps``, ``ask`` runs the tools as a chat does: functions and
    those of MCP servers. Without any of them the caller runs the calls. ``refusals``: earlier
    rejections of this conversation; see ``Stream.refusals``. ``last_prompt``: the tokens of its
    last prompt, as the service counted them, to say what a change of level costs; a chat counts
    them itself.
    """

    refusals: Iterable[Rejection]
    last_prompt: int | None


RUNNING = frozenset(("mcp", "approve", "max_steps"))
"""The options that make ``ask`` run tools."""


def check_options(options: Mapping[str, object]) -> None:
    """Raise BadParameter for an unknown option, or a value of the wrong type."""
    if not options.keys() <= OPTION_NAMES:
        name = next(name for name in options if name not in OPTION_NAMES)
        raise BadParameter(explain_unknown(name, OPTION_NAMES, arguments=("thinking", "prompt")))
    for name, value in options.items():
        if name in _KINDS:
            _check_kind(name, value, *_KINDS[name])
        if name in _MEMBERS and not isinstance(value, _MEMBERS[name][0]):
            for place, each in enumerate(value if isinstance(value, _LISTS) else ()):
                _check_kind(f"{name}[{place}]", each, *_MEMBERS[name])


def _check_kind(name: str, value: object, kinds: tuple[type, ...], right: str) -> None:
    """Raise BadParameter for a value of another type, without the value: it may be a secret."""
    if isinstance(value, bytes) or not isinstance(value, kinds):
        raise BadParameter(f"{name} must be {right}, and is {type(value).__name__}")


OPTION_NAMES = Options.__annotations__.keys()
# Those of no part of a request: one that has no others is a prompt alone.
_BESIDE = frozenset(
    (
        *("thinking_effort", "policy", "stream", "timeout", "headers", "attachments", "retries"),
        *("cache", "mcp", "approve", "max_steps", "refusals", "last_prompt"),
    )
)
NO_PARAMETERS = RequestParameters()
"""Those of a question without any."""
_LEFT_OUT = frozenset(("attachments", "cache", "refusals", "last_prompt"))
_PLAIN = (_BESIDE - _LEFT_OUT) | {"system"}
_SHORT = 8 * 1024  # letters; of more there are few that are alike
_NONE = type(None)
_LISTS = (Sequence, AbstractSet)  # collections that can be read more than once
# The types of options and of their members, unless their readers check them.
_KINDS: dict[str, tuple[tuple[Any, ...], str]] = {
    "system": ((str, Text, *_LISTS, _NONE), "text or a list of texts"),
    "stop": ((str, *_LISTS, _NONE), "text or a list of texts"),
    "tool_choice": ((str, ToolChoice, _NONE), f"{', '.join(_MODES)} or a tool's name"),
    "extras": ((Mapping, _NONE), "a mapping of the service's own fields"),
    "headers": ((Mapping, _NONE), "a mapping of names and texts"),
    "stream": ((bool,), "True or False"),
    "cache": ((bool,), "True or False"),
    "max_steps": ((int,), "a whole number"),
    "approve": ((Callable, _NONE), "a function"),
    "refusals": ((*_LISTS, Iterator), "a list of refusals"),
}
_MEMBERS: dict[str, tuple[tuple[Any, ...], str]] = {
    "system": ((str, Text), "text"),
    "stop": ((str,), "text"),
    "mcp": ((str, Mapping, ToolServer), "a name, a command line, a URL or a mapping"),
    "refusals": ((Rejection,), "a refusal"),
}


def chat_options(options: Options) -> tuple[ToolRunOptions, ChatOptions]:
    """Split the options of a question into those of a chat and those of its one turn."""
    check_options(options)
    tools, rest = (
        {name: value for name, value in options.items() if name in kind.__annotations__}
        for kind in (ToolRunOptions, ChatOptions)
    )
    return cast("ToolRunOptions", tools), cast("ChatOptions", rest)


def take_retries(options: Options) -> tuple[int, Options]:
    """Return how often to ask again, and the options of one question."""
    if "retries" not in options:
        return 0, options
    retries = parse_retries(options["retries"], options.get("output"))
    rest = {name: value for name, value in options.items() if name != "retries"}
    return retries, cast("Options", rest)


def correct_prompt(
    prompt: Prompt, reply: Reply, words: str, options: Options
) -> tuple[Prompt, Options]:
    """Return the conversation that asks again, and the options without the attachments in it."""
    asked = parse_prompt(prompt, parse_attachments(options.get("attachments")))
    rest = {name: value for name, value in options.items() if name != "attachments"}
    again = (*asked, reply.message, Message("user", (Text(words),)))
    return again, cast("Options", rest)


def build_request(
    prompt: Prompt, options: Options, attachments: Sequence[Attachment] = ()
) -> Request:
    """Build the request of a prompt and options, without its model."""
    messages, stream = parse_prompt(prompt, attachments), options.get("stream", True)
    if _BESIDE.issuperset(options):
        return Request("", messages, stream=stream)
    given, system, shape = options.get("tools"), options.get("system"), options.get("output")
    tools = tuple(Tools(given).tools) if given else ()
    stop = options.get("stop") or ()
    return Request(
        model="",
        messages=messages,
        system=parse_system(system) if system else (),
        tools=tools,
        tool_choice=_parse_tool_choice(options["tool_choice"], tools)
        if "tool_choice" in options
        else None,
        output=parse_output(shape) if shape is not None else None,
        max_tokens=options.get("max_tokens"),
        temperature=options.get("temperature"),
        top_p=options.get("top_p"),
        top_k=options.get("top_k"),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        stream=stream,
        extras=options.get("extras"),
    )


class PlainTexts(NamedTuple):
    """A question that is a short text, at most with a system prompt that is one too."""

    prompt: str
    system: str


def find_plain_texts(prompt: Prompt, options: Options) -> PlainTexts | None:
    """Return the texts of a question that has nothing else."""
    if type(prompt) is not str or not _PLAIN.issuperset(options) or not prompt.strip():
        return None
    system = options.get("system", "")
    if type(system) is not str or len(prompt) > _SHORT or len(system) > _SHORT:
        return None
    return PlainTexts(prompt, system)


def request_parameters(request: Request, options: Options) -> RequestParameters:
    """Return the parameters that affect thinking or go with it; raises BadParameter."""
    if _BESIDE.issuperset(options):
        return NO_PARAMETERS
    choice = request.tool_choice
    return check_parameters(
        request.max_tokens,
        request.temperature,
        request.top_p,
        request.top_k,
        tools=bool(request.tools),
        tool_choice=(choice.name or choice.mode) if choice else "auto",
        context=options.get("context"),
        seed=options.get("seed"),
    )


def _parse_tool_choice(given: str | ToolChoice | None, tools: Sequence[Tool]) -> ToolChoice | None:
    if given is None or isinstance(given, ToolChoice):
        return given
    if given in _MODES:
        return _MODES[given]
    if any(tool.name == given for tool in tools):
        return ToolChoice("tool", given)
    names = " ".join(tool.name for tool in tools)
    message = f"invalid tool_choice={given!r}; use {' '.join(_MODES)} or a tool's name: {names}"
    raise BadParameter(message.rstrip(": "))


def parse_timeouts(given: Any, usual: Timeouts) -> Timeouts:
    """Return the given timeouts, else the usual ones."""
    if given is None or isinstance(given, Timeouts):
        return given or usual
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < _FOR_EVER:
        message = f"invalid timeout={given!r}; use seconds above 0, or a pondero.Timeouts"
        raise BadParameter(message)
    return Timeouts(min(given, usual.connect), given, given)


_FOR_EVER = 1e9
