"""Talks to the identity provider: its description, its keys, and tokens in exchange for a code.

Every answer has a deadline and a maximum size. The description and the keys are cached; one that
cannot be read again stays in use, and a failure is not repeated by each sign-in.
"""

from asyncio import Lock, Semaphore, sleep, timeout
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from msgspec import Struct, ValidationError

from ...canon import HttpRequest, Json, convert_json
from ...errors import PonderoError
from ...exchange import AsyncTransport, Timeouts
from ...framing import parse_json_or_none
from ..config.model import SignInConfig, is_loopback
from ..config.secrets import read_reference
from .problems import SignInError, make_invalid, make_unconfigured, make_unreachable

WELL_KNOWN = "/.well-known/openid-configuration"
FRESH = 3600.0
"""Seconds for which the description and the keys are used."""
FAILED = 2.0
"""Seconds after a failure in which the provider is not asked for its description again."""
TRIES = 3
"""How often the description is asked for before a sign-in fails."""
PATIENCE = 10.0
"""Seconds for everything that one step of a sign-in asks the provider."""
LONGEST = 1 << 20
"""Bytes of an answer."""

_TIMEOUTS = Timeouts(connect=5.0, first_byte=PATIENCE, between_bytes=PATIENCE)
_PAUSE = 0.2  # seconds between two tries
_AT_ONCE = 8  # codes exchanged at a time: anybody can send one
_READS = {"accept": "application/json"}
_FORM = "application/x-www-form-urlencoded"


class ProviderDescription(Struct, frozen=True):
    """What a provider says of itself (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: tuple[str, ...] = ()
    authorization_response_iss_parameter_supported: bool = False


class ProviderTokens(Struct, frozen=True):
    """What a provider gives for a code."""

    id_token: str
    access_token: str = ""


class _CachedDocument:
    """A document of the provider, and until when it is used."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.value: Any = None
        self.until: float = 0.0
        self.failed: tuple[float, SignInError] | None = None


class IdentityProvider:
    """One identity provider, as ``[sign_in]`` names it."""

    def __init__(
        self,
        config: SignInConfig,
        transport: AsyncTransport,
        *,
        clock: Callable[[], float] = monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self.config = config
        self._transport = transport
        self._clock = clock
        self._patience = patience
        self._description = _CachedDocument()
        self._keys = _CachedDocument()
        self._exchanges = Semaphore(_AT_ONCE)

    async def describe(self) -> ProviderDescription:
        """Return the provider's description; raises SignInError."""
        found: ProviderDescription = await self._load(self._description, self._read_description)
        return found

    async def load_keys(self, *, again: bool = False) -> Json:
        """Return the provider's public keys; ``again``: it has changed them."""
        if again:
            self._keys.until = 0.0
        return await self._load(self._keys, self._read_keys, stale=not again)

    async def exchange_code(self, code: str, verifier: str, *, redirect_url: str) -> ProviderTokens:
        """Return the tokens for a code; raises SignInError."""
        described = await self.describe()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_url,
            "code_verifier": verifier,
        }
        headers = self._authenticate(described, form)
        async with self._exchanges:
            status, answer = await self._ask(
                HttpRequest("POST", described.token_endpoint, headers, urlencode(form).encode())
            )
        if status in (400, 401):
            detail = f"the token endpoint says {status} {_find_code(answer)}".rstrip()
            if _find_code(answer) in ("invalid_grant", ""):
                message = "The identity provider did not accept this sign-in; sign in again."
                raise SignInError(403, message, detail=detail)
            raise make_invalid(detail)
        if status != 200:
            raise make_unreachable(f"the token endpoint says {status}")
        try:
            return convert_json(answer, ProviderTokens)
        except ValidationError:
            raise make_invalid("the token endpoint gave no ID token") from None

    async def load_claims(self, access_token: str) -> dict[str, Json]:
        """Return what the provider's userinfo endpoint says; empty if it has none."""
        described = await self.describe()
        if described.userinfo_endpoint is None or not access_token:
            return {}
        headers = {**_READS, "authorization": f"Bearer {access_token}"}
        status, answer = await self._ask(HttpRequest("GET", described.userinfo_endpoint, headers))
        if status != 200 or not isinstance(answer, dict):
            raise make_unreachable(f"the userinfo endpoint says {status}")
        return answer

    # -- requests ----------------------------------------------------------------------------------

    async def _load(
        self, cached: _CachedDocument, read: Callable[[], Any], *, stale: bool = True
    ) -> Any:
        """Return a document, read at most once at a time; an old one if it cannot be read."""
        async with cached.lock:
            now = self._clock()
            if now < cached.until:
                return cached.value
            if cached.failed is not None and now < cached.failed[0]:
                raise cached.failed[1]
            try:
                async with timeout(self._patience):
                    cached.value = await read()
            except (SignInError, TimeoutError) as error:
                failure = error if isinstance(error, SignInError) else make_unreachable("too slow")
                if cached.value is not None and stale and failure.status == 502:
                    cached.until = self._clock() + FAILED
                    return cached.value
                cached.failed = (self._clock() + FAILED, failure)
                raise failure from None
            cached.until, cached.failed = self._clock() + FRESH, None
            return cached.value

    async def _read_description(self) -> ProviderDescription:
        issuer = self.config.issuer
        url = f"{issuer.rstrip('/')}{WELL_KNOWN}"
        request = HttpRequest("GET", url, _READS)
        for _ in range(TRIES - 1):
            with suppress(SignInError):
                return _check_description(await self._ask(request), issuer)
            await sleep(_PAUSE)
        return _check_description(await self._ask(request), issuer)

    async def _read_keys(self) -> Json:
        described = await self.describe()
        status, answer = await self._ask(HttpRequest("GET", described.jwks_uri, _READS))
        if status != 200 or not isinstance(answer, dict) or "keys" not in answer:
            raise make_unreachable(f"the keys of the provider cannot be read: {status}")
        return answer

    def _authenticate(self, described: ProviderDescription, form: dict[str, str]) -> dict[str, str]:
        """Return the headers of a token request, by which the provider knows this gateway."""
        headers = {**_READS, "content-type": _FORM}
        reference = self.config.client_secret
        if reference is None:
            form["client_id"] = self.config.client_id
            return headers
        try:
            secret = read_reference(reference)
        except PonderoError as error:  # a file that is gone since the start
            raise make_unconfigured(str(error)) from None
        if "client_secret_basic" in described.token_endpoint_auth_methods_supported:
            pair = f"{quote_plus(self.config.client_id)}:{quote_plus(secret)}"
            return {**headers, "authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        form |= {"client_id": self.config.client_id, "client_secret": secret}
        return headers

    async def _ask(self, request: HttpRequest) -> tuple[int, Json]:
        """Return the status and the JSON of an answer; raises SignInError."""
        body = bytearray()
        try:
            async with timeout(self._patience):
                answer = await self._transport.send(request, _TIMEOUTS)
                try:
                    async for piece in answer:
                        body += piece
                        if len(body) > LONGEST:
                            raise make_invalid("an answer is too long")
                finally:
                    await answer.aclose()
        except TimeoutError:
            raise make_unreachable("too slow") from None
        except PonderoError as error:
            raise make_unreachable(type(error).__name__) from None
        return answer.head.status, parse_json_or_none(bytes(body))


def _check_description(found: tuple[int, Json], issuer: str) -> ProviderDescription:
    """Return a description that is of this issuer, and sends secrets to safe addresses only."""
    status, answer = found
    if status != 200:
        raise make_unreachable(f"{WELL_KNOWN} says {status}")
    try:
        described = convert_json(answer, ProviderDescription)
    except ValidationError as error:
        raise make_invalid(f"{WELL_KNOWN}: {error}") from None
    if described.issuer != issuer:
        raise make_invalid(f"{WELL_KNOWN} is of another issuer than {issuer}")
    addresses: Mapping[str, str | None] = {
        "authorization_endpoint": described.authorization_endpoint,
        "token_endpoint": described.token_endpoint,
        "jwks_uri": described.jwks_uri,
        "userinfo_endpoint": described.userinfo_endpoint,
    }
    for name, url in addresses.items():
        if url is not None and not _is_safe(url):
            raise make_invalid(f"{WELL_KNOWN}: {name} is not an https address")
    return described


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if parts.username is not None or not parts.hostname or not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))


def _find_code(answer: Json) -> str:
    """Return the error code in an answer, if it looks like one."""
    code = answer.get("error") if isinstance(answer, dict) else None
    return code if isinstance(code, str) and code.isidentifier() and len(code) < 60 else ""
