"""``[sign_in]``: who may sign in to the console, and at which identity provider."""

from urllib.parse import urlsplit

from .examples import EXAMPLES
from .model import REFERENCES, SignInConfig, is_loopback
from .rows import ConfigRows

_PLACE = ("sign_in",)
_OPENID = "openid"


def read_sign_in(rows: ConfigRows) -> SignInConfig | None:
    """Return how people sign in to the console; None if they cannot. Raises BadConfig."""
    if "sign_in" not in rows.file.values:
        return None
    row = rows.table(rows.file.values["sign_in"], _PLACE)
    claim = row.get("role_claim")
    row = {**row, "role_claim": [claim]} if isinstance(claim, str) else row
    config = rows.build(row, SignInConfig, _PLACE)
    _check_address(rows, "issuer", config.issuer)
    _check_address(rows, "public_url", config.public_url)
    if urlsplit(config.public_url).path not in ("", "/"):
        problem = "public_url may not have a path"
        raise _error(rows, "public_url", problem)
    if config.client_secret is not None and not config.client_secret.startswith(REFERENCES):
        raise _error(rows, "client_secret", "do not put the secret itself in this file")
    if _OPENID not in config.scopes:
        raise _error(rows, "scopes", f"scopes without {_OPENID!r}")
    if not all(config.admins + config.viewers + config.role_claim):
        raise rows.error(_PLACE, "an empty name gives no role", f"write {EXAMPLES['admins']}")
    if not config.admins and not config.viewers:
        cure = f"write {EXAMPLES['admins']}"
        raise rows.error(_PLACE, "admins and viewers are empty, so no one could sign in", cure)
    return config


def _check_address(rows: ConfigRows, name: str, url: str) -> None:
    """Raise BadConfig for an address to which a browser or the gateway may not send secrets."""
    rows.check_url(url, (*_PLACE, name), name)
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise _error(rows, name, f"{name} without https is for this machine only")
    if not parts.scheme or parts.query or parts.fragment:
        raise _error(rows, name, f"invalid {name} {url!r}")


def _error(rows: ConfigRows, name: str, problem: str) -> Exception:
    return rows.error((*_PLACE, name), problem, f"write {EXAMPLES[name]}")
