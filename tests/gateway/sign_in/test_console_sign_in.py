"""Sign-in to the console in a real browser, at a real identity provider.

It drives the Chromium of the system (Debian's package will do) and skips where there is none.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.gateway.admin.console_browser import CHROMIUM, NEEDS_CHROMIUM
from tests.gateway.sign_in.canaille_process import CLIENT, PASSWORD, SECRET, run_canaille
from tests.gateway.sign_in.console_gateway import (
    ADMIN_KEY,
    find_port,
    make_sign_in,
    run_console,
)

axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright",
    reason="axe-playwright-python of requirements.lock is not installed",
)
pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # The provider is another site for the browser, as it is in life.
    where = f"http://localhost:{find_port()}"
    secret = tmp_path_factory.mktemp("secret") / "client"
    secret.write_text(SECRET)
    with run_canaille(f"{where}/admin/callback") as issuer:
        sign_in = make_sign_in(issuer, where, client_id=CLIENT, client_secret=f"file:{secret}")
        with run_console(replace(sign_in, session_seconds=600)):
            yield where


@contextmanager
def opened(
    browser: Browser, where: str, *, width: int = 1280, dark: bool = False
) -> Iterator[Page]:
    """Yield the console in a browser that nobody used before; no script of it complains."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    wrong: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{where}/console/#keys")
    yield page
    context.close()
    assert wrong == []


def sign_in(page: Page, name: str) -> None:
    """Go from the console's dialog through the provider's pages, by keyboard alone."""
    link = page.get_by_role("link", name="Sign in with the company login")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#login")).to_be_visible()
    page.locator("#login").fill(name)
    page.locator("#login").press("Enter")
    expect(page.locator("#password")).to_be_visible()
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")


def find_problems(page: Page) -> list[tuple[str, str]]:
    found = axe.Axe().run(page).response["violations"]
    return [(each["id"], node["html"]) for each in found for node in each["nodes"]]


def test_an_admin_signs_in_makes_a_key_and_signs_out(browser, console):
    with opened(browser, console) as page:
        sign_in(page, "ada")
        expect(page.locator("#who-name")).to_have_text("Ada")
        expect(page.locator("#who-role")).to_have_text("admin")
        assert page.url.startswith(f"{console}/console/")
        assert "code=" not in page.url
        kept = page.context.cookies(console)
        session = next(each for each in kept if each["name"] == "pondero-session")
        assert (session["httpOnly"], session["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""

        page.goto(f"{console}/console/#keys")
        page.locator("input[name=name]").fill("made-by-ada")
        page.get_by_role("button", name="Create key").click()
        expect(page.locator("#made-key")).to_contain_text("pnd_")
        page.get_by_role("button", name="Done").click()
        expect(page.locator("[data-key=made-by-ada]")).to_be_visible()

        page.reload()
        expect(page.locator("#who-name")).to_have_text("Ada")  # the session outlives the page
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("#enter")).to_be_visible()
        page.reload()
        expect(page.locator("#enter")).to_be_visible()
        assert not [
            each
            for each in page.context.cookies(console)
            if "session" in each["name"] and "pondero" in each["name"]
        ]


def test_a_viewer_finds_nothing_to_change(browser, console):
    with opened(browser, console) as page:
        sign_in(page, "vera")
        expect(page.locator("#who-role")).to_have_text("viewer")
        page.goto(f"{console}/console/#keys")
        expect(page.locator("[data-key=boss]")).to_be_visible()
        expect(page.locator("#keys-note")).to_contain_text("You are a viewer")
        expect(page.locator("#make")).to_be_hidden()
        expect(page.locator("#key-list button")).to_have_count(0)
        answer = page.evaluate(
            "fetch('../admin/keys', {method: 'POST', body: JSON.stringify({name: 'x'}), "
            "headers: {'content-type': 'application/json'}}).then((each) => each.status)"
        )
        assert answer == 403
        assert find_problems(page) == []
        for name in ("requests", "dial"):
            page.goto(f"{console}/console/#{name}")
            expect(page.locator(f"#page-{name}")).to_be_visible()


def test_somebody_without_a_role_reads_why_and_can_try_again(browser, console):
    with opened(browser, console) as page:
        sign_in(page, "mallory")
        expect(page.get_by_role("heading")).to_have_text("Not signed in")
        expect(page.locator("main")).to_contain_text("Your account has no role in this gateway")
        assert find_problems(page) == []
        page.get_by_role("link", name="Sign in again").click()  # the provider knows her by now
        expect(page.get_by_role("heading")).to_have_text("Not signed in")


def test_a_session_that_ended_asks_again_in_one_sentence(browser, console):
    with opened(browser, console) as page:
        sign_in(page, "ada")
        expect(page.locator("#who-name")).to_have_text("Ada")
        page.context.clear_cookies(name="pondero-session")
        page.goto(f"{console}/console/#dial")
        expect(page.locator("#enter-why")).to_have_text("Your session has ended. Sign in again.")


def test_an_admin_key_works_beside_it_and_is_forgotten_at_sign_out(browser, console):
    with opened(browser, console) as page:
        page.locator("#enter-key").fill(ADMIN_KEY)
        page.locator("#enter-key").press("Enter")
        expect(page.locator("#who-name")).to_have_text("boss")
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("#enter")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_before_and_after_signing_in(browser, console, dark, width):
    with opened(browser, console, width=width, dark=dark) as page:
        expect(page.locator("#enter-provider")).to_be_visible()
        problems = find_problems(page)
        sign_in(page, "ada")
        expect(page.locator("#who-name")).to_have_text("Ada")
        problems += find_problems(page)
        assert problems == []


def test_a_page_of_another_site_cannot_use_the_session(browser, console):
    with opened(browser, console) as page:
        sign_in(page, "ada")
        expect(page.locator("#who-name")).to_have_text("Ada")
        other = page.context.new_page()
        other.goto(f"{console.replace('localhost', '127.0.0.1')}/health")
        script = (
            f"fetch('{console}/admin/sign-out', {{method: 'POST', mode: 'no-cors', "
            "credentials: 'include'}).then(() => 'sent', () => 'stopped')"
        )
        other.evaluate(script)
        page.reload()
        expect(page.locator("#who-name")).to_have_text("Ada")
