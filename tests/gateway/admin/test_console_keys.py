"""The keys page in a real browser: changes of several people, and keys that are gone."""

import httpx2
from playwright.sync_api import expect
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, gateway, shown

pytestmark = NEEDS_CHROMIUM


def make_key(where: str, name: str, **settings: object) -> None:
    made = httpx2.post(f"{where}/admin/keys", json={"name": name, **settings})
    assert made.status_code == 200, made.text


def find_key(where: str, name: str) -> dict[str, object]:
    every = httpx2.get(f"{where}/admin/keys").json()["keys"]
    return next(key for key in every if key["name"] == name)


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
