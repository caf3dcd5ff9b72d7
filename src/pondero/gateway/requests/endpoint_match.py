"""Finds the endpoint of a request: one of the table, or an address that the operator opened."""

import re
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from ...canon import HttpRequest
from ...dialects import Endpoint, EndpointMatch, find_closed, find_endpoint, list_apis
from ...store import load_catalog
from ..config.endpoint_section import OTHER
from ..config.model import GatewayConfig
from .requester import AccessDenied

_PATH = re.compile(r"(?:/(?!\.+(?:/|$))[A-Za-z0-9_.~@:-]+)+")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def match_endpoint(config: GatewayConfig, http: HttpRequest) -> EndpointMatch | None:
    """Return the endpoint of a request; None for any other. Raises AccessDenied."""
    path = urlsplit(http.url).path
    if (found := find_endpoint(http, path)) is not None:
        return found
    if (why := find_closed(path)) is not None:
        raise AccessDenied(403, f"{path[:100]} is closed: {why}")
    if not _PATH.fullmatch(path) or http.method not in _METHODS:
        return None
    providers = load_catalog().catalog.providers
    for route in config.endpoints:
        if route.match.startswith("/") and fnmatchcase(path, route.match):
            dialect = providers[route.to].dialect
            api = next((each for each in list_apis() if dialect in each.dialects), None)
            if api is None:
                continue
            version = next(each for each in (*api.versions, "") if path.startswith(each))
            row = Endpoint(
                name=OTHER,
                api=api.name,
                calls=(f"{http.method} {path}",),
                carries=True,
                lists=(f"{http.method} {path}",),  # nothing is known of whose things it shows
                source="gateway.toml",
            )
            return EndpointMatch(
                endpoint=row,
                api=api,
                call=row.calls[0],
                path=path.removeprefix(version),
                version=version,
            )
    return None
