"""A gateway whose console people sign in to, and a client that walks through the sign-in."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any
from urllib.parse import urljoin

import httpx2

from pondero.emulator import Emulator
from pondero.gateway import run_gateway_in_thread
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ServerConfig,
    SignInConfig,
)
from pondero.gateway.config.secrets import hash_key

ADMIN_KEY = "pnd_admin"
KEYS = (GatewayKey("boss", hash_key(ADMIN_KEY), admin=True),)
ROUTE = GatewayRoute(match="opus", to=("anthropic:claude-opus-5",))
_FIELD = re.compile(r'<input[^>]*name="csrf_token"[^>]*value="([^"]*)"')


def find_port() -> int:
    """Return a port that is free now: the provider must know it before the gateway starts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def make_sign_in(issuer: str, where: str, **more: Any) -> SignInConfig:
    """Return the settings for a gateway at an address."""
    said: dict[str, Any] = {
        "issuer": issuer,
        "client_id": "pondero",
        "public_url": where,
        "admins": ("platform",),
        "viewers": ("engineering",),
        "scopes": ("openid", "profile", "email", "groups"),
        "label": "the company login",
        **more,
    }
    return SignInConfig(**said)


@contextmanager
def run_console(
    sign_in: SignInConfig, *, keys: tuple[GatewayKey, ...] = KEYS, **more: Any
) -> Iterator[str]:
    """Serve the emulator at the address that the settings name."""
    port = int(sign_in.public_url.rpartition(":")[2])
    server = ServerConfig(port=port, **more)
    config = GatewayConfig(server, (ROUTE,), keys=keys, sign_in=sign_in)
    with run_gateway_in_thread(config, transport=Emulator(any_model=True)) as where:
        assert where == f"http://127.0.0.1:{port}"
        yield sign_in.public_url


@contextmanager
def signed_in_at_canaille(
    where: str, name: str, password: str
) -> Iterator[tuple[httpx2.Client, Any]]:
    """Sign a person in, and yield the client and the page at the end."""
    with httpx2.Client(follow_redirects=True, timeout=30) as browser:
        page = browser.get(f"{where}/admin/sign-in")
        for fields in ({"login": name}, {"password": password}):
            page = _submit(browser, page, fields)
        yield browser, page


def _submit(browser: httpx2.Client, page: Any, fields: dict[str, str]) -> Any:
    token = _FIELD.search(page.text)
    assert token is not None, (page.url, page.text[:2000])
    action = re.search(r'<form[^>]*action="([^"]*)"', page.text)
    there = urljoin(str(page.url), unescape(action[1])) if action and action[1] else str(page.url)
    return browser.post(there, data={"csrf_token": unescape(token[1]), **fields})
