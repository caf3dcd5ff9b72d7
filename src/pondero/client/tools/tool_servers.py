"""Connections to MCP servers, and the results of their tools; ``Tools`` calls it.

The connections live in an event loop in their own thread, which sync and async chats share. One
task opens and closes each connection; a server that we started ends with it.
"""

import asyncio
import atexit
import os
from base64 import b64decode
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import cache
from tempfile import TemporaryFile
from threading import Lock, Thread, current_thread
from typing import IO, TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet, finalize

import msgspec
from msgspec import Struct

from ...canon import Blob, Image, Json, Text
from ...errors import MissingExtra, PonderoError, Timeout, Unreachable
from ...extras import install_hint
from ...store import ServerLike, ToolServer, expand_variables, redact_secrets, resolve_tool_server
from ...transport import in_trio, run_in_thread
from ..prompts.attachments import fence_text

if TYPE_CHECKING:
    from mcp import Client

R = TypeVar("R")
Content = tuple[Text | Image | Blob, ...]

_CLOSING = 10.0  # seconds to wait for a server to end; mcp kills it long before
_LONGEST = 300  # characters of a server's error message
_PAGES = 1_000  # of a list of tools; a server may always name another page


class RemoteTool(Struct, frozen=True):
    """A tool as its server describes it."""

    server: str
    name: str
    description: str
    parameters: Json


class ToolOutcome(Struct, frozen=True):
    """The result of a call."""

    content: Content
    error: bool


class ToolServers:
    """The MCP servers of one conversation; threads may share them, a fork opens its own."""

    def __init__(self, given: Iterable[ServerLike]) -> None:
        self._given = tuple(given)
        self._links = _links(self._given)
        self._opening = Lock()
        self._background: _Background | None = None
        self._process = os.getpid()

    def branch(self) -> "ToolServers":
        """Return the same servers with connections of their own."""
        return ToolServers(self._given)

    def open(self) -> tuple[RemoteTool, ...]:
        """Connect to all servers and return their tools, in order."""
        return self._loop().wait(_open_links(self._links))

    async def aopen(self) -> tuple[RemoteTool, ...]:
        """Do the same without blocking the caller's loop."""
        return await self._loop().wait_async(_open_links(self._links))

    def call(self, tool: RemoteTool, arguments: dict[str, Json]) -> ToolOutcome:
        """Call a tool; raises Unreachable or Timeout if there is no result."""
        return self._loop().wait(self._link(tool).call(tool.name, arguments))

    async def acall(self, tool: RemoteTool, arguments: dict[str, Json]) -> ToolOutcome:
        """Do the same without blocking the caller's loop."""
        return await self._loop().wait_async(self._link(tool).call(tool.name, arguments))

    def pop_lost(self) -> list[tuple[str, str]]:
        """Return the servers lost since the last call, each with the reason."""
        return [(link.spec.name, why) for link in self._links if (why := link.pop_loss())]

    def close(self) -> None:
        """Close every connection and the servers that we started; may be called twice."""
        background, self._background = self._background, None
        if background is not None and self._process == os.getpid():
            background.stop(wait=True)

    async def aclose(self) -> None:
        """Do the same without blocking the caller's loop."""
        await run_in_thread(self.close)

    def _link(self, tool: RemoteTool) -> "_Link":
        return next(link for link in self._links if link.spec.name == tool.server)

    def _loop(self) -> "_Background":
        with self._opening:
            if self._process != os.getpid():  # the connections are the parent's
                self._process, self._background = os.getpid(), None
                self._links = [_Link(link.spec) for link in self._links]
            if self._background is None:
                self._background = _Background(self._links)
                finalize(self, self._background.stop)
            return self._background


def _links(given: Iterable[ServerLike]) -> "list[_Link]":
    """Return a link for each server; a repeated name gets a number."""
    links: list[_Link] = []
    for each in given:
        spec, number = resolve_tool_server(each), 1
        names = {link.spec.name for link in links}
        name = spec.name
        while name in names:
            number += 1
            name = f"{spec.name}{number}"
        links.append(_Link(msgspec.structs.replace(spec, name=name)))
    return links


async def _open_links(links: "Sequence[_Link]") -> tuple[RemoteTool, ...]:
    made = await asyncio.gather(*(link.open() for link in links), return_exceptions=True)
    for each in made:
        if isinstance(each, BaseException):
            raise each
    return tuple(tool for link in links for tool in link.tools)


# -- one server ------------------------------------------------------------------------------------


class _Link:
    """One server: the task of its connection, and its tools."""

    def __init__(self, spec: ToolServer) -> None:
        self.spec = spec
        self.tools: tuple[RemoteTool, ...] = ()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._end: asyncio.Event | None = None
        self._opening: asyncio.Lock | None = None
        self._loss = ""

    async def open(self) -> None:
        """Connect if not connected; raises Unreachable or Timeout."""
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if self._client is not None:
                return
            await self.close()
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold(ready))
            try:
                async with asyncio.timeout(self.spec.timeout):
                    await asyncio.shield(ready)
            except TimeoutError:
                await self.close()
                seconds = self.spec.timeout
                message = f"the MCP server {self.spec.name!r} did not start within {seconds:g} s"
                raise Timeout(message) from None
            except BaseException:
                ready.cancel()
                await self.close()
                raise

    async def close(self) -> None:
        task, self._task, self._client = self._task, None, None
        if task is None:
            return
        if self._end is not None:
            self._end.set()
        else:
            task.cancel()
        _, late = await asyncio.wait([task], timeout=_CLOSING)
        for each in late:
            each.cancel()

    async def call(self, name: str, arguments: dict[str, Json]) -> ToolOutcome:
        if self._client is None:
            raise Unreachable(self._loss or f"the MCP server {self.spec.name!r} is not connected")
        from mcp import MCPError  # noqa: PLC0415 - loaded already

        try:
            result = await self._client.call_tool(name, arguments, self.spec.timeout)
        except MCPError as error:
            raise self._trouble(error) from error
        except Exception as error:  # a broken connection may raise anything
            raise self._lose(error) from error
        return _outcome(result)

    def pop_loss(self) -> str:
        loss, self._loss = self._loss, ""
        return loss

    def _trouble(self, error: Any) -> PonderoError:
        from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT  # noqa: PLC0415 - loaded already

        if error.code == CONNECTION_CLOSED:
            return self._lose(error)
        words = redact_secrets(str(error.message))
        if error.code == REQUEST_TIMEOUT:
            return Timeout(f"the MCP server {self.spec.name!r} did not answer in time: {words}")
        return PonderoError(f"the MCP server {self.spec.name!r} rejected the call: {words}")

    def _lose(self, error: BaseException) -> Unreachable:
        self._client = None
        self._loss = f"the MCP server {self.spec.name!r} was lost: {_words(error)}"
        return Unreachable(self._loss)

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        """Connect, resolve ``ready``, and keep the connection until the end."""
        self._end = None
        with TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            try:
                async with _connect(self.spec, said) as client:
                    self.tools = await _list_tools(client, self.spec.name)
                    self._client, self._end = client, asyncio.Event()
                    if not ready.done():
                        ready.set_result(None)
                    await self._end.wait()
            except Exception as error:  # noqa: BLE001 - ``ready`` reports any of them
                self._client = None
                if not ready.done():
                    ready.set_exception(self._start_error(error, said))

    def _start_error(self, error: Exception, said: IO[str]) -> PonderoError:
        if isinstance(error, PonderoError):
            return error
        said.seek(0, os.SEEK_SET)
        lines = said.read(1 << 20).strip().splitlines()
        last = f"; its last output: {redact_secrets(lines[-1])[:_LONGEST]}" if lines else ""
        message = f"the MCP server {self.spec.name!r} did not start: {_words(error)}{last}"
        return Unreachable(message)


@asynccontextmanager
async def _connect(spec: ToolServer, said: IO[str]) -> "AsyncIterator[Client]":
    """Yield a connected client; ``said`` gets the stderr of a command."""
    try:
        from mcp import Client, StdioServerParameters  # noqa: PLC0415 - an extra
        from mcp.client.stdio import stdio_client  # noqa: PLC0415 - an extra
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra(f"MCP servers need mcp; {install_hint('mcp')}") from None
    _silence()
    if spec.url is not None:
        import httpx2  # noqa: PLC0415 - mcp's HTTP library

        headers = {name: expand_variables(value) for name, value in spec.headers.items()}
        wait = httpx2.Timeout(spec.timeout, read=None)  # a call has its own timeout
        async with httpx2.AsyncClient(headers=headers, timeout=wait) as http:
            over = streamable_http_client(expand_variables(spec.url), http_client=http)
            async with Client(over, read_timeout_seconds=spec.timeout) as client:
                yield client
        return
    command = StdioServerParameters(
        command=spec.command or "",
        args=[expand_variables(each) for each in spec.args],
        env={name: expand_variables(value) for name, value in spec.env.items()},
        cwd=spec.cwd,
    )
    over = stdio_client(command, errlog=said)  # type: ignore[arg-type]  # it wants a file, not TextIO
    async with Client(over, read_timeout_seconds=spec.timeout) as client:
        yield client


async def _list_tools(client: "Client", server: str) -> tuple[RemoteTool, ...]:
    """Return the tools of all pages; the first of two with one name."""
    found: dict[str, RemoteTool] = {}
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            made = RemoteTool(server, tool.name, tool.description or "", tool.input_schema)
            found.setdefault(tool.name, made)
        before, cursor = cursor, page.next_cursor
        if not cursor or cursor == before:
            break
    return tuple(found.values())


@cache
def _silence() -> None:
    """Keep mcp's log off the screen, unless the application configured logging."""
    import logging  # noqa: PLC0415 - mcp has loaded it

    logging.getLogger("mcp").addHandler(logging.NullHandler())


def _words(error: BaseException) -> str:
    """Return the first error of a group as one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    line = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    return redact_secrets(line)[:_LONGEST]


# -- results ---------------------------------------------------------------------------------------


def _outcome(result: Any) -> ToolOutcome:
    content = [part for block in result.content if (part := _part(block)) is not None]
    structured = result.structured_content
    if structured is not None and not _is_repeated(structured, content):
        content.append(Text(msgspec.json.encode(structured).decode()))
    return ToolOutcome(tuple(content) or (Text(""),), bool(result.is_error))


def _part(block: Any) -> Text | Image | Blob | None:
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return Image(block.mime_type, _bytes(block.data))
        case "audio":
            return Blob(block.mime_type, _bytes(block.data))
        case "resource_link":
            return Text(f"{block.name}: {block.uri}")
        case "resource":
            return _resource(block.resource)
    return None


def _resource(found: Any) -> Text | Image | Blob:
    name, text = str(found.uri), getattr(found, "text", None)  # a resource has a text or a blob
    if text is not None:
        return fence_text(text, name)
    data, kind = _bytes(found.blob), found.mime_type or "application/octet-stream"
    return Image(kind, data) if kind.startswith("image/") else Blob(kind, data, name=name)


def _bytes(text: str) -> bytes:
    data = b64decode(text, validate=True)
    if not data:
        raise ValueError("the tool returned an empty picture or file")
    return data


def _is_repeated(structured: Json, content: Iterable[object]) -> bool:
    """Return whether the texts repeat the structured content, as most servers do."""
    texts = [part.text for part in content if isinstance(part, Text)]
    # The mcp package wraps a bare value in {"result": ...}.
    is_wrapped = isinstance(structured, dict) and list(structured) == ["result"]
    alone = structured["result"] if is_wrapped else structured
    items = alone if isinstance(alone, list) else [alone]
    return any(
        len(values) == len(texts) and all(map(_says, texts, values))
        for values in ([structured], [alone], items)
    )


def _says(text: str, value: Json) -> bool:
    """Return whether a text is this value: as it is, for "42" is a text too, or read as JSON."""
    if text == value:
        return True
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.DecodeError, RecursionError):
        return False


# -- the event loop --------------------------------------------------------------------------------


class _Background:
    """An event loop in a thread; it closes the links when it is stopped."""

    def __init__(self, links: Sequence[_Link]) -> None:
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = Thread(target=_run, args=(links, started), name="pondero-mcp", daemon=True)
        self._thread.start()
        self._loop, self._ended = started.result()
        _RUNNING.add(self)

    def wait(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine there and wait for its result; Ctrl-C cancels it."""
        future = self._submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def wait_async(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine there and await its result; it is cancelled with its caller."""
        if in_trio():  # which cannot await a future of another thread
            return await run_in_thread(self.wait, work)
        return await asyncio.wrap_future(self._submit(work))

    def stop(self, *, wait: bool = False) -> None:
        if self._thread.is_alive() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)
            if wait and self._thread is not current_thread():
                self._thread.join(_CLOSING)

    def _submit(self, work: Coroutine[Any, Any, R]) -> "Future[R]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)


_RUNNING: WeakSet[_Background] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for each in tuple(_RUNNING):
        each.stop(wait=True)


def _run(
    links: Sequence[_Link], started: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]"
) -> None:
    async def until_ended() -> None:
        ended = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), ended))
        await ended.wait()
        await asyncio.gather(*(link.close() for link in links))

    asyncio.run(until_ended())
