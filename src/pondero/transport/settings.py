"""The arguments of the HTTP transports, checked when a transport is made.

Both libraries' transports take the same arguments; this file imports neither library.
"""

import os
import re
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ..errors import BadParameter
from .proxies import Proxies, check_proxy
from .tls import make_context

Verify = bool | str | os.PathLike[str] | ssl.SSLContext
"""True (the system's authorities), False, a file or folder of authorities, or a context."""

Cert = str | os.PathLike[str] | tuple[str | os.PathLike[str], ...]
"""A PEM file with certificate and key, or (certificate, key), or (certificate, key, password)."""


class ConnectionLimits(Struct, frozen=True):
    """How many connections a transport opens and keeps.

    ``max_connections``: at once; None for no limit. ``max_keepalive_connections``: idle ones that
    are kept, for ``keepalive_expiry`` seconds.

    >>> limits = pondero.ConnectionLimits(max_connections=8)
    >>> transport = pondero.HttpTransport(limits=limits)
    """

    max_connections: int | None = None
    # Few idle connections, because the pool checks each one for every request.
    max_keepalive_connections: int | None = 20
    keepalive_expiry: float | None = 60.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            number = isinstance(value, (int, float) if name == "keepalive_expiry" else int)
            least = 1 if name == "max_connections" else 0
            if value is not None and (isinstance(value, bool) or not number or not value >= least):
                raise BadParameter(f"invalid {name}={value!r}; use a number from {least}, or None")


class HttpSettings(Struct, frozen=True):
    """The checked arguments of a transport; ``context`` is None for the usual TLS."""

    proxies: Proxies
    context: ssl.SSLContext | None
    limits: ConnectionLimits
    http2: bool
    headers: dict[str, str]


def read_settings(
    *,
    proxy: Any,
    verify: Any,
    cert: Any,
    limits: Any,
    http2: Any,
    headers: Any,
    usual: Callable[[], ssl.SSLContext],
) -> HttpSettings:
    """Return the settings of a transport; raises BadParameter for an argument that is invalid.

    ``usual`` makes a TLS context that trusts the system's authorities.
    """
    if proxy is not None and not isinstance(proxy, str):
        raise BadParameter(f"invalid proxy={proxy!r}; use an address such as http://localhost:8080")
    if limits is not None and not _has_limits(limits):
        message = f"invalid limits={limits!r}; use pondero.ConnectionLimits(max_connections=8)"
        raise BadParameter(message)
    if not isinstance(http2, bool):
        raise BadParameter(f"invalid http2={http2!r}; use True or False")
    fixed = check_proxy(proxy, "proxy") if proxy else proxy
    is_usual = verify is True and cert is None
    return HttpSettings(
        Proxies(fixed),
        None if is_usual else make_context(verify, cert, usual),
        _read_limits(limits),
        http2,
        _read_headers(headers),
    )


def _has_limits(limits: object) -> bool:
    """Return whether these are limits; those of httpx have the same fields."""
    return all(hasattr(limits, name) for name in ConnectionLimits.__struct_fields__)


def _read_limits(limits: Any) -> ConnectionLimits:
    if limits is None or isinstance(limits, ConnectionLimits):
        return limits or ConnectionLimits()
    return ConnectionLimits(*(getattr(limits, name) for name in ConnectionLimits.__struct_fields__))


_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_FRAMING = ("connection", "content-encoding", "content-length", "transfer-encoding")


def _read_headers(headers: Any) -> dict[str, str]:
    if headers is not None and not isinstance(headers, Mapping):
        message = f"headers= takes a mapping of names to text, not {type(headers).__name__}"
        raise BadParameter(message)
    for name, value in (headers or {}).items():
        if not (isinstance(name, str) and isinstance(value, str) and _NAME.fullmatch(name)):
            message = f"headers have names and text, not {name!r}: {type(value).__name__}"
            raise BadParameter(message)
        if name.lower() in _FRAMING:
            raise BadParameter(f"the header {name!r} belongs to the transport; omit it")
        if not (value.isascii() and value.isprintable()):
            raise BadParameter(f"the header {name!r} has letters that no header can carry")
    return {name.lower(): value for name, value in (headers or {}).items()}
