"""Faults: their kinds, their effect on an answer, and transports with faults.

==============  ===================================================================
status          the service answers with an error: 400 401 403 404 429 500 503 529 ...
html            a web page, as proxies and gateways send it
empty           a head without a body
refused         the connection is refused
hang            no bytes, or none after ``at``; the caller times out
slow            ``seconds`` between pieces
error_event     an error after ``at`` events
no_end          the last events of a stream are missing
cut             the answer ends after ``at`` bytes, without an error
broken          the connection breaks after ``at`` bytes
trickle         one byte at a time
split           pieces end inside of characters
lost            a batch is created, but the answer is lost, or is ``status``
stuck           a batch runs for ``at`` more polls, or forever
failed          a batch fails its validation
expired         a batch expires without results
partial         some requests of a batch fail, some expire
cancelled       a batch is cancelled by another client, half done
==============  ===================================================================
"""

import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Literal, get_args

from msgspec import Struct

from ..canon import HttpRequest, HttpResponse, ResponseHead
from ..dialects import Dialect
from ..errors import BadParameter, Timeout, Unreachable
from ..exchange import (
    AsyncResponse,
    AsyncTransport,
    Response,
    Timeouts,
    Transport,
    is_emulator,
)
from ..transport import asleep
from .routes import find_route

Kind = Literal[
    "status", "html", "empty", "refused", "hang", "slow", "error_event", "no_end", "cut", "broken",
    "trickle", "split", "lost", "stuck", "failed", "expired", "partial", "cancelled",
]  # fmt: skip
OF_BATCHES: frozenset[Kind] = frozenset(
    {"lost", "stuck", "failed", "expired", "partial", "cancelled"}
)
"""Faults of batches: they wait for the next new batch."""
_OF_STATUS = ("status", "error_event", "lost")
_REPLACING = ("status", "html", "empty", "refused")
_KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}
MESSAGES: Mapping[int, str] = {
    400: "The request could not be read.",
    401: "The key is not valid.",
    403: "This key may not do that.",
    404: "There is nothing here.",
    429: "Too many requests. Please slow down and try again later.",
    500: "Internal server error",
    503: "The model is overloaded. Please try again later.",
    529: "Overloaded",
}
"""The emulator's own text for a fault of each status."""
_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>{status}</title></head>\n"
    "<body><center><h1>{status}</h1></center><hr><center>nginx</center></body></html>\n"
)


class Fault(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """A fault of one exchange or batch; the module's table explains the kinds.

    >>> from pondero.emulator import Emulator, Fault
    >>> emulator = Emulator(faults=[Fault(kind="status", status=429, retry_after=0.01), 529, None])
    >>> client = pondero.Client(transport=emulator, retry=pondero.Retry(base=0.01))
    >>> client.ask("gpt-5.1", "What is 17 * 23?").text
    '17 * 23 = 391'
    """

    kind: Kind
    status: int | None = None
    message: str | None = None
    code: str | None = None
    retry_after: float | None = None
    at: int | None = None
    seconds: float = 1.0

    def __post_init__(self) -> None:
        """Raise BadParameter for an unknown kind, a status of success or a negative amount."""
        if self.kind not in _KINDS:
            raise BadParameter(_describe_unknown(self.kind))
        if self.kind in _OF_STATUS and self.status is not None and not _is_error(self.status):
            raise BadParameter(f"invalid status {self.status!r} of a fault; use 400 to 599")
        for name in ("retry_after", "at", "seconds"):
            amount = getattr(self, name)
            if amount is not None and not 0 <= amount < math.inf:
                raise BadParameter(f"invalid {name}={amount!r} of a fault; use 0 or more")

    @property
    def replaces(self) -> bool:
        """Return whether this fault takes the place of an answer, rather than damages one."""
        return self.kind in _REPLACING or (self.kind == "hang" and self.at is None)

    @classmethod
    def parse(cls, text: "str | int | Fault") -> "Fault":
        """Parse a short spelling: ``529``, ``429 2.5`` (retry after), ``cut 120``."""
        if isinstance(text, Fault):
            return text
        word, _, rest = str(text).strip().partition(" ")
        try:
            if word.isdigit():
                return cls(
                    kind="status", status=int(word), retry_after=float(rest) if rest else None
                )
            if word == "slow" and rest:
                return cls(kind="slow", seconds=float(rest))
            if word == "lost" and rest:
                return cls(kind="lost", status=int(rest))
            if word in _KINDS:
                return cls(kind=_KINDS[word], at=int(rest) if rest else None)
        except ValueError:
            pass
        raise BadParameter(_describe_unknown(text))

    def error(self, wire: Dialect) -> HttpResponse:
        """Return the error response of a dialect for this fault."""
        status = self.status or 529
        message = self.message or MESSAGES.get(status, "Something went wrong.")
        return wire.service().error(status, message, code=self.code, retry_after=self.retry_after)


def _describe_unknown(given: object) -> str:
    words = " ".join(_KINDS)
    if str(given).isdigit():
        return f"unknown kind {given!r}; use Fault(kind='status', status={given}), or {words}"
    return f"unknown fault {given!r}; use a status such as 529, or {words}"


def _is_error(status: object) -> bool:
    return isinstance(status, int) and 400 <= status <= 599


class Pause(Struct, frozen=True):
    """A pause in seconds before the next piece."""

    seconds: float


class Break(Struct, frozen=True):
    """The connection breaks here."""


Piece = bytes | Pause | Break
Sleep = Callable[[float], object]
AsyncSleep = Callable[[float], Awaitable[object]]
FOREVER = 86_400.0
"""Longer than any timeout."""


def make_replacement(fault: Fault, wire: Dialect | None) -> HttpResponse | None:
    """Return the response that replaces an answer; None if the fault damages it."""
    if fault.kind == "status" and wire is not None:
        return fault.error(wire)
    if fault.kind in ("status", "html"):
        status = fault.status or 502
        page = _PAGE.format(status=status).encode()
        return HttpResponse(status, {"content-type": "text/html; charset=utf-8"}, page)
    if fault.kind == "empty":
        return HttpResponse(fault.status or 200, {"content-type": "application/json"})
    return None


class Damage:
    """Applies a fault to the bytes of one answer. Feed pieces until ``over``."""

    def __init__(self, fault: Fault) -> None:
        self.over: bool = False
        self._fault = fault
        self._left = fault.at or 0

    def feed(self, piece: bytes) -> list[Piece]:
        """Return the pieces to send in place of this one."""
        match self._fault.kind:
            case "cut" | "broken" | "hang":
                return self._cut_off(piece)
            case "slow":
                return [Pause(self._fault.seconds), piece]
            case "trickle":
                return [piece[at : at + 1] for at in range(len(piece))]
            case "split":
                cuts = [at for at, byte in enumerate(piece) if byte & 0xC0 == 0x80]
                return [piece[i:j] for i, j in pairwise([0, *cuts, len(piece)])]
        return [piece]

    def _cut_off(self, piece: bytes) -> list[Piece]:
        kept, self._left = piece[: self._left], self._left - len(piece)
        self.over = self._left <= 0
        end: list[Piece] = []
        if self.over and self._fault.kind != "cut":
            end = [Break() if self._fault.kind == "broken" else Pause(FOREVER)]
        return [kept, *end] if kept else end


def apply_fault(fault: Fault, pieces: Iterable[bytes]) -> Iterator[Piece]:
    """Yield the pieces of an answer with a fault."""
    damage = Damage(fault)
    for piece in pieces:
        yield from damage.feed(piece)
        if damage.over:
            return


def check_pause(piece: Pause | Break, timeouts: Timeouts) -> float:
    """Return the seconds to wait; raises Unreachable for a break, Timeout for a long pause."""
    if isinstance(piece, Break):
        raise Unreachable("the connection broke before the answer was complete")
    if piece.seconds > timeouts.between_bytes:
        raise Timeout(f"no data came for {timeouts.between_bytes:g} s")
    return piece.seconds


_OF_EVENTS = ("error_event", "no_end")  # only the emulator can leave events out

Faults = Iterable[Fault | str | int | None]


class FaultyTransport:
    """A transport whose next exchanges have one fault each, None for no fault.

    >>> from pondero.emulator import Emulator, FaultyTransport
    >>> faulty = FaultyTransport(Emulator(), [529])
    >>> client = pondero.Client(transport=faulty, retry=pondero.Retry(base=0.01))
    >>> client.ask("gpt-5.1", "What is 17 * 23?").text
    '17 * 23 = 391'
    """

    needs_key = False

    def __init__(self, transport: Transport, faults: Faults, *, sleep: Sleep = time.sleep) -> None:
        self._transport = transport
        self.is_emulator: bool = is_emulator(transport)
        self._faults = _parse_byte_faults(faults)
        self._sleep = sleep

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send the request, unless the next fault replaces its answer."""
        fault = self._faults.popleft() if self._faults else None
        if fault is None:
            return self._transport.send(request, timeouts)
        if (other := _answer_unsent(fault, request, timeouts)) is not None:
            return _WholeResponse(other)
        answer = self._transport.send(request, timeouts)
        return _FaultyResponse(answer, fault, timeouts, self._sleep)

    def close(self) -> None:
        """Close the transport."""
        self._transport.close()


class AsyncFaultyTransport:
    """A FaultyTransport for asyncio.

    >>> from pondero.emulator import AsyncFaultyTransport, Emulator
    >>> faulty = AsyncFaultyTransport(Emulator(), [529])
    >>> client = pondero.AsyncClient(transport=faulty, retry=pondero.Retry(base=0.01))
    >>> (await client.ask("gpt-5.1", "What is 17 * 23?")).text
    '17 * 23 = 391'
    """

    needs_key = False

    def __init__(
        self, transport: AsyncTransport, faults: Faults, *, asleep: AsyncSleep = asleep
    ) -> None:
        self._transport = transport
        self.is_emulator: bool = is_emulator(transport)
        self._faults = _parse_byte_faults(faults)
        self._asleep = asleep

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send the request, unless the next fault replaces its answer."""
        fault = self._faults.popleft() if self._faults else None
        if fault is None:
            return await self._transport.send(request, timeouts)
        if (other := _answer_unsent(fault, request, timeouts)) is not None:
            return _WholeResponse(other)
        answer = await self._transport.send(request, timeouts)
        return _AsyncFaultyResponse(answer, Damage(fault), timeouts, self._asleep)

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()


def parse_faults(faults: Faults) -> deque[Fault | None]:
    """Parse a list of faults; raises BadParameter for a single one."""
    if isinstance(faults, str | int | Fault):
        raise BadParameter(f"faults are a list; use faults=[{faults!r}]")
    return deque(fault if fault is None else Fault.parse(fault) for fault in faults)


def _parse_byte_faults(faults: Faults) -> deque[Fault | None]:
    found = parse_faults(faults)
    for fault in found:
        if fault is not None and fault.kind in (*_OF_EVENTS, *OF_BATCHES):
            what = "events" if fault.kind in _OF_EVENTS else "batches"
            message = f"a fault {fault.kind!r} needs an Emulator(faults=...); bytes have no {what}"
            raise BadParameter(message)
    return found


def _answer_unsent(fault: Fault, request: HttpRequest, timeouts: Timeouts) -> HttpResponse | None:
    """Return a fault's response without sending the request; None if it must be sent."""
    if fault.kind == "refused":
        raise Unreachable("connection refused")
    if fault.kind == "hang" and fault.at is None:
        raise Timeout(f"no first byte within {timeouts.first_byte:g} s")
    route = find_route(request.url)
    return make_replacement(fault, route.wire if route else None)


class _WholeResponse:
    def __init__(self, response: HttpResponse) -> None:
        self.head = ResponseHead(response.status, response.headers)
        self._body = response.body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        """Do nothing: there is no connection."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


class _FaultyResponse:
    def __init__(self, answer: Response, fault: Fault, timeouts: Timeouts, sleep: Sleep) -> None:
        self.head = answer.head
        self._answer = answer
        self._fault = fault
        self._timeouts = timeouts
        self._sleep = sleep

    def __iter__(self) -> Iterator[bytes]:
        for piece in apply_fault(self._fault, self._answer):
            if isinstance(piece, bytes):
                yield piece
            else:
                self._sleep(check_pause(piece, self._timeouts))

    def close(self) -> None:
        """Close the response."""
        self._answer.close()


class _AsyncFaultyResponse:
    def __init__(
        self, answer: AsyncResponse, damage: Damage, timeouts: Timeouts, asleep: AsyncSleep
    ) -> None:
        self.head = answer.head
        self._answer = answer
        self._damage = damage
        self._timeouts = timeouts
        self._asleep = asleep

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for whole in self._answer:
            for piece in self._damage.feed(whole):
                if isinstance(piece, bytes):
                    yield piece
                else:
                    await self._asleep(check_pause(piece, self._timeouts))
            if self._damage.over:
                return

    async def aclose(self) -> None:
        """Close the response."""
        await self._answer.aclose()
