"""A session of a person who signed in, and the role that the claims of that person give."""

from collections.abc import Mapping
from secrets import token_urlsafe

from msgspec import Struct, json

from ...canon import Json, load_json
from ..admin.actor import Actor, Role
from ..config.model import SignInConfig
from ..state.sessions import SessionStore

LONGEST = 86_400.0
"""Seconds of a session that lasts as long as its ID token."""

_NAMES = ("preferred_username", "name", "sub")
_LONGEST_NAME = 128


class ConsoleSession(Struct, frozen=True):
    """Who signed in, until when, and by which values of the claim that gives roles.

    ``given``: the values that had a role then; whether they still have one is decided at each
    request. It ends if the configuration is of another provider, client or claim.
    """

    name: str
    subject: str
    until: float
    given: tuple[str, ...]
    source: tuple[str, ...]

    def find_actor(self, config: SignInConfig, now: float) -> Actor | None:
        """Return who acts in this session; None if it has ended."""
        role = find_role(self.given, config)
        if role is None or now >= self.until or self.source != describe_source(config):
            return None
        return Actor(self.name, role, "oidc")


def make_session(
    claims: Mapping[str, Json], config: SignInConfig, now: float
) -> ConsoleSession | None:
    """Return the session of a person with these claims; None if they give no role."""
    known = {*config.admins, *config.viewers}
    given = tuple(value for value in read_values(claims, config.role_claim) if value in known)
    if find_role(given, config) is None:
        return None
    ends = claims["exp"]
    seconds = config.session_seconds
    if seconds is None:  # a number, as its verification found
        seconds = min(max(0.0, float(str(ends)) - now), LONGEST)
    return ConsoleSession(
        find_name(claims), str(claims["sub"]), now + seconds, given, describe_source(config)
    )


def describe_source(config: SignInConfig) -> tuple[str, ...]:
    """Return where sessions of this configuration come from."""
    return (config.issuer, config.client_id, *config.role_claim)


def find_role(values: tuple[str, ...], config: SignInConfig) -> Role | None:
    """Return the role that values of the claim give, the higher one of two; None: no role."""
    if any(value in config.admins for value in values):
        return "admin"
    if any(value in config.viewers for value in values):
        return "viewer"
    return None


def has_claim(claims: Mapping[str, Json], path: tuple[str, ...]) -> bool:
    """Return whether claims have a value at a path."""
    return _find_claim(claims, path) is not None


def read_values(claims: Mapping[str, Json], path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts of a claim: one, or those of a list.

    An e-mail address gives a role only if the provider has verified it.
    """
    if path == ("email",) and claims.get("email_verified") is not True:
        return ()
    found = _find_claim(claims, path)
    values = found if isinstance(found, list) else [found]
    return tuple(value for value in values if isinstance(value, str))


def find_name(claims: Mapping[str, Json]) -> str:
    """Return the name of a person: a verified e-mail address, else what the provider says."""
    email = ("email",) if claims.get("email_verified") is True else ()
    for each in (*email, *_NAMES):
        value = claims.get(each)
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value.strip()[:_LONGEST_NAME]
    return "unknown"


def _find_claim(claims: Mapping[str, Json], path: tuple[str, ...]) -> Json:
    found: Json = dict(claims)
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found


# -- storage --------------------------------------------------------------------------------------


async def save_session(session: ConsoleSession, store: SessionStore, now: float) -> str:
    """Store a session, and return the secret by which its browser is known."""
    secret = token_urlsafe(32)
    await store.add(secret, json.encode(session), session.until - now)
    return secret


async def load_session(secret: str, store: SessionStore) -> ConsoleSession | None:
    """Return the session of a browser; None if it has ended."""
    found = await store.find(secret) if secret else None
    if found is None:
        return None
    try:
        return load_json(found, ConsoleSession)
    except ValueError:  # of another version
        return None
