"""The environment's proxy for an address: HTTPS_PROXY, ALL_PROXY, NO_PROXY ...

Both HTTP transports use it; its own file keeps each from loading the other's library.
"""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


class Proxies:
    """The proxy of each host, looked up once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str | None] = {}

    def proxy_for(self, url: str) -> str | None:
        """Return the proxy's address, or None for a direct connection."""
        scheme, _, rest = url.partition("://")
        key = (scheme, rest.partition("/")[0])
        if key not in self._known:
            self._known[key] = _find_proxy(url)
        return self._known[key]


def _find_proxy(url: str) -> str | None:
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None or (parts.hostname and proxy_bypass(parts.netloc.rpartition("@")[2])):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
