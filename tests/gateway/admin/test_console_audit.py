"""The console's audit page, and groups on its other pages, in a real browser."""

import csv
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, gateway, shown

from pondero.gateway.config.model import GatewayGroup, GatewayKey, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.audit_log import AuditEntry, AuditLog, write_entries
from pondero.gateway.observability.ledger_database import SqliteDatabase

pytestmark = NEEDS_CHROMIUM

GROUPS = (GatewayGroup("research", budget=SpendBudget(cost=9)),)
KEYS = (GatewayKey("ci", hash_key("ci"), group="research"),)


def change(where: str, name: str, **settings: object) -> int:
    return httpx2.patch(f"{where}/admin/keys/{name}", json=settings).status_code


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_an_entry_opens_by_keyboard_and_shows_what_changed(browser, tmp_path, width):
    with gateway(tmp_path, keys=KEYS, groups=GROUPS) as where:
        assert change(where, "ci", blocked=True) == 200
        with shown(browser, where, "audit", width=width) as page:
            entry = page.locator("#entries details")
            expect(entry).to_have_count(1)
            expect(entry.locator("summary")).to_contain_text("local blocked the key ci")
            expect(entry.locator(".changes")).to_be_hidden()
            entry.locator("summary").focus()
            page.keyboard.press("Enter")
            expect(entry.locator(".changes tbody tr")).to_have_count(1)
            expect(entry.locator(".changes tbody tr")).to_contain_text("blockedfalsetrue")
            expect(entry).to_contain_text("127.0.0.1")
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_was_rejected_says_so_and_why(browser, tmp_path):
    with gateway(tmp_path, keys=KEYS, groups=GROUPS) as where:
        assert change(where, "ci", models=["opus"]) == 409
        with shown(browser, where, "audit") as page:
            entry = page.locator("#entries details")
            expect(entry).to_contain_text("local tried to change the key ci")
            expect(entry.locator(".tag")).to_have_text("rejected")
            entry.locator("summary").click()
            expect(entry).to_contain_text("the key 'ci' is in gateway.toml")


def test_entries_are_filtered_and_the_address_keeps_the_filter(browser, tmp_path):
    with gateway(tmp_path, keys=KEYS, groups=GROUPS) as where:
        change(where, "ci", blocked=True)
        change(where, "ci", models=["opus"])
        with shown(browser, where, "audit") as page:
            expect(page.locator("#entries li")).to_have_count(2)
            page.get_by_label("Outcome").select_option("rejected")
            expect(page.locator("#entries li")).to_have_count(1)
            assert page.url.endswith("#audit?outcome=rejected")
            page.reload()
            expect(page.locator("#entries li")).to_have_count(1)
            page.get_by_label("Actor").fill("nobody")
            page.keyboard.press("Enter")
            expect(page.get_by_text("No entries match these filters.")).to_be_visible()
            page.get_by_role("button", name="Clear filters").click()
            expect(page.locator("#entries li")).to_have_count(2)


def test_older_entries_are_on_further_pages_and_all_are_in_the_csv(browser, tmp_path):
    audit: list[AuditEntry] = []
    log = AuditLog(audit.append)
    for number in range(60):
        log.record(None, "key.change", subject=f"key-{number}")
    database = SqliteDatabase(tmp_path / "gateway.db")
    write_entries(database, audit)
    database.close()
    with (
        gateway(tmp_path, keys=KEYS, groups=GROUPS) as where,
        shown(browser, where, "audit") as page,
    ):
        expect(page.locator("#entries li")).to_have_count(50)
        page.get_by_role("button", name="Older").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#audit-place")).to_have_text("Page 2")
        expect(page.locator("#entries li")).to_have_count(10)
        expect(page.locator("#entries summary").first).to_be_focused()
        page.get_by_role("button", name="Newer").click()
        expect(page.locator("#entries li")).to_have_count(50)
        with page.expect_download() as download:
            page.get_by_role("button", name="Export CSV").click()
        path = Path(download.value.path())
        with path.open(newline="") as file:
            subjects = [row["subject"] for row in csv.DictReader(file)]
        assert subjects == [f"key-{number}" for number in reversed(range(60))]


def test_a_key_is_put_into_a_group_and_the_group_shows_it(browser, tmp_path):
    with (
        gateway(tmp_path, keys=KEYS, groups=GROUPS) as where,
        shown(browser, where, "keys") as page,
    ):
        expect(page.locator("[data-group=research]")).to_contain_text("keys ci")
        page.get_by_label("Name").fill("guest")
        page.locator("#make [name=group]").select_option("research")
        page.get_by_role("button", name="Create key").click()
        page.get_by_role("button", name="Done").click()
        expect(page.locator("[data-key=guest]")).to_contain_text("group research")
        expect(page.locator("[data-group=research]")).to_contain_text("ci, guest")
        page.locator("[data-key=guest]").get_by_role("button", name="Edit").click()
        page.locator("#make [name=group]").select_option("")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("[data-group=research]")).not_to_contain_text("guest")


def test_spend_is_shown_by_group_and_choosing_one_filters(browser, tmp_path):
    with (
        gateway(tmp_path, count=80, keys=KEYS, groups=GROUPS) as where,
        shown(browser, where) as page,
    ):
        row = page.locator("#group-spend tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("research")
        row.get_by_role("button", name="research").click()
        expect(page.locator("#filters [name=group]")).to_have_value("research")
        expect(page.locator("#spend tbody tr")).to_have_count(2)  # the keys that were in it
