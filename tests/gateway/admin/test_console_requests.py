"""The table of requests in a real browser: all rows, filters, details, and the keyboard alone."""

import csv
import os
import re
import socket
import subprocess
from decimal import Decimal
from pathlib import Path
from time import sleep, time

import httpx2
import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, Route, expect
from tests.gateway.admin.console_browser import NEEDS_CHROMIUM, ROUTES, ask, gateway, shown
from tests.gateway.crowd import crowd
from tests.gateway.ledger_rows import make_ledger

from pondero.canon import Usage
from pondero.emulator import Emulator
from pondero.gateway import run_gateway_in_thread
from pondero.gateway.config.endpoint_section import list_endpoints
from pondero.gateway.config.model import GatewayConfig, GatewayKey, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt

pytestmark = NEEDS_CHROMIUM

LONG = "a-name-that-is-as-long-as-names-can-be-" * 5
MARKUP = "<img src=x onerror=document.title='hacked'>"
COLUMNS = (
    "time key model purpose status requested → sent input thinking answer first byte total cost"
)


def receipt(**facts) -> Receipt:
    usual = {"id": "f" * 24, "at": time(), "key": "ci", "front": "chat", "said": "opus"}
    return Receipt(**{**usual, **facts})


def rows(page: Page):
    return page.locator("#rows tr")


def filters(page: Page, name: str):
    return page.locator(f"#filters [name={name}]")


# -- what is seen ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_the_whole_table_is_in_view_on_a_desktop(browser, tmp_path, width):
    odd = receipt(key=LONG[:128], said=LONG[:200], provider="north", model=LONG[:200], reason=LONG)
    with (
        gateway(tmp_path, count=60, receipts=[odd]) as where,
        shown(browser, where, width=width) as page,
    ):
        expect(rows(page)).to_have_count(50)
        heads = page.locator("#live th:visible")
        assert " ".join(heads.all_inner_texts()).replace("and", "").split() == COLUMNS.split()
        cut = page.evaluate("""() => [...document.querySelectorAll("#live th, #live td")].filter(
            (cell) => cell.scrollWidth > cell.clientWidth + 1
              || cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.textContent)""")
        assert cut == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "columns"), [(1279, 9), (820, 8)])
def test_a_narrower_table_has_fewer_columns_and_cuts_none(browser, tmp_path, width, columns):
    with gateway(tmp_path, count=60) as where, shown(browser, where, width=width) as page:
        expect(rows(page)).to_have_count(50)
        expect(page.locator("#live th:visible")).to_have_count(columns)
        right = page.locator("#live").evaluate("(table) => table.getBoundingClientRect().right")
        assert right <= width


def test_a_phone_shows_each_request_as_a_card_that_opens(browser, tmp_path):
    with gateway(tmp_path, count=60) as where, shown(browser, where, width=390) as page:
        expect(rows(page)).to_have_count(50)
        box = rows(page).first.bounding_box()
        assert box is not None
        assert box["width"] <= 390 - 2 * 16
        rows(page).first.click()
        expect(page.locator("#detail")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# -- all rows --------------------------------------------------------------------------------------


def test_pages_lead_through_all_requests_and_back(browser, tmp_path):
    every = [each.id for each in crowd(120, until=time())][::-1]
    with gateway(tmp_path, count=120) as where, shown(browser, where) as page:
        for place, ids in (("1–50", every[:50]), ("51–100", every[50:100])):
            expect(page.locator("#place")).to_have_text(place)
            found = [row.get_attribute("data-id") for row in rows(page).all()]
            assert found == ids
            page.locator("#older").click()
        expect(page.locator("#place")).to_have_text("101–120, the oldest")
        expect(page.locator("#older")).to_be_disabled()
        page.locator("#newer").click()
        page.locator("#newer").click()
        expect(page.locator("#place")).to_have_text("1–50")
        expect(page.locator("#newer")).to_be_disabled()


def test_a_hundred_thousand_requests_never_come_to_the_browser_at_once(browser, tmp_path):
    make_ledger(tmp_path / "gateway.db", 100_000, until=time(), offline=True).close()
    with gateway(tmp_path) as where, shown(browser, where) as page:
        expect(rows(page)).to_have_count(50)
        sizes: list[int] = []
        page.on("response", lambda answer: sizes.append(len(answer.body())))
        page.locator("#older").click()
        expect(page.locator("#place")).to_have_text("51–100")
        filters(page, "search").fill("needle")

        expect(rows(page)).to_have_count(1, timeout=30_000)
        expect(rows(page)).to_contain_text("model-2")
        assert max(sizes) < 100_000
        assert page.locator("#rows *").count() < 50


def test_a_search_shows_what_it_found_and_waits_to_be_told_to_continue(browser, tmp_path):
    """A ledger too large to be searched at once: here, the first answers say that it is."""
    endless = True

    def answer(route: Route) -> None:
        found = route.fetch().json()
        if endless:
            sleep(0.2)
            first = found["requests"][: "before" not in route.request.url]
            found = {"requests": first, "next": "1_", "searched": time() - 3600}
        route.fulfill(json=found)

    with gateway(tmp_path, count=20) as where, shown(browser, where) as page:
        expect(rows(page)).to_have_count(20)
        page.route("**/admin/requests?*search=*", answer)
        filters(page, "search").fill("maria")

        expect(page.locator("#place")).to_contain_text("Searching: ")
        expect(rows(page)).to_have_count(1)
        expect(page.locator("#further")).to_be_visible()
        expect(page.locator("#place")).to_contain_text("1–1 since ")
        expect(page.locator("#older")).to_be_disabled()

        endless = False
        page.locator("#further").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#further")).to_be_hidden()
        expect(page.locator("#place")).to_have_text("1–1, the oldest")


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("key", "maria", lambda each: each.key == "maria"),
        ("model", "openai:gpt-5.5", lambda each: each.model == "gpt-5.5"),
        ("outcome", "end=failed", lambda each: each.end == "failed"),
        ("outcome", "status=529", lambda each: each.status == 529),
        ("level", "medium", lambda each: each.sent == "medium"),
        ("purpose", "title", lambda each: each.purpose == "title"),
    ],
)
def test_a_filter_shows_what_it_says_and_stays_in_the_address(browser, tmp_path, name, value, fits):
    every = [
        replace(each, purpose=("title", "main")[number % 2])
        for number, each in enumerate(crowd(140, until=time()))
    ]
    wanted = [each.id for each in reversed(every) if fits(each)]
    with gateway(tmp_path, receipts=every) as where, shown(browser, where) as page:
        expect(rows(page)).to_have_count(50)
        filters(page, name).select_option(value)
        expect(page.locator("#sums dd").first).to_contain_text(f"{len(wanted)}")
        expect(rows(page)).to_have_count(min(50, len(wanted)))
        assert [row.get_attribute("data-id") for row in rows(page).all()] == wanted[:50]

        page.reload()
        expect(filters(page, name)).to_have_value(value)
        expect(rows(page)).to_have_count(min(50, len(wanted)))
        page.locator("#clear").click()
        expect(rows(page)).to_have_count(50)
        expect(page).to_have_url(re.compile("#requests$"))


def test_the_statuses_are_listed_one_by_one_after_a_reload(browser, tmp_path):
    place = "requests?outcome=status%3D529"
    with gateway(tmp_path, count=140) as where, shown(browser, where, place) as page:
        statuses = page.locator("#filters optgroup[label='HTTP status'] option")
        expect(statuses).to_have_text(["529", "200"])
        expect(filters(page, "outcome")).to_have_value("status=529")
        expect(filters(page, "outcome").locator("option:checked")).to_have_text("529")


def test_an_outcome_that_does_not_exist_is_no_filter(browser, tmp_path):
    with (
        gateway(tmp_path, count=3) as where,
        shown(browser, where, "requests?outcome=garbage") as page,
    ):
        expect(rows(page)).to_have_count(3)
        expect(page.locator("#trouble")).to_be_hidden()


def test_a_search_finds_a_reason_and_names_as_they_are(browser, tmp_path):
    odd = receipt(said="100%_sure", end="refused", status=404, reason="unknown model; use another")
    with gateway(tmp_path, count=60, receipts=[odd]) as where, shown(browser, where) as page:
        expect(rows(page)).to_have_count(50)
        for text in ("UNKNOWN another", "%_s", "f" * 24):
            filters(page, "search").fill(text)
            expect(rows(page)).to_have_count(1)
            expect(rows(page)).to_contain_text("unknown model; use another")
        filters(page, "search").fill("nothing has this")
        expect(page.locator("#no-match")).to_be_visible()
        expect(rows(page)).to_have_count(0)


def test_a_step_of_the_chart_shows_its_requests(browser, tmp_path):
    with gateway(tmp_path, count=300) as where, shown(browser, where) as page:
        expect(rows(page)).to_have_count(50)
        expect(page.locator("#readout")).to_contain_text("Point at a step")
        page.locator("#plot").focus()
        page.keyboard.press("End")
        expect(page.locator("#readout")).to_contain_text("  ·  ")
        count = (page.locator("#readout").text_content() or "").split("  ·  ")[1].split()[0]
        page.keyboard.press("Enter")

        expect(page.locator("#sums dd").first).to_contain_text(count)
        expect(rows(page)).to_have_count(min(50, int(count)))
        assert filters(page, "since").input_value() < filters(page, "until").input_value()


def test_live_requests_obey_the_filter(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "requests?level=low") as page:
        expect(filters(page, "level")).to_have_value("low")
        expect(page.locator("#no-match")).to_be_visible()
        expect(page.locator("#pulse")).to_have_text("live")
        ask(where, "opus/medium")
        ask(where, "opus/low")

        expect(rows(page)).to_have_count(1)
        expect(rows(page).locator(".level")).to_contain_text("low")


def test_csv_has_what_is_filtered(browser, tmp_path):
    every = list(crowd(150, until=time()))
    odd = receipt(key="=cmd()", said="x", end="refused", status=404, reason="why not")
    with gateway(tmp_path, count=150, receipts=[odd]) as where, shown(browser, where) as page:
        expect(rows(page)).to_have_count(50)
        for key, count in (("maria", sum(e.key == "maria" for e in every)), ("=cmd()", 1)):
            filters(page, "key").select_option(key)
            with page.expect_download() as download:
                page.locator("#export").click()
            assert download.value.suggested_filename == "pondero-requests.csv"
            with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
                found = list(csv.DictReader(file))
            assert len(found) == count
            assert {row["key"].lstrip("'") for row in found} == {key}
        assert found[0]["key"] == "'=cmd()"
        assert found[0]["reason"] == "why not"


# -- one request -----------------------------------------------------------------------------------


def test_a_request_opens_with_everything_about_it(browser, tmp_path):
    whole = receipt(
        provider="anthropic",
        model="claude-opus-5",
        asked="max",
        sent="medium",
        why="cap",
        adjustments=("budget_clamped",),
        usage=Usage(input=4_000, cache_read=1_000, output=321, thinking=2_345),
        tries=3,
        stream=True,
        first_try=0.2,
        last_try=2.2,
        first=2.7,
        first_answer=6.7,
        seconds=8.2,
        route="opus",
        purpose="title",
    )
    with gateway(tmp_path, receipts=[whole]) as where, shown(browser, where) as page:
        rows(page).click()
        detail = page.locator("#detail")
        for text in (
            *("anthropic:claude-opus-5", "answered 200", "requestedmax", "sentmedium"),
            *("a maximum level of the route or the key", "budget_clamped", "to fit the model"),
            *("in the gateway0.20 s", "earlier tries2.00 s", "wait for the first byte0.50 s"),
            *("thinking4.00 s", "answer1.50 s", "total8.20 s", "tries3", "streamedyes"),
            *("input4,000", "from the cache1,000", "thinking2,345", "answer321", "routeopus"),
            *("purposetitle", "records no prompts and no answers"),
        ):
            expect(detail).to_contain_text(text)
        page.keyboard.press("Escape")
        expect(detail).to_be_hidden()


def test_a_rejected_request_shows_its_reason_in_the_table_and_opened(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where) as page:
        expect(page.locator("#pulse")).to_have_text("live")
        assert ask(where, "no-such-model") == 404
        expect(rows(page).locator(".status")).to_have_text("rejected 404")
        expect(rows(page).locator(".level")).to_contain_text("unknown model 'no-such-model'")
        rows(page).click()
        expect(page.locator("#detail .outcome")).to_contain_text("unknown model 'no-such-model'")
        expect(page.locator("#detail")).to_contain_text("No level was sent.")


def test_markup_in_any_name_is_text(browser, tmp_path):
    odd = receipt(
        key=MARKUP,
        said=MARKUP,
        provider="north",
        model=MARKUP,
        route=MARKUP,
        sent="high",
        asked=MARKUP,
        why="rule:" + MARKUP,
        adjustments=(MARKUP.replace(" ", "/"),),
        reason=MARKUP,
        verdict=MARKUP,
        purpose=MARKUP,
        end="failed",
        status=500,
    )
    with gateway(tmp_path, receipts=[odd]) as where, shown(browser, where) as page:
        expect(rows(page).locator(".who")).to_have_text(MARKUP)
        rows(page).click()
        expect(page.locator("#detail .outcome")).to_contain_text(MARKUP)
        page.keyboard.press("Escape")
        filters(page, "key").select_option(MARKUP)
        expect(page.locator("#spend tbody tr")).to_have_count(1)

        assert page.locator("main img, dialog img").count() == 0
        assert page.title() == "Requests · pondero"


# -- the keyboard ----------------------------------------------------------------------------------


def test_the_keyboard_alone_searches_opens_and_closes(browser, tmp_path):
    every = [each.id for each in crowd(120, until=time())][::-1]
    with gateway(tmp_path, count=120) as where, shown(browser, where) as page:
        expect(rows(page)).to_have_count(50)
        press = page.keyboard.press

        press("/")
        expect(filters(page, "search")).to_be_focused()
        page.keyboard.type("maria/x")
        expect(filters(page, "search")).to_have_value("maria/x")
        press("Escape")
        expect(filters(page, "search")).to_have_value("")
        expect(rows(page)).to_have_count(50)

        reached = ""
        while reached != every[0]:
            press("Tab")
            reached = page.evaluate("document.activeElement.dataset.id ?? ''")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        for key, at in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 49)):
            press(key)
            assert page.evaluate("document.activeElement.dataset.id") == every[at]
        press("PageDown")
        expect(page.locator(f"[data-id='{every[50]}']")).to_be_focused()
        press("Enter")
        expect(page.locator("#detail")).to_contain_text(every[50])
        page.locator("#detail-older").focus()
        press("Enter")
        expect(page.locator("#detail")).to_contain_text(every[51])
        press("Escape")
        expect(page.locator(f"[data-id='{every[51]}']")).to_be_focused()
        press("PageUp")
        expect(page.locator(f"[data-id='{every[0]}']")).to_be_focused()


# -- the connection --------------------------------------------------------------------------------


def find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_a_lost_connection_is_a_banner_until_it_is_back(browser, tmp_path):
    port = find_port()
    serving = gateway(tmp_path, count=5, port=port)
    where = serving.__enter__()
    with shown(browser, where, complaints=("ERR_", "status of 40")) as page:
        expect(page.locator("#pulse")).to_have_text("live")
        expect(rows(page)).to_have_count(5)

        serving.__exit__(None, None, None)
        expect(page.locator("#lost")).to_be_visible(timeout=20_000)
        expect(page.locator("#lost")).to_contain_text("Connection to the gateway lost.")
        expect(rows(page)).to_have_count(5)

        with gateway(tmp_path, port=port) as again:
            assert again == where
            expect(page.locator("#lost")).to_be_hidden(timeout=20_000)
            expect(page.locator("#pulse")).to_have_text("live")
            ask(where, "opus/low")
            expect(rows(page)).to_have_count(6)


# -- the first hour --------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [(), (GatewayKey("it's mine", hash_key("pnd_mine")),)])
def test_the_command_of_an_empty_console_runs_as_it_is_printed(browser, tmp_path, keys):
    with gateway(tmp_path, keys=keys) as where, shown(browser, where) as page:
        expect(page.locator("#example")).to_contain_text("curl")
        command = page.locator("#example").inner_text()
        environment = {**os.environ, "PONDERO_KEY": "pnd_mine", "no_proxy": "127.0.0.1"}
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, env=environment, check=False
        )

        assert '"choices"' in done.stdout
        expect(rows(page)).to_have_count(1)
        expect(rows(page).locator(".status")).to_have_text("200")
        expect(page.locator("#empty")).to_be_hidden()


def test_a_day_in_its_first_hour_has_a_bar_for_each_minute(browser, tmp_path):
    every = list(crowd(200, until=time(), hours=0.4))
    with gateway(tmp_path, receipts=every) as where, shown(browser, where) as page:
        expect(page.locator("#sums dd").first).to_contain_text("200")
        minutes = len({int(each.at // 60) for each in every if each.end == "done"})
        bars = page.locator("#plot .fill-answer")
        assert abs(bars.count() - minutes) <= 1
        assert minutes > 15


# -- alerts and totals -----------------------------------------------------------------------------


def test_alerts_are_above_everything(browser, tmp_path):
    failed = [
        receipt(id=f"{n:024x}", provider="north", model="m1", end="failed", status=529)
        for n in range(20)
    ]
    with gateway(tmp_path, receipts=failed) as where, shown(browser, where) as page:
        alert = page.locator("#alerts")
        expect(alert).to_contain_text("service failing")
        expect(alert).to_contain_text("north:m1: 100% of 20 requests failed")
        assert alert.bounding_box()["y"] < page.locator("#sums").bounding_box()["y"]


def test_totals_show_percentiles_errors_and_spend(browser, tmp_path):
    every = [
        receipt(
            id=f"{n:024x}",
            key=("ci", "maria")[n % 2],
            provider="north",
            model="m1",
            route="fast",
            end="failed" if n < 10 else "done",
            first=0.5,
            seconds=float(n),
        )
        for n in range(100)
    ]
    with gateway(tmp_path, receipts=every) as where, shown(browser, where) as page:
        models, spend = page.locator("#models tbody tr"), page.locator("#spend tbody tr")
        expect(models).to_have_count(1)
        for text in ("north:m1", "fast", "100", "10%", "0.50 s / 0.50 s", "54.0 s / 1m 35s"):
            expect(models).to_contain_text(text)
        expect(spend).to_have_count(2)
        page.get_by_role("button", name="maria").click()
        expect(filters(page, "key")).to_have_value("maria")
        expect(spend).to_have_count(1)
        expect(page.locator("#sums dd").first).to_contain_text("50")


# -- keys ------------------------------------------------------------------------------------------


def test_a_key_is_edited_in_place_and_keeps_what_was_not_changed(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "keys") as page:
        page.locator("input[name=name]").fill("ci")
        page.locator("input[name=expires]").fill("2099-12-31T12:00")
        page.locator("select[name=cap]").select_option("low")
        page.locator("#make-submit").click()
        expect(page.locator("#made-key")).not_to_be_empty()
        key = page.locator("#made-key").text_content() or ""
        page.get_by_role("button", name="Done").click()
        card = page.locator("[data-key=ci]")

        card.get_by_role("button", name="Edit").click()
        expect(page.locator("#make-title")).to_have_text("Edit the key ci")
        expect(page.locator("select[name=cap]")).to_have_value("low")
        expect(page.locator("input[name=name]")).to_have_attribute("readonly", "")
        page.locator("select[name=cap]").select_option("high")
        page.locator("input[name=cost]").fill("2.5")
        page.get_by_role("button", name="Save").click()

        expect(card).to_contain_text("maximum level high")
        expect(card).to_contain_text("of $2.50 this month")
        expect(card).to_contain_text("expires 2099-12-31 12:00 UTC")
        expect(page.locator("#make-title")).to_have_text("Create a key")
        assert key not in page.content()
        assert ask(where, "opus", key=key) == 200

        expect(card.get_by_role("button", name="Edit")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#make-title")).to_have_text("Edit the key ci")
        page.keyboard.press("Escape")
        expect(page.locator("#make-title")).to_have_text("Create a key")
        expect(page.locator("input[name=name]")).to_have_value("")
        expect(card.get_by_role("button", name="Edit")).to_be_focused()


def test_on_a_phone_the_keys_come_first_and_a_button_leads_to_the_form(browser, tmp_path):
    keys = tuple(GatewayKey(f"ci{each}", hash_key(f"pnd_{each}")) for each in range(9))
    with (
        gateway(tmp_path, keys=keys) as where,
        shown(browser, where, "keys", width=390) as page,
    ):
        card, form = page.locator("[data-key=ci0]"), page.locator("#make")
        expect(card).to_be_in_viewport()
        expect(form).not_to_be_in_viewport()
        page.locator("#make-go").click()
        expect(form).to_be_in_viewport()
        expect(page.locator("input[name=name]")).to_be_focused()


def read_endpoints(where: str) -> list[str] | None:
    (key,) = httpx2.get(f"{where}/admin/keys").json()["keys"]
    return key["endpoints"]


def test_the_endpoints_of_a_key_are_chosen_and_kept_when_something_else_changes(browser, tmp_path):
    with gateway(tmp_path) as where, shown(browser, where, "keys") as page:
        names, choice = page.locator("#make-endpoints"), page.get_by_label("Other endpoints")
        card = page.locator("[data-key=ci]")

        def save(after: list[str] | None) -> None:
            page.get_by_role("button", name="Save").click()
            expect(page.locator("#make-title")).to_have_text("Create a key")
            expect(names).to_be_hidden()
            assert read_endpoints(where) == after

        page.locator("input[name=name]").fill("ci")
        expect(names).to_be_hidden()
        choice.select_option("only these")
        expect(names.get_by_role("checkbox")).to_have_count(len(list_endpoints()))
        names.get_by_label("embeddings").check()
        names.get_by_label("realtime").check()
        page.locator("#make-submit").click()
        page.get_by_role("button", name="Done").click()
        expect(card).to_contain_text("other endpoints embeddings, realtime")
        expect(names).to_be_hidden()
        assert read_endpoints(where) == ["embeddings", "realtime"]

        card.get_by_role("button", name="Edit").click()
        expect(names.get_by_role("checkbox", checked=True)).to_have_count(2)
        page.locator("select[name=cap]").select_option("low")
        save(["embeddings", "realtime"])

        card.get_by_role("button", name="Edit").click()
        choice.focus()
        page.keyboard.press("End")  # none
        expect(names).to_be_hidden()
        save([])
        expect(card).to_contain_text("other endpoints none")

        card.get_by_role("button", name="Edit").click()
        choice.select_option("all for which its rules hold")
        save(None)
        expect(card).not_to_contain_text("other endpoints")


def test_a_key_of_the_file_has_no_edit_button(browser, tmp_path):
    keys = (GatewayKey("ci", hash_key("pnd_x")),)
    with gateway(tmp_path, keys=keys) as where, shown(browser, where, "keys") as page:
        card = page.locator("[data-key=ci]")
        expect(card.get_by_role("button", name="Block")).to_be_visible()
        expect(card.get_by_role("button", name="Edit")).to_have_count(0)


# -- figures and words -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 768])
def test_no_table_of_totals_is_cut(browser, tmp_path, width):
    with gateway(tmp_path, count=300) as where, shown(browser, where, width=width) as page:
        for name in ("models", "spend", "group-spend"):
            expect(page.locator(f"#{name} tbody tr").first).to_be_visible()
            expect(page.locator(f"#{name} thead th").last).to_have_text("cost")
            cut = page.locator(f"#{name}").evaluate(
                "(table) => table.scrollWidth - table.parentElement.clientWidth"
            )
            assert cut <= 0, name


def test_the_chart_counts_rejected_requests(browser, tmp_path):
    rejected = [
        receipt(id=f"{n:024x}", end="refused", status=429, reason="over a limit") for n in range(9)
    ]
    with gateway(tmp_path, receipts=rejected) as where, shown(browser, where) as page:
        expect(page.locator("#sums dd").first).to_contain_text("9")
        expect(page.locator("#readout")).to_contain_text("Point at a step")
        page.locator("#plot").focus()
        page.keyboard.press("End")
        while "9 requests" not in (page.locator("#readout").text_content() or ""):
            page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        expect(filters(page, "since")).not_to_have_value("")
        expect(rows(page)).to_have_count(9)


def test_the_arrows_of_an_open_request_lead_through_all_pages(browser, tmp_path):
    every = [each.id for each in crowd(60, until=time())][::-1]
    with gateway(tmp_path, count=60) as where, shown(browser, where) as page:
        rows(page).nth(49).click()
        detail = page.locator("#detail")
        expect(detail).to_contain_text(every[49])
        page.locator("#detail-older").click()
        expect(detail).to_contain_text(every[50])
        page.locator("#detail-newer").click()
        expect(detail).to_contain_text(every[49])
        page.keyboard.press("Escape")
        rows(page).first.click()
        expect(page.locator("#detail-newer")).to_be_disabled()
        expect(page.locator("#detail-older")).to_be_enabled()
        page.keyboard.press("Escape")
        page.locator("#older").click()
        expect(page.locator("#place")).to_have_text("51–60, the oldest")
        rows(page).last.click()
        expect(page.locator("#detail-older")).to_be_disabled()


def test_requests_that_end_meanwhile_do_not_move_the_one_that_is_open(browser, tmp_path):
    every = [each.id for each in crowd(50, until=time())][::-1]
    with gateway(tmp_path, count=50) as where, shown(browser, where) as page:
        expect(page.locator("#pulse")).to_have_text("live")
        rows(page).last.click()
        expect(page.locator("#detail")).to_contain_text(every[49])
        with page.expect_response("**/admin/figures?*"):  # the live rows have come
            ask(where, "opus/low")
        page.locator("#detail-newer").click()
        expect(page.locator("#detail")).to_contain_text(every[48])
        page.keyboard.press("Escape")
        expect(rows(page).first).to_contain_text("claude-opus-5")
        expect(rows(page).first).not_to_have_attribute("data-id", every[0])
        expect(page.locator(f"[data-id='{every[48]}']")).to_be_focused()


def test_a_request_without_a_level_and_one_whose_client_left_say_so(browser, tmp_path):
    odd = {"provider": "north", "model": "m1", "asked": "nothing", "sent": "nothing"}
    gone = receipt(end="left", status=499, seconds=119.7, **odd)
    with gateway(tmp_path, receipts=[gone]) as where, shown(browser, where) as page:
        rows(page).click()
        detail = page.locator("#detail")
        expect(detail).to_contain_text("whynothing was requested, so the model's default holds")
        expect(detail.locator(".outcome")).to_contain_text("the client disconnected")
        expect(detail).to_contain_text("total2m 0s")


def test_a_tiny_cost_is_written_without_an_exponent(browser, tmp_path):
    tiny = receipt(provider="north", model="m1", cost=Decimal("0.00000019"))
    with gateway(tmp_path, receipts=[tiny]) as where, shown(browser, where) as page:
        expect(rows(page).locator(".cost")).to_have_text("< $0.000001")


def test_what_was_not_answered_is_told_apart_and_counted_in_full(browser, tmp_path):
    ends = [
        ("refused", 404),
        ("refused", 404),
        ("failed", 404),
        *(("failed", 500 + n) for n in range(8)),
    ]
    every = [
        receipt(id=f"{n:024x}", end=end, status=status) for n, (end, status) in enumerate(ends)
    ]
    with gateway(tmp_path, receipts=every) as where, shown(browser, where) as page:
        panel = page.locator("#statuses")
        expect(panel).to_contain_text("2 other statuses2")
        panel.get_by_role("button", name="rejected 404").click()
        expect(rows(page).locator(".status")).to_have_text(["rejected 404"] * 2)
        expect(filters(page, "outcome").locator("option:checked")).to_have_text("rejected 404")
        page.reload()
        expect(rows(page)).to_have_count(2)
        expect(filters(page, "outcome").locator("option:checked")).to_have_text("rejected 404")


# -- the address -----------------------------------------------------------------------------------


def test_back_closes_a_request_and_undoes_a_filter(browser, tmp_path):
    every = [each.id for each in crowd(60, until=time())][::-1]
    with gateway(tmp_path, count=60) as where, shown(browser, where) as page:
        page.locator("#older").click()
        expect(page.locator("#place")).to_have_text("51–60, the oldest")
        rows(page).first.click()
        expect(page.locator("#detail")).to_contain_text(every[50])
        page.locator("#detail-older").click()
        expect(page.locator("#detail")).to_contain_text(every[51])
        page.go_back()
        expect(page.locator("#detail")).to_be_hidden()
        expect(page.locator("#place")).to_have_text("51–60, the oldest")

        filters(page, "key").select_option("maria")
        expect(page).to_have_url(re.compile("#requests[?]key=maria$"))
        page.locator("input[name=span][value=week]").check()
        expect(page).to_have_url(re.compile("span=week"))
        page.go_back()
        expect(page.locator("input[name=span][value=day]")).to_be_checked()
        expect(filters(page, "key")).to_have_value("maria")
        page.go_back()
        expect(filters(page, "key")).to_have_value("")
        expect(page.locator("#place")).to_have_text("51–60, the oldest")
        page.go_back()
        expect(rows(page)).to_have_count(50)
        expect(page.locator("#page-requests")).to_be_visible()


def test_a_reload_keeps_the_open_request_and_the_time_span(browser, tmp_path):
    every = [each.id for each in crowd(60, until=time())][::-1]
    with gateway(tmp_path, count=60) as where, shown(browser, where) as page:
        page.locator("input[name=span][value=week]").check()
        rows(page).nth(3).click()
        expect(page.locator("#detail")).to_contain_text(every[3])
        page.reload()
        expect(page.locator("#detail")).to_contain_text(every[3])
        expect(page.locator("input[name=span][value=week]")).to_be_checked()
        page.locator("#detail-older").click()
        expect(page.locator("#detail")).to_contain_text(every[4])
        page.keyboard.press("Escape")
        expect(page).to_have_url(re.compile("#requests[?]span=week$"))
        expect(page.locator(f"[data-id='{every[4]}']")).to_be_focused()

        page.goto(f"{where}/console/#requests?request={every[55]}")
        expect(page.locator("#detail")).to_contain_text(every[55])
        expect(page.locator("#detail-older")).to_be_disabled()  # it is not on this page
        page.locator("#detail-close").click()
        expect(page).to_have_url(re.compile("#requests$"))


def test_a_reload_keeps_the_page_of_the_history_and_the_open_request(browser, tmp_path):
    every = [each.id for each in crowd(170, until=time())][::-1]
    with (
        gateway(tmp_path, count=170) as where,
        shown(browser, where, "requests?search=-") as page,
    ):
        expect(rows(page)).to_have_count(50)
        for place in ("51–100", "101–150"):
            page.locator("#older").click()
            expect(page.locator("#place")).to_have_text(place)
        expect(page).to_have_url(re.compile("search=-&page=3&before="))
        page.locator(f"[data-id='{every[149]}']").click()
        expect(page.locator("#detail")).to_contain_text(every[149])
        page.reload()
        expect(page.locator("#detail")).to_contain_text(every[149])
        expect(page.locator("#place")).to_have_text("101–150")
        page.locator("#detail-older").click()  # which is on the next page
        expect(page.locator("#detail")).to_contain_text(every[150])
        page.reload()
        expect(page.locator("#detail")).to_contain_text(every[150])
        page.keyboard.press("Escape")
        expect(page.locator("#place")).to_have_text("151–170, the oldest")
        expect(page.locator(f"[data-id='{every[150]}']")).to_be_focused()
        for place in ("101–150", "51–100", "1–50"):
            page.locator("#newer").click()
            expect(page.locator("#place")).to_have_text(place)
        expect(page).to_have_url(re.compile("search=-$"))


def test_back_and_a_filter_leave_a_page_of_the_history(browser, tmp_path):
    with gateway(tmp_path, count=120) as where, shown(browser, where) as page:
        for place in ("51–100", "101–120, the oldest"):
            page.locator("#older").click()
            expect(page.locator("#place")).to_have_text(place)
        page.go_back()
        expect(page.locator("#place")).to_have_text("51–100")
        page.go_forward()
        expect(page.locator("#place")).to_have_text("101–120, the oldest")
        page.go_back()
        page.go_back()
        expect(page.locator("#place")).to_have_text("1–50")
        page.go_forward()
        expect(page.locator("#place")).to_have_text("51–100")
        filters(page, "key").select_option("maria")
        expect(page).to_have_url(re.compile("#requests[?]key=maria$"))
        expect(page.locator("#newer")).to_be_disabled()


def test_a_link_leads_to_a_page_of_the_history(browser, tmp_path):
    every = [each.id for each in crowd(120, until=time())][::-1]
    with gateway(tmp_path, count=120) as where:
        with shown(browser, where) as page:
            for place in ("51–100", "101–120, the oldest"):
                page.locator("#older").click()
                expect(page.locator("#place")).to_have_text(place)
            link = page.url.partition("#")[2]
        with shown(browser, where, link) as page:
            expect(page.locator("#place")).to_have_text("101–120, the oldest")
            assert rows(page).first.get_attribute("data-id") == every[100]
            page.locator("#newer").click()  # only the tab of the link knew where page 2 begins
            expect(page.locator("#place")).to_have_text("1–50")
            expect(page).to_have_url(re.compile("#requests$"))
        for wrong in ("page=2", "page=2&before=x", "page=0&before=1_a", "page=1e9&before=1_a"):
            with shown(browser, where, f"requests?{wrong}") as page:
                expect(page.locator("#place")).to_have_text("1–50")


def test_without_a_ledger_the_page_has_no_empty_boxes(browser):
    config = GatewayConfig(ServerConfig(port=0), ROUTES)
    with (
        run_gateway_in_thread(config, transport=Emulator(any_model=True)) as where,
        shown(browser, where) as page,
    ):
        assert ask(where, "opus/low") == 200
        expect(rows(page)).to_have_count(1)
        expect(page.locator("#no-ledger")).to_contain_text("The ledger is disabled")
        for place in ("#sums", "#plot", "#models", "#rules", ".spans"):
            expect(page.locator(place)).to_be_hidden()


class Services(Emulator):
    """An emulator that the gateway takes for the services themselves."""

    needs_key = True


def test_a_real_gateway_leaves_the_emulators_answers_out_until_they_are_asked_for(
    browser, tmp_path
):
    every = [replace(each, offline=at % 3 == 0) for at, each in enumerate(crowd(30, until=time()))]
    with (
        gateway(tmp_path, receipts=every, transport=Services(any_model=True)) as where,
        shown(browser, where) as page,
    ):
        listed, total = rows(page), page.locator("#sums dd").first
        expect(listed).to_have_count(20)
        expect(total).to_contain_text("20")
        expect(listed.get_by_text("emulator")).to_have_count(0)

        page.locator("#filters [name=answers]").select_option(label="of the emulator")
        expect(listed).to_have_count(10)
        expect(total).to_contain_text("10")
        expect(listed.get_by_text("emulator")).to_have_count(10)
        expect(page.locator("#sums")).to_contain_text("nothing was paid")
        listed.first.click()
        expect(page.locator("#detail-body")).to_contain_text("nothing was paid")
        expect(page.locator("#detail-body .outcome")).to_contain_text("emulator")
        page.keyboard.press("Escape")
        page.wait_for_url(lambda url: "request=" not in url)

        page.reload()
        expect(listed).to_have_count(10)
        page.locator("#filters [name=answers]").select_option(label="all")
        expect(listed).to_have_count(30)


def test_a_real_gateway_that_has_only_emulated_answers_says_so(browser, tmp_path):
    every = [replace(each, offline=True) for each in crowd(5, until=time())]
    with (
        gateway(tmp_path, receipts=every, transport=Services(any_model=True)) as where,
        shown(browser, where) as page,
    ):
        expect(page.locator("#empty")).to_contain_text("only requests that the emulator answered")
        page.get_by_role("button", name="Show them").click()
        expect(page.locator("#rows tr")).to_have_count(5)


def test_thinking_without_a_level_has_a_colour_of_its_own_in_the_legend(browser, tmp_path):
    (each,) = crowd(1, until=time())
    each = replace(each, sent="nothing", usage=Usage(10, output=20, thinking=80))
    with gateway(tmp_path, receipts=[each]) as where, shown(browser, where) as page:
        expect(page.locator("#plot .fill-unset")).to_have_count(1)
        expect(page.locator("#ramp")).to_contain_text("not set")
        colours = page.evaluate(
            "() => [...document.querySelectorAll('#ramp i, .side.cost')].map((each) =>"
            " getComputedStyle(each, each.matches('.side') ? '::before' : null).backgroundColor)"
        )
        assert len(set(colours)) == len(colours) == 9
        page.locator("#plot .fill-unset").hover()
        expect(page.locator("#readout")).to_contain_text("not set 80")
