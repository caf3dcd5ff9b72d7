"""Plain functions as tools: offered by their hints, run when called for.

What a tool raises goes back to the model as the result; it never ends the conversation.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from ..canon import Blob, Image, Json, Text, Tool, ToolCall, ToolResult
from ..errors import BadParameter
from .schema import arguments_of, schema_of, summary_of

ToolLike = Callable[..., object] | Tool | Mapping[str, Json]
Content = tuple[Text | Image | Blob, ...]

_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")  # what every service takes; others take more


class Toolbox:
    """The tools of one conversation; those given as a ``Tool`` are offered and not run."""

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        self.tools: list[Tool] = []
        self._functions: dict[str, Callable[..., object]] = {}
        self._arguments: dict[str, type[msgspec.Struct]] = {}
        for each in tools:
            self._add(each)

    def runs(self, call: ToolCall) -> bool:
        """Return whether a call is for us to run, or for who asked."""
        offered = any(tool.name == call.name for tool in self.tools)
        return call.name in self._functions or not offered

    def run(self, call: ToolCall) -> ToolResult:
        """Return what the tool says; an async one runs in a loop of its own."""
        try:
            made = self._started(call)
            if inspect.isawaitable(made):
                made = _finished(made)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            return _failed(call, error)
        return _result(call, made)

    async def arun(self, call: ToolCall) -> ToolResult:
        """Return what the tool says; one that is not async runs in a thread."""
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
        given = msgspec.convert(call.arguments, self._arguments[call.name], strict=False)
        first, named = [], {}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.POSITIONAL_ONLY:
                first.append(getattr(given, name))
            else:
                named[name] = getattr(given, name)
        return function(*first, **named)


def _own(given: ToolLike) -> Tool | None:
    """Return a service's own tool, passed through as it is written there."""
    if not isinstance(given, Mapping):
        return None
    raw = dict(given)
    name = raw.get("name") or raw.get("type") or next(iter(raw), "")
    return Tool(str(name), raw=raw)


def _finished(made: object) -> object:
    """Await it in a loop of its own: in a thread of its own where there is a loop already."""
    from asyncio import _get_running_loop, run  # noqa: PLC0415 - only for a tool that awaits

    if _get_running_loop() is None:
        return run(_awaited(made))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as in a notebook

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, _awaited(made)).result()


async def _awaited(made: object) -> object:
    return await made  # type: ignore[misc]  # isawaitable said so


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - its kind is asked, not whether it is there
    )


def _result(call: ToolCall, made: object) -> ToolResult:
    try:
        return ToolResult(call.id, _content(made), name=call.name)
    except (TypeError, ValueError, OverflowError) as error:
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
    words = f"{type(error).__name__}: {error}"
    return ToolResult(call.id, (Text(words),), error=True, name=call.name)
