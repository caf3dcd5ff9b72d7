"""The protocols of a transport, which HTTP, cassettes and the emulator implement."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from ..canon import OFFLINE, RECORDING, HttpRequest, ResponseHead
from ..errors import BadParameter, PonderoError, ServiceError, TransportError, WireError

if TYPE_CHECKING:
    from ..catalog import Provider


class Timeouts(Struct, frozen=True):
    """Seconds to wait for a connection, for the first byte, and between bytes.

    >>> client = pondero.Client(timeouts=pondero.Timeouts(first_byte=120))
    """

    connect: float = 10.0
    first_byte: float = 60.0
    between_bytes: float = 300.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_seconds(name, getattr(self, name))

    def whole(self) -> "Timeouts":
        """Return timeouts for a whole answer, whose first byte comes at its end."""
        return _make_whole(self)


@lru_cache(maxsize=64)
def _make_whole(each: Timeouts) -> Timeouts:
    return Timeouts(each.connect, max(each.first_byte, each.between_bytes), each.between_bytes)


def check_seconds(name: str, value: object, *, least: float | None = None) -> None:
    """Raise BadParameter unless the value is a number of seconds above 0, or from ``least``."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and (value > 0 or value == least):  # type: ignore[operator]  # checked above
        return
    above = "above 0" if least is None else f"from {least:g}"
    raise BadParameter(f"invalid {name}={value!r}; use seconds {above}")


class Response(Protocol):
    """A response: its head, then its bytes while they arrive."""

    @property
    def head(self) -> ResponseHead:
        """Return status and headers, names in lower case."""
        ...

    def __iter__(self) -> Iterator[bytes]:
        """Yield the decoded body in the pieces that arrive."""
        ...

    def close(self) -> None:
        """Close the connection at once; may be called twice."""
        ...


class Transport(Protocol):
    """Moves bytes and decides nothing. Raises Timeout and Unreachable only."""

    @property
    def needs_key(self) -> bool:
        """Return whether requests need a key; an emulator and a cassette need none."""
        return False

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send a request; return when the head of the answer has arrived."""
        ...

    def close(self) -> None:
        """Close every connection; may be called twice."""
        ...


def is_emulator(transport: "Transport | AsyncTransport | None") -> bool:
    """Return whether a transport says that it is an emulator; most have nothing to say."""
    return bool(getattr(transport, "is_emulator", False))


_RECORDED = "this is recorded in"  # begins the note


def is_played(transport: "Transport | AsyncTransport | None") -> bool:
    """Return whether a transport plays a recording, so that waiting changes nothing."""
    return bool(getattr(transport, "is_played", False))


def note_recording(error: PonderoError, place: str | None) -> None:
    """Say, once, where the response that this error is about is recorded; None: it is live."""
    if place is None or not isinstance(error, ServiceError | WireError | TransportError):
        return
    if not any(note.startswith(_RECORDED) for note in getattr(error, "__notes__", ())):
        error.add_note(f"{_RECORDED} {place}; record again with VCR_RECORD=1")


def find_emulator(
    transport: "Transport | AsyncTransport | None", provider: "Provider", url: str
) -> str | None:
    """Return what answers in the place of a provider's service, as ``Destination.emulator``.

    It may be an emulator wherever the address is not the provider's own; its answers say so.
    """
    if getattr(transport, "is_emulator", False):
        return OFFLINE
    if transport is not None and not transport.needs_key:
        return RECORDING
    return _find_other(url, provider.url)


@lru_cache(maxsize=1024)
def _find_other(url: str, template: str) -> str | None:
    """Return the address in a URL if a provider's own template does not stand for it."""
    address = _read_address(url)
    return None if _match_own(template)(address) else address


def _read_address(url: str) -> str:
    """Return a URL without its path and password: an emulator has the services of all providers."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


@lru_cache(maxsize=1024)
def _match_own(template: str) -> Callable[[str], object]:
    """Return a check for the addresses that a provider's URL, with its {blanks}, stands for."""
    pieces = re.split(r"\{\w+\}", _read_address(template))
    return re.compile("[^/]+".join(map(re.escape, pieces))).fullmatch


class AsyncResponse(Protocol):
    """A response for asyncio."""

    @property
    def head(self) -> ResponseHead:
        """Return status and headers, names in lower case."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the decoded body in the pieces that arrive."""
        ...

    async def aclose(self) -> None:
        """Close the connection at once; may be called twice."""
        ...


class AsyncTransport(Protocol):
    """A transport for asyncio."""

    @property
    def needs_key(self) -> bool:
        """Return whether requests need a key."""
        return False

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Awaitable[AsyncResponse]:
        """Send a request; return when the head of the answer has arrived."""
        ...

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        ...
