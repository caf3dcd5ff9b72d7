"""Reads a request from ASGI; the size limit applies before decompression and parsing."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qs, urlsplit

from ...asgi import Message, Receive
from ...canon import HttpRequest
from ...dialects import COMMON, NAMES, Rejected, get_dialect
from ...errors import BadParameter, MissingExtra
from ..config.model import GatewayKey
from ..config.secrets import find_holder
from ..server.context import GatewayContext, Requester
from ..state.redis_link import SharedStateLost
from .errors import error_response

_LOCAL = Requester()
_AWS = "AWS4-HMAC-SHA256 "


class TooLarge(Exception):
    """The body exceeds the gateway's limit, compressed or not."""


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the body; None if the client disconnected. Raises TooLarge."""
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise TooLarge
        more = message.get("more_body", False)
    return b"".join(pieces) if len(pieces) > 1 else pieces[0]


def make_http_request(scope: Message, body: bytes, limit: int) -> HttpRequest:
    """Return the request with its body decompressed; raises TooLarge and BadParameter."""
    headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
    encoding = headers.pop("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        body = decompress(body, encoding, limit)
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope.get("query_string", b"").decode("latin-1")
    url = f"http://gateway{path}{'?' if query else ''}{query}"
    return HttpRequest(scope["method"], url, headers, body)


def decompress(body: bytes, encoding: str, limit: int) -> bytes:
    """Return a body decompressed; raises TooLarge, and BadParameter if it is damaged."""
    unpack = _DECODERS.get(encoding)
    if unpack is None:
        message = f"unsupported content-encoding {encoding!r}; use {' '.join(_DECODERS)}"
        raise BadParameter(message)
    try:
        return unpack(body, limit)
    except (zlib.error, EOFError) as error:
        message = f"the body is not {encoding}: {error}"
        raise BadParameter(message) from None


def _zlib(body: bytes, limit: int, bits: int) -> bytes:
    unpacking = zlib.decompressobj(bits)
    data = unpacking.decompress(body, limit + 1)
    if len(data) > limit:
        raise TooLarge
    if not unpacking.eof:
        raise EOFError("its end is missing")
    return data


def _gzip(body: bytes, limit: int) -> bytes:
    return _zlib(body, limit, 31)


def _deflate(body: bytes, limit: int) -> bytes:
    try:
        return _zlib(body, limit, 15)
    except zlib.error:  # some clients omit the header
        return _zlib(body, limit, -15)


def _zstd(body: bytes, limit: int) -> bytes:
    try:
        import zstandard  # noqa: PLC0415 - an extra; only Codex uses it
    except ImportError:
        raise MissingExtra("zstd bodies need zstandard: pip install 'pondero[gateway]'") from None
    pieces, size = [], 0
    try:
        for piece in zstandard.ZstdDecompressor().read_to_iter(body):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise TooLarge
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from None
    return b"".join(pieces)


_DECODERS = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "zstd": _zstd}


async def identify(
    gateway: GatewayContext, http: HttpRequest, client_dialect: str | None
) -> Requester:
    """Return who asks; raises Rejected, or SharedStateLost if ``on_state_loss`` refuses."""
    try:
        await gateway.shared.look()
    except SharedStateLost:
        if gateway.config.server.on_state_loss == "refuse":
            raise
    requester = find_requester(http, await gateway.keys.all())
    if requester is None:
        service = get_dialect(client_dialect or guess_dialect(http)).service()
        message = "unknown gateway key; create one with 'pondero keys create --gateway'"
        raise Rejected(error_response(service, 401, message))
    return Requester(key=requester.key) if gateway.config.private else requester


def guess_dialect(http: HttpRequest) -> str:
    """Return the dialect that a request to an unknown address most likely speaks."""
    sent = http.headers.keys()
    for name in NAMES:
        service = get_dialect(name).service()
        asks = service.models.classify(http) if service.models else None
        if asks or service.own_headers & sent:
            return name
    return COMMON


def find_requester(http: HttpRequest, keys: Sequence[GatewayKey]) -> Requester | None:
    """Return who asks; None if the key is unknown or blocked. Without keys, all pass."""
    if not keys:
        return _LOCAL
    for shown in _iter_keys(http.headers, http.url):
        found = find_holder(keys, shown)
        if found is not None and not found.blocked:
            return Requester(found.hash, found)
    return None


def _iter_keys(headers: Mapping[str, str], url: str) -> Iterator[str]:
    """Yield the keys in a request, wherever a vendor's SDK puts them."""
    for name in ("x-api-key", "x-goog-api-key", "api-key"):
        if key := headers.get(name):
            yield key
    authorization = headers.get("authorization", "")
    if authorization[:7].lower() == "bearer ":
        yield authorization[7:].strip()
    elif authorization.startswith(
        _AWS
    ):  # boto3 signs requests; the access key id is the gateway key
        _, _, credential = authorization.partition("Credential=")
        yield credential.partition("/")[0]
    yield from parse_qs(urlsplit(url).query).get("key", ())
