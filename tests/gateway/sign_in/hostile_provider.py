"""An identity provider of our own that can do everything wrong, in process.

It is a transport: what the gateway would send to a provider comes here.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

from pondero.canon import HttpRequest, ResponseHead
from pondero.exchange import Timeouts

ISSUER = "https://login.example.com"
NOW = 1_800_000_000.0
KEY = RSAKey.generate_key(2048, {"kid": "first"})
OTHER_KEY = RSAKey.generate_key(2048, {"kid": "second"})


class _Answer:
    def __init__(self, status: int, pieces: AsyncIterator[bytes]) -> None:
        self.head = ResponseHead(status, {"content-type": "application/json"})
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        pass


class HostileProvider:
    """A provider that is right unless a test changes it; ``asked`` has the requests."""

    needs_key = True

    def __init__(self) -> None:
        self.asked: list[HttpRequest] = []
        self.keys: list[RSAKey] = [KEY]
        self.signs_with: Any = KEY
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "first"}
        self.claims: dict[str, Any] = {}
        self.description: dict[str, Any] = {}
        self.tokens: dict[str, Any] = {}
        self.userinfo: dict[str, Any] = {}
        self.statuses: dict[str, list[int]] = {}
        self.sign: Callable[[dict[str, Any]], str] | None = None
        self.stuck: asyncio.Event | None = None
        self.endless: str = ""
        self.codes: dict[str, dict[str, str]] = {}

    def authorize(self, location: str, **changed: str | None) -> str:
        """Return the query with which the provider sends a browser back that came by an address."""
        sent = dict(parse_qsl(urlsplit(location).query))
        code = f"code-{len(self.codes)}"
        self.codes[code] = sent
        answer = {"code": code, "state": sent["state"], **changed}
        pairs = [f"{name}={value}" for name, value in answer.items() if value is not None]
        return "&".join(pairs)

    async def send(self, request: HttpRequest, _timeouts: Timeouts) -> _Answer:
        self.asked.append(request)
        path = urlsplit(request.url).path
        if self.stuck is not None:
            await self.stuck.wait()
        statuses = self.statuses.get(path)
        if statuses:
            status = statuses.pop(0)
            if status != 200:
                return _Answer(status, _pieces(b"no"))
        if self.endless == path:
            return _Answer(200, _endless())
        answer = {
            "/.well-known/openid-configuration": self._describe,
            "/token": lambda: self._exchange(request),
            "/keys": lambda: {"keys": [key.as_dict(private=False) for key in self.keys]},
            "/userinfo": lambda: self.userinfo,
        }[path]()
        status = 400 if "error" in answer else 200
        return _Answer(status, _pieces(json.dumps(answer).encode()))

    async def aclose(self) -> None:
        pass

    def _describe(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "userinfo_endpoint": f"{ISSUER}/userinfo",
            "id_token_signing_alg_values_supported": ["RS256"],
            **self.description,
        }

    def _exchange(self, request: HttpRequest) -> dict[str, Any]:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        begun = self.codes.get(form["code"])
        if begun is None:
            return {"error": "invalid_grant"}
        claims = {
            "iss": ISSUER,
            "aud": begun["client_id"],
            "sub": "248289761001",
            "nonce": begun["nonce"],
            "iat": int(NOW),
            "exp": int(NOW) + 3600,
            "email": "ada@example.com",
            "email_verified": True,
            "groups": ["platform"],
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        token = self.sign(claims) if self.sign else self._sign(claims)
        return {"access_token": "an-access-token", "id_token": token, **self.tokens}

    def _sign(self, claims: dict[str, Any]) -> str:
        registry = JWSRegistry(algorithms=[self.header["alg"]], strict_check_header=False)
        return jwt.encode(self.header, claims, self.signs_with, registry=registry)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _endless() -> AsyncIterator[bytes]:
    while True:
        yield b" " * (1 << 16)
        await asyncio.sleep(0)
