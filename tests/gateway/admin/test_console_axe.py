"""axe-core finds no barrier on any page of the console, in light and dark, narrow and wide."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import time

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, PAGES, gateway, shown

from pondero.gateway.config.model import GatewayGroup, GatewayKey, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt

axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright",
    reason="axe-playwright-python of requirements.lock is not installed",
)
pytestmark = NEEDS_CHROMIUM

READY = {
    "requests": "#models tbody th",
    "keys": "#key-list .card",
    "dial": "#verdict dt",
    "audit": "#entries li",
}
LONG = "a-name-that-is-as-long-as-names-can-be-" * 3
GROUPS = (GatewayGroup("research", budget=SpendBudget(cost=9)),)
KEYS = (GatewayKey("ci", hash_key("ci"), budget=SpendBudget(cost=3), group="research"),)


@contextmanager
def changed(where: str) -> Iterator[None]:
    """Block a key and try what is rejected, so that there is something in the audit log."""
    for body in ({"models": ["x"]}, {"blocked": True}):
        httpx2.patch(f"{where}/admin/keys/ci", json=body)
    yield


def find_problems(page: Page) -> list[tuple[str, str]]:
    found = axe.Axe().run(page).response["violations"]
    return [(each["id"], node["html"]) for each in found for node in each["nodes"]]


def show_change(page: Page, where: str) -> None:
    """Edit a key that someone else changes meanwhile."""
    httpx2.post(f"{where}/admin/keys", json={"name": "web"})
    page.reload()
    key = page.locator("[data-key=web]")
    key.get_by_role("button", name="Edit").click()
    theirs = {"models": [LONG, "gpt-*"], "budget": {"cost": 9}, "metrics": True}
    httpx2.patch(f"{where}/admin/keys/web", json=theirs)
    page.locator("#make [name=models]").fill("claude-*")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#make-changed")).to_be_focused()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_axe_finds_nothing(browser, tmp_path, name, dark, width):
    now = time()
    odd = [
        Receipt(
            id=f"{n}", at=now, key="ci", front="x", provider="a", model="b", status=529, end=end
        )
        for n, end in enumerate(["failed"] * 20 + ["refused"])
    ]
    with (
        gateway(tmp_path, count=80, receipts=odd, keys=KEYS, groups=GROUPS) as where,
        changed(where),
        shown(browser, where, name, width=width, dark=dark) as page,
    ):
        expect(page.locator(READY[name]).first).to_be_visible()
        problems = find_problems(page)
        if name == "audit":
            page.locator("#entries summary").first.click()
            expect(page.locator("#entries .changes")).to_be_visible()
            problems += find_problems(page)
        if name == "keys":
            show_change(page, where)
            problems += find_problems(page)
            for box in page.locator("#make-changed, #make-changes li").all():
                assert box.evaluate("(each) => each.scrollWidth <= each.clientWidth")
        if name == "requests":
            expect(page.locator("#alerts")).to_be_visible()
            page.locator("#rows tr").first.click()
            expect(page.locator("#detail-body h3").first).to_be_visible()
            problems += find_problems(page)
        assert problems == []


def test_axe_finds_nothing_on_an_empty_console_and_one_without_a_gateway(browser, tmp_path):
    with gateway(tmp_path) as where:
        page_of = shown(browser, where, complaints=("ERR_",))
        page = page_of.__enter__()
        expect(page.locator("#example")).to_contain_text("curl")
        assert find_problems(page) == []
    expect(page.locator("#lost")).to_be_visible(timeout=20_000)
    assert find_problems(page) == []
    page_of.__exit__(None, None, None)


def test_axe_finds_a_planted_barrier(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "dial") as page:
        expect(page.locator(READY["dial"]).first).to_be_visible()
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert [name for name, _ in find_problems(page)] == ["button-name"]
