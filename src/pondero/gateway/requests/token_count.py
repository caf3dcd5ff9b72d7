"""Counts a prompt's tokens by the model's service, else estimates, as a header says."""

from math import ceil

import msgspec

from ...canon import (
    Blob,
    HttpRequest,
    HttpResponse,
    Image,
    Json,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from ...dialects import NAMES, ModelEndpoints, Rejected, Service, get_dialect
from ...errors import PonderoError
from ...framing import parse_json_or_none
from ..server.context import GatewayContext, Requester
from .attempt import make_attempt
from .errors import add_response_headers, write_error
from .routed_request import ClientRequest, RoutedRequest, read_level, restore, route

CHARACTERS = 3.6  # per token, in a usual mix of prose and code
_MARGIN = 1.25  # an estimated prompt may be this much larger
_AROUND = 4  # extra tokens of each message, part and tool
_PICTURE = 1_500
_MEDIA = 3_000
_LONGEST = 1 << 20  # bytes of a response that has only a number


async def count_prompt(
    gateway: GatewayContext, http: HttpRequest, requester: Requester
) -> HttpResponse | None:
    """Return the token count of a prompt; None for any other request."""
    for name in NAMES:
        service = get_dialect(name).service()
        models = service.models
        if models is not None and models.classify(http) == "tokens":
            return await _count(
                gateway,
                ClientRequest(id="", client_dialect=name, http=http, requester=requester),
                service,
                models,
            )
    return None


async def _count(
    gateway: GatewayContext, call: ClientRequest, service: Service[Json], models: ModelEndpoints
) -> HttpResponse:
    if models.parse_count is None or models.write_count is None:
        return service.error(404, "this API has no token count", code=None, retry_after=None)
    try:
        call = msgspec.structs.replace(call, http=models.parse_count(call.http))
        parsed = service.parse(call.http)
        resolved = route(gateway, call, parsed)
        level = read_level(call, parsed, resolved)
        request, turns, envelopes, _ = await restore(gateway, call, parsed.request)
    except (PonderoError, Rejected, RecursionError) as error:
        return write_error(error, call.client_dialect, service)
    routed = RoutedRequest(
        call=call,
        service=service,
        parsed=parsed,
        request=request,
        turns=turns,
        resolved=resolved,
        requested_level=level,
        envelopes=envelopes,
    )
    tokens = await _ask_service(gateway, routed)
    if tokens is not None:
        return models.write_count(tokens)
    guess = models.write_count(estimate(routed.request))
    return add_response_headers(guess, {"x-pondero-count": "estimate"})


async def _ask_service(gateway: GatewayContext, routed: RoutedRequest) -> int | None:
    """Return the count of the model's own service; None if it has none, or fails."""
    entry = routed.resolved.entries[0]
    caller = get_dialect(entry.provider.dialect).caller()
    if caller.count_request is None:
        return None
    try:
        exchange = make_attempt(gateway, routed, entry).exchange
        answer = await gateway.transport_for(exchange).send(
            caller.count_request(exchange.http), gateway.timeouts
        )
        try:
            body = bytearray()
            async for piece in answer:
                body += piece
                if len(body) > _LONGEST:
                    return None
        finally:
            await answer.aclose()
    except PonderoError:
        return None
    raw = parse_json_or_none(bytes(body)) if answer.head.status == 200 else None
    tokens = raw.get(caller.count_field) if isinstance(raw, dict) else None
    return tokens if isinstance(tokens, int) else None


def estimate_most(request: Request) -> int:
    """Return an estimate of a request's tokens that few prompts exceed."""
    return ceil(estimate(request) * _MARGIN)


def estimate(request: Request) -> int:
    """Return an estimate of a request's tokens."""
    characters = sum(_measure(text.text) for text in request.system)
    characters += sum(
        len(tool.name)
        + len(tool.description)
        + len(msgspec.json.encode(tool.parameters or tool.raw))
        for tool in request.tools
    )
    tokens = _AROUND * (len(request.messages) + len(request.tools))
    for message in request.messages:
        for part in message.parts:
            tokens += _AROUND
            text, more = _size(part)
            characters += text
            tokens += more
    return max(1, tokens + ceil(characters / CHARACTERS))


def _size(part: object) -> tuple[int, int]:
    """Return the characters of a part, and the tokens of media."""
    match part:
        case Text() | Thinking():
            return _measure(part.text), 0
        case ToolCall():
            return len(part.name) + len(msgspec.json.encode(part.arguments)), 0
        case ToolResult():
            sizes = [_size(inner) for inner in part.content]
            return sum(size[0] for size in sizes), sum(size[1] for size in sizes)
        case Image():
            return 0, _PICTURE
        case Blob():
            return 0, _MEDIA
        case UnknownPart():
            return len(msgspec.json.encode(part.raw)), 0
    return 0, 0


def _measure(text: str) -> int:
    """Return the size of a text in characters of English: others take a token for two bytes."""
    if text.isascii():
        return len(text)
    return len(text) + ceil((len(text.encode("utf-8", "replace")) - len(text)) * CHARACTERS / 2)
