"""What a caller may pass beside model and prompt, and how it becomes a request."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypedDict, cast

from ...canon import (
    Json,
    OutputFormat,
    Request,
    Text,
    Tool,
    ToolChoice,
)
from ...errors import BadParameter
from ...exchange import Timeouts
from ...handoff import Rejection
from ...store import ServerLike, ToolServer
from ...thinking import RequestParameters, ThinkingLike
from ..dial import PolicyLike, check_parameters
from ..tools.schemas import make_schema
from ..tools.tools import Approve, ToolLike, Tools
from .attachments import Attachment, Source
from .messages import Prompt, System, parse_prompt, system_of

_MODES = {
    "auto": ToolChoice("auto"),
    "none": ToolChoice("none"),
    "required": ToolChoice("required"),
}


class CommonOptions(TypedDict, total=False):
    """The options of a turn without ``output``, which makes the type of its reply."""

    thinking_effort: ThinkingLike
    system: System
    tool_choice: str | ToolChoice | None
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop: str | Sequence[str]
    extras: Mapping[str, Json] | None
    policy: PolicyLike
    stream: bool
    context: int | None
    timeout: float | Timeouts | None
    headers: Mapping[str, str] | None
    attachments: Iterable[Source]


class ChatOptions(CommonOptions, total=False):
    """What can be passed for every question of a chat, or for one; all of it is optional.

    ``output`` is a type (a dataclass, a TypedDict, a pydantic model, a list of them ...), a JSON
    schema, or True for any JSON. ``extras`` are the service's own fields. ``stream`` is how the
    answer travels: in one piece if False, where long thinking could outlast the wait for its first
    byte. ``context`` is how many tokens the conversation has already, for the policy's context_cap;
    a chat knows by itself. ``timeout`` is how many seconds to wait for a connection, for the first
    byte and between bytes. ``headers`` go along with ours; a key is given to the client, not here.
    ``attachments`` are paths, URLs, bytes or parts, for one question and before its words; a model
    that cannot read one is not asked.
    """

    output: Any


class QuestionOptions(CommonOptions, total=False):
    """The options of one question without ``output``, which makes the type of its reply."""

    tools: Iterable[ToolLike]
    mcp: Iterable[ServerLike]
    approve: Approve | None
    max_steps: int
    refusals: Iterable[Rejection]


class Options(QuestionOptions, ChatOptions, total=False):
    """What can be passed for one question: the same, and the tools that may be called.

    With ``mcp``, ``approve`` or ``max_steps``, ``ask`` runs the tools as a chat does: functions and
    those of MCP servers. Without any of them the caller runs the calls.
    ``refusals`` is what services refused of this conversation before; see ``Stream.refusals``.
    """


RUNNING = frozenset(("mcp", "approve", "max_steps"))
"""The options that say that tools are to be run."""


def check_options(options: Mapping[str, object]) -> None:
    """Raise BadParameter for a name that is not an option, or a value of a type it cannot be."""
    if not options.keys() <= _NAMES:
        name = next(name for name in options if name not in _NAMES)
        message = f"unknown option {name!r}; use {' '.join(Options.__annotations__)}"
        raise BadParameter(message)
    for name, value in options.items():
        if name in _KINDS:
            _check_kind(name, value, *_KINDS[name])
        if name in _MEMBERS and not isinstance(value, _MEMBERS[name][0]):
            for place, each in enumerate(value if isinstance(value, _LISTS) else ()):
                _check_kind(f"{name}[{place}]", each, *_MEMBERS[name])


def _check_kind(name: str, value: object, kinds: tuple[type, ...], right: str) -> None:
    """Raise BadParameter for a value of another type; it is not shown, for it may be a secret."""
    if isinstance(value, bytes) or not isinstance(value, kinds):
        raise BadParameter(f"{name} must be {right}, and is {type(value).__name__}")


_NAMES = Options.__annotations__.keys()
_NONE = type(None)
_LISTS = (Sequence, AbstractSet)  # what can be read more than once
# What options and the members of lists can be, where whatever reads them does not say it itself.
_KINDS: dict[str, tuple[tuple[Any, ...], str]] = {
    "system": ((str, Text, *_LISTS, _NONE), "text or a list of texts"),
    "stop": ((str, *_LISTS, _NONE), "text or a list of texts"),
    "tool_choice": ((str, ToolChoice, _NONE), f"{', '.join(_MODES)} or a tool's name"),
    "extras": ((Mapping, _NONE), "a mapping of the service's own fields"),
    "headers": ((Mapping, _NONE), "a mapping of names and texts"),
    "stream": ((bool,), "True or False"),
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


class ToolRunOptions(TypedDict, total=False):
    """What a chat is made with to run tools."""

    tools: Iterable[ToolLike]
    mcp: Iterable[ServerLike]
    approve: Approve | None
    max_steps: int


def chat_options(options: Options) -> tuple[ToolRunOptions, ChatOptions]:
    """Return what a chat is made with that runs tools for one question, and what it is asked."""
    check_options(options)
    kept = {
        name: value for name, value in options.items() if name in ToolRunOptions.__annotations__
    }
    rest = {
        name: value
        for name, value in options.items()
        if name not in kept and name in ChatOptions.__annotations__
    }
    return cast("ToolRunOptions", kept), cast("ChatOptions", rest)


def build_request(
    prompt: Prompt, options: Options, attachments: Sequence[Attachment] = ()
) -> Request:
    """Return the request that prompt and options make; its model is not known yet."""
    messages = parse_prompt(prompt, attachments)
    given, system, shape = options.get("tools"), options.get("system"), options.get("output")
    tools = tuple(Tools(given).tools) if given else ()
    stop = options.get("stop") or ()
    return Request(
        model="",
        messages=messages,
        system=system_of(system) if system else (),
        tools=tools,
        tool_choice=choice_of(options["tool_choice"], tools) if "tool_choice" in options else None,
        output=output_of(shape) if shape is not None else None,
        max_tokens=options.get("max_tokens"),
        temperature=options.get("temperature"),
        top_p=options.get("top_p"),
        top_k=options.get("top_k"),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        stream=options.get("stream", True),
        extras=options.get("extras"),
    )


def request_parameters(request: Request, context: int | None) -> RequestParameters:
    """Return what of a request bears on how much the model can think; raises BadParameter."""
    choice = request.tool_choice
    return check_parameters(
        request.max_tokens,
        request.temperature,
        request.top_p,
        request.top_k,
        tools=bool(request.tools),
        tool_choice=(choice.name or choice.mode) if choice else "auto",
        context=context,
    )


def choice_of(given: str | ToolChoice | None, tools: Sequence[Tool]) -> ToolChoice | None:
    """Return the tool choice: a word, or a tool's name."""
    if given is None or isinstance(given, ToolChoice):
        return given
    if given in _MODES:
        return _MODES[given]
    if any(tool.name == given for tool in tools):
        return ToolChoice("tool", given)
    names = " ".join(tool.name for tool in tools)
    message = f"tool_choice={given!r} cannot be; use {' '.join(_MODES)} or a tool's name: {names}"
    raise BadParameter(message.rstrip(": "))


def output_of(given: Any) -> OutputFormat | None:
    """Return the shape of the answer: from a type, a schema, or any JSON."""
    if given is None or given is False or isinstance(given, OutputFormat):
        return given or None
    if given is True:
        return OutputFormat()
    if isinstance(given, Mapping):
        return OutputFormat(dict(given))
    return OutputFormat(make_schema(given), getattr(given, "__name__", "answer"))


def output_kind(given: Any) -> Any:
    """Return the type that an answer is read as; None where any JSON will do."""
    return None if given is None or isinstance(given, bool | Mapping | OutputFormat) else given


def timeouts_of(given: Any, usual: Timeouts) -> Timeouts:
    """Return how long to wait: what was given for this question, else as usual."""
    if given is None or isinstance(given, Timeouts):
        return given or usual
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < _FOR_EVER:
        message = f"timeout={given!r} cannot be; use seconds above 0, or a pondero.Timeouts"
        raise BadParameter(message)
    return Timeouts(min(given, usual.connect), given, given)


_FOR_EVER = 1e9
