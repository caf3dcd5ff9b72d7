"""Recognises the purpose of a request, from its head and its parsed body."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from msgspec import Struct

from ...canon import Message, Request, Text, ToolResult, convert_json
from ...catalog import parse_toml
from ..config.model import MAIN

_FILE = "recognisers.toml"


class KnownClient(Struct, frozen=True, forbid_unknown_fields=True):
    """A client program that is known by its User-Agent."""

    name: str
    agent: str


class Recogniser(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of recognisers.toml, which explains each field."""

    client: str
    purpose: str
    captures: tuple[str, ...]
    header: Mapping[str, str] = {}
    system: str | None = None
    ask: str | None = None
    tool: str | None = None
    no_tools: bool = False
    only_tool: str | None = None
    schema: tuple[str, ...] = ()
    is_answered: bool | None = None

    @property
    def is_single(self) -> bool:
        """Return whether it is about one request, not about the whole of a turn."""
        return bool(self.no_tools or self.only_tool or self.schema or self.is_answered is not None)

    def matches(self, headers: Mapping[str, str], request: Request) -> bool:
        """Return whether a request of its client is meant."""
        if self.header and not all(
            text in headers.get(name, "") and name in headers for name, text in self.header.items()
        ):
            return False
        if self.no_tools and request.tools:
            return False
        if self.only_tool and [tool.kind for tool in request.tools] != [self.only_tool]:
            return False
        if self.tool and not any(tool.name == self.tool for tool in request.tools):
            return False
        if self.system and not any(each.text.startswith(self.system) for each in request.system):
            return False
        if self.schema and not _requires(request, self.schema):
            return False
        if self.is_answered is not None and self.is_answered != _is_answered(request):
            return False
        return not self.ask or any(
            text.startswith(self.ask) for text in _iter_turn_texts(request.messages)
        )


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    client: tuple[KnownClient, ...]
    recogniser: tuple[Recogniser, ...]


@cache
def _load_table() -> _Table:
    text = files(__package__).joinpath(_FILE).read_text("utf-8")
    return convert_json(parse_toml(text, _FILE).values, _Table)


def load_recognisers() -> tuple[Recogniser, ...]:
    """Return all recognisers, in order."""
    return _load_table().recogniser


@cache
def list_known_clients() -> tuple[str, ...]:
    """Return the names of the clients that are recognised."""
    return tuple(client.name for client in _load_table().client)


@lru_cache(maxsize=1024)
def find_client(agent: str) -> str | None:
    """Return the client with this User-Agent; None if it is not known."""
    clients = _load_table().client
    return next((each.name for each in clients if agent.startswith(each.agent)), None)


@cache
def _list_recognisers(client: str) -> tuple[Recogniser, ...]:
    return tuple(each for each in load_recognisers() if each.client == client)


def find_purpose(client: str | None, headers: Mapping[str, str], request: Request) -> str:
    """Return what a request is for; ``main`` if nothing says otherwise.

    Cheap: an unknown client costs nothing, and no text is searched, only its beginning compared.
    """
    if client is None or not (known := _list_recognisers(client)):
        return MAIN
    open_loop = is_open_loop(request.messages)
    for recogniser in known:
        if open_loop and recogniser.is_single:
            continue
        if recogniser.matches(headers, request):
            return recogniser.purpose
    return MAIN


def is_open_loop(messages: Sequence[Message]) -> bool:
    """Return whether a conversation ends with the results of tools, and nothing was said since."""
    for message in reversed(messages):
        if message.role != "system" and message.parts:
            return isinstance(message.parts[-1], ToolResult)
    return False


def _iter_turn_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Yield what the user said since the last answer that ended a turn, newest first."""
    for message in reversed(messages):
        if message.role == "assistant" and not message.tool_calls:
            return
        if message.role == "user":
            yield from (part.text for part in message.parts if isinstance(part, Text))


def _is_answered(request: Request) -> bool:
    return any(message.role == "assistant" for message in request.messages)


def _requires(request: Request, names: Sequence[str]) -> bool:
    schema = request.output.schema if request.output is not None else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and sorted(properties) == sorted(names)
