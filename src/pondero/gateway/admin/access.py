"""Checks who may use the console and the admin API, and from which pages.

Without an admin key the gateway must listen on this machine alone, and be asked from it directly.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ...canon import HttpRequest
from ..config.model import GatewayConfig, GatewayKey, is_loopback
from ..requests.read_request import find_requester

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_OWN = ("same-origin", "none")  # of sec-fetch-site: this page itself, or a typed address


class AccessDenied(Exception):
    """The request may not use the admin API; ``status`` 401 means that a key would help."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def check_origin(http: HttpRequest, config: GatewayConfig, keys: Sequence[GatewayKey]) -> None:
    """Raise AccessDenied for a foreign host name (DNS rebinding) or a page of another site."""
    host = http.headers.get("host", "")
    name = urlsplit(f"//{host}").hostname or ""
    if not any(key.admin for key in keys):
        if not is_loopback(config.server.host):
            message = "the console needs an admin key here; 'pondero keys create --gateway --admin'"
            raise AccessDenied(403, message)
        if not is_loopback(name) or any(each in http.headers for each in _FORWARDED):
            message = (
                f"without an admin key the console is available on this machine only, not as "
                f"{name!r}; create a key with 'pondero keys create --gateway --admin'"
            )
            raise AccessDenied(403, message)
    origin = http.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        raise AccessDenied(403, "cross-site request blocked")
    if http.headers.get("sec-fetch-site", "none") not in _OWN:
        raise AccessDenied(403, "cross-site request blocked")


def check_admin(http: HttpRequest, keys: Sequence[GatewayKey]) -> None:
    """Raise AccessDenied without an admin key in the ``Authorization`` header, if one exists."""
    if not any(key.admin for key in keys):
        return
    found = find_requester(HttpRequest(http.method, "", _keep_authorization(http.headers)), keys)
    if found is None:
        raise AccessDenied(401, "an admin key is required: send 'Authorization: Bearer KEY'")
    if found.key is None or not found.key.admin:
        raise AccessDenied(403, f"the key {found.name!r} is not an admin key")


def _keep_authorization(headers: Mapping[str, str]) -> dict[str, str]:
    return {"authorization": headers.get("authorization", "")}
