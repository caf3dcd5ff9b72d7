"""Who sends a request, found from its head alone: its key, or that it comes from this machine."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from functools import lru_cache
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ... import dialects
from ...canon import HttpRequest
from ...dialects import COMMON, list_key_protocols
from ..config.model import GatewayConfig, GatewayGroup, GatewayKey, is_loopback
from ..config.secrets import find_holder
from ..server.context import GatewayContext, Requester
from ..state.envelope_secrets import LOCAL
from ..state.redis_link import SharedStateLost

_LOCAL = Requester()
_AWS = "AWS4-HMAC-SHA256 "
_OWN_PAGE = ("same-origin", "none")  # of sec-fetch-site: this page itself, or a typed address
_PARAMETERS = 64  # of a query that may contain a key
_LONGEST_HOST = 300  # characters; a name has 253, and a port five
_UNKNOWN = (
    "unknown gateway key; create one with 'pondero keys create --gateway', or if the key is in "
    "the configuration already, send the gateway SIGHUP"
)
_MISSING = (
    "the request has no gateway key; send it as 'authorization: Bearer KEY' or 'x-api-key: KEY'"
)


class AccessDenied(Exception):
    """The request is rejected by its head; ``status`` 401 means that another key would help.

    ``key`` is the name of the key that was shown, if there is such a key.
    """

    def __init__(self, status: int, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.key = key


async def identify(gateway: GatewayContext, http: HttpRequest) -> Requester:
    """Return who asks; raises AccessDenied, or SharedStateLost if ``on_state_loss`` refuses."""
    try:
        await gateway.shared.look()
    except SharedStateLost:
        if gateway.config.server.on_state_loss == "refuse":
            raise
    return _find_among(gateway, http, await gateway.keys.all())


async def recognise_requester(
    gateway: GatewayContext, http: HttpRequest
) -> tuple[Requester, tuple[GatewayKey, ...] | None]:
    """Return who asks as far as this process knows, and the keys among which it was found.

    A ``RequesterCheck`` must follow, unless the keys are None: then the shared state was looked at,
    as it is before a request is rejected. Raises AccessDenied and SharedStateLost.
    """
    if gateway.shared.begin_look is not None:
        with suppress(AccessDenied, SharedStateLost):
            keys = await gateway.keys.all()
            return _find_among(gateway, http, keys), keys
    return await identify(gateway, http), None


class RequesterChange(Exception):
    """The key of a requester has other rules by now; ``requester`` has them."""

    def __init__(self, requester: Requester) -> None:
        super().__init__()
        self.requester = requester


class RequesterCheck(Struct, eq=False):
    """Checks one recognised requester against the shared state, once.

    ``begin`` sends the question with the other commands of this step. Nothing may be sent to a
    service, nor told to the client, before ``finish``.
    """

    _gateway: GatewayContext
    _http: HttpRequest
    _requester: Requester
    _keys: tuple[GatewayKey, ...] | None
    _looking: Awaitable[None] | None = None

    @property
    def is_needed(self) -> bool:
        """Return whether the shared state has not been looked at."""
        return self._keys is not None

    def begin(self) -> None:
        """Ask the shared state whether it has other keys."""
        begin = self._gateway.shared.begin_look
        if self._keys is not None and self._looking is None and begin is not None:
            self._looking = begin()

    async def finish(self) -> None:
        """Raise AccessDenied or RequesterChange if the requester is not what it seemed.

        Raises SharedStateLost as ``identify`` does.
        """
        self.begin()
        keys, looking, self._keys = self._keys, self._looking, None
        if keys is None or looking is None:
            return
        try:
            await looking
        except SharedStateLost:
            if self._gateway.config.server.on_state_loss == "refuse":
                raise
        current = await self._gateway.keys.all()
        if current is keys:
            return
        requester = _find_among(self._gateway, self._http, current)
        if requester != self._requester:
            raise RequesterChange(requester)


def _find_among(
    gateway: GatewayContext, http: HttpRequest, keys: Sequence[GatewayKey]
) -> Requester:
    if not keys:
        check_site(http.headers, gateway.config)
    requester = find_requester(http, keys, gateway.now())
    if requester.key is not None and requester.key.group is not None:
        requester = replace(requester, group=_find_group(requester.key, gateway.config))
    return replace(requester, id=LOCAL) if gateway.config.private else requester


def _find_group(key: GatewayKey, config: GatewayConfig) -> GatewayGroup:
    """Return the group of a key; raises AccessDenied if its rules are not known any more."""
    found = config.find_group(key.group or "")
    if found is None:
        message = (
            f"the gateway key {key.name!r} belongs to the group {key.group!r}, which gateway.toml "
            "does not have; add the group, or change the key"
        )
        raise AccessDenied(403, message, key=key.name)
    return found


def find_requester(http: HttpRequest, keys: Sequence[GatewayKey], now: float) -> Requester:
    """Return who asks; without keys, all pass. Raises AccessDenied."""
    if not keys:
        return _LOCAL
    problem = AccessDenied(401, _MISSING)
    for shown in _iter_keys(http.headers, http.url):
        found = find_holder(keys, shown)
        if found is None:
            problem = problem if problem.key else AccessDenied(401, _UNKNOWN)
            continue
        if (end := find_end(found, now)) is None:
            return Requester(found.hash, found)
        problem = AccessDenied(401, f"the gateway key {found.name!r} {end}", key=found.name)
    raise problem


def find_end(key: GatewayKey, now: float) -> str | None:
    """Return why a key is not valid any more, which only its holder is told; None if it is."""
    if key.blocked:
        return "is blocked"
    if key.expires is not None and key.expires.timestamp() <= now:
        return f"expired at {key.expires.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return None


def _iter_keys(headers: Mapping[str, str], url: str) -> Iterator[str]:
    """Yield the keys in a request, wherever a vendor's SDK puts them; a few at most."""
    for name in ("x-api-key", "x-goog-api-key", "api-key"):
        if key := headers.get(name, "").strip():
            yield key
    authorization = headers.get("authorization", "").strip()
    if authorization[:7].lower() == "bearer ":
        yield authorization[7:].strip()
    elif authorization.startswith(
        _AWS
    ):  # boto3 signs requests; the access key id is the gateway key
        _, _, credential = authorization.partition("Credential=")
        yield credential.partition("/")[0]
    if "sec-websocket-protocol" in headers:  # a browser can set no other header of a socket
        beginnings = list_key_protocols()
        for offered in headers["sec-websocket-protocol"].split(",")[:_PARAMETERS]:
            for beginning in beginnings:
                if offered.strip().startswith(beginning):
                    yield offered.strip().removeprefix(beginning)
    query = urlsplit(url).query
    if "key" in query:
        try:
            found = parse_qs(query, max_num_fields=_PARAMETERS).get("key", ())
        except ValueError:  # no SDK sends so many
            return
        yield from (key.strip() for key in found[:1])


def guess_dialect(http: HttpRequest) -> str:
    """Return the dialect that a request to an unknown address most likely speaks."""
    return dialects.guess_dialect(http) or COMMON


# -- web pages ------------------------------------------------------------------------------------


def check_site(headers: Mapping[str, str], config: GatewayConfig) -> None:
    """Raise AccessDenied for a request that a web page of another site sends.

    A gateway without keys trusts its machine, and any page in a browser there can reach it: by its
    address (``Origin``, ``Sec-Fetch-Site``), or by a name of its own that leads to this machine
    (``Host``, DNS rebinding). Clients that are no browser send neither of the first two.
    """
    host = headers.get("host", "")
    if host and not _is_own_host(host[:_LONGEST_HOST], config.server.host):
        message = (
            f"without keys the gateway is available on this machine only, not as {host[:100]!r}; "
            "create a key with 'pondero keys create --gateway'"
        )
        raise AccessDenied(403, message)
    check_page(headers)


def check_page(headers: Mapping[str, str]) -> None:
    """Raise AccessDenied for a page of another site."""
    origin = headers.get("origin")
    if origin is not None and _find_netloc(origin) != headers.get("host", ""):
        raise AccessDenied(403, "cross-site request blocked")
    if headers.get("sec-fetch-site", "none") not in _OWN_PAGE:
        raise AccessDenied(403, "cross-site request blocked")


def is_own_name(name: str, config: GatewayConfig) -> bool:
    """Return whether a host name means this machine, whatever a name server says."""
    return _is_own(name, config.server.host)


def _is_own(name: str, own: str) -> bool:
    return is_loopback(name) or name == own.strip("[]").lower()


@lru_cache(maxsize=64)
def _is_own_host(host: str, own: str) -> bool:
    """Return whether a ``Host`` header means this machine; nearly all requests have the same."""
    return len(host) < _LONGEST_HOST and _is_own(find_host_name(host), own)


def find_host_name(host: str) -> str:
    """Return the name in a ``Host`` header, without its port; empty if it is invalid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises ValueError if it is not a number
        return (parts.hostname or "") if parts.username is None and parts.netloc == host else ""
    except ValueError:
        return ""


def _find_netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None
