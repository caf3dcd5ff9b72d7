"""Checks who may use the console and the admin API, and from which pages.

Without an admin key the gateway must listen on this machine alone, and be asked from it directly.
"""

from collections.abc import Mapping, Sequence

from ...canon import HttpRequest
from ..config.model import GatewayConfig, GatewayKey, is_loopback
from ..requests.requester import AccessDenied, check_page, find_host_name, find_requester
from .actor import LOCAL, Actor, Role

_NO_KEY = "an admin key is required: send 'Authorization: Bearer KEY'"
_CREATE = "'pondero keys create --gateway --admin NAME'"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


def check_origin(http: HttpRequest, config: GatewayConfig, keys: Sequence[GatewayKey]) -> None:
    """Raise AccessDenied for a foreign host name (DNS rebinding) or a page of another site."""
    check_host(http, config, keys)
    check_page(http.headers)


def check_host(http: HttpRequest, config: GatewayConfig, keys: Sequence[GatewayKey]) -> None:
    """Raise AccessDenied for a foreign host name while nothing else guards the console."""
    name = find_host_name(http.headers.get("host", ""))
    if not is_guarded(config, keys):
        if not is_loopback(config.server.host):
            message = f"the console needs an admin key here; create one with {_CREATE}"
            raise AccessDenied(403, message)
        if not is_loopback(name) or any(each in http.headers for each in _FORWARDED):
            message = (
                f"without an admin key the console is available on this machine only, not as "
                f"{name[:100]!r}; create a key with {_CREATE}"
            )
            raise AccessDenied(403, message)


def is_guarded(config: GatewayConfig, keys: Sequence[GatewayKey]) -> bool:
    """Return whether the console is for those alone who have an admin key, or sign in."""
    return config.sign_in is not None or any(key.admin for key in keys)


def find_actor(
    http: HttpRequest, keys: Sequence[GatewayKey], now: float, *, allows_local: bool = True
) -> Actor:
    """Return who acts: the holder of the admin key in the ``Authorization`` header.

    Without an admin key and ``[sign_in]``, any user of this machine. Raises AccessDenied.
    """
    if allows_local and not any(key.admin for key in keys):
        return LOCAL
    if not keys:
        raise AccessDenied(401, _NO_KEY)
    try:
        found = find_requester(
            HttpRequest(http.method, "", _keep_authorization(http.headers)), keys, now
        )
    except AccessDenied as no:
        if no.key:
            raise
        raise AccessDenied(401, _NO_KEY) from None
    if found.key is None or not found.key.admin:
        message = f"the key {found.name!r} is not an admin key"
        raise AccessDenied(403, message, key=found.name)
    return Actor(found.name, "admin", "key")


def check_role(actor: Actor, needed: Role) -> None:
    """Raise AccessDenied if a viewer would do what only an admin may."""
    if needed == "admin" and not actor.changes:
        raise AccessDenied(403, describe_viewer(actor))


def describe_viewer(actor: Actor) -> str:
    """Return why a viewer may not do something."""
    return f"{actor.name!r} is a viewer, and may not change anything"


def _keep_authorization(headers: Mapping[str, str]) -> dict[str, str]:
    return {"authorization": headers.get("authorization", "")}
