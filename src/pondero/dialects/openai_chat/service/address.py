"""The addresses of this wire, and the model that an address names."""

import re
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from pondero.canon import HttpRequest

HOME = "openai-chat"
_PATH = "/chat/completions"
_DEPLOYMENT = re.compile(r"/deployments/([^/?]+)/")
# Gemini lists its models at similar addresses, below versions such as v1beta.
_MODELS = re.compile(r"(?!.*/v\d+beta\d*/models).*/models(?:/(?P<model>.+))?")


def serves(path: str) -> bool:
    """Return whether a path is this wire's."""
    return path.endswith(_PATH)


def default_model(url: str, *, keyless: bool) -> str | None:
    """Return the model if the body names none: Azure's address does; a keyless server has one."""
    found = _DEPLOYMENT.search(url)
    return found[1] if found else "default" if keyless else None


def asks(http: HttpRequest) -> Literal["models"] | None:
    """Return "models" if a request asks for models (Gemini's has the key in the query)."""
    parts = urlsplit(http.url)
    ours = _MODELS.fullmatch(parts.path) and "key" not in parse_qs(parts.query)
    return "models" if http.method == "GET" and ours else None


def requested_model(http: HttpRequest) -> str | None:
    """Return the requested model; None if the request asks for the list."""
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    return None if found is None or found["model"] is None else unquote(found["model"])
