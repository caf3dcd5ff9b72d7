"""The report in a real browser: that it fits, filters and sorts, asks nobody, and runs nothing else.

They drive the Chromium of the system (Debian's package will do) and skip where there is none.
"""

import re
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.sweep.reports import EVIL, results, sweep_of

from pondero.sweep import render_report

MODELS = ("claude-opus-5", "gpt-5.5", "gemini-2.5-flash", "grok-4.3")
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((where for name in NAMES if (where := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH; 'apt-get install chromium' brings one"
)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The results that are shown; the browser's own loop would not let a sweep run later."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PONDERO_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        return {
            "hostile": results(60),
            "plain": sweep_of(120, levels="off,low,high,max"),
            "two": sweep_of(120, levels="low,high"),
            "many": sweep_of(12, models=MODELS, levels="all"),
        }


@pytest.fixture(scope="module")
def browser(told):
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("which", ["plain", "two"])
@pytest.mark.parametrize("width", [1100, 1241, 1300])
def test_the_arms_need_no_scroll_bar(shown, which, width):
    page = shown(which, width=width)
    table = "document.querySelector('#arms .scroll')"
    assert page.evaluate(f"{table}.scrollWidth") == page.evaluate(f"{table}.clientWidth")


@pytest.fixture
def shown(browser, told, tmp_path):
    """Open a report; it may ask nobody for anything, and complain of nothing."""
    asked, wrong, contexts = [], [], []

    def opened(which, *, width=1280, scheme="light", script=True):
        path = tmp_path / "report.html"
        path.write_text(render_report(told[which]), "utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=script,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.endswith("/report.html")] == []
    assert wrong == []


def test_nothing_hostile_runs_in_a_browser(shown):
    page = shown("hostile")
    assert page.evaluate("typeof bad") == "undefined"
    expect(page.locator("h1")).to_contain_text("anthropic:claude-opus-5/high")
    page.locator("details summary").first.click()
    expect(page.locator("details[open] pre").first).to_contain_text("</script>")


@pytest.mark.parametrize("width", [1440, 820, 390])
def test_many_arms_fit_too(shown, width):
    page = shown("many", width=width)
    assert page.locator("#list .head .marks > span").count() == 20
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 820, 390])
def test_it_fits_every_screen(shown, width, scheme):
    page = shown("hostile", width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(246, 243, 236)" if scheme == "light" else "rgb(23, 21, 18)")
    for chart in page.locator("svg.chart").all():
        box = chart.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize(("width", "screen"), [(1280, 800), (390, 844)])
def test_the_method_fits_two_screens_and_a_click_leads_to_it(shown, width, screen):
    page = shown("plain", width=width)
    assert page.evaluate("document.querySelector('#method').offsetHeight") <= 2 * screen
    page.locator("#found a", has_text="recommend").click()
    expect(page.locator("#means-enough")).to_be_in_viewport()


def test_the_labels_of_a_chart_do_not_lie_on_each_other(shown):
    page = shown("plain")
    for chart in page.locator("svg.chart").all():
        # Of the letters: around them is a rim in the colour of the paper.
        boxes = chart.locator(".label").evaluate_all("""labels => labels.map(label => {
            const {x, y, width, height} = label.getBBox(); return {x, y, width, height}})""")
        lines = chart.locator(".bet").count()  # the chart of capital has those that bet
        assert len(boxes) == (lines or 4)
        for number, one in enumerate(boxes):
            for other in boxes[:number]:
                apart = (
                    one["x"] + one["width"] <= other["x"] + 1
                    or other["x"] + other["width"] <= one["x"] + 1
                    or one["y"] + one["height"] <= other["y"] + 1
                    or other["y"] + other["height"] <= one["y"] + 1
                )
                assert apart


def test_the_list_is_filtered_by_kind_by_words_and_by_what_was_lost(shown, told):
    page = shown("hostile")
    visible = page.locator("#list > details:visible")
    expect(visible).to_have_count(60)
    page.get_by_role("button", name=re.compile("thinking hurt")).click()
    hurt = page.locator('#list > details[data-kind="hurt"]').count()
    assert 0 < hurt < 60
    expect(visible).to_have_count(hurt)
    page.get_by_role("button", name=re.compile("^all")).click()
    page.locator("#search").fill(told["hostile"].rows[7].question.id.split()[0] + " ")
    expect(visible).to_have_count(1)
    page.locator("#search").fill("no such words")
    expect(page.locator("#nothing")).to_be_visible()
    page.locator("#search").fill("")
    page.locator("#lost").check()
    expect(visible).to_have_count(page.locator("details[data-lost]").count())


def test_the_arms_are_sorted_by_a_click_and_the_theme_is_switched(shown):
    page = shown("plain")
    first = page.locator(".sortable tbody th").first
    expect(first).to_contain_text("off")
    page.locator(".sortable thead button", has_text="cost").click()
    expect(first).to_contain_text("max")
    page.locator("#theme").click()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(23, 21, 18)"


def test_it_says_the_same_without_a_script(shown):
    page = shown("hostile", script=False)
    expect(page.locator(".filters")).to_be_hidden()
    expect(page.locator("#theme")).to_be_hidden()
    expect(page.locator("#list > details")).to_have_count(60)


def test_it_can_be_printed(shown):
    page = shown("hostile")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert EVIL not in page.inner_text("body")
