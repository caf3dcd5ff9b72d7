"""The console in a real browser: what the person who runs the gateway sees and does there.

They drive the Chromium of the system (Debian's package will do) and skip where there is none.
"""

import json
import re
from datetime import UTC, datetime
from time import time

import pytest
from playwright.sync_api import expect
from tests.cli.conftest import call
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, PAGES, ask, gateway, shown
from tests.gateway.crowd import crowd

from pondero.gateway.config.model import GatewayGroup, GatewayKey, SpendBudget
from pondero.gateway.config.secrets import hash_key

__all__ = ["call"]

ADMIN = "pnd_admin"
LINKS = ["#main", "#requests", *(f"#{name}" for name in PAGES)]  # the last four: mark and menu

pytestmark = NEEDS_CHROMIUM


def test_a_request_appears_while_the_page_is_open(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where) as page:
        expect(page.get_by_text("No requests yet.")).to_be_visible()
        expect(page.locator("#pulse")).to_have_text("live")

        assert ask(where, "opus/max") == 200

        row = page.locator("#rows tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("claude-opus-5")
        expect(row.locator(".level")).to_contain_text("max")
        expect(row.locator(".level b")).to_have_text("medium")
        expect(row.locator(".level .tag")).to_have_text("cap")
        expect(row.locator(".model .tag")).to_have_text("emulator")
        expect(page.get_by_text("No requests yet.")).to_be_hidden()


def test_a_paused_page_keeps_what_comes_for_later(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where) as page:
        expect(page.locator("#pulse")).to_have_text("live")
        page.locator("#pause").click()

        ask(where, "opus")

        expect(page.locator("#pause")).to_have_text("Resume (1 new)")
        expect(page.locator("#rows tr")).to_have_count(0)
        page.locator("#pause").click()
        expect(page.locator("#rows tr")).to_have_count(1)


def test_a_name_with_markup_in_it_is_text(browser, tmp_path):
    odd = "<img src=x onerror=document.title='hacked'>"
    keys = (GatewayKey(odd, hash_key("pnd_odd")),)
    with gateway(tmp_path, keys=keys) as where, shown(browser, where) as page:
        ask(where, "opus", key="pnd_odd")
        expect(page.locator("#rows .who")).to_have_text(odd)
        page.goto(f"{where}/console/#keys")
        expect(page.locator("#key-list h2")).to_have_text(odd)

        assert page.locator("main img").count() == 0
        assert page.title() == "Keys · pondero"


def test_the_sums_and_the_chart_are_those_of_the_ledger(browser, tmp_path):
    every = list(crowd(500, until=time()))
    with gateway(tmp_path, count=500) as where, shown(browser, where) as page:
        sums = page.locator("#sums")
        expect(sums.locator("dd").first).to_contain_text(f"{len(every)}")
        expect(page.locator("#rows tr")).to_have_count(50)
        models = page.locator("#models tbody tr")
        expect(models).to_have_count(len({each.model for each in every}))
        capped = sum(each.why == "cap" for each in every)
        expect(sums.locator("dd").last).to_have_text(
            f"{capped}changed a level, or rejected a request"
        )

        page.locator("#plot").focus()
        page.keyboard.press("End")
        expect(page.locator("#readout")).to_contain_text("thinking")
        page.locator("[name=model]").first.select_option("openai:gpt-5.5")
        alone = sum(each.model == "gpt-5.5" for each in every)
        expect(sums.locator("dd").first).to_contain_text(f"{alone}")


def test_the_dial_shows_the_json_that_plan_prints(browser, tmp_path, call):
    with gateway(tmp_path) as where, shown(browser, where, "dial") as page:
        page.locator("#dial-model").fill("claude-sonnet-4-5")
        page.locator("#tab-plan").click()
        for level, keys in (("high", ()), ("xhigh", ("ArrowRight",)), ("off", ("Home",))):
            page.locator("#dial-level").focus()
            for key in keys:
                page.keyboard.press(key)
            expect(page.locator("#dial-plan")).to_contain_text(f'"asked": "{level}"')

            printed = call("plan", f"claude-sonnet-4-5/{level}", "--json")[1]
            assert page.locator("#dial-plan").text_content() == printed.rstrip("\n")
            body = json.loads(page.locator("#dial-body").text_content() or "")
            for name, value in json.loads(printed)["fields"].items():
                assert body[name] == value


def test_the_dial_obeys_the_rule_of_a_route(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "dial") as page:
        page.locator("#dial-model").fill("opus")
        page.locator("#dial-level").focus()
        page.keyboard.press("End")

        expect(page.locator("#gauge .word")).to_have_text("max → medium")
        expect(page.locator("#verdict")).to_contain_text("maximum level of the route")


def test_the_dial_follows_the_name_and_the_models_of_a_key(browser, tmp_path):
    keys = (GatewayKey("ci", hash_key("pnd_x"), models=("gpt-*",)),)
    with gateway(tmp_path, keys=keys) as where, shown(browser, where, "dial") as page:
        page.locator("#dial-model").fill("opus/low")
        expect(page.locator("#verdict")).to_contain_text("low, as the name says")
        expect(page.locator("#gauge .word")).to_have_text("low")
        page.locator("#dial-key").select_option("ci")
        expect(page.locator("#verdict")).to_contain_text("the key 'ci' may not use 'opus/low'")
        expect(page.locator("#dial-body")).to_be_empty()


def test_a_made_key_works_and_a_blocked_one_does_not(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "keys") as page:
        page.locator("input[name=name]").fill("ci")
        page.locator("select[name=cap]").select_option("low")
        page.get_by_role("button", name="Create key").click()
        expect(page.locator("#made-key")).to_contain_text("pnd_")
        key = page.locator("#made-key").text_content() or ""
        page.get_by_role("button", name="Done").click()
        card = page.locator("[data-key=ci]")

        expect(card).to_contain_text("maximum level low")
        assert key not in page.content()
        assert ask(where, "opus", key=key) == 200
        assert ask(where, "opus", key="pnd_wrong") == 401

        card.get_by_role("button", name="Block").click()
        expect(card).to_contain_text("blocked")
        assert ask(where, "opus", key=key) == 401

        card.get_by_role("button", name="Unblock").click()
        expect(card).to_contain_text("active")
        assert ask(where, "opus", key=key) == 200

        card.get_by_role("button", name="Remove").click()
        page.locator("#sure").get_by_role("button", name="Remove").click()
        expect(card).to_have_count(0)


def test_a_key_shows_when_it_ends_and_that_it_reads_metrics(browser, tmp_path):
    keys = (
        GatewayKey("ci", hash_key("pnd_x"), expires=datetime(2099, 12, 31, 12, tzinfo=UTC)),
        GatewayKey("old", hash_key("pnd_y"), expires=datetime(2020, 1, 31, tzinfo=UTC)),
        GatewayKey("prometheus", hash_key("pnd_z"), metrics=True),
    )
    with gateway(tmp_path, keys=keys) as where, shown(browser, where, "keys") as page:
        cards = {name: page.locator(f"[data-key={name}]") for name in ("ci", "old", "prometheus")}
        expect(cards["ci"].locator(".facts")).to_contain_text("expires 2099-12-31 12:00 UTC")
        expect(cards["ci"].locator(".tag")).to_have_text(["active"])
        expect(cards["old"].locator(".facts")).to_contain_text("expired 2020-01-31 00:00 UTC")
        expect(cards["old"].locator(".tag")).to_have_text(["expired"])
        expect(cards["prometheus"].locator(".tag")).to_have_text(["active", "metrics"])
        expect(cards["prometheus"].locator(".facts")).not_to_contain_text("expire")


def test_a_key_whose_budget_covers_no_answer_is_not_shown_as_active(browser, tmp_path):
    keys = (GatewayKey("poor", hash_key("pnd_x"), budget=SpendBudget(tokens=500)),)
    with gateway(tmp_path, keys=keys) as where, shown(browser, where, "keys") as page:
        card = page.locator("[data-key=poor]")
        expect(card.locator(".tag")).to_have_text(["no room"])
        expect(card.locator(".bounds")).to_contain_text("no room for an answer of")
        expect(card.locator(".bounds")).not_to_contain_text("covers answers")


def test_a_key_without_a_budget_shows_that_its_groups_is_full(browser, tmp_path):
    groups = (GatewayGroup("research", budget=SpendBudget(tokens=500)),)
    keys = (GatewayKey("poor", hash_key("pnd_x"), group="research"),)
    with (
        gateway(tmp_path, keys=keys, groups=groups) as where,
        shown(browser, where, "keys") as page,
    ):
        card = page.locator("[data-key=poor]")
        expect(card.locator(".tag")).to_have_text(["no room"])
        expect(card.locator(".bounds")).to_contain_text("in the budget of the group research")


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_begins_at_the_top_of_every_page(browser, tmp_path, name):
    """An element whose id is the page's name would be where the browser begins."""
    with gateway(tmp_path) as where, shown(browser, where, name) as page:
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()


def test_the_skip_link_leads_to_the_content_of_the_same_page(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "keys") as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
        expect(page.locator("#page-keys")).to_be_visible()
        assert page.url.endswith("#keys")


def test_a_wrong_key_says_what_is_wrong(browser, tmp_path):
    keys = (GatewayKey("ci", hash_key("pnd_x")),)
    with gateway(tmp_path, keys=keys) as where, shown(browser, where, "keys") as page:
        page.locator("input[name=name]").fill("ci")
        page.get_by_role("button", name="Create key").click()

        expect(page.locator("#make-wrong")).to_contain_text("already")


def test_an_admin_shows_the_key_once_for_the_whole_tab(browser, tmp_path):
    keys = (GatewayKey("boss", hash_key(ADMIN), admin=True),)
    with gateway(tmp_path, count=1, keys=keys) as where, shown(browser, where) as page:
        page.locator("#enter-key").fill("pnd_wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#enter-why")).to_contain_text("That key was not accepted")
        page.locator("#enter-key").fill(ADMIN)
        page.keyboard.press("Enter")

        model = re.compile("claude|gemini|gpt")  # the wrong key has a row too
        expect(page.locator("#rows tr").filter(has_text=model)).to_have_count(1)
        expect(page.locator("#pulse")).to_have_text("live")
        page.reload()
        expect(page.locator("#rows tr").filter(has_text=model)).to_have_count(1)
        assert ADMIN not in page.content()
        assert ADMIN not in page.url


@pytest.mark.parametrize("width", [390, 820, 1440])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_no_page_is_wider_than_its_screen(browser, tmp_path, width, count):
    with gateway(tmp_path, count=count) as where, shown(browser, where, width=width) as page:
        for name in PAGES:
            page.goto(f"{where}/console/#{name}")
            expect(page.locator(f"#page-{name}")).to_be_visible()
            page.wait_for_load_state("load")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", PAGES)
def test_everything_to_press_or_fill_in_has_a_name(browser, tmp_path, name):
    with gateway(tmp_path, count=20) as where, shown(browser, where, name) as page:
        nameless = page.evaluate("""() => [...document.querySelectorAll(
            "main button, main input, main select, main a")].filter((each) =>
            each.checkVisibility() && !each.labels?.length && !each.textContent.trim()
            && !each.getAttribute("aria-label")).map((each) => each.outerHTML)""")
        assert nameless == []


def test_tab_leads_through_the_page(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "dial") as page:
        expect(page.locator("#dial-body")).to_contain_text("{")
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate("document.activeElement.id || document.activeElement.hash || ''")
            )
        assert [each for each in reached if each.startswith("#")] == LINKS
        wanted = ["dial-model", "dial-level", "dial-key", "tab-body", "copy-json", "dial-body"]
        assert [each for each in reached if each in wanted] == wanted
