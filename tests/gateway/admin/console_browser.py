"""A gateway with requests in its ledger, and its console in the Chromium of the system."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import time
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect
from tests.gateway.crowd import crowd

from pondero.emulator import Emulator
from pondero.exchange import AsyncTransport
from pondero.gateway import run_gateway_in_thread
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    ServerConfig,
)
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import SqliteDatabase
from pondero.gateway.observability.receipt import Receipt

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
ROUTES = (
    GatewayRoute(match="opus", to=("anthropic:claude-opus-5",), thinking=LevelRules(cap="medium")),
    GatewayRoute(match="gpt-*", to=("openai:gpt-5.1",)),
)
PAGES = ("requests", "keys", "dial", "audit")
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH; 'apt-get install chromium' brings one"
)


@contextmanager
def gateway(
    folder: Path,
    *,
    count: int = 0,
    receipts: Iterable[Receipt] = (),
    keys: tuple[GatewayKey, ...] = (),
    groups: tuple[GatewayGroup, ...] = (),
    port: int = 0,
    transport: AsyncTransport | None = None,
) -> Iterator[str]:
    """Serve the emulator with so many requests in the ledger, and yield the address."""
    emulator = transport or Emulator(any_model=True)
    database = SqliteDatabase(folder / "gateway.db")
    ledger = Ledger(database, folder / "aside")
    for receipt in (*crowd(count, until=time()), *receipts):
        ledger.note(replace(receipt, offline=receipt.offline or not emulator.needs_key))
    ledger.close()
    config = GatewayConfig(ServerConfig(port=port), ROUTES, keys=keys, groups=groups)
    with run_gateway_in_thread(config, transport=emulator, ledger=database) as where:
        yield where
    database.close()


@contextmanager
def shown(
    browser: Browser,
    where: str,
    name: str = "requests",
    *,
    width: int = 1280,
    dark: bool = False,
    complaints: tuple[str, ...] = ("status of 40",),
) -> Iterator[Page]:
    """Yield a page that asked no other host for anything, and complained of nothing else."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    asked: list[str] = []
    wrong: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{where}/console/#{name}")
    expect(page.locator(f"#page-{name.partition('?')[0]}")).to_be_visible()
    yield page
    context.close()
    assert [url for url in asked if not url.startswith((f"{where}/", f"blob:{where}/"))] == []
    assert [each for each in wrong if not any(said in each for said in complaints)] == []


def ask(where: str, model: str, *, key: str = "any", **more: Any) -> int:
    """Ask for a conversation and return the status."""
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}], **more}
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.post(f"{where}/v1/chat/completions", json=body, headers=headers).status_code
