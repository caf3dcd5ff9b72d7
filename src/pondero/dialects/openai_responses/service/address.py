"""The address of this wire: its path, the model a request names, and the key it needs."""

from pondero.canon import HttpRequest
from pondero.dialects.bodies import model_of, with_model

from .errors import reject

__all__ = ["HOME", "check_address", "check_key", "model_of", "serves", "with_model"]

HOME = "openai"  # the default provider
_PATH = "/responses"


def serves(path: str) -> bool:
    """Return whether this path is the wire's."""
    return path.endswith(_PATH)


def check_address(http: HttpRequest) -> None:
    """Reject any other address or method, then a request without a key."""
    path = http.url.partition("?")[0].partition("://")[2].partition("/")[2]
    if not serves(f"/{path}") or http.method != "POST":
        reject("no_path", method=http.method, path=path)
    check_key(http)


def check_key(http: HttpRequest) -> None:
    """Reject a request without a key."""
    key = http.headers.get("authorization", "").removeprefix("Bearer").strip()
    if not (key or http.headers.get("api-key")):
        reject("no_key")
