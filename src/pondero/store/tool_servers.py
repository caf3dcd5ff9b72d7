"""MCP servers as config.toml or a caller names them; the client connects to them.

config.toml holds no keys: ``$NAME`` in ``env``, ``headers`` and ``args`` is the value of that
variable, read when the client connects.
"""

import os
import re
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ..canon import convert_json
from ..errors import BadConfig, BadParameter
from .command_lines import split_command
from .config import config_table
from .secrets import holds_secret, register_secret

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_RUNNERS = frozenset(("npx", "uvx", "uv", "python", "python3", "node", "bunx", "deno", "docker"))
_NAME = re.compile(r"[\w-]+")  # a key of TOML that needs no quotes
_SUFFIX = re.compile(r"\.(?:py|js|ts|mjs|exe|cmd)$")


class ToolServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One MCP server: a ``command`` to start, or the ``url`` of one that runs.

    ``timeout``: seconds for its start, and for each call.
    """

    name: str = ""
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    timeout: float = 60.0

    def __repr__(self) -> str:
        """Omit variables and headers: they hold keys."""
        where = self.url or shlex.join((self.command or "", *self.args))
        return f"ToolServer({self.name!r}, {where!r})"


ServerLike = str | Mapping[str, Any] | ToolServer


def load_tool_servers() -> dict[str, ToolServer]:
    """Return the servers of config.toml by name; raises BadConfig for an invalid one."""
    servers = {}
    for name, table in config_table("mcp").items():
        if not isinstance(table, Mapping):
            message = f"mcp.{name} is not a table; write [mcp.{name}] with a command or a url"
            raise BadConfig(message)
        try:
            servers[name] = _server({"name": name, **table})
        except BadParameter as error:
            message = f"[mcp.{name}]: {error}"
            raise BadConfig(message) from None
        _check_keyless(name, servers[name])
    return servers


def resolve_tool_server(given: ServerLike) -> ToolServer:
    """Return a server from its name in config.toml, its URL, its command line, or a mapping."""
    if isinstance(given, ToolServer):
        return given
    if isinstance(given, Mapping):
        return _server(dict(given))
    if not given.strip():
        raise BadParameter("an MCP server is a name from config.toml, a command line or a URL")
    known = load_tool_servers()
    if given in known:
        return known[given]
    if given.startswith(("http://", "https://")):
        return _server({"url": given})
    return _from_command_line(given, known)


def expand_variables(text: str) -> str:
    """Replace each ``$NAME`` by its value, and register the value as a secret."""

    def read_variable(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if (value := os.environ.get(name)) is None:
            message = f"an MCP server needs the variable {name}, which is not set"
            raise BadConfig(message)
        register_secret(value)
        return value

    return _VARIABLE.sub(read_variable, text)


def _from_command_line(line: str, known: Mapping[str, ToolServer]) -> ToolServer:
    from shutil import which  # noqa: PLC0415 - only to start a server

    try:
        command, *args = split_command(line)
    except ValueError as error:
        message = f"invalid command line {line!r}: {error}"
        raise BadParameter(message) from None
    if which(command) is None and args:
        message = f"cannot start the MCP server {line!r}: {command!r} is not installed"
        raise BadParameter(message)
    if which(command) is None:
        names = f" ({' '.join(known)})" if known else ""
        message = (
            f"unknown MCP server {command!r}: not a command, a URL, or a server in config.toml"
        )
        message += names
        if not args and _NAME.fullmatch(command):
            message += f"; describe it there as [mcp.{command}], with a command or a url"
        raise BadParameter(message)
    return _server({"command": command, "args": args})


def _server(raw: dict[str, Any]) -> ToolServer:
    try:
        server: ToolServer = convert_json(raw, ToolServer)
    except msgspec.ValidationError as error:
        message = f"invalid MCP server: {error}"
        raise BadParameter(message) from None
    if (server.command is None) is (server.url is None):
        raise BadParameter("an MCP server has a command, or a url, and not both")
    if server.url is not None and urlsplit(server.url).scheme not in ("http", "https"):
        message = f"an MCP server's url begins with http:// or https://, not {server.url!r}"
        raise BadParameter(message)
    if not 0 < server.timeout < 1e6:
        message = f"invalid timeout={server.timeout!r}; use seconds above 0"
        raise BadParameter(message)
    return server if server.name else msgspec.structs.replace(server, name=_short_name(server))


def _short_name(server: ToolServer) -> str:
    """Return a short name: host and port, or the program behind runners and their options."""
    if server.url is not None:
        return urlsplit(server.url).netloc.rpartition("@")[2] or "server"
    words = [word for word in (server.command or "", *server.args) if not word.startswith("-")]
    bare = [_SUFFIX.sub("", re.split(r"[\\/]", word)[-1]) for word in words]
    return next((word for word in bare if word and word not in _RUNNERS), bare[0])


def _check_keyless(name: str, server: ToolServer) -> None:
    for value in (*server.args, *server.env.values(), *server.headers.values()):
        if holds_secret(value, keyring=False):
            message = f"[mcp.{name}] holds a key; write $NAME for the value of a variable"
            raise BadConfig(message)
