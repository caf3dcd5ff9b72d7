"""The keyboard's place in the console: it stays where it was when the page is drawn again."""

import httpx2
import pytest
from playwright.sync_api import expect
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, ask, gateway, shown

pytestmark = NEEDS_CHROMIUM


def test_the_focus_stays_on_the_button_that_blocks_a_key(browser, tmp_path):
    with gateway(tmp_path) as where:
        httpx2.post(f"{where}/admin/keys", json={"name": "ci"})
        with shown(browser, where, "keys") as page:
            page.get_by_role("button", name="Block").focus()
            page.keyboard.press("Enter")
            expect(page.get_by_role("button", name="Unblock")).to_be_focused()


def test_after_a_key_is_removed_the_focus_is_on_its_neighbour(browser, tmp_path):
    with gateway(tmp_path) as where:
        for name in ("one", "two", "three"):
            httpx2.post(f"{where}/admin/keys", json={"name": name})
        with shown(browser, where, "keys") as page:
            for name, near in (("two", "three"), ("three", "one"), ("one", None)):
                page.locator(f"[data-key={name}] .danger").focus()
                page.keyboard.press("Enter")
                page.locator("#sure .danger").focus()
                page.keyboard.press("Enter")
                place = f"[data-key={near}] button" if near else "#main"
                expect(page.locator(place).first).to_be_focused()


@pytest.mark.parametrize(("table", "name"), [("models", "model"), ("spend", "key")])
def test_a_name_in_a_table_of_totals_keeps_the_focus(browser, tmp_path, table, name):
    with gateway(tmp_path, count=60) as where, shown(browser, where) as page:
        button = page.locator(f"#{table} button").first
        text = button.text_content() or ""
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator(f"#filters [name={name}]")).to_have_value(text)
        expect(page.locator(f"#{table} tbody tr")).to_have_count(1)
        expect(page.locator(f"#{table} button", has_text=text)).to_be_focused()


def test_a_name_keeps_the_focus_while_requests_end(browser, tmp_path):
    with gateway(tmp_path, count=60) as where, shown(browser, where) as page:
        expect(page.locator("#pulse")).to_have_text("live")
        button = page.locator("#spend button", has_text="maria")
        button.focus()
        page.locator("#spend tbody").evaluate("(each) => each.id = 'first'")
        ask(where, "opus/low")
        expect(page.locator("#first")).to_have_count(0, timeout=10_000)  # drawn again
        expect(page.locator("#spend button", has_text="maria")).to_be_focused()


def test_a_button_that_becomes_disabled_passes_the_focus_on(browser, tmp_path):
    with (
        gateway(tmp_path, count=60) as where,
        shown(browser, where, "requests?key=maria") as page,
    ):
        page.locator("#clear").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#filters [name=search]")).to_be_focused()
        expect(page.locator("#place")).to_have_text("1–50")
        page.locator("#older").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#newer")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#older")).to_be_focused()
        expect(page.locator("#place")).to_have_text("1–50")
        page.goto(f"{where}/console/#audit?actor=maria")
        page.locator("#audit-clear").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#audit-filters [name=actor]")).to_be_focused()
