"""A browser of the tests: it keeps the gateway's cookies, and calls the gateway in process."""

import asyncio
import json
from http.cookies import SimpleCookie
from typing import Any, NamedTuple

from tests.gateway.sign_in.console_gateway import KEYS, ROUTE
from tests.gateway.sign_in.hostile_provider import ISSUER, NOW, HostileProvider

from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, ServerConfig, SignInConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.shared_state import SharedState

WHERE = "https://gateway.example.com"
HOST = "gateway.example.com"
SIGN_IN = SignInConfig(
    issuer=ISSUER,
    client_id="pondero",
    public_url=WHERE,
    admins=("platform",),
    viewers=("engineering",),
)


class Page(NamedTuple):
    """What the gateway answered; ``cookies`` as it set them."""

    status: int
    headers: dict[str, str]
    cookies: list[str]
    text: str

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.text)


def make_app(
    provider: HostileProvider,
    sign_in: SignInConfig = SIGN_IN,
    *,
    keys: tuple[GatewayKey, ...] = KEYS,
    shared: SharedState | None = None,
    now: float = NOW,
) -> App:
    """Return a gateway at a time, for other machines, whose provider is this one."""
    config = GatewayConfig(ServerConfig(host="0.0.0.0"), (ROUTE,), keys=keys, sign_in=sign_in)
    gateway = GatewayContext(config, Emulator(any_model=True), shared=shared)
    gateway.now = lambda: now  # type: ignore[misc]
    app = App(gateway)
    app.sign_in.transport = provider
    return app


class AsgiBrowser:
    """A browser; ``headers`` are sent with every request."""

    def __init__(self, app: App, **headers: str) -> None:
        self.app = app
        self.cookies: dict[str, str] = {}
        self.headers = {"host": HOST, **{k.replace("_", "-"): v for k, v in headers.items()}}

    async def ask(
        self, path: str, *, method: str = "GET", body: Any = None, **headers: str
    ) -> Page:
        """Return the answer to a request, and keep its cookies."""
        sent = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if body is not None:
            sent["content-type"] = "application/json"
        place, _, query = path.partition("?")
        got: list[Any] = []
        waiting = [{"type": "http.request", "body": json.dumps(body).encode() if body else b""}]

        async def receive() -> Any:
            if not waiting:
                await asyncio.Event().wait()
            return waiting.pop()

        async def send(message: Any) -> None:
            got.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": place,
            "raw_path": place.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in sent.items()],
        }
        await self.app(scope, receive, send)
        return self._read(got)

    def _read(self, got: list[Any]) -> Page:
        start, *rest = got
        pairs = [(k.decode(), v.decode()) for k, v in start["headers"]]
        cookies = [value for name, value in pairs if name == "set-cookie"]
        for each in cookies:
            for name, morsel in SimpleCookie(each).items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
        text = b"".join(each.get("body", b"") for each in rest).decode()
        return Page(start["status"], dict(pairs), cookies, text)

    async def sign_in(self, provider: HostileProvider, **changed: str | None) -> Page:
        """Walk through a sign-in, and return the page at its end."""
        begun = await self.ask("/admin/sign-in")
        assert begun.status == 302, begun.text
        query = provider.authorize(begun.headers["location"], **changed)
        return await self.ask(f"/admin/callback?{query}", sec_fetch_site="cross-site")
