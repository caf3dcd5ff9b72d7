"""Which requests are for this wire, and which model an address names.

Nothing here looks at a key or at a provider's table: ``pondero.sdk`` and the gateway use
``serves`` and ``model_of`` without the rules.
"""

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
    """Return whether an address with this path is one of this wire's."""
    return path.endswith(_PATH)


def default_model(url: str, *, keyless: bool) -> str | None:
    """Return the model of a request whose body names none.

    Azure's addresses name it. An engine that wants no key has one model and needs no name for it.
    """
    found = _DEPLOYMENT.search(url)
    return found[1] if found else "default" if keyless else None


def asks(http: HttpRequest) -> Literal["models"] | None:
    """Return "models" for a request for the list of models, or for one model of it.

    Gemini lists its models at such an address too, with the key in the query.
    """
    parts = urlsplit(http.url)
    ours = _MODELS.fullmatch(parts.path) and "key" not in parse_qs(parts.query)
    return "models" if http.method == "GET" and ours else None


def requested_model(http: HttpRequest) -> str | None:
    """Return the one model that is asked for; None where the whole list is."""
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    return None if found is None or found["model"] is None else unquote(found["model"])
