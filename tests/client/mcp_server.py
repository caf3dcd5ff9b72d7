"""A real MCP server of the ``mcp`` package: a program that speaks stdio, or ``serving`` over HTTP."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server.mcpserver import Image, MCPServer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
SERVER = MCPServer("numbers")


@SERVER.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@SERVER.tool()
def spell(number: int) -> str:
    """Return a number as text, which is JSON as well."""
    return str(number)


@SERVER.tool()
def lines(document: str) -> list[str]:
    """Return the lines of a text."""
    return document.splitlines()


@SERVER.tool(name="multiply.two-numbers")
def multiply(a: int, b: int) -> dict[str, int]:
    """Multiply two numbers."""
    return {"product": a * b}


@SERVER.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@SERVER.tool()
def picture() -> Image:
    """Draw."""
    return Image(data=PNG, format="png")


@SERVER.tool()
def environment() -> list[str]:
    """Name the variables that this server was given."""
    return sorted(os.environ)


@SERVER.tool()
def process() -> int:
    """Return the id of this process."""
    return os.getpid()


@SERVER.tool()
def sleep(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "awake"


@SERVER.tool()
def die() -> str:
    """End this process, as a server does that crashes."""
    os._exit(3)


@contextmanager
def serving() -> Iterator[str]:
    """Serve the same tools over streamable HTTP; yields the address."""
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = uvicorn.Config(SERVER.streamable_http_app(), log_level="error", lifespan="on")
        served = uvicorn.Server(settings)
        thread = threading.Thread(target=served.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            served.should_exit = served.force_exit = True
            thread.join(10)


if __name__ == "__main__":
    if sys.argv[1:] == ["broken"]:
        sys.exit("no database here")
    SERVER.run("stdio")
