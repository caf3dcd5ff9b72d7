"""Plain functions as tools: offered by their type hints, run when the model calls for them.

What a tool raises goes back to the model as the result; it never ends the conversation. The JSON
Schema of types is made here too: of a tool's arguments, and of the shape of an answer.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from ..canon import Blob, Image, Json, Text, Tool, ToolCall, ToolResult, adapter, converted
from ..errors import BadParameter

ToolLike = Callable[..., object] | Tool | Mapping[str, Json]
Content = tuple[Text | Image | Blob, ...]

_ARGUMENT = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_SECTION = re.compile(r"(args|arguments|parameters|returns|raises|yields|examples?|notes?):\s*")
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")  # what every service takes; some take more


class Tools:
    """The tools of one conversation; those given as a ``Tool`` are offered and not run."""

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        self.tools: list[Tool] = []
        self._functions: dict[str, Callable[..., object]] = {}
        self._arguments: dict[str, type[msgspec.Struct]] = {}
        if isinstance(tools, Tool | Mapping | str) or not isinstance(tools, Iterable):
            message = f"tools is a list, also where there is one: tools=[{_short(tools)}]"
            raise BadParameter(message)
        for each in tools:
            self._add(each)

    def runs(self, call: ToolCall) -> bool:
        """Return whether we run a call, and not the caller of the chat."""
        offered = any(tool.name == call.name for tool in self.tools)
        return call.name in self._functions or not offered

    def run(self, call: ToolCall) -> ToolResult:
        """Return a tool's result; an async tool runs in an event loop of its own."""
        try:
            made = self._started(call)
            if inspect.isawaitable(made):
                made = _finished(made)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            return _failed(call, error)
        return _result(call, made)

    async def arun(self, call: ToolCall) -> ToolResult:
        """Return a tool's result; a tool that is not async runs in a thread."""
        try:
            function = self._functions.get(call.name)
            if function is not None and not _is_async(function):
                from asyncio import to_thread  # noqa: PLC0415 - here it is loaded

                made = await to_thread(self._started, call)
            else:
                made = self._started(call)
            if inspect.isawaitable(made):
                made = await made
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            return _failed(call, error)
        return _result(call, made)

    def _add(self, given: ToolLike) -> None:
        tool = given if isinstance(given, Tool) else _own(given) or self._offered(given)
        if any(other.name == tool.name for other in self.tools):
            message = f"two tools are called {tool.name!r}"
            raise BadParameter(message)
        self.tools.append(tool)

    def _offered(self, function: ToolLike) -> Tool:
        if not callable(function):
            message = (
                f"a tool is a function, a Tool or the service's own as a dict, not {function!r}"
            )
            raise BadParameter(message)
        arguments = arguments_of(function)
        name = arguments.__name__
        if not _NAME.fullmatch(name):
            message = f"a tool's name has letters, digits and _ only, at most 64, not {name!r}"
            raise BadParameter(message)
        self._functions[name], self._arguments[name] = function, arguments
        return Tool(name, summary_of(function), schema_of(arguments))

    def _started(self, call: ToolCall) -> object:
        function = self._functions.get(call.name)
        if function is None:
            known = " ".join(self._functions) or "none"
            raise LookupError(f"there is no tool {call.name!r}; there are: {known}")
        if not isinstance(call.arguments, dict):
            raise TypeError(f"the arguments are not a JSON object: {call.arguments!r}")
        given = converted(call.arguments, self._arguments[call.name], strict=False)
        first, named = [], {}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.POSITIONAL_ONLY:
                first.append(getattr(given, name))
            else:
                named[name] = getattr(given, name)
        return function(*first, **named)


def _own(given: ToolLike) -> Tool | None:
    """Return a service's own tool; its JSON is passed through as it is."""
    if not isinstance(given, Mapping):
        return None
    raw = dict(given)
    name = raw.get("name") or raw.get("type") or next(iter(raw), "")
    return Tool(str(name), raw=raw)


def _finished(made: Awaitable[object]) -> object:
    """Await it in a loop of its own: in a thread of its own where there is a loop already."""
    from asyncio import _get_running_loop, run  # noqa: PLC0415 - only for a tool that awaits

    if _get_running_loop() is None:
        return run(_awaited(made))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as in a notebook

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, _awaited(made)).result()


async def _awaited(made: Awaitable[object]) -> object:
    return await made


def _is_async(function: Callable[..., object]) -> bool:
    called = type(function).__call__  # an object may be called through an async method
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _result(call: ToolCall, made: object) -> ToolResult:
    try:
        return ToolResult(call.id, _content(made), name=call.name)
    except Exception as error:  # noqa: BLE001 - what was made may refuse to be written in any way
        return _failed(call, error)


def _content(made: object) -> Content:
    if isinstance(made, Text | Image | Blob):
        return (made,)
    if isinstance(made, str):
        return (Text(made),)
    if isinstance(made, list | tuple) and made:
        parts = [part for part in made if isinstance(part, Text | Image | Blob)]
        if len(parts) == len(made):
            return tuple(parts)
    return (Text(msgspec.json.encode(made, enc_hook=str).decode()),)


def _failed(call: ToolCall, error: Exception) -> ToolResult:
    words = f"{type(error).__name__}: {_words(error)}"
    return ToolResult(call.id, (Text(words),), error=True, name=call.name)


def _words(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error of a tool may be broken itself
        return "it cannot say why"


def _short(given: object) -> str:
    return getattr(given, "__name__", type(given).__name__)


# -- JSON Schema, from hints and docstrings --------------------------------------------------------


def schema_of(kind: Any) -> dict[str, Json]:
    """Return the schema of a type, one object with its definitions beside it.

    A type that has ``model_json_schema``, as pydantic's have, says it itself; of a type that has
    such types inside pydantic says it.
    """
    own = getattr(kind, "model_json_schema", None)
    if own is None and (inside := adapter(kind)) is not None:
        own = inside.json_schema
    if own is not None:
        said: dict[str, Json] = _closed(own())
        return said
    try:
        (schema,), components = msgspec.json.schema_components(
            (kind,), ref_template="#/$defs/{name}"
        )
    except TypeError as error:
        message = f"{kind!r} has no JSON schema: {error}"
        raise BadParameter(message) from None
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name in components and not _mentions(components[name], name):
        schema = {key: value for key, value in components.pop(name).items() if key != "title"}
    closed: dict[str, Json] = _closed(schema)
    if components:
        closed["$defs"] = {name: _closed(each) for name, each in components.items()}
    return closed


def arguments_of(function: Callable[..., object]) -> type[msgspec.Struct]:
    """Return a type that holds one call's arguments: a field each, defaults optional."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        message = f"the hints of {_name(function)} cannot be read: {error}"
        raise BadParameter(message) from None
    described = _described(inspect.getdoc(function) or "")
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            message = f"{_name(function)} takes {parameter}; a tool's parameters have names"
            raise BadParameter(message)
        hint = _noted(hints.get(name, Any), described.get(name))
        if parameter.default is parameter.empty:
            fields.append((name, hint))
        else:
            fields.append((name, hint, _default(parameter.default)))
    return msgspec.defstruct(
        _name(function), fields, kw_only=True, forbid_unknown_fields=True, frozen=True
    )


def summary_of(function: Callable[..., object]) -> str:
    """Return what a docstring says of the function as a whole."""
    lines = []
    for line in (inspect.getdoc(function) or "").splitlines():
        if _SECTION.fullmatch(line.strip().lower()):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def _described(doc: str) -> dict[str, str]:
    """Return what the lines under ``Args:`` say, by the parameter's name."""
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in doc.splitlines():
        word = line.strip()
        if _SECTION.fullmatch(word.lower()):
            inside = word.lower().startswith(("arg", "param"))
        elif not inside or not word:
            continue
        elif argument := _ARGUMENT.fullmatch(word):
            name, found[argument[1]] = argument[1], argument[2]
        elif name:
            found[name] = f"{found[name]} {word}"
    return found


def _noted(hint: Any, said: str | None) -> Any:
    """Return the hint with a description: the docstring's, or words in ``Annotated``."""
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        said = said or next((note for note in notes if isinstance(note, str)), None)
        for note in notes:
            if isinstance(note, msgspec.Meta):
                kind = Annotated[kind, note]
        hint = kind
    return Annotated[hint, msgspec.Meta(description=said)] if said else hint


def _default(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return msgspec.field(default_factory=lambda: value)


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _closed(schema: Json) -> Json:
    """Return the schema with nothing left open: no other keys in an object, a type beside words."""
    if isinstance(schema, Mapping):
        made = {key: _closed(value) for key, value in schema.items()}
        if isinstance(made.get("properties"), dict) and made.get("type") == "object":
            made.setdefault("additionalProperties", False)
        words = made.get("enum")
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            made.setdefault("type", "string")
        return made
    return [_closed(each) for each in schema] if isinstance(schema, list) else schema


def _mentions(schema: Json, name: str) -> bool:
    if isinstance(schema, Mapping):
        return schema.get("$ref") == f"#/$defs/{name}" or any(
            _mentions(each, name) for each in schema.values()
        )
    return isinstance(schema, list) and any(_mentions(each, name) for each in schema)
