"""The site's search: the text of an error is found with the quotes that people paste."""

import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.gateway.admin.console_browser import CHROMIUM, NEEDS_CHROMIUM

ROOT = Path(__file__).parents[1]

ERRORS = (
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    ),
    "Thinking level MINIMAL is not supported for this model",
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serving(folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


@NEEDS_CHROMIUM
def test_the_text_of_an_error_leads_to_troubleshooting(site):
    with serving(site) as url, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        for error in ERRORS:
            page.goto(url)
            page.click(".md-search__input")
            page.fill(".md-search__input", error)
            page.keyboard.press("Space")
            found = page.wait_for_selector(".md-search-result__item > a", state="attached")
            assert "/troubleshooting/" in found.get_attribute("href")
        browser.close()


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
