"""The site's search: the text of an error is found with the quotes that people paste."""

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.gateway.admin.console_browser import CHROMIUM, NEEDS_CHROMIUM

ROOT = Path(__file__).parents[1]


@NEEDS_CHROMIUM
def test_quotes_around_an_error_are_not_taken_for_an_operator():
    assert "extra_javascript:\n  - search.js\n" in (ROOT / "mkdocs.yml").read_text("utf-8")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content('<input class="md-search__input"><input id="other">')
        page.add_script_tag(path=ROOT / "docs" / "search.js")
        for field in (".md-search__input", "#other"):
            page.fill(field, '"messages: at least one"')
        assert page.input_value(".md-search__input").split() == ["messages:", "at", "least", "one"]
        assert page.input_value("#other").startswith('"')
        browser.close()
