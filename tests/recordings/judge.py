"""Does an exchange decode as it should, and can its turn be sent back? Says what is wrong, if so."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from msgspec import to_builtins
from tests.grammar import grammar
from tests.plans import plan

from pondero.canon import (
    Assembler,
    Event,
    Finished,
    Message,
    Request,
    ResponseHead,
    Target,
    Text,
    ToolResult,
)
from pondero.dialects import AnswerContext, Dialect
from pondero.errors import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    NotFound,
    Overloaded,
    PermissionDenied,
    PonderoError,
    QuotaSpent,
    RateLimited,
    Refused,
    ServerFailed,
    ServiceError,
)

from .corpus import Exchange, Json
from .extract import Extract, Unit

# What a status may mean; 400 carries more than one thing, because services use it so.
MEANINGS: Mapping[int, tuple[type[ServiceError], ...]] = {
    400: (BadRequest, AuthFailed, BillingFailed, QuotaSpent, NotFound, Refused),
    401: (AuthFailed,),
    402: (BillingFailed, QuotaSpent),
    403: (PermissionDenied, AuthFailed, BillingFailed, QuotaSpent, Refused),
    404: (NotFound,),
    408: (ServerFailed,),
    409: (BadRequest,),
    413: (BadRequest,),
    422: (BadRequest,),
    424: (BadRequest, ServerFailed),
    429: (RateLimited, QuotaSpent, BillingFailed, Overloaded),
    500: (ServerFailed,),
    502: (ServerFailed, Overloaded),
    503: (Overloaded, ServerFailed),
    504: (ServerFailed,),
    529: (Overloaded,),
}


class Wire(Protocol):
    """What a module of ``tests/recordings/wires`` offers."""

    UNDECODED: dict[str, str]
    UNREPLAYED: dict[str, str]

    def target(self, exchange: Exchange) -> Target: ...
    def extract(self, exchange: Exchange) -> Extract: ...
    def turns(self, body: Json) -> list[list[Unit]]: ...


def wire(name: str) -> Wire:
    """Return how this wire is read the dumb way."""
    return cast("Wire", import_module(f"tests.recordings.wires.{name}"))


@dataclass(frozen=True)
class Judge:
    """One dialect and the exchanges of one file."""

    dialect: Dialect
    wire: Wire

    def decoded(self, exchange: Exchange) -> str | None:
        """Return what is wrong with how this exchange decodes, or None."""
        try:
            return self._error(exchange) if exchange.failed else self._answer(exchange)
        except PonderoError as error:
            return f"{type(error).__name__}: {error}"

    def replayed(self, exchange: Exchange, earlier: list[Exchange]) -> str | None:
        """Return which turn of the request cannot be made from the earlier answers, or None."""
        ours = [turn for each in earlier for turn in self._sent_back(each)]
        for number, turn in enumerate(self.wire.turns(exchange.asked)):
            thinks = any(unit.kind == "thinking" for unit in turn)
            if thinks and not any(_within(turn, other) for other in ours):
                return f"turn {number} is in no earlier answer: {str(turn)[:300]}"
        return None

    def message(self, exchange: Exchange) -> Message:
        """Return the decoded answer."""
        assembler = Assembler()
        for event in self._events(exchange, [] if exchange.stream is None else [exchange.stream]):
            assembler.feed(event)
        return assembler.message()

    # -- a decoded answer ------------------------------------------------------------------------

    def _answer(self, exchange: Exchange) -> str | None:
        stream = exchange.stream
        events = self._events(exchange, [] if stream is None else [stream])
        if stream is not None and self._events(exchange, _cut(stream, exchange.id)) != events:
            return "another split gives other events"
        if wrong := grammar(events):
            return wrong
        assembler = Assembler()
        for event in events:
            assembler.feed(event)
        finished = cast("Finished", events[-1])
        return _compare(assembler.message(), finished, self.wire.extract(exchange), exchange.kind)

    def _events(self, exchange: Exchange, pieces: list[bytes]) -> list[Event]:
        head = ResponseHead(exchange.status, exchange.headers)
        target = self.wire.target(exchange)
        wire = self.dialect.caller()
        where = AnswerContext(exchange.model, target.route, target.quirks)
        if exchange.stream is None:
            return wire.decode(head, exchange.body, where)
        stream = wire.stream(head, where)
        events = [event for piece in pieces for event in stream.feed(piece)]
        return events + stream.eof()

    # -- an error --------------------------------------------------------------------------------

    def _error(self, exchange: Exchange) -> str | None:
        if exchange.status >= 400:
            error = self.dialect.caller().error(
                ResponseHead(exchange.status, exchange.headers), exchange.stream or exchange.body
            )
        else:
            try:
                self._events(exchange, [exchange.stream] if exchange.stream else [])
            except ServiceError as raised:
                error = raised
            else:
                return "an error after a good status was not raised"
        if not error.message:
            return "the error has no message"
        if exchange.status < 400:
            return None
        allowed = MEANINGS.get(exchange.status, (ServiceError,))
        if error.status != exchange.status or not isinstance(error, allowed):
            return f"{exchange.status} became {type(error).__name__} with status {error.status}"
        return None

    # -- turn two --------------------------------------------------------------------------------

    def _sent_back(self, exchange: Exchange) -> list[list[Unit]]:
        """Return the turns of a request that carries this answer and what follows it."""
        if exchange.failed:
            return []
        message = self.message(exchange)
        results = tuple(ToolResult(c.id, (Text("ok"),), name=c.name) for c in message.tool_calls)
        request = Request(
            model=exchange.model or "unknown",
            messages=(
                Message("user", (Text("question"),)),
                message,
                Message("user", results or (Text("go on"),)),
            ),
            max_tokens=1000,
            stream=False,
        )
        encoded = self.dialect.caller().encode(
            request, plan(self.dialect.name), self.wire.target(exchange)
        )
        return self.wire.turns(json.loads(encoded.body))


def _compare(
    message: Message, finished: Finished, found: Extract, kind: frozenset[str]
) -> str | None:
    thinking = "".join(part.text for part in message.thinking_parts)
    if (
        "think_tags" in kind
    ):  # which words are thinking is for the decoder to say; all must be there
        both = {_plain(thought + text) for thought in found.thinking for text in found.text}
        if _plain(thinking + message.text) not in both:
            return f"words got lost: {message.text[:100]!r}, thinking {thinking[:100]!r}"
    elif message.text not in found.text:
        return f"text {message.text[:200]!r} instead of {str(found.text)[:300]}"
    elif _plain(thinking) not in {_plain(each) for each in found.thinking}:
        return f"thinking {thinking[:200]!r} instead of {str(found.thinking)[:300]}"
    calls = [(call.name, call.arguments) for call in message.tool_calls]
    if calls != found.calls:
        return f"calls {str(calls)[:200]} instead of {str(found.calls)[:300]}"
    kept = set(_strings(to_builtins(message)))
    for value in found.opaque:
        if value not in kept:
            return f"lost {value[:60]!r}"
    return _total(finished, found)


def _total(finished: Finished, found: Extract) -> str | None:
    usage = finished.usage
    if found.total is None:
        return None
    if usage.total != found.total:
        return f"total {usage.total} instead of {found.total}"
    if usage.input is not None and usage.output is not None and usage.known_total != usage.total:
        return f"buckets do not add up: {usage}"
    return None


def _plain(text: str) -> str:
    for tag in ("<think>", "</think>", "<thinking>", "</thinking>"):
        text = text.replace(tag, "")
    return "".join(text.split())


def _strings(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        return [each for item in value for each in _strings(item)]
    return []


def _within(turn: list[Unit], other: list[Unit]) -> bool:
    """Whether the other turn has all of this one's units, in this order."""
    rest = iter(other)
    return all(unit in rest for unit in turn)


def _cut(stream: bytes, seed: str) -> list[bytes]:
    random_ = random.Random(seed)
    cuts = sorted(random_.randrange(len(stream) + 1) for _ in range(40))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
