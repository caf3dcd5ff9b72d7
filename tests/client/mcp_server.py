"""A real MCP server of the ``mcp`` package: stdio here; the tests serve ``SERVER`` over HTTP too."""

import os
import sys
import time

from mcp.server.mcpserver import Image, MCPServer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
SERVER = MCPServer("numbers")


@SERVER.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


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


if __name__ == "__main__":
    if sys.argv[1:] == ["broken"]:
        sys.exit("no database here")
    SERVER.run("stdio")
