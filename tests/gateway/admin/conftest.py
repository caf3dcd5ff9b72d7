"""The browser of the console's tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.gateway.admin.console_browser import CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()
