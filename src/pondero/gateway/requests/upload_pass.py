"""Lets a client continue an upload without its key: some SDKs send none with the bytes.

The address for the next step has a pass that only the client with the key was given. It is good for
this upload alone, and only as long as the key is.
"""

from secrets import token_urlsafe
from urllib.parse import parse_qs, urlsplit

from msgspec.structs import replace

from ...canon import HttpRequest
from ...dialects import EndpointMatch, find_endpoint
from ..server.context import GatewayContext, Requester
from ..state.envelope_secrets import LOCAL
from ..state.redis_link import SharedStateLost
from .requester import find_end
from .stored_ids import make_stored_key

PASS = "pondero_upload"  # noqa: S105 - its name
"""The query parameter with the pass."""
_PURPOSE = b"upload"
_PARAMETERS = 64


async def make_pass(gateway: GatewayContext, requester: Requester, upload: str) -> str:
    """Return a new pass for an upload of a client."""
    made = token_urlsafe(32)
    record = requester.id.encode() + b"\0" + upload.encode()
    await gateway.shared.owners.put({make_stored_key(_PURPOSE, made): record})
    return made


async def find_uploader(gateway: GatewayContext, http: HttpRequest) -> Requester | None:
    """Return who continues an upload with a pass; None for any other request."""
    query = urlsplit(http.url).query
    if PASS not in query:
        return None
    path = urlsplit(http.url).path
    match = find_endpoint(http, path)
    if match is None or not match.endpoint.given_query:
        return None
    try:
        await gateway.shared.look()
    except SharedStateLost:
        if gateway.config.server.on_state_loss == "refuse":
            raise
    return await _find_holder(gateway, match, query)


async def _find_holder(
    gateway: GatewayContext, match: EndpointMatch, query: str
) -> Requester | None:
    try:
        said = parse_qs(query, max_num_fields=_PARAMETERS)
    except ValueError:
        return None
    passes, uploads = said.get(PASS, []), said.get(match.endpoint.given_query, [])
    if len(passes) != 1 or len(uploads) != 1:
        return None
    name = make_stored_key(_PURPOSE, passes[0])
    record = (await gateway.shared.owners.get([name])).get(name, b"")
    owner, _, upload = record.decode().partition("\0")
    if not owner or upload != uploads[0]:
        return None
    for key in await gateway.keys.all():
        if key.hash == owner and find_end(key, gateway.now()) is None:
            group = gateway.config.find_group(key.group) if key.group is not None else None
            if key.group is not None and group is None:
                return None  # its rules are not known any more
            found = Requester(owner, key, group)
            return replace(found, id=LOCAL) if gateway.config.private else found
    return None
