"""The address of a request, the revision that it asks for, and its key."""

import re
from urllib.parse import parse_qs, urlsplit

from pondero.canon import HttpRequest, Json
from pondero.dialects.bodies import model_of, with_model
from pondero.dialects.dialect import OwnPaths

from .errors import RPC, reject, reject_early

__all__ = ["OWN_PATHS", "check_address", "model_of", "serves", "with_model"]

HOME = "google-interactions"
VERTEX = "vertex"
"""In the names of providers that are deployments on Vertex AI."""
REVISION = "2026-05-20"
OWN_PATHS = OwnPaths(
    pattern=re.compile(r"/interactions(?:/|$)"), not_found="Requested entity was not found."
)
"""Addresses of what this API stores."""
_REVISION_HEADER = "api-revision"
_BAD_KEY = re.compile(r"bad|invalid|wrong|expired", re.IGNORECASE)
_SERVICE = {"service": "generativelanguage.googleapis.com"}


def serves(path: str) -> bool:
    """Return whether an address with this path is the one that makes interactions."""
    return path.endswith("/interactions")


def check_address(http: HttpRequest) -> None:
    """Reject another address, a request without a key, and a revision that is gone."""
    parts = urlsplit(http.url)
    if http.method != "POST" or not serves(parts.path):
        reject_early("no_address")
    check_key(http)
    revision = http.headers.get(_REVISION_HEADER)
    if revision is not None and revision < REVISION:
        reject("old_revision", revision=revision)


def check_key(http: HttpRequest) -> None:
    """Reject a request without a key, or with a bad one."""
    query = parse_qs(urlsplit(http.url).query)
    key = http.headers.get("x-goog-api-key") or query.get("key", [""])[-1]
    token = http.headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key and not token:
        reject_early("nobody")
    if key and _BAD_KEY.match(key):
        info: Json = {"@type": f"{RPC}.ErrorInfo", "reason": "API_KEY_INVALID"}
        details: list[Json] = [{**info, "domain": "googleapis.com", "metadata": _SERVICE}]
        reject_early("bad_key", details=details)
    if not key and _BAD_KEY.match(token):
        reject_early("bad_token")
