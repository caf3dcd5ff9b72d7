"""A sign-in under way: what the browser that began it must bring back, sealed in a cookie.

Nothing is stored for it, because anybody can begin one. The seal is of a secret that all workers
and replicas share, so that each can read what another began.
"""

import hmac
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any

from msgspec import Struct, json

from ...canon import load_json
from ..state.envelope_secrets import SecretStore

LASTS = 600
"""Seconds in which a person has to sign in at the provider."""

_PURPOSE = b"pondero sign-in under way"
_HEADER = {"alg": "dir", "enc": "A256GCM"}
_LONGEST = 4096  # characters of a cookie


class PendingSignIn(Struct, frozen=True):
    """What one sign-in must bring back, and what proves it to the provider (PKCE)."""

    state: str
    nonce: str
    verifier: str
    issuer: str
    until: float


def begin_sign_in(issuer: str, now: float) -> PendingSignIn:
    """Return a new sign-in."""
    return PendingSignIn(
        token_urlsafe(32), token_urlsafe(32), token_urlsafe(48), issuer, now + LASTS
    )


async def seal(pending: PendingSignIn, secrets: SecretStore) -> str:
    """Return a sign-in as text that only a gateway with these secrets can read or write."""
    from joserfc import jwe  # noqa: PLC0415 - an extra

    newest = (await secrets.create())[0]
    return jwe.encrypt_compact(_HEADER, json.encode(pending), _derive(newest))


async def unseal(text: str, secrets: SecretStore) -> PendingSignIn | None:
    """Return the sign-in in a cookie; None if it was not sealed with these secrets."""
    from joserfc import jwe  # noqa: PLC0415 - an extra
    from joserfc.errors import JoseError  # noqa: PLC0415 - an extra

    if not text or len(text) > _LONGEST:
        return None
    for secret in await secrets.load():
        try:
            opened = jwe.decrypt_compact(text, _derive(secret), algorithms=list(_HEADER.values()))
            return load_json(opened.plaintext or b"", PendingSignIn)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            continue
    return None


def _derive(secret: str) -> Any:
    from joserfc.jwk import OctKey  # noqa: PLC0415 - an extra

    return OctKey.import_key(hmac.digest(secret.encode(), _PURPOSE, sha256))
