"""The keys page in a real browser: changes of several people, and keys that are gone."""

from typing import Any

import httpx2
from playwright.sync_api import Locator, Page, expect
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, gateway, shown

pytestmark = NEEDS_CHROMIUM


def make_key(where: str, name: str, **settings: object) -> None:
    made = httpx2.post(f"{where}/admin/keys", json={"name": name, **settings})
    assert made.status_code == 200, made.text


def find_key(where: str, name: str) -> dict[str, Any]:
    every = httpx2.get(f"{where}/admin/keys").json()["keys"]
    found: dict[str, Any] = next(key for key in every if key["name"] == name)
    return found


def test_two_who_edit_a_key_keep_each_others_changes(browser, tmp_path):
    with gateway(tmp_path) as where:
        make_key(where, "web1", expires="2099-12-31T12:00:30Z")
        with shown(browser, where, "keys") as one, shown(browser, where, "keys") as other:
            for page in (one, other):
                page.get_by_role("button", name="Edit").click()
            for page, field, value in ((one, "models", "gpt-*"), (other, "requests", "7")):
                page.locator(f"#make [name={field}]").fill(value)
                page.get_by_role("button", name="Save").click()
                expect(page.locator("#make-title")).to_have_text("Create a key")

        key = find_key(where, "web1")
        assert key["models"] == ["gpt-*"]
        assert key["limit"]["requests"] == 7
        assert key["expires"].endswith("12:00:30Z")


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#make [name={name}]")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").click()


def test_two_who_edit_one_setting_are_told_and_can_apply_their_edit_again(browser, tmp_path):
    with gateway(tmp_path) as where:
        make_key(where, "web1", budget={"cost": 5, "tokens": 100}, thinking={"cap": "high"})
        with shown(browser, where, "keys") as page:
            page.get_by_role("button", name="Edit").click()
            theirs = {"budget": {"cost": 10, "tokens": 200, "per": "day"}, "models": ["gpt-*"]}
            httpx2.patch(f"{where}/admin/keys/web1", json=theirs)
            field(page, "tokens").fill("300")
            field(page, "thinking_tokens").fill("70")
            field(page, "floor").select_option("low")
            save(page)

            expect(page.locator("#make-changed")).to_be_focused()
            expect(page.get_by_role("button", name="Save")).to_be_in_viewport()
            expect(page.locator("#make-changes li")).to_have_text(
                [
                    "Allowed models: gpt-*, before all",
                    "Budget, cost ($): 10, before 5",
                    "Budget, tokens: 200, before 100; you entered 300",
                    "Budget, per: day, before month",
                ]
            )
            assert find_key(where, "web1")["budget"]["tokens"] == 200  # nothing is undone yet
            expect(field(page, "cost")).to_have_value("10")
            expect(field(page, "models")).to_have_value("gpt-*")
            expect(page.locator("[data-key=web1]")).to_contain_text("of $10.00")

            save(page)
            expect(page.locator("#make-title")).to_have_text("Create a key")
            expect(page.locator("#make-changed")).to_be_hidden()
        key = find_key(where, "web1")
        assert key["budget"] == {"cost": 10, "tokens": 300, "thinking_tokens": 70, "per": "day"}
        assert key["models"] == ["gpt-*"]
        assert (key["thinking"]["floor"], key["thinking"]["cap"]) == ("low", "high")


def test_the_keyboard_alone_leads_through_a_change_of_someone_else(browser, tmp_path):
    with gateway(tmp_path) as where:
        make_key(where, "web1", models=["opus"])
        with shown(browser, where, "keys") as page:
            page.get_by_role("button", name="Edit").press("Enter")
            httpx2.patch(f"{where}/admin/keys/web1", json={"models": ["gpt-*"]})
            page.keyboard.press("ControlOrMeta+a")
            page.keyboard.type("claude-*")
            page.keyboard.press("Enter")
            expect(page.locator("#make-changes")).to_contain_text(
                "Allowed models: gpt-*, before opus; you entered claude-*"
            )
            page.keyboard.press("Tab")
            expect(page.locator("#make-cancel")).to_be_focused()
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            expect(page.locator("[data-key=web1] button").first).to_be_focused()
            assert find_key(where, "web1")["models"] == ["claude-*"]

            page.keyboard.press("Enter")
            httpx2.patch(f"{where}/admin/keys/web1", json={"models": ["gpt-*"]})
            page.keyboard.type("other, ")
            page.keyboard.press("Enter")
            expect(page.locator("#make-changed")).to_be_focused()
            page.keyboard.press("Escape")
            expect(page.locator("#make-title")).to_have_text("Create a key")
            assert find_key(where, "web1")["models"] == ["gpt-*"]


def test_the_same_edit_of_two_and_a_block_meanwhile_need_no_question(browser, tmp_path):
    with gateway(tmp_path) as where:
        make_key(where, "web1")
        with shown(browser, where, "keys") as page:
            page.get_by_role("button", name="Edit").click()
            httpx2.patch(f"{where}/admin/keys/web1", json={"models": ["gpt-*"], "blocked": True})
            field(page, "models").fill("gpt-*")
            field(page, "requests").fill("7")
            save(page)
            expect(page.locator("#make-title")).to_have_text("Create a key")
        key = find_key(where, "web1")
        assert (key["models"], key["limit"]["requests"], key["blocked"]) == (["gpt-*"], 7, True)


def test_a_key_with_a_budget_below_a_cent_can_be_edited(browser, tmp_path):
    with gateway(tmp_path) as where:
        make_key(where, "thrifty", budget={"cost": 0.002})
        with shown(browser, where, "keys") as page:
            page.get_by_role("button", name="Edit").click()
            page.locator("#make [name=models]").fill("opus")
            page.get_by_role("button", name="Save").click()
            expect(page.locator("#make-title")).to_have_text("Create a key")
        assert find_key(where, "thrifty")["models"] == ["opus"]


def test_a_key_that_someone_else_removed_leaves_the_page(browser, tmp_path):
    with gateway(tmp_path) as where:
        for name in ("one", "two"):
            make_key(where, name)
        with shown(browser, where, "keys") as page:
            page.locator("[data-key=one]").get_by_role("button", name="Edit").click()
            page.locator("#make [name=models]").fill("opus")
            httpx2.delete(f"{where}/admin/keys/one")
            page.get_by_role("button", name="Save").click()
            expect(page.locator("#trouble")).to_contain_text("the key one is gone")
            expect(page.locator("#make-title")).to_have_text("Create a key")
            expect(page.locator("[data-key=one]")).to_have_count(0)

            httpx2.delete(f"{where}/admin/keys/two")
            page.locator("[data-key=two]").get_by_role("button", name="Block").click()
            expect(page.locator("[data-key=two]")).to_have_count(0)
            expect(page.locator("#trouble")).to_contain_text("unknown key 'two'")


def test_a_key_can_be_made_for_no_model_and_opened_again_for_all(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "keys") as page:
        field(page, "name").fill("prometheus")
        field(page, "models").fill("opus")
        field(page, "no_models").check()
        expect(field(page, "models")).to_be_disabled()
        page.get_by_role("button", name="Create key").click()
        page.locator("#made").get_by_role("button", name="Done").click()
        expect(page.locator("[data-key=prometheus]")).to_contain_text("models none")
        assert find_key(where, "prometheus")["models"] == []

        page.get_by_role("button", name="Edit").click()
        expect(field(page, "no_models")).to_be_checked()
        field(page, "no_models").uncheck()
        save(page)
        expect(page.locator("[data-key=prometheus]")).to_contain_text("models all")
        assert find_key(where, "prometheus")["models"] is None
