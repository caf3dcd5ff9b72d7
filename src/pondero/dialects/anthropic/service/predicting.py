"""A request whose address names the model and whose body names the version, made a usual one."""

import re
from urllib.parse import unquote, urlsplit

from msgspec.json import encode

from pondero.canon import HttpRequest, Json

from .errors import refuse
from .typing import typed

_ADDRESS = re.compile(
    r".*/publishers/anthropic/models/(?P<model>[^/:]+):(?P<verb>rawPredict|streamRawPredict)"
)
_VERSIONS = ("vertex-2023-10-16", "2023-06-01", "2026-10-21")


def predicts(path: str) -> bool:
    """Return whether an address with this path is of that kind."""
    return _ADDRESS.fullmatch(path) is not None


def usual(http: HttpRequest) -> bytes:
    """Return the body as it would stand elsewhere; refuses what does not fit the address."""
    found = _ADDRESS.fullmatch(urlsplit(http.url).path)
    body: dict[str, Json] = typed(http.body, dict)
    if found is None:
        return http.body
    version = body.pop("anthropic_version", None)
    if version is None:
        raise refuse("anthropic_version: Field required")
    if version not in _VERSIONS:
        raise refuse(f'anthropic_version: "{version}" is not a valid version')
    if "model" in body:
        raise refuse("model: Extra inputs are not permitted")
    if bool(body.get("stream")) != (found["verb"] == "streamRawPredict"):
        raise refuse("stream: must be true with streamRawPredict, and only there")
    return encode({"model": unquote(found["model"]), **body})
