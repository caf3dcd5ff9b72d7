"""The address of this wire: its path, the model a request names, and the key it needs."""

import re
from typing import NoReturn

from pondero.canon import HttpRequest
from pondero.dialects.bodies import model_of, with_model
from pondero.dialects.dialect import OwnPaths

from .errors import reject

__all__ = ["HOME", "check_address", "check_key", "model_of", "serves", "with_model"]

HOME = "openai"  # the default provider
# Sheets groq 7, mistral 7, deepseek 1, openrouter 7, xai 7, ollama 1 (2026-11-15).
ALSO_AT = {
    **{name: name for name in ("groq", "mistral", "deepseek", "openrouter", "ollama")},
    "xai": "xai-responses",
}
CREATED_AT = 1_763_164_800  # this room has no clock, and the field is required
STATE_HEADER = "x-emulated-state"
"""Header with how far a stored answer is that a request is about; without it, none is stored."""
_STORED = re.compile(r".*/responses/([^/]+)(?:/cancel|/input_items)?")
_PATH = "/responses"
OWN_PATHS = OwnPaths(
    pattern=re.compile(r"/(?:responses|conversations)(?:/|$)"),
    not_found="Invalid URL ({method} {path})",
)
"""Addresses of what this API stores."""


def serves(path: str) -> bool:
    """Return whether this path is the wire's."""
    return path.endswith(_PATH)


def check_address(http: HttpRequest, *, keyless: bool = False) -> None:
    """Reject any other address or method, then a request without a key."""
    path = http.url.partition("?")[0].partition("://")[2].partition("/")[2]
    if found := _STORED.fullmatch(f"/{path}"):
        check_key(http)
        reject_stored(found[1], http.headers.get(STATE_HEADER, ""))
    if not serves(f"/{path}") or http.method != "POST":
        reject("no_path", method=http.method, path=path)
    if not keyless:
        check_key(http)


def reject_stored(id: str, status: str) -> NoReturn:
    """Reject a request about an answer that is not stored, or that cannot be cancelled."""
    if status:
        reject("cancel_foreground")
    reject("unknown_response", id=id)


def check_key(http: HttpRequest) -> None:
    """Reject a request without a key."""
    key = http.headers.get("authorization", "").removeprefix("Bearer").strip()
    if not (key or http.headers.get("api-key")):
        reject("no_key")
