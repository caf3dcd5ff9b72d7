"""The tools of a conversation: functions, offered by their type hints, and those of MCP servers.

The model gets the exception of a tool as its result; it never ends the conversation.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

import msgspec

from ...canon import Blob, Image, Json, Text, Tool, ToolCall, ToolResult
from ...dialects import read_function
from ...errors import BadParameter
from ...store import ServerLike
from ...thinking import Adjustment
from ...transport import gather_results, run_in_thread
from ..tracing import ToolFacts, ToolNote, log_lost, log_tool, trace_tool
from .arguments import ToolArguments, read_signature

ToolLike = Callable[..., object] | Tool | Mapping[str, Json]
Content = tuple[Text | Image | Blob, ...]

_LONGEST = 64
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")  # what every service takes; some take more
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_]")


if TYPE_CHECKING:
    from ..tracing.agents import AgentSpan
    from .tool_servers import RemoteTool, ToolOutcome, ToolServers

Approve = Callable[[str, dict[str, Json]], object]
"""Called with a tool's name and arguments before it runs; returns True, False, or "always".

In an async chat it may be async.
"""


class OfferedTool(msgspec.Struct, frozen=True):
    """One tool of a conversation, on an MCP ``server`` under the name ``original``.

    If it does not run here, the caller of the chat or the service runs it. ``always``: it is
    approved for good.
    """

    tool: Tool
    server: str | None
    original: str
    runs: bool
    always: bool


class Tools:
    """The tools of one conversation: functions, and tools of MCP servers.

    A ``Tool`` is offered but not run. A chat that is given a ``Tools`` leaves its servers open.
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] = (),
        *,
        mcp: Iterable[ServerLike] = (),
        approve: Approve | None = None,
    ) -> None:
        self.approve = approve
        self._own: list[Tool] = []
        self._functions: dict[str, Callable[..., object]] = {}
        self._arguments: dict[str, ToolArguments] = {}
        self._remote: dict[str, RemoteTool] = {}
        self._always: set[str] = set()
        self._notes: list[Adjustment] = []
        if isinstance(tools, Tool | Mapping | str) or not isinstance(tools, Iterable):
            message = f"tools is a list; use tools=[{_short(tools)}]"
            raise BadParameter(message)
        for each in tools:
            self._add(each)
        self._servers = _servers(mcp)

    def branch(self) -> "Tools":
        """Return the same tools with approvals and connections of their own."""
        made = copy(self)
        servers = self._servers.branch() if self._servers is not None else None
        own = {"_own": [*self._own], "_always": {*self._always}, "_servers": servers}
        made.__dict__.update(own, _remote={}, _notes=[])
        return made

    @property
    def tools(self) -> list[Tool]:
        """Return the tools offered to the model, with those of opened servers."""
        if not self._remote:
            return self._own
        remote = (
            Tool(name, each.description, each.parameters) for name, each in self._remote.items()
        )
        return [*self._own, *remote]

    def list_tools(self) -> tuple[OfferedTool, ...]:
        """Return the tools with their origins, to be shown to users."""
        return tuple(
            OfferedTool(
                tool,
                remote.server if remote else None,
                remote.name if remote else tool.name,
                tool.name in self._functions or remote is not None,
                tool.name in self._always,
            )
            for tool in self.tools
            for remote in (self._remote.get(tool.name),)
        )

    def open(self) -> None:
        """Connect to the servers; raises Unreachable or Timeout."""
        if self._servers is not None:
            self._adopt(self._servers.open())

    async def aopen(self) -> None:
        """Do the same without blocking the caller's loop."""
        if self._servers is not None:
            self._adopt(await self._servers.aopen())

    def close(self) -> None:
        """Close the connections; they reopen when needed."""
        if self._servers is not None:
            self._servers.close()

    async def aclose(self) -> None:
        """Do the same without blocking the caller's loop."""
        if self._servers is not None:
            await self._servers.aclose()

    def news(self) -> tuple[Adjustment, ...]:
        """Return renamed tools and lost servers, each once."""
        for name, why in self._servers.pop_lost() if self._servers is not None else ():
            log_lost(name)
            self._notes.append(Adjustment("tool_server_lost", "tools", name, None, why))
        notes, self._notes = self._notes, []
        return tuple(notes)

    @property
    def runs_some(self) -> bool:
        """Return whether we run some of the tools."""
        return bool(self._functions) or self._servers is not None

    def runs(self, call: ToolCall) -> bool:
        """Return whether we run a call, not the caller of the chat."""
        return self._is_here(call) or all(tool.name != call.name for tool in self._own)

    def run_all(
        self, calls: Iterable[ToolCall], agent: "AgentSpan | None" = None
    ) -> list[ToolResult]:
        """Run calls in order, each after its approval; ``agent`` is the span of their turn."""
        return [
            _log_result(
                self.run(call, agent)
                if self._allows(call, self._ask_approval(call))
                else _rejected_result(call)
            )
            for call in calls
        ]

    async def arun_all(
        self, calls: Iterable[ToolCall], agent: "AgentSpan | None" = None
    ) -> list[ToolResult]:
        """Approve calls in order, then run them concurrently."""
        allowed = []
        for call in calls:
            verdict = self._ask_approval(call)
            verdict = await verdict if inspect.isawaitable(verdict) else verdict
            allowed.append((call, self._allows(call, verdict)))
        runs = [
            self.arun(call, agent) if allows else _arejected_result(call)
            for call, allows in allowed
        ]
        return [_log_result(result) for result in await gather_results(runs)]

    def run(self, call: ToolCall, agent: "AgentSpan | None" = None) -> ToolResult:
        """Run a tool; an async one runs in its own event loop."""
        with trace_tool(call, self._facts(call), agent) as note:
            note.result = result = self._run(call, note)
        return result

    async def arun(self, call: ToolCall, agent: "AgentSpan | None" = None) -> ToolResult:
        """Run a tool; one that is not async runs in a thread."""
        with trace_tool(call, self._facts(call), agent) as note:
            note.result = result = await self._arun(call, note)
        return result

    def _run(self, call: ToolCall, note: ToolNote) -> ToolResult:
        try:
            if self._servers is not None and (remote := self._remote.get(call.name)) is not None:
                return _remote_result(call, self._servers.call(remote, _object(call)))
            made = self._start(call)
            if inspect.isawaitable(made):
                made = _run_awaitable(made)
            return ToolResult(call.id, _content(made), name=call.name)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            note.error = error
            return _error_result(call, error)

    async def _arun(self, call: ToolCall, note: ToolNote) -> ToolResult:
        try:
            if self._servers is not None and (remote := self._remote.get(call.name)) is not None:
                return _remote_result(call, await self._servers.acall(remote, _object(call)))
            function = self._functions.get(call.name)
            if function is not None and not _is_async(function):
                made = await run_in_thread(self._start, call)
            else:
                made = self._start(call)
            if inspect.isawaitable(made):
                made = await made
            return ToolResult(call.id, _content(made), name=call.name)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            note.error = error
            return _error_result(call, error)

    def _facts(self, call: ToolCall) -> ToolFacts:
        if (remote := self._remote.get(call.name)) is not None:
            return ToolFacts(remote.description, "extension")
        own = next((tool for tool in self._own if tool.name == call.name), None)
        return ToolFacts(own.description if own is not None else "")

    def _is_here(self, call: ToolCall) -> bool:
        return call.name in self._functions or call.name in self._remote

    def _ask_approval(self, call: ToolCall) -> object:
        """Return the answer of ``approve``; True if no approval is needed."""
        needs_approval = self._is_here(call) and call.name not in self._always
        if self.approve is None or not needs_approval or not isinstance(call.arguments, dict):
            return True
        return self.approve(call.name, call.arguments)

    def _allows(self, call: ToolCall, verdict: object) -> bool:
        verdict = _run_awaitable(verdict) if inspect.isawaitable(verdict) else verdict
        if verdict == "always":
            self._always.add(call.name)
        return verdict is True or verdict == "always"  # not any true value: "no" is one

    def _adopt(self, found: "Sequence[RemoteTool]") -> None:
        own = {tool.name for tool in self._own}
        names = make_unique_names([(each.server, each.name) for each in found], own)
        before = self._remote
        self._remote = dict(zip(names, found, strict=True))
        for name, tool in self._remote.items():
            if name != tool.name and before.get(name) != tool:
                why = f"it is {tool.name!r} at the MCP server {tool.server!r}"
                self._notes.append(Adjustment("tool_renamed", "tools", tool.name, name, why))

    def _add(self, given: ToolLike) -> None:
        tool = given if isinstance(given, Tool) else _own(given) or self._add_function(given)
        if any(other.name == tool.name for other in self._own):
            message = f"two tools are called {tool.name!r}"
            raise BadParameter(message)
        self._own.append(tool)

    def _add_function(self, function: ToolLike) -> Tool:
        if not callable(function):
            message = f"invalid tool {function!r}; use a function, a Tool or the service's own dict"
            raise BadParameter(message)
        read = read_signature(function)
        if not _NAME.fullmatch(read.name):
            message = f"invalid tool name {read.name!r}; use at most 64 letters, digits and _"
            raise BadParameter(message)
        self._functions[read.name], self._arguments[read.name] = function, read
        return Tool(read.name, read.description, read.schema)

    def _start(self, call: ToolCall) -> object:
        arguments = self._arguments.get(call.name)
        if arguments is None:
            known = " ".join((*self._functions, *self._remote)) or "none"
            raise LookupError(f"there is no tool {call.name!r}; there are: {known}")
        return arguments.call(_object(call))


def make_unique_names(offers: Sequence[tuple[str, str]], taken: Iterable[str]) -> list[str]:
    """Return unique names that every service accepts, for tools given as (server, name).

    A name keeps its letters, digits and ``_``. If it is taken, its server's name comes first; if
    it is too long or still taken, it ends in a digest.
    """
    used, names = set(taken), []
    for server, name in offers:
        plain, full = _UNNAMEABLE.sub("_", name) or "tool", _UNNAMEABLE.sub("_", f"{server}_{name}")
        free = (each for each in (plain, full) if each not in used and len(each) <= _LONGEST)
        made = next(free, None) or _add_digest(full, f"{server} {name}", used)
        used.add(made)
        names.append(made)
    return names


def _add_digest(name: str, digest: str, used: set[str]) -> str:
    from hashlib import blake2b  # noqa: PLC0415 - few names are that long

    while True:
        digest = blake2b(digest.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        made = f"{name[: _LONGEST - len(digest) - 1]}_{digest}"
        if made not in used:
            return made


def _servers(mcp: Iterable[ServerLike]) -> "ToolServers | None":
    if isinstance(mcp, str | Mapping) or not isinstance(mcp, Iterable):
        raise BadParameter("mcp is a list; use mcp=[...]")
    given = tuple(mcp)
    if not given:
        return None
    from .tool_servers import ToolServers  # noqa: PLC0415 - few have any

    return ToolServers(given)


def _object(call: ToolCall) -> dict[str, Json]:
    if not isinstance(call.arguments, dict):
        raise TypeError(f"the arguments are not a JSON object: {call.arguments!r}")
    return call.arguments


def _remote_result(call: ToolCall, outcome: "ToolOutcome") -> ToolResult:
    return ToolResult(call.id, outcome.content, error=outcome.error, name=call.name)


def _rejected_result(call: ToolCall) -> ToolResult:
    reason = Text("the user did not allow this call")
    return ToolResult(call.id, (reason,), error=True, name=call.name)


def _log_result(result: ToolResult) -> ToolResult:
    log_tool(result.name or "", error=result.error)
    return result


async def _arejected_result(call: ToolCall) -> ToolResult:
    return _rejected_result(call)


def _own(given: ToolLike) -> Tool | None:
    if not isinstance(given, Mapping):
        return None
    if (function := read_function(given)) is not None:
        return function
    raw = dict(given)
    name = raw.get("name") or raw.get("type") or next(iter(raw), "")
    return Tool(str(name), raw=raw)


def _run_awaitable(made: Awaitable[object]) -> object:
    """Await it in its own loop, in its own thread if a loop is running already."""
    from asyncio import _get_running_loop, run  # noqa: PLC0415 - only for async tools

    if _get_running_loop() is None:
        return run(_await_value(made))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as in a notebook
    from contextvars import copy_context  # noqa: PLC0415 - as above

    with ThreadPoolExecutor(1) as thread:  # in the caller's context, as the same loop would be
        return thread.submit(copy_context().run, run, _await_value(made)).result()


async def _await_value(made: Awaitable[object]) -> object:
    return await made


def _is_async(function: Callable[..., object]) -> bool:
    called = type(function).__call__  # an object may have an async __call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _content(made: object) -> Content:
    if isinstance(made, Text | Image | Blob):
        return (made,)
    if isinstance(made, str):
        return (Text(made),)
    if isinstance(made, list | tuple) and made:
        parts = [part for part in made if isinstance(part, Text | Image | Blob)]
        if len(parts) == len(made):
            return tuple(parts)
    return (Text(msgspec.json.encode(made, enc_hook=_to_json).decode()),)


def _to_json(value: object) -> Json:
    """Return a value that msgspec does not know: a pydantic model's fields, else its text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def _error_result(call: ToolCall, error: Exception) -> ToolResult:
    words = f"{type(error).__name__}: {_words(error)}"
    return ToolResult(call.id, (Text(words),), error=True, name=call.name)


def _words(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error of a tool may be broken itself
        return "it cannot say why"


def _short(given: object) -> str:
    return getattr(given, "__name__", type(given).__name__)
