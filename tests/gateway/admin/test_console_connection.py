"""The console and its gateway: who is let in, what a page says if it is not, and a lost connection."""

import re

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, ask, gateway, shown

from pondero.gateway.config.model import GatewayKey
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.rejections import PER_ADDRESS

pytestmark = NEEDS_CHROMIUM

KEYS = (
    GatewayKey("boss", hash_key("pnd_admin"), admin=True),
    GatewayKey("ci", hash_key("pnd_ci")),
)


def enter(page: Page, key: str) -> None:
    page.locator("#enter-key").fill(key)
    page.keyboard.press("Enter")


def test_a_key_that_is_no_admin_key_is_named_and_another_can_be_entered(browser, tmp_path):
    with gateway(tmp_path, keys=KEYS) as where, shown(browser, where) as page:
        enter(page, "pnd_ci")
        expect(page.locator("#enter-why")).to_contain_text("the key 'ci' is not an admin key")
        page.reload()
        expect(page.locator("#enter")).to_be_visible()
        expect(page.locator("#lost")).to_be_hidden()

        enter(page, "pnd_admin")
        expect(page.locator("#pulse")).to_have_text("live")
        expect(page.locator("#trouble")).to_be_hidden()


def test_a_key_that_is_an_admin_key_no_more_leads_back_to_the_sign_in(browser, tmp_path):
    with gateway(tmp_path, keys=KEYS) as where, shown(browser, where, "keys") as page:
        headers = {"authorization": "Bearer pnd_admin"}
        made = httpx2.post(
            f"{where}/admin/keys", json={"name": "deputy", "admin": True}, headers=headers
        ).json()
        enter(page, made["key"])
        card = page.locator("[data-key=deputy]")
        expect(card).to_be_visible()
        httpx2.patch(f"{where}/admin/keys/deputy", json={"admin": False}, headers=headers)
        card.get_by_role("button", name="Block").click()

        expect(page.locator("#enter-why")).to_contain_text("'deputy' is not an admin key")


def test_too_many_wrong_keys_are_not_called_a_lost_connection(browser, tmp_path):
    said = ("status of 40", "status of 429")
    with gateway(tmp_path, keys=KEYS) as where, shown(browser, where, complaints=said) as page:
        expect(page.locator("#enter")).to_be_visible()
        for _ in range(PER_ADDRESS):
            httpx2.get(f"{where}/admin/keys", headers={"authorization": "Bearer pnd_wrong"})
        enter(page, "pnd_wrong")

        expect(page.locator("#trouble")).to_contain_text(re.compile(r"wait \d+ s"))
        expect(page.locator("#pulse")).to_have_text("not connected")
        page.wait_for_timeout(2_000)  # two more tries
        expect(page.locator("#trouble")).to_contain_text(re.compile(r"wait \d+ s"))
        expect(page.locator("#lost")).to_be_hidden()


# -- a page that stays open ------------------------------------------------------------------------


def test_the_filters_of_an_open_page_learn_what_is_new(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where) as page:
        expect(page.locator("#pulse")).to_have_text("live")
        key = httpx2.post(f"{where}/admin/keys", json={"name": "late"}).json()["key"]
        ask(where, "opus/low", key=key)

        expect(page.locator("#filters [name=key] option")).to_contain_text(["all", "late"])
        models = page.locator("#filters [name=model] option")
        expect(models).to_contain_text(["all", "anthropic:claude-opus-5"])
        expect(page.locator("#filters option[value='status=200']")).to_have_count(1)


def test_alerts_and_totals_change_while_no_request_ends(browser, tmp_path):
    alerts = [{"id": "x", "kind": "key_expires", "text": "expires soon", "key": "ci"}]
    with gateway(tmp_path, count=5) as where, shown(browser, where) as page:
        page.clock.install()
        page.reload()
        expect(page.locator("#sums dd").first).to_contain_text("5")
        expect(page.locator("#alerts")).to_be_hidden()
        page.route("**/admin/alerts", lambda route: route.fulfill(json={"alerts": alerts}))
        with page.expect_request("**/admin/figures?*"):
            page.clock.run_for(31_000)
        expect(page.locator("#alerts")).to_contain_text("expires soon")


# -- the clipboard ---------------------------------------------------------------------------------


@pytest.mark.parametrize("works", [True, False])
def test_a_new_key_is_copied_also_on_plain_http(browser, tmp_path, works):
    """Browsers give no clipboard to pages of another machine without https."""
    with gateway(tmp_path) as where, shown(browser, where, "keys") as page:
        page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        if not works:
            page.evaluate("document.execCommand = () => false")
        page.locator("#make [name=name]").fill("ci")
        page.locator("#make-submit").click()
        page.locator("#made-copy").click()
        if works:
            expect(page.locator("#made-copy")).to_have_text("Copied")
            key = page.locator("#made-key").text_content()
            page.get_by_role("button", name="Done").click()
            page.locator("#make [name=models]").focus()
            page.keyboard.press("ControlOrMeta+V")
            expect(page.locator("#make [name=models]")).to_have_value(key or "")
        else:
            expect(page.locator("#made-copy")).to_have_text("Select and copy it yourself")
            selected = page.evaluate("getSelection().toString()")
            assert selected.strip() == page.locator("#made-key").text_content()


# -- a gateway that is away ------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 1280])
def test_an_open_request_shows_that_the_connection_is_lost(browser, tmp_path, width):
    serving = gateway(tmp_path, count=5)
    where = serving.__enter__()
    with shown(browser, where, width=width, complaints=("ERR_", "status of 40")) as page:
        page.locator("#rows tr").first.click()
        expect(page.locator("#detail")).to_contain_text("Tokens and cost")
        serving.__exit__(None, None, None)

        expect(page.locator("#detail #lost")).to_be_visible(timeout=20_000)
        page.locator("#again").click(trial=True)
        page.keyboard.press("ArrowDown")
        expect(page.locator("#detail-body")).to_contain_text("the gateway cannot be reached")
        page.keyboard.press("Escape")
        expect(page.locator(".banners #lost")).to_be_visible()


def test_a_change_that_cannot_be_sent_says_why(browser, tmp_path):
    serving = gateway(tmp_path)
    where = serving.__enter__()
    httpx2.post(f"{where}/admin/keys", json={"name": "ci"})
    with shown(browser, where, "keys", complaints=("ERR_", "status of 40")) as page:
        page.get_by_role("button", name="Edit").click()
        page.locator("#make [name=models]").fill("opus")
        page.route("**/admin/keys*", lambda route: route.abort())
        page.route("**/admin/keys/*", lambda route: route.abort())
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#make-wrong")).to_have_text("the gateway cannot be reached")
        page.get_by_role("button", name="Block").click()
        expect(page.locator("#trouble")).to_have_text("the gateway cannot be reached")
    serving.__exit__(None, None, None)
