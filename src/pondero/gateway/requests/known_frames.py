"""Requests that differ from an earlier one in the text of their only question.

Everything that was found out about the earlier one holds for them, so only the text is put in its
place: in the client's request, and in the one to a model. That this is the same as reading the
whole request is tried with another text before it is relied on.
"""

import re
from collections.abc import Callable, Mapping
from operator import is_
from time import time
from typing import Any, TypeVar, TypeVarTuple

from msgspec import Struct
from msgspec.structs import replace

from ...canon import HttpRequest, Json, Message, Request, Text
from ...catalog import ModelEntry
from ...dialects import ParsedRequest, Rejected
from ...errors import PonderoError
from ...exchange import find_emulator
from ...store import load_catalog
from ..deployments.accounts import ModelTurn
from ..levels.level_window import FirstTurn, LevelReading, find_first_turn, plan_level_window
from ..purposes.rules import RequestPurpose, recognise_purpose
from ..server.context import GatewayContext
from ..signatures.envelope import contains_envelope
from .attempt import Attempt
from .framed_names import FramedNames, frame_names
from .kept_items import StoredContent
from .routed_request import (
    ClientRequest,
    RoutedRequest,
    list_decided,
    may_be_auto,
    resolve_names,
)
from .split_body import SHORT_BODY

Fact = TypeVar("Fact")
Values = TypeVarTuple("Values")

# Inside of a string of JSON, these bytes mean the text that they are.
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]+')
_TRIED = "Why is the sky blue at 4 o\u2019clock, and not green?"
_ATTEMPTS = 8  # of one frame: its models, and what quotas leave of them


class KnownFrame(Struct, eq=False):
    """All of a request but the text of its question, and what was found out about it.

    ``before`` and ``after``: the bytes around the text. ``origin``: what it depends on besides.
    ``purpose``: without a rule. ``names``: what it says of stored things.
    """

    before: bytes
    after: bytes
    origin: tuple[object, ...]
    headers: dict[str, str]
    parsed: ParsedRequest[Json]
    purpose: RequestPurpose
    routed: RoutedRequest
    names: FramedNames
    attempts: list["_KnownAttempt"]
    facts: dict[str, tuple[tuple[object, ...], Any]] = {}
    """What ``find_fact`` returned last under each name, and for what."""

    def find_text(self, body: bytes) -> bytes | None:
        """Return the text of the question in a body; None if that has another frame."""
        if not body.startswith(self.before) or not body.endswith(self.after):
            return None
        text = body[len(self.before) : len(body) - len(self.after)]
        return text if _is_plain(text) else None

    def write(self, text: bytes) -> bytes:
        """Return the body with another text."""
        return b"%b%b%b" % (self.before, text, self.after)

    def find_fact(
        self,
        name: str,
        needs: tuple[object, ...],
        find: Callable[[*Values], Fact],
        *values: *Values,
    ) -> Fact:
        """Return what does not depend on the text; it is found again if its needs change."""
        known = self.facts.get(name)
        if known is None or known[0] != needs:
            known = self.facts[name] = (needs, find(*values))
        fact: Fact = known[1]
        return fact


class FramedText(Struct, frozen=True, eq=False):
    """A request as its frame and the text in it."""

    frame: KnownFrame
    text: bytes


class _KnownAttempt(Struct, eq=False):
    """The request to a model, with its body around the text; without ``attempt``, unknown.

    ``needs``: what it depends on besides the frame. ``is_dated``: it says when it was made.
    ``first``: its level window, if it has one, that was ``looked`` for.
    """

    entry: ModelEntry
    needs: tuple[object, ...]
    attempt: Attempt | None = None
    before: bytes = b""
    after: bytes = b""
    is_dated: bool = False
    first: FirstTurn | None = None
    looked: bool = False

    def write(self, text: bytes) -> bytes:
        """Return the body with another text."""
        return b"%b%b%b" % (self.before, text, self.after)


async def parse_framed(gateway: GatewayContext, call: ClientRequest) -> RoutedRequest | None:
    """Return what ``parse_locally`` returns, if the frame of a request is known."""
    if not _may_have_frame(gateway, call):
        return None
    for frame in gateway.frames.find(_find_place(call)):
        if (text := frame.find_text(call.http.body)) is not None and _is_same(frame, gateway, call):
            return await _put_text(gateway, call, FramedText(frame, text))
    return None


async def _put_text(
    gateway: GatewayContext, call: ClientRequest, framed: FramedText
) -> RoutedRequest | None:
    frame = framed.frame
    request = _ask(frame.parsed.request, framed.text.decode())
    # Of a client that is not known, no text is looked at; the head says who it is.
    is_known = frame.purpose.client is not None
    if is_known and recognise_purpose(call.http, request) != frame.purpose:
        return None
    envelopes = await gateway.envelopes.make_envelopes(call.requester.id, call.http.body)
    return replace(
        frame.routed,
        call=call,
        stored=frame.names.put(call.http, framed.text),
        parsed=replace(frame.parsed, request=request),
        request=request,
        envelopes=envelopes,
        framed=framed,
    )


async def note_frame(gateway: GatewayContext, routed: RoutedRequest) -> RoutedRequest:
    """Keep the frame of a request that came before with another text."""
    call, service, stored = routed.call, routed.service, routed.stored
    if not _is_question(gateway, routed):
        return routed
    body, text = call.http.body, routed.request.messages[0].text.encode()
    if b"\\" in body or not (around := _split(body, text)) or not gateway.frames.note(around):
        return routed
    http, names = replace(call.http, body=_TRIED.encode().join(around)), frame_names(stored, text)
    try:
        parsed, tried = service.parse(call.http), service.parse(http)
        resolved = await resolve_names(gateway, replace(call, http=http), service)
    except (Rejected, PonderoError, RecursionError):
        return routed
    if tried != replace(parsed, request=_ask(parsed.request, _TRIED)):
        return routed
    if resolved != names.put(http, _TRIED.encode()):
        return routed
    if stored.said is not None and service.kept_responses is not None:
        parsed = replace(parsed, context=service.kept_responses.note(parsed.context, stored.said))
    frame = KnownFrame(
        *around,
        _find_origin(gateway, call),
        _list_headers(call.http),
        parsed,
        replace(routed.purpose, rule=None),
        routed,
        names,
        [],
    )
    gateway.frames.add(_find_place(call), frame)
    return replace(routed, framed=FramedText(frame, text))


def find_attempt(
    gateway: GatewayContext, routed: RoutedRequest, entry: ModelEntry, turn: ModelTurn
) -> Attempt | None:
    """Return the request to a model, if it is known but for the text of its question."""
    framed = routed.framed
    if framed is None or not framed.frame.attempts or contains_envelope(routed.call.http.body):
        return None
    known = _find_known(framed.frame, entry, _list_needs(gateway, routed, entry))
    if known is None or known.attempt is None:
        return None
    body, at = known.write(framed.text), time() if known.is_dated else None
    first = None if known.first is None else known.first.remember(framed.text)
    return _put_body(known.attempt, body, at=at, turn=turn, remembered=first)


def note_attempt(
    gateway: GatewayContext,
    routed: RoutedRequest,
    attempt: Attempt,
    make: Callable[[GatewayContext, RoutedRequest, ModelEntry, ModelTurn], Attempt],
) -> None:
    """Keep the request to a model, if ``make`` makes the same of another text."""
    framed = routed.framed
    if framed is None or len(framed.frame.attempts) >= _ATTEMPTS:
        return
    entry, needs = attempt.entry, _list_needs(gateway, routed, attempt.entry)
    if _find_known(framed.frame, entry, needs) is not None:
        return
    known = _KnownAttempt(entry, needs)
    framed.frame.attempts.append(known)
    around = _split(attempt.exchange.http.body, framed.text)
    if around is None or may_be_auto(routed):
        return
    try:
        tried = make(gateway, _try_text(routed, framed), entry, attempt.turn)
    except PonderoError:
        return
    at = tried.exchange.origin.at
    if tried == _put_body(attempt, _TRIED.encode().join(around), at=at, turn=attempt.turn):
        known.is_dated = at != attempt.exchange.origin.at
        known.attempt, (known.before, known.after) = attempt, around


def note_window(gateway: GatewayContext, routed: RoutedRequest, window: LevelReading) -> None:
    """Keep the level window of an attempt, if it is the same with another text."""
    framed, entry = routed.framed, window.attempt.entry
    if framed is None or window.sent is None:
        return
    known = _find_known(framed.frame, entry, _list_needs(gateway, routed, entry))
    if known is None or known.attempt is None or known.looked:
        return
    known.looked = True
    first = find_first_turn(routed, window, framed.text)
    if first is None:
        return
    said = _TRIED.encode()
    attempt = _put_body(known.attempt, known.write(said), at=None, turn=known.attempt.turn)
    tried = plan_level_window(gateway, _try_text(routed, framed), attempt)
    same = find_first_turn(routed, tried, said)
    if same is not None and {tried.keys[-1]: same.stated} == first.remember(said):
        known.first = first


def _put_body(
    attempt: Attempt,
    body: bytes,
    *,
    at: float | None,
    turn: ModelTurn,
    remembered: Mapping[str, bytes] | None = None,
) -> Attempt:
    """Return an attempt with another body, and with another time and memory if there are any."""
    exchange = attempt.exchange
    http, origin = replace(exchange.http, body=body), exchange.origin
    if at is not None:
        exchange = replace(exchange, http=http, origin=replace(origin, at=at))
    else:
        exchange = replace(exchange, http=http)
    if remembered is None:
        return replace(attempt, exchange=exchange, turn=turn)
    return replace(attempt, exchange=exchange, turn=turn, remembered=remembered)


def _find_known(
    frame: KnownFrame, entry: ModelEntry, needs: tuple[object, ...]
) -> _KnownAttempt | None:
    for known in frame.attempts:
        if known.entry is entry and known.needs == needs:
            return known
    return None


def _try_text(routed: RoutedRequest, framed: FramedText) -> RoutedRequest:
    """Return the request with another text, and without its frame."""
    http = replace(routed.call.http, body=framed.frame.write(_TRIED.encode()))
    stored, request = routed.stored, _ask(routed.request, _TRIED)
    return replace(
        routed,
        call=replace(routed.call, http=http),
        stored=replace(stored, http=http, own=http if stored.own is not None else None),
        parsed=replace(routed.parsed, request=_ask(routed.parsed.request, _TRIED)),
        request=request,
        framed=None,
    )


def _list_needs(
    gateway: GatewayContext, routed: RoutedRequest, entry: ModelEntry
) -> tuple[object, ...]:
    """Return what a request to a model depends on, besides its frame and its text."""
    address = gateway.address(entry.provider, entry.deployment)
    return (
        address,
        find_emulator(gateway.transport, entry.provider, address[0]),
        gateway.refusals,
        routed.parsed.context,
        *list_decided(routed),
    )


def _may_have_frame(gateway: GatewayContext, call: ClientRequest) -> bool:
    """Return whether a request is short, of no WebSocket, and read by no hook."""
    return len(call.http.body) < SHORT_BODY and call.local is None and not gateway.hooks


def _find_place(call: ClientRequest) -> tuple[str, ...]:
    return (call.client_dialect, call.http.url, call.requester.id)


def _find_origin(gateway: GatewayContext, call: ClientRequest) -> tuple[object, ...]:
    """Return what a frame depends on, by identity."""
    return (gateway.routing, load_catalog(), call.requester.key, call.requester.group)


def _is_same(frame: KnownFrame, gateway: GatewayContext, call: ClientRequest) -> bool:
    if not all(map(is_, frame.origin, _find_origin(gateway, call))):
        return False
    return frame.headers == _list_headers(call.http)


def _list_headers(http: HttpRequest) -> dict[str, str]:
    return {**http.headers, "content-length": ""}


def _is_question(gateway: GatewayContext, routed: RoutedRequest) -> bool:
    """Return whether a request is one plain question, on whose text nothing else depends."""
    call, request = routed.call, routed.request
    if not _may_have_frame(gateway, call):
        return False
    if routed.is_wrapped or routed.conversation is not None or routed.unread is not None:
        return False
    if request is not routed.parsed.request or not _names_nothing(routed.stored, call.http):
        return False
    messages = request.messages
    if len(messages) != 1 or messages[0].role != "user" or len(messages[0].parts) != 1:
        return False
    part = messages[0].parts[0]
    return type(part) is Text and part.signature is None


def _names_nothing(stored: StoredContent, http: HttpRequest) -> bool:
    is_same = stored.http is http and (stored.own is None or stored.own is http)
    return is_same and not stored.named and not stored.before and stored.homes is None


def _is_plain(text: bytes) -> bool:
    """Return whether a text is written as it is, and not blank: services reject blank ones."""
    if not _PLAIN.fullmatch(text):
        return False
    try:
        return not text.decode().isspace()
    except UnicodeDecodeError:
        return False


def _split(body: bytes, text: bytes) -> tuple[bytes, bytes] | None:
    """Return a body before and after a text, which is one whole string in it."""
    if not _is_plain(text) or body.count(b'"%b"' % text) != 1:
        return None
    at = body.find(b'"%b"' % text) + 1
    return body[:at], body[at + len(text) :]


def _ask(request: Request, text: str) -> Request:
    (message,) = request.messages
    (part,) = message.parts
    if not isinstance(part, Text):
        return request
    return replace(request, messages=(Message("user", (replace(part, text=text),)),))
