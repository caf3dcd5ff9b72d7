"""Verifies an ID token: its signature, for whom and by whom it is, and until when."""

from contextlib import suppress
from typing import Any

from ...canon import Json
from .identity_provider import IdentityProvider
from .problems import make_invalid

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures that are accepted: the key that checks one cannot make one."""
LEEWAY = 60
"""Seconds by which the provider's clock may differ from ours."""

_UNSTATED = ("RS256",)  # what a provider must support
_KINDS = ("RSA", "EC", "OKP")  # of keys with a public half
_LONGEST = 64 << 10  # characters


async def verify_id_token(
    provider: IdentityProvider, token: str, *, access_token: str, nonce: str, now: float
) -> dict[str, Json]:
    """Return the claims of a token; raises SignInError.

    If the token names a key that is not known, the provider's keys are read once more.
    """
    if len(token) > _LONGEST:
        raise make_invalid("the ID token is too long")
    described = await provider.describe()
    stated = described.id_token_signing_alg_values_supported or _UNSTATED
    accepted = [each for each in ALGORITHMS if each in stated]
    decoded = _decode(token, await provider.load_keys(), accepted)
    if decoded is None:
        decoded = _decode(token, await provider.load_keys(again=True), accepted)
    if decoded is None:
        raise make_invalid("the ID token is signed by an unknown key")
    config = provider.config
    return _check_claims(
        decoded,
        {"iss": {"essential": True, "value": config.issuer}, "aud": {"value": config.client_id}},
        {"nonce": nonce, "client_id": config.client_id, "access_token": access_token or None},
        now,
    )


def _decode(token: str, keys: Json, algorithms: list[str]) -> Any:
    """Return a token whose signature is right; None if none of these keys made it."""
    from joserfc import jwt  # noqa: PLC0415 - an extra
    from joserfc.errors import (  # noqa: PLC0415 - an extra
        BadSignatureError,
        InvalidKeyIdError,
        JoseError,
    )
    from joserfc.jwk import KeySet  # noqa: PLC0415 - an extra
    from joserfc.jws import JWSRegistry  # noqa: PLC0415 - an extra

    registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
    known = _read_keys(keys)
    try:
        return jwt.decode(token, KeySet(known), registry=registry) if known else None
    except (InvalidKeyIdError, BadSignatureError):
        return None
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise make_invalid(f"the ID token: {type(error).__name__}") from None


def _read_keys(keys: Json) -> list[Any]:
    """Return the keys that can check a signature: a provider may have others too."""
    from joserfc.errors import JoseError  # noqa: PLC0415 - an extra
    from joserfc.jwk import JWKRegistry  # noqa: PLC0415 - an extra

    rows = keys.get("keys") if isinstance(keys, dict) else None
    if not isinstance(rows, list):
        raise make_invalid("the keys of the provider are no list")
    found = []
    for row in rows:
        if not isinstance(row, dict) or row.get("kty") not in _KINDS:
            continue
        if row.get("use", "sig") == "sig":
            with suppress(JoseError, ValueError, TypeError, KeyError):  # a kind of another year
                found.append(JWKRegistry.import_key(row))
    return found


def _check_claims(
    decoded: Any, options: dict[str, Any], parameters: dict[str, Any], now: float
) -> dict[str, Json]:
    from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - an extra
    from joserfc.errors import JoseError  # noqa: PLC0415 - an extra

    try:
        claims = CodeIDToken(decoded.claims, decoded.header, options, parameters)
        claims.validate(now=int(now), leeway=LEEWAY)
    except (JoseError, ValueError, TypeError) as error:
        raise make_invalid(f"the ID token: {error}") from None
    if not isinstance(claims.get("sub"), str) or not claims["sub"]:
        raise make_invalid("the ID token names no person")
    return dict(claims)
