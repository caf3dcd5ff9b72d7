"""Signs people in to the console and out of it (OpenID Connect, authorization code with PKCE).

A sign-in begins here, goes on at the identity provider, and comes back to ``CALLBACK`` with a code,
which this gateway exchanges for an ID token. No token leaves this room.
"""

import hmac
import logging
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import json

from ...canon import HttpRequest, HttpResponse, Json
from ...errors import StoreError
from ...exchange import AsyncTransport
from ...transport import AsyncHttpTransport
from ..admin import console
from ..admin.actor import Actor
from ..answers.response_writer import ResponseWriter
from ..config.model import SignInConfig
from ..observability.receipt import make_id
from ..requests.requester import AccessDenied
from ..server.context import GatewayContext
from ..server.rejections import Rejections
from ..state.redis_link import SharedStateLost
from .cookies import PENDING, SESSION, find_cookie, write_cookie
from .id_token import verify_id_token
from .identity_provider import IdentityProvider, ProviderDescription
from .pages import write_failure, write_welcome
from .pending import LASTS, PendingSignIn, begin_sign_in, seal, unseal
from .problems import SignInError, make_expired, make_invalid
from .session import ConsoleSession, has_claim, load_session, make_session, save_session

LOG = logging.getLogger("pondero.gateway")

START = "/admin/sign-in"
CALLBACK = "/admin/callback"
SIGN_OUT = "/admin/sign-out"
OPTIONS = "/admin/sign-in-options"

_METHODS = {START: "GET", CALLBACK: "GET", SIGN_OUT: "POST", OPTIONS: "GET"}
_READING = ("GET", "HEAD")
_JSON = {**console.GUARDED, "content-type": "application/json", "cache-control": "no-store"}
_PARAMETERS = 32  # of an answer of the provider
_LONGEST = 4096  # characters of a code


class SignIn:
    """Answers the addresses of sign-in, and finds who is signed in."""

    def __init__(
        self,
        gateway: GatewayContext,
        rejections: Rejections,
        transport: AsyncTransport | None = None,
    ) -> None:
        self._gateway = gateway
        self._rejections = rejections
        self.transport: AsyncTransport | None = transport
        self._provider: IdentityProvider | None = None

    @property
    def _config(self) -> SignInConfig | None:
        return self._gateway.config.sign_in

    @staticmethod
    def serves(path: str) -> bool:
        """Return whether an address belongs to sign-in, which needs no session."""
        return path in _METHODS

    @staticmethod
    def is_return(http: HttpRequest, path: str) -> bool:
        """Return whether a browser comes back from the provider, which is another site."""
        return path == CALLBACK and http.method == "GET" and "origin" not in http.headers

    async def find_actor(self, http: HttpRequest) -> Actor | None:
        """Return who is signed in, None without a session; a key in the request goes before.

        Raises AccessDenied if the request would change something, and is not of our own page.
        """
        config = self._config
        if config is None or "authorization" in http.headers:
            return None
        session = await self._load_session(http, config)
        actor = session.find_actor(config, self._gateway.now()) if session is not None else None
        if actor is not None and http.method not in _READING:
            _check_own_page(http, config)
        return actor

    async def answer(
        self, http: HttpRequest, path: str, writer: ResponseWriter, *, address: str
    ) -> None:
        """Answer a request to one of the addresses of sign-in."""
        config = self._config
        if http.method != _METHODS[path]:
            await writer.whole(_json(405, _error(f"{path} is for {_METHODS[path]}")))
        elif path == OPTIONS:
            await writer.whole(_json(200, {"label": config and _find_label(config)}))
        elif config is None:
            await writer.whole(_json(404, _error("there is no sign-in here; use an admin key")))
        elif path == SIGN_OUT:
            await self._sign_out(http, config, writer, address)
        else:
            await self._guide(http, path, writer, config=config, address=address)

    async def _guide(
        self,
        http: HttpRequest,
        path: str,
        writer: ResponseWriter,
        *,
        config: SignInConfig,
        address: str,
    ) -> None:
        """Send a browser to the provider, or take it back; a failure is a page that says why."""
        try:
            if path == START:
                await self._start(writer, config)
            else:
                await self._finish(http, writer, config, address)
        except SignInError as failed:
            self._note_failure(failed, address)
            page = write_failure(failed.status, str(failed), link=START)
            forget = write_cookie(PENDING, "", config, seconds=0)
            await writer.whole(page, cookies=(forget,))
        except (SharedStateLost, StoreError) as lost:
            await writer.whole(write_failure(503, f"Sign-in is not possible: {lost}.", link=START))

    def _note_failure(self, failed: SignInError, address: str) -> None:
        """Record a failure: few rows for many, because anybody can cause them."""
        reason = f"sign-in: {failed.detail or failed}"
        LOG.warning("%s", reason)
        id = make_id(self._gateway.now())
        if self._rejections.note(id, address, failed.status, reason):
            self._gateway.audit.record(
                None, "sign_in", address=address, outcome="rejected", reason=reason
            )

    # -- the steps ---------------------------------------------------------------------------------

    async def _start(self, writer: ResponseWriter, config: SignInConfig) -> None:
        from authlib.oauth2.rfc7636 import create_s256_code_challenge  # noqa: PLC0415 - an extra

        described = await self._find_provider(config).describe()
        pending = begin_sign_in(config.issuer, self._gateway.now())
        parameters = {
            "response_type": "code",
            "client_id": config.client_id,
            "redirect_uri": make_redirect_url(config),
            "scope": " ".join(config.scopes),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": create_s256_code_challenge(pending.verifier),
            "code_challenge_method": "S256",
        }
        there = described.authorization_endpoint
        url = f"{there}{'&' if urlsplit(there).query else '?'}{urlencode(parameters)}"
        sealed = await seal(pending, self._gateway.shared.secrets)
        cookie = write_cookie(PENDING, sealed, config, seconds=LASTS)
        headers = {**console.GUARDED, "location": url, "cache-control": "no-store"}
        await writer.whole(HttpResponse(302, headers), cookies=(cookie,))

    async def _finish(
        self, http: HttpRequest, writer: ResponseWriter, config: SignInConfig, address: str
    ) -> None:
        pending = await self._find_pending(http, config)
        answer = _read_answer(http)
        provider = self._find_provider(config)
        code = _find_code(answer, pending, await provider.describe())
        session = await self._identify(provider, code, pending)
        shared, now = self._gateway.shared.sessions, self._gateway.now()
        if not await shared.add(f"state {pending.state}", b"", LASTS):
            raise make_expired("its state was used before")
        if old := find_cookie(http.headers, SESSION, config):
            await shared.remove(old)
        secret = await save_session(session, shared, now)
        self._note_event("sign_in", session, address)
        cookies = (
            write_cookie(SESSION, secret, config, seconds=session.until - now),
            write_cookie(PENDING, "", config, seconds=0),
        )
        await writer.whole(write_welcome(session.name), cookies=cookies)

    async def _find_pending(self, http: HttpRequest, config: SignInConfig) -> PendingSignIn:
        cookie = find_cookie(http.headers, PENDING, config)
        pending = await unseal(cookie, self._gateway.shared.secrets)
        if pending is None:
            raise make_expired("this browser began no sign-in")
        if self._gateway.now() >= pending.until or pending.issuer != config.issuer:
            raise make_expired("it was begun too long ago")
        return pending

    async def _identify(
        self, provider: IdentityProvider, code: str, pending: PendingSignIn
    ) -> ConsoleSession:
        """Return the session of the person whom the provider sent here with a code."""
        config, now = provider.config, self._gateway.now()
        url = make_redirect_url(config)
        tokens = await provider.exchange_code(code, pending.verifier, redirect_url=url)
        claims = await verify_id_token(
            provider,
            tokens.id_token,
            access_token=tokens.access_token,
            nonce=pending.nonce,
            now=now,
        )
        if not has_claim(claims, config.role_claim):
            more = await provider.load_claims(tokens.access_token)
            if more and more.get("sub") != claims["sub"]:
                raise make_invalid("the userinfo endpoint describes another person")
            claims = {**more, **claims}
        session = make_session(claims, config, now)
        if session is None:
            message = "Your account has no role in this gateway; ask its operator for one."
            raise SignInError(403, message, detail=f"no role for {claims['sub']!r}")
        return session

    async def _sign_out(
        self, http: HttpRequest, config: SignInConfig, writer: ResponseWriter, address: str
    ) -> None:
        _check_own_page(http, config)
        session = await self._load_session(http, config)
        if session is not None:
            secret = find_cookie(http.headers, SESSION, config)
            await self._gateway.shared.sessions.remove(secret)
            self._note_event("sign_out", session, address)
        forget = write_cookie(SESSION, "", config, seconds=0)
        await writer.whole(_json(200, {"signed_out": session is not None}), cookies=(forget,))

    # -- what it needs -----------------------------------------------------------------------------

    async def _load_session(self, http: HttpRequest, config: SignInConfig) -> ConsoleSession | None:
        secret = find_cookie(http.headers, SESSION, config)
        try:
            return await load_session(secret, self._gateway.shared.sessions)
        except StoreError as error:
            raise AccessDenied(503, str(error)) from None

    def _find_provider(self, config: SignInConfig) -> IdentityProvider:
        """Return the provider of the present configuration, with its cached documents."""
        if self._provider is None or self._provider.config != config:
            self.transport = self.transport or AsyncHttpTransport()
            self._provider = IdentityProvider(config, self.transport)
        return self._provider

    def _note_event(self, action: str, session: ConsoleSession, address: str) -> None:
        """Record who signed in or out; the subject is how the provider knows that person."""
        config = self._config
        actor = session.find_actor(config, self._gateway.now()) if config is not None else None
        self._gateway.audit.record(actor, action, subject=session.subject, address=address)

    async def aclose(self) -> None:
        """Close the connections to the provider."""
        if self.transport is not None:
            await self.transport.aclose()


def make_redirect_url(config: SignInConfig) -> str:
    """Return the address that the provider must know, to which it sends browsers back."""
    return f"{config.public_url.rstrip('/')}{CALLBACK}"


def find_origin(config: SignInConfig) -> str:
    """Return the origin of the console's own pages, as browsers write it."""
    parts = urlsplit(config.public_url)
    host = parts.hostname or ""
    named = f"[{host}]" if ":" in host else host
    usual = {"https": 443, "http": 80}[parts.scheme]
    port = f":{parts.port}" if parts.port not in (None, usual) else ""
    return f"{parts.scheme}://{named}{port}"


def _find_label(config: SignInConfig) -> str:
    return config.label or urlsplit(config.issuer).hostname or config.issuer


def _check_own_page(http: HttpRequest, config: SignInConfig) -> None:
    """Raise AccessDenied unless a browser says that our own page sends the request."""
    if http.headers.get("origin") != find_origin(config):
        raise AccessDenied(403, "a change needs the header Origin of this console's own page")


def _read_answer(http: HttpRequest) -> Mapping[str, str]:
    """Return the parameters with which the browser comes back; none may be there twice."""
    try:
        pairs = parse_qsl(urlsplit(http.url).query, max_num_fields=_PARAMETERS)
    except ValueError:
        raise make_expired("too many parameters") from None
    answer = dict(pairs)
    if len(answer) != len(pairs):
        raise make_expired("a parameter is there twice")
    return answer


def _find_code(
    answer: Mapping[str, str], pending: PendingSignIn, described: ProviderDescription
) -> str:
    """Return the code in an answer to this very sign-in, by this very provider."""
    if not hmac.compare_digest(answer.get("state", "").encode(), pending.state.encode()):
        raise make_expired("its state is of another sign-in")
    issuer = answer.get("iss")
    if issuer is None and described.authorization_response_iss_parameter_supported:
        raise make_invalid("the answer does not say which provider it is from")
    if issuer is not None and issuer != described.issuer:
        raise make_invalid("the answer is from another provider")
    if error := answer.get("error"):
        word = error if error.isidentifier() and len(error) < 60 else "an error"
        message = f"The identity provider did not sign you in ({word})."
        raise SignInError(403, message)
    code = answer.get("code", "")
    if not 0 < len(code) <= _LONGEST:
        raise make_invalid("the answer has no code")
    return code


def _error(message: str) -> Json:
    return {"error": {"message": message}}


def _json(status: int, value: Json) -> HttpResponse:
    return HttpResponse(status, _JSON, json.encode(value))
