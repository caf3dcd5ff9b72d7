"""The proxy for an address: an argument, or the environment's HTTPS_PROXY, ALL_PROXY, NO_PROXY ...

Both HTTP transports use it; its own file keeps each from loading the other's library.
"""

from typing import NoReturn
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import BadConfig, BadParameter

_SCHEMES = ("http", "https", "socks5", "socks5h")


class Proxies:
    """The proxy of each host, looked up once; one that is given holds for every host.

    ``given``: None for the environment's, an empty text for none at all.
    """

    def __init__(self, given: str | None = None) -> None:
        self._given = given
        self._known: dict[tuple[str, str], str | None] = {}

    def proxy_for(self, url: str) -> str | None:
        """Return the proxy's address, or None for a direct connection; raises BadConfig."""
        if self._given is not None:
            return self._given or None
        scheme, _, rest = url.partition("://")
        key = (scheme, rest.partition("/")[0])
        if key not in self._known:
            self._known[key] = _find_proxy(url)
        return self._known[key]


def check_proxy(proxy: str, name: str) -> str:
    """Return a proxy's whole address; raises BadParameter, or BadConfig for a variable."""
    proxy = proxy.strip()
    whole = proxy if "://" in proxy else f"http://{proxy}"
    scheme, _, rest = whole.partition("://")
    if scheme == "socks":  # as desktops write it
        scheme, whole = "socks5", f"socks5://{rest}"
    try:
        parts = urlsplit(whole)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        _reject(whole, name, str(error))
    if scheme not in _SCHEMES:
        _reject(whole, name, f"no scheme {scheme!r}; use {', '.join(_SCHEMES)}")
    if not host or len(host.split()) > 1:
        _reject(whole, name, "it has no host, or a space in it")
    return whole


def is_socks(proxy: str | None) -> bool:
    """Return whether this is the address of a SOCKS proxy."""
    return proxy is not None and proxy.startswith("socks5")


def hide_password(proxy: str) -> str:
    """Return a proxy's address for a message, without user and password."""
    scheme, _, rest = proxy.rpartition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _reject(proxy: str, name: str, why: str) -> NoReturn:
    kind = BadParameter if name == "proxy" else BadConfig
    message = f"invalid {name} {hide_password(proxy)!r} ({why}); such as http://localhost:8080"
    raise kind(message) from None  # an error of urlsplit may quote a key


def _find_proxy(url: str) -> str | None:
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None or (parts.hostname and proxy_bypass(parts.netloc.rpartition("@")[2])):
        return None
    return check_proxy(proxy, f"{parts.scheme.upper()}_PROXY or ALL_PROXY")
