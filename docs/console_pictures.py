"""Take the pictures of the console in docs/pictures, with the system's Chromium."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import httpx2  # noqa: E402 - after the path
from playwright.sync_api import Browser, sync_playwright  # noqa: E402 - after the path
from tests.gateway.admin.console_browser import CHROMIUM  # noqa: E402 - after the path
from tests.gateway.crowd import crowd  # noqa: E402 - after the path

from pondero.emulator import Emulator  # noqa: E402 - after the path
from pondero.gateway import run_gateway_in_thread  # noqa: E402 - after the path
from pondero.gateway.config.model import (  # noqa: E402 - after the path
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key  # noqa: E402 - after the path
from pondero.gateway.observability.ledger import Ledger  # noqa: E402 - after the path
from pondero.gateway.observability.ledger_database import SqliteDatabase  # noqa: E402 - as above

_ROUTES = (
    GatewayRoute(match="claude-*", to=("anthropic:claude-opus-5",)),
    GatewayRoute(match="gpt-*", to=("openai:gpt-5.5",)),
)
_MILLION = 1_000_000
_KEYS = (
    GatewayKey(
        "ci",
        hash_key("ci"),
        LevelRules(cap="medium"),
        ("claude-*", "gpt-*"),
        SpendBudget(cost=50, thinking_tokens=5 * _MILLION),
        RateLimitRule(requests=60, tokens=200_000),
        endpoints=("embeddings", "files"),
        group="research",
    ),
    GatewayKey(
        "maria",
        hash_key("maria"),
        LevelRules(default="high"),
        budget=SpendBudget(cost=200),
        group="research",
    ),
    GatewayKey(
        "night-batch",
        hash_key("night-batch"),
        LevelRules(floor="high"),
        budget=SpendBudget(thinking_tokens=20 * _MILLION, per="day"),
    ),
    GatewayKey("old-laptop", hash_key("old-laptop"), blocked=True),
    GatewayKey("admin", hash_key("pnd_admin"), admin=True),
)
_GROUPS = (GatewayGroup("research", budget=SpendBudget(cost=220)),)
_ADMIN = {"authorization": "Bearer pnd_admin"}
_PICTURES = {
    "console": ("requests", 1000),
    "console-request": ("requests", 900),
    "console-keys": ("keys", 800),
    "console-dial": ("dial", 800),
    "console-audit": ("audit", 640),
}


class _Services(Emulator):
    """An emulator that the gateway takes for the services themselves."""

    needs_key = True


def main() -> None:
    """Take all pictures."""
    if CHROMIUM is None:
        sys.exit("there is no chromium on PATH")
    with TemporaryDirectory() as folder, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        database = SqliteDatabase(Path(folder) / "gateway.db")
        ledger = Ledger(database, Path(folder) / "aside")
        for receipt in crowd(4_000, until=time()):
            ledger.note(receipt)
        ledger.close()
        config = GatewayConfig(ServerConfig(port=0), _ROUTES, keys=_KEYS, groups=_GROUPS)
        os.environ |= dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "none-is-needed")
        services = _Services(any_model=True)
        with run_gateway_in_thread(config, transport=services, ledger=database) as where:
            _ask(where)
            _change(where)
            for name, (page, height) in _PICTURES.items():
                _take(browser, where, name, page, height)
        browser.close()


def _ask(where: str) -> None:
    """Use the keys a little, so that their bars are not empty."""
    for key, count in {"ci": 24, "maria": 9, "night-batch": 5}.items():
        for _ in range(count):
            httpx2.post(
                f"{where}/v1/chat/completions",
                json={
                    "model": "claude-opus-5/max",
                    "messages": [{"role": "user", "content": "Why?"}],
                    "stream": True,
                },
                headers={"authorization": f"Bearer {key}"},
            )


def _change(where: str) -> None:
    """Create and change a key, so that the audit log is not empty."""
    keys, budget = f"{where}/admin/keys", {"cost": 20, "per": "month"}
    with httpx2.Client(headers=_ADMIN) as client:
        client.post(keys, json={"name": "support-bot", "budget": budget})
        client.patch(f"{keys}/support-bot", json={"budget": {**budget, "cost": 35}})
        client.patch(f"{keys}/support-bot", json={"models": ["claude-*"], "group": "nobody"})
        client.patch(f"{keys}/maria", json={"blocked": True})
        client.patch(f"{keys}/maria", json={"blocked": False})


def _take(browser: Browser, where: str, name: str, page: str, height: int) -> None:
    context = browser.new_context(
        viewport={"width": 1440, "height": height},
        extra_http_headers=_ADMIN,
    )
    shown = context.new_page()
    shown.goto(f"{where}/console/#{page}")
    shown.wait_for_timeout(3_000)  # for the figures, which come after the table
    if page == "dial":
        shown.locator("#dial-model").fill("claude-opus-5")
        shown.locator("#dial-key").select_option("ci")
        shown.wait_for_timeout(500)
    if page == "audit":
        shown.locator("#entries summary", has_text="support-bot").nth(1).click()
    shown.evaluate("scrollTo(0, 0)")
    if name == "console-request":
        shown.locator("#rows tr", has_text="cap").first.click()
        shown.wait_for_timeout(500)
    shown.screenshot(path=ROOT / "docs" / "pictures" / f"{name}.png")
    context.close()


if __name__ == "__main__":
    main()
