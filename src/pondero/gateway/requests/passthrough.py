"""Pass-through: the client's bytes, except the level, the model's name and the address."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec
from msgspec import Raw

from ...canon import (
    Event,
    HttpRequest,
    HttpResponse,
    Json,
    Message,
    Reply,
    Request,
    ResponseHead,
    Text,
    Thinking,
    ToolResult,
    get_decoder,
)
from ...catalog import ModelEntry
from ...exchange import (
    AsyncResponse,
    AsyncTransport,
    Exchange,
    Timeouts,
    compose,
    matches_plan,
    plan,
    thinking_paths,
    with_fields,
)
from ...thinking import DEFAULT, UNSET, RequestParameters
from ..server.context import GatewayContext
from ..signatures import envelope
from ..state.answer_cache import CachedAnswer
from .model_name import ModelRenamer, rename_model
from .routed_request import ModelTarget, RoutedRequest
from .translation import Translation, copy_client_headers, is_same_dialect

_SENT_BACK = re.compile(
    r"content-type|.*request-?id|retry-after(?:-ms)?|x-should-retry|.*ratelimit.*|.*-processing-ms"
)
_FIELDS = get_decoder(dict[str, Raw])


def can_pass_through(routed: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether the body can go to a model unchanged: one dialect, nothing to restore."""
    if routed.hides_thinking:
        return False  # the service may show thinking whatever it is asked for
    if not is_same_dialect(routed, entry) or envelope.contains_envelope(routed.call.http.body):
        return False
    sent, restored = routed.parsed.request.messages, routed.request.messages
    if any(one.role == other.role == "assistant" for one, other in pairwise(sent)):
        return False  # one answer in several messages, as some clients keep it: it must be joined
    if _count_results(sent) != _count_results(restored):
        return False  # the client sent a result twice
    signs_calls = routed.service.slots.call is not None
    if signs_calls and _count_signed_calls(sent) < _count_signed_calls(restored):
        return False  # the client lost the signature of a call, and the answer cache has it
    return not any(_is_foreign(message, entry) for message in restored)


def _count_results(messages: Sequence[Message]) -> int:
    return sum(isinstance(part, ToolResult) for message in messages for part in message.parts)


def _count_signed_calls(messages: Sequence[Message]) -> int:
    return sum(call.signature is not None for message in messages for call in message.tool_calls)


def _is_foreign(message: Message, entry: ModelEntry) -> bool:
    """Return whether an answer has thinking or signatures of another model."""
    origin = message.origin
    if origin is None or (origin.provider, origin.model) == (entry.provider.name, entry.model):
        return False
    return any(
        isinstance(part, Thinking)
        or (not isinstance(part, ToolResult) and part.signature is not None)
        for part in message.parts
    )


def readdress_request(
    _gateway: GatewayContext, routed: RoutedRequest, target: ModelTarget
) -> Exchange:
    """Return the client's request with the model's address, key, name, level, and own fields."""
    http, rules = routed.call.http, routed.service.passthrough
    keeps_level = _keeps_level(routed, target)
    template = _make_template(
        target.entry, stream=routed.request.stream, url=target.url, key=target.key
    )
    own: dict[str, Json] = msgspec.json.decode(template.http.body)
    sent = _FIELDS.decode(http.body)
    fields = {name: own[name] for name in rules.added_fields if name in own and name not in sent}
    without: list[tuple[str, ...]] = []
    if "model" in own:
        fields["model"] = own["model"]
    else:
        without.append(("model",))
    if not keeps_level:
        without += thinking_paths(target.entry, target.plan)
        fields |= target.plan.fields
    body = with_fields(http.body, without, fields)
    ours = msgspec.structs.replace(template.http, method=http.method, body=body)
    ours = copy_client_headers(http, rules, ours, {} if keeps_level else target.plan.headers)
    return msgspec.structs.replace(template, http=ours, plan=target.plan)


def _keeps_level(routed: RoutedRequest, target: ModelTarget) -> bool:
    """Return whether the client's own thinking fields can stay.

    For a model outside the catalog they stay: the client may know more than the plan.
    """
    level, entry = target.level, target.entry
    own = level.why is None and level.requested_level.said_in in ("body", "unset")
    if not own or routed.parsed.request.model != entry.model or target.plan.adjustments:
        return False
    return entry.inferred or matches_plan(routed.call.http.body, entry, target.plan)


@lru_cache(maxsize=256)
def _make_template(entry: ModelEntry, *, stream: bool, url: str, key: str | None) -> Exchange:
    """Return the shortest request to a model that pondero itself would write."""
    request = Request(entry.model, (Message("user", (Text("."),)),), stream=stream)
    no_level = plan(entry, UNSET, asked=RequestParameters(), policy=DEFAULT)
    return compose(entry, request, no_level, url=url, key=key)


class Passthrough:
    """Passes one answer on, under the name that the client asked for."""

    ping_headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    def __init__(
        self, routed: RoutedRequest, exchange: Exchange, transport: AsyncTransport
    ) -> None:
        self._routed = routed
        self._exchange = exchange
        self._capture = CapturingTransport(transport)
        self._renamer: ModelRenamer | None = None
        self.transport: AsyncTransport = self._capture

    @property
    def headers(self) -> dict[str, str]:
        """Return those headers of the model's answer that clients read."""
        headers = self._capture.head.headers.items()
        return {name: value for name, value in headers if _SENT_BACK.fullmatch(name)}

    def feed(self, _events: list[Event]) -> bytes:
        """Return the bytes that arrived since the last call."""
        if self._renamer is None:
            content_type = self._capture.head.headers.get("content-type", "")
            places = self._routed.service.passthrough.model_at
            self._renamer = ModelRenamer(places, self._routed.parsed.request.model, content_type)
        return self._renamer.feed(self._capture.take())

    async def end(self) -> bytes:
        """Return the last bytes, also those after the answer's end."""
        rest = self.feed([])
        if self._renamer is None:
            return rest
        return rest + self._renamer.feed(await self._capture.rest()) + self._renamer.eof()

    def fail(self, error: HttpResponse) -> bytes:
        """Return the bytes that report an error inside the stream."""
        return Translation(self._routed, self._exchange, self._capture).fail(error)

    async def whole(self, _reply: Reply) -> HttpResponse:
        """Return an answer in one piece."""
        body = await self._capture.rest()
        places = self._routed.service.passthrough.model_at
        renamed = rename_model(body, places, self._routed.parsed.request.model)
        return HttpResponse(self._capture.head.status, self.headers, renamed)

    def make_cached_answer(self, reply: Reply) -> CachedAnswer:
        """Return the answer for the answer cache; the client knows its calls by their own ids."""
        message = reply.message
        ids = tuple(call.id for call in message.tool_calls)
        return CachedAnswer(self._routed.call.id, message, ids, message.text)


class CapturingTransport:
    """A transport that keeps an answer's bytes until ``take``; decoding is for the record."""

    needs_key = True

    def __init__(self, transport: AsyncTransport) -> None:
        self.head: ResponseHead = ResponseHead(200)
        self._transport = transport
        self._kept: list[bytes] = []
        self._answer: AsyncResponse | None = None

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "_CapturedResponse":
        """Send a request; return the response once its head has arrived."""
        answer = await self._transport.send(request, timeouts)
        self._kept.clear()
        self.head = answer.head
        self._answer = captured = _CapturedResponse(answer, self._kept)
        return captured

    async def aclose(self) -> None:
        """Leave the connections open: other requests share them."""

    def take(self) -> bytes:
        """Return the bytes that arrived since the last call."""
        kept = b"".join(self._kept)
        self._kept.clear()
        return kept

    async def rest(self) -> bytes:
        """Read to the end and return the bytes after the answer, such as ``data: [DONE]``."""
        if self._answer is not None:
            async for _ in self._answer:
                pass
        return self.take()


class _CapturedResponse:
    """A response whose bytes are kept while it is read."""

    def __init__(self, answer: AsyncResponse, kept: list[bytes]) -> None:
        self.head = answer.head
        self._answer = answer
        self._pieces = aiter(answer)
        self._keep = kept.append

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._pieces)
        self._keep(piece)
        return piece

    async def aclose(self) -> None:
        """Close the connection at once, read to the end or not."""
        await self._answer.aclose()
