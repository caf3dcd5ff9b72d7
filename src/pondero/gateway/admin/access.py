"""Who may see the console and use the admin API, and from which pages.

With an admin's key in use, only who shows one may. Without any, the gateway must listen on this
machine alone, and whoever reaches it may, as it is with requests; a page of another site may not,
however it got the browser to ask, and neither may what comes through a proxy.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ...canon import HttpRequest
from ..config.model import GatewayConfig, GatewayKey, is_loopback
from ..requests.read_request import find_requester

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_OWN = ("same-origin", "none")  # of sec-fetch-site: this page itself, or somebody typed the address


class AccessDenied(Exception):
    """This visitor may not; ``status`` says whether a key would help."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def check_origin(http: HttpRequest, config: GatewayConfig, keys: Sequence[GatewayKey]) -> None:
    """Raise NotAllowed for a request under a wrong name, or made by a page of another site.

    A name that somebody else owns can be made to mean this machine; the browser would then take
    their page for ours.
    """
    host = http.headers.get("host", "")
    name = urlsplit(f"//{host}").hostname or ""
    if not any(key.admin for key in keys):
        if not is_loopback(config.server.host):
            message = "the console needs an admin key here; 'pondero keys make --gateway --admin'"
            raise AccessDenied(403, message)
        if not is_loopback(name) or any(each in http.headers for each in _FORWARDED):
            message = (
                f"without an admin key the console is available on this machine only, not as "
                f"{name!r}; create a key with 'pondero keys make --gateway --admin'"
            )
            raise AccessDenied(403, message)
    origin = http.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        raise AccessDenied(403, "cross-site request blocked")
    if http.headers.get("sec-fetch-site", "none") not in _OWN:
        raise AccessDenied(403, "cross-site request blocked")


def check_admin(http: HttpRequest, keys: Sequence[GatewayKey]) -> None:
    """Raise NotAllowed where an admin's key is needed and not shown, or shown in the address."""
    if not any(key.admin for key in keys):
        return
    found = find_requester(HttpRequest(http.method, "", _keep_authorization(http.headers)), keys)
    if found is None:
        raise AccessDenied(401, "an admin key is required: send 'Authorization: Bearer KEY'")
    if found.key is None or not found.key.admin:
        raise AccessDenied(403, f"the key {found.name!r} is not an admin key")


def _keep_authorization(headers: Mapping[str, str]) -> dict[str, str]:
    return {"authorization": headers.get("authorization", "")}
