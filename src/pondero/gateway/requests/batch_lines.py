"""The requests inside of a batch: each goes through the rules like a conversation of its own."""

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from ...canon import HttpRequest, Json, get_decoder
from ...catalog import ModelEntry
from ...dialects import BatchLines, Rejected, Service, get_dialect
from ...errors import BadParameter, PermissionDenied, PonderoError, UnknownModel
from ..config.deployment_names import name_place
from ..server.context import GatewayContext
from .attempt import make_attempt
from .endpoint_target import EndpointTarget
from .routed_request import ClientRequest, parse_and_route
from .stored_ids import check_stored_ids

_FIELDS = get_decoder(dict[str, Raw])
_LINES = get_decoder(list[dict[str, Raw]])
MOST_LINES = 100_000
"""Requests of a batch, as many as Anthropic takes (message batches, 2026-11)."""


async def dial_lines(
    gateway: GatewayContext, call: ClientRequest, lines: BatchLines, body: bytes
) -> tuple[bytes, tuple[EndpointTarget, ...]]:
    """Return a batch whose requests have the levels and models that the rules allow them.

    Also returns its provider, which all must have. Raises what a conversation would be rejected
    with, and says in which line.
    """
    try:
        fields = _FIELDS.decode(body)
        rows = _LINES.decode(bytes(fields[lines.at]))
    except (KeyError, msgspec.DecodeError):
        raise BadParameter(f"{lines.at} is not a list of requests") from None
    if not rows or len(rows) > MOST_LINES:
        raise BadParameter(f"{lines.at} must have 1 to {MOST_LINES:,} requests")
    service = get_dialect(lines.dialect).service()
    home: ModelEntry | None = None
    for number, row in enumerate(rows):
        try:
            params = bytes(row[lines.body])
        except KeyError:
            raise BadParameter(f"{lines.at}.{number} has no {lines.body}") from None
        try:
            home, row[lines.body] = await _dial(gateway, call, params, lines, service, home)
        except PermissionDenied as error:
            message = f"{lines.at}.{number}: {error}"
            raise PermissionDenied(message, status=403) from None
        except Rejected:
            raise
        except PonderoError as error:
            raise BadParameter(f"{lines.at}.{number}: {error}") from None
    assert home is not None  # noqa: S101 - there is at least one row
    fields[lines.at] = Raw(msgspec.json.encode(rows))
    return msgspec.json.encode(fields), (
        EndpointTarget(home.provider, entry=home if home.deployment else None),
    )


async def _dial(
    gateway: GatewayContext,
    call: ClientRequest,
    params: bytes,
    lines: BatchLines,
    service: Service[Json],
    home: ModelEntry | None,
) -> tuple[ModelEntry, Raw]:
    http = HttpRequest("POST", f"http://gateway{lines.path}", call.http.headers, params)
    own = replace(call, http=http, client_dialect=lines.dialect)
    routed = await parse_and_route(gateway, own, service)
    routed = await check_stored_ids(gateway, routed)
    for entry in routed.resolved.entries:
        same = home is None or name_place(entry) == name_place(home)
        if same and entry.provider.dialect == lines.dialect:
            attempt = make_attempt(gateway, routed, entry)
            return entry, Raw(attempt.exchange.http.body)
    asked = routed.parsed.request.model
    where = f" of {home.provider.label}, as the line before" if home is not None else ""
    raise UnknownModel(f"{asked!r} is no model{where} that has batches of this kind")
