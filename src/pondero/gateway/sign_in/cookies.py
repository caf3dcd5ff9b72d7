"""The cookies of the console: the session, and a sign-in under way.

Scripts cannot read them, and no other site's request carries the session. Over https their names
have the prefix with which browsers accept them from this very host alone.
"""

from collections.abc import Mapping

from ..config.model import SignInConfig

SESSION = "pondero-session"
PENDING = "pondero-sign-in"
_HOST_ONLY = "__Host-"
_PARTS = 200  # of a header


def find_cookie(headers: Mapping[str, str], name: str, config: SignInConfig) -> str:
    """Return a cookie of a request; empty if there is none, or more than one of its name."""
    wanted = name_cookie(name, config)
    found = [
        value.strip()
        for part in headers.get("cookie", "").split(";", _PARTS)
        for key, _, value in (part.partition("="),)
        if key.strip() == wanted
    ]
    return found[0] if len(found) == 1 else ""


def write_cookie(name: str, value: str, config: SignInConfig, *, seconds: float) -> str:
    """Return the header that sets a cookie; with no seconds, it removes the cookie."""
    # The provider sends the browser back here from its own site, which Strict would not allow.
    same_site = "Lax" if name == PENDING else "Strict"
    parts = [
        f"{name_cookie(name, config)}={value}",
        "Path=/",
        f"Max-Age={max(0, int(seconds))}",
        "HttpOnly",
        f"SameSite={same_site}",
        *(["Secure"] if _is_https(config) else []),
    ]
    return "; ".join(parts)


def name_cookie(name: str, config: SignInConfig) -> str:
    """Return the name of a cookie as browsers know it."""
    return f"{_HOST_ONLY}{name}" if _is_https(config) else name


def _is_https(config: SignInConfig) -> bool:
    return config.public_url.startswith("https://")
