"""Sessions of the console: who may do what, with which cookies, and until when."""

import asyncio
import logging
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gateway.redis_server import RedisServer
from tests.gateway.sign_in.asgi_browser import (
    HOST,
    SIGN_IN,
    WHERE,
    AsgiBrowser,
    Page,
    make_app,
)
from tests.gateway.sign_in.console_gateway import ADMIN_KEY
from tests.gateway.sign_in.hostile_provider import NOW, HostileProvider

from pondero.canon import HttpRequest
from pondero.gateway.admin import long_answer
from pondero.gateway.config.model import ServerConfig
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.sign_in.cookies import SESSION, find_cookie, write_cookie
from pondero.gateway.sign_in.pending import begin_sign_in, seal, unseal
from pondero.gateway.sign_in.session import find_name, find_role, read_values
from pondero.gateway.sign_in.sign_in import find_origin
from pondero.gateway.state.envelope_secrets import LocalSecrets
from pondero.gateway.state.shared_state import make_shared_state

OWN = {"origin": WHERE, "sec_fetch_site": "same-origin"}


def run(work: Any) -> Any:
    return asyncio.run(work)


async def open_session(
    app: App, provider: HostileProvider | None = None, **claims: Any
) -> AsgiBrowser:
    """Return a browser whose person is signed in."""
    provider = provider or app.sign_in.transport  # type: ignore[assignment]
    assert provider is not None
    provider.claims = claims
    browser = AsgiBrowser(app)
    assert (await browser.sign_in(provider)).status == 200
    return browser


# -- who may do what -------------------------------------------------------------------------------


def test_without_an_admin_key_the_console_is_still_for_those_who_sign_in():
    async def walk():
        app = make_app(HostileProvider(), keys=())
        stranger = AsgiBrowser(app)
        places = ("keys", "requests", "requests.csv", "plan?model=opus", "session")
        said = [(await stranger.ask(f"/admin/{place}")).status for place in places]
        browser = await open_session(app)
        return said, (await browser.ask("/admin/keys")).status

    assert run(walk()) == ([401] * 5, 200)


def test_everybody_is_told_how_to_sign_in_and_nothing_else():
    async def walk():
        return await AsgiBrowser(make_app(HostileProvider())).ask("/admin/sign-in-options")

    assert run(walk()).json() == {"label": "login.example.com"}


def test_without_sign_in_there_is_nothing_to_sign_in_to():
    async def walk():
        app = make_app(HostileProvider(), None)
        browser = AsgiBrowser(app)
        found = await browser.ask("/admin/sign-in-options")
        paths = ("sign-in", "callback?code=a&state=b")
        return found.json(), [(await browser.ask(f"/admin/{path}")).status for path in paths]

    assert run(walk()) == ({"label": None}, [404, 404])


@given(values=st.lists(st.sampled_from(["platform", "engineering", "marketing", ""])))
def test_the_role_is_the_highest_that_a_value_gives(values):
    role = find_role(tuple(values), SIGN_IN)
    expected = "admin" if "platform" in values else "viewer" if "engineering" in values else None
    assert role == expected


@given(
    claims=st.dictionaries(
        st.sampled_from(["groups", "email", "email_verified"]),
        st.none()
        | st.booleans()
        | st.text(max_size=3)
        | st.lists(st.text(max_size=3) | st.integers()),
    )
)
def test_odd_claims_give_no_role_by_accident(claims):
    for path in (("groups",), ("email",), ("groups", "email")):
        values = read_values(claims, path)
        assert all(isinstance(value, str) for value in values)
        if path == ("email",) and claims.get("email_verified") is not True:
            assert values == ()


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"email": "a@b.c", "email_verified": True, "sub": "1"}, "a@b.c"),
        ({"email": "boss@b.c", "email_verified": False, "sub": "1"}, "1"),
        ({"email": "boss@b.c", "name": "Ada", "sub": "1"}, "Ada"),
        ({"preferred_username": "a\nb", "sub": "1"}, "1"),
        ({"name": "x" * 500, "sub": "1"}, "x" * 128),
    ],
)
def test_a_person_has_the_best_name_that_the_provider_vouches_for(claims, name):
    assert find_name(claims) == name


def test_a_claim_that_the_token_lacks_is_read_from_the_userinfo_endpoint():
    provider = HostileProvider()
    provider.claims = {"groups": None}
    provider.userinfo = {"sub": "248289761001", "groups": ["engineering"]}

    async def walk():
        browser = AsgiBrowser(make_app(provider))
        await browser.sign_in(provider)
        return (await browser.ask("/admin/session")).json()["actor"]["role"]

    assert run(walk()) == "viewer"


def test_the_userinfo_of_somebody_else_gives_nothing():
    provider = HostileProvider()
    provider.claims = {"groups": None}
    provider.userinfo = {"sub": "somebody else", "groups": ["platform"]}

    async def walk():
        return await AsgiBrowser(make_app(provider)).sign_in(provider)

    assert run(walk()).status == 502


# -- pages of other sites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OWN, 200),
        ({"origin": WHERE}, 200),
        ({}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "http://gateway.example.com"}, 403),
        ({"origin": f"{WHERE}:8443"}, 403),
        ({"origin": WHERE, "sec_fetch_site": "same-site"}, 403),
        ({"origin": WHERE, "sec_fetch_site": "cross-site"}, 403),
    ],
    ids=str,
)
def test_a_change_by_cookie_comes_from_our_own_page(headers, status):
    async def walk():
        app = make_app(HostileProvider())
        browser = await open_session(app)
        made = await browser.ask("/admin/keys", method="POST", body={"name": "x"}, **headers)
        out = await browser.ask("/admin/sign-out", method="POST", **headers)
        return made.status, out.status, (await browser.ask("/admin/session")).status

    after = 401 if status == 200 else 200
    assert run(walk()) == (status, status, after)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/admin/sign-in", "/admin/keys", "/console/"])
def test_a_page_of_another_site_begins_no_sign_in_and_reads_nothing(site, path):
    async def walk():
        browser = await open_session(make_app(HostileProvider()))
        return await browser.ask(path, sec_fetch_site=site)

    assert run(walk()).status == 403


@pytest.mark.parametrize(
    "query",
    ["next=https://evil.example.com", "redirect_uri=https://evil.example.com", "return=//evil"],
)
def test_nothing_in_the_request_leads_to_another_address(query):
    provider = HostileProvider()

    async def walk():
        browser = AsgiBrowser(make_app(provider), x_forwarded_host="evil.example.com")
        begun = await browser.ask(f"/admin/sign-in?{query}")
        back = provider.authorize(begun.headers["location"])
        return begun, await browser.ask(f"/admin/callback?{back}&{query}")

    begun, page = run(walk())
    assert begun.headers["location"].startswith("https://login.example.com/authorize?")
    assert "evil" not in begun.headers["location"]
    assert "evil" not in page.text
    assert re.findall(r'(?:href|url)="?([^">]*)', page.text) == [
        *("/console/", "/console/mark.svg", "/console/style.css", "/console/"),
    ]


def test_the_origin_is_as_browsers_write_it():
    def origin(url: str) -> str:
        return find_origin(replace(SIGN_IN, public_url=url))

    assert origin("https://Gateway.Example.com:443/") == "https://gateway.example.com"
    assert origin("https://gateway.example.com:8443") == "https://gateway.example.com:8443"
    assert origin("http://[::1]:8787") == "http://[::1]:8787"


# -- cookies ---------------------------------------------------------------------------------------


def test_the_cookies_are_for_this_host_over_https_and_not_for_scripts():
    provider = HostileProvider()

    async def walk() -> tuple[Page, Page]:
        browser = AsgiBrowser(make_app(provider))
        begun = await browser.ask("/admin/sign-in")
        query = provider.authorize(begun.headers["location"])
        return begun, await browser.ask(f"/admin/callback?{query}")

    begun, page = run(walk())
    [pending] = begun.cookies
    session, gone = page.cookies
    assert pending.startswith("__Host-pondero-sign-in=")
    assert pending.endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure")
    assert session.startswith("__Host-pondero-session=")
    assert session.endswith("; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure")
    assert gone.startswith("__Host-pondero-sign-in=; Path=/; Max-Age=0;")
    for each in (begun, page):
        assert each.headers["cache-control"] == "no-store"
        assert each.headers["referrer-policy"] == "no-referrer"


def test_on_this_machine_without_https_they_have_plain_names():
    local = replace(SIGN_IN, public_url="http://127.0.0.1:8787")
    cookie = write_cookie(SESSION, "abc", local, seconds=60)
    assert cookie == "pondero-session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict"


@given(name=st.text(max_size=20), value=st.text(max_size=20))
def test_a_cookie_is_found_if_it_is_there_once(name, value):
    noise = f"{name}={value}".replace(";", "").replace("__Host-pondero-session", "")
    headers = {"cookie": f"{noise}; __Host-pondero-session=abc"}
    assert find_cookie(headers, SESSION, SIGN_IN) == "abc"
    twice = {"cookie": f"{headers['cookie']}; __Host-pondero-session=def"}
    assert find_cookie(twice, SESSION, SIGN_IN) == ""


def test_a_sign_in_has_a_new_session_and_ends_the_old_one():
    provider = HostileProvider()

    async def walk():
        app = make_app(provider)
        browser = await open_session(app, provider)
        old = dict(browser.cookies)
        assert (await browser.sign_in(provider)).status == 200
        other = AsgiBrowser(app)
        other.cookies = old
        return old, browser.cookies, (await other.ask("/admin/session")).status

    old, new, status = run(walk())
    assert old.keys() == new.keys()
    assert old != new
    assert status == 401


def test_a_session_that_somebody_plants_is_not_taken_over():
    provider = HostileProvider()

    async def walk():
        app = make_app(provider)
        browser = AsgiBrowser(app)
        browser.cookies = {"__Host-pondero-session": "planted"}
        await browser.sign_in(provider)
        other = AsgiBrowser(app)
        other.cookies = {"__Host-pondero-session": "planted"}
        return (await other.ask("/admin/session")).status, browser.cookies

    status, cookies = run(walk())
    assert status == 401
    assert cookies["__Host-pondero-session"] != "planted"


@given(text=st.text(max_size=200))
def test_no_text_but_our_own_opens_a_sign_in_under_way(text):
    async def walk():
        secrets = LocalSecrets()
        pending = begin_sign_in("https://login.example.com", NOW)
        sealed = await seal(pending, secrets)
        assert await unseal(sealed, secrets) == pending
        assert pending.verifier not in sealed
        assert await unseal(text, secrets) is None
        other = LocalSecrets()
        await other.add("another secret")
        assert await unseal(sealed, other) is None

    run(walk())


# -- when it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sign_in", "exp", "lasts"),
    [
        (SIGN_IN, 1800, 1800),
        (SIGN_IN, 30 * 86_400, 86_400),
        (replace(SIGN_IN, session_seconds=600), 1800, 600),
        (replace(SIGN_IN, session_seconds=7200), 300, 7200),
    ],
)
def test_a_session_ends_with_its_token_or_at_the_configured_time(sign_in, exp, lasts):
    provider = HostileProvider()

    async def walk():
        app = make_app(provider, sign_in)
        browser = await open_session(app, provider, exp=int(NOW) + exp)
        said = []
        for moment in (NOW + lasts - 1, NOW + lasts):
            app.gateway.now = lambda moment=moment: moment
            said.append((await browser.ask("/admin/session")).status)
        return said

    assert run(walk()) == [200, 401]


def test_a_role_that_is_taken_away_ends_with_the_next_request():
    async def walk():
        app = make_app(HostileProvider())
        browser = await open_session(app, groups=["platform", "engineering"])
        roles = []
        for changed in (SIGN_IN, replace(SIGN_IN, admins=("others",))):
            app.gateway.reconfigure(replace(app.gateway.config, sign_in=changed))
            roles.append((await browser.ask("/admin/session")).json()["actor"]["role"])
        for changed in (
            replace(SIGN_IN, admins=("others",), viewers=("others",)),
            replace(SIGN_IN, client_id="another"),
            replace(SIGN_IN, role_claim=("roles",)),
            None,
        ):
            app.gateway.reconfigure(replace(app.gateway.config, sign_in=changed))
            roles.append((await browser.ask("/admin/session")).status)
        return roles

    assert run(walk()) == ["admin", "viewer", 401, 401, 401, 401]


def test_a_sign_in_that_took_too_long_is_refused():
    provider = HostileProvider()

    async def walk():
        app = make_app(provider)
        browser = AsgiBrowser(app)
        begun = await browser.ask("/admin/sign-in")
        query = provider.authorize(begun.headers["location"])
        app.gateway.now = lambda: NOW + 600
        return await browser.ask(f"/admin/callback?{query}")

    assert run(walk()).status == 400


def test_a_live_page_ends_when_its_session_does(monkeypatch):
    monkeypatch.setattr(long_answer, "LOOK", 0.01)

    async def walk():
        app = make_app(HostileProvider())
        browser = await open_session(app)
        begun, watch = asyncio.Event(), app.gateway.feed.watch

        def note_watch():
            begun.set()
            return watch()

        monkeypatch.setattr(app.gateway.feed, "watch", note_watch)
        watching = asyncio.ensure_future(browser.ask("/admin/live"))
        await begun.wait()
        other = AsgiBrowser(app)
        other.cookies = dict(browser.cookies)
        await other.ask("/admin/sign-out", method="POST", **OWN)
        async with asyncio.timeout(30):
            return await watching

    assert run(walk()).status == 200


# -- several workers and replicas ------------------------------------------------------------------


def test_replicas_share_sessions_and_their_end(tmp_path):
    server = RedisServer(tmp_path)
    server.start()
    try:
        run(_sign_in_on_one_of_two(server))
    finally:
        server.kill()


async def _sign_in_on_one_of_two(server: RedisServer) -> None:
    config = ServerConfig(state=server.url)
    provider = HostileProvider()
    apps = [make_app(provider, shared=make_shared_state(config)) for _ in range(2)]
    first, second = (AsgiBrowser(app) for app in apps)
    begun = await first.ask("/admin/sign-in")
    query = provider.authorize(begun.headers["location"])
    second.cookies = dict(first.cookies)
    page = await second.ask(f"/admin/callback?{query}")
    assert page.status == 200  # another replica ends what this one began
    assert (await first.ask(f"/admin/callback?{query}")).status == 400  # and it is used up
    first.cookies = dict(second.cookies)
    assert (await first.ask("/admin/session")).status == 200
    await second.ask("/admin/sign-out", method="POST", **OWN)
    assert (await first.ask("/admin/session")).status == 401
    with_key = {"authorization": f"Bearer {ADMIN_KEY}"}
    server.kill()
    assert (await first.ask("/admin/session")).status == 503  # nobody knows who is signed in
    assert (await first.ask("/admin/session", **with_key)).status == 200
    for app in apps:
        await app.gateway.shared.aclose()


# -- records ---------------------------------------------------------------------------------------


def test_no_token_code_or_cookie_is_in_a_log_a_page_or_a_record(caplog, monkeypatch):
    monkeypatch.setenv("OIDC_SECRET", "the-client-secret-0123456789")
    caplog.set_level(logging.DEBUG)
    provider = HostileProvider()
    sign_in = replace(SIGN_IN, client_secret="env:OIDC_SECRET")
    receipts: list[Receipt] = []

    async def walk() -> tuple[AsgiBrowser, list[Page]]:
        app = make_app(provider, sign_in)
        app.gateway.observers = (*app.gateway.observers, receipts.append)
        browser = AsgiBrowser(app)
        pages = [await browser.sign_in(provider)]
        kept = dict(browser.cookies)
        wrong: list[dict[str, Any]] = [{"nonce": "wrong"}, {"groups": []}, {"exp": 1}]
        for claims in wrong:
            provider.claims = claims
            pages.append(await browser.sign_in(provider))
        provider.claims = {}
        pages.append(await browser.sign_in(provider, code="stolen-code"))
        browser.cookies = kept
        return browser, pages

    browser, pages = run(walk())
    secrets = [
        *browser.cookies.values(),
        *("the-client-secret-0123456789", "an-access-token", "stolen-code", "code-0", "code-1"),
        *(sent[name] for sent in provider.codes.values() for name in ("state", "nonce")),
    ]
    shown = [*(page.text for page in pages), caplog.text, *map(str, receipts)]
    assert len(receipts) == 4  # each failure has its row
    assert all(
        receipt.end == "refused" and "sign-in" in (receipt.reason or "") for receipt in receipts
    )
    for text in shown:
        assert not [secret for secret in secrets if secret in text]
        assert "eyJ" not in text


def test_who_signed_in_and_out_and_who_was_refused_is_in_the_audit_log():
    provider = HostileProvider()

    async def walk():
        app = make_app(provider)
        browser = await open_session(app, provider)
        made = {"name": "made"}
        await browser.ask("/admin/keys", method="POST", body=made, **OWN)
        await browser.ask("/admin/sign-out", method="POST", **OWN)
        provider.claims = {"groups": ["marketing"]}
        await browser.sign_in(provider)
        viewer = await open_session(app, provider, groups=["engineering"])
        await viewer.ask("/admin/keys", method="POST", body=made, **OWN)
        return [
            (each.action, each.actor, each.role, each.how, each.subject, each.outcome)
            for each in reversed(app.gateway.audit.latest())
        ]

    ada = ("ada@example.com", "admin", "oidc")
    vera = ("ada@example.com", "viewer", "oidc")
    assert run(walk()) == [
        ("sign_in", *ada, "248289761001", "done"),
        ("key.create", *ada, "made", "done"),
        ("sign_out", *ada, "248289761001", "done"),
        ("sign_in", "", "", "", "", "rejected"),
        ("sign_in", *vera, "248289761001", "done"),
        ("key.create", *vera, "made", "rejected"),
    ]


def test_the_cookie_of_the_console_is_not_sent_to_a_provider():
    sent: list[HttpRequest] = []

    async def walk():
        app = make_app(HostileProvider())
        emulator = app.gateway.transport

        class Noting:
            needs_key = False

            async def send(self, request, timeouts):
                sent.append(request)
                return await emulator.send(request, timeouts)

        app.gateway.transport = Noting()
        browser = await open_session(app)
        body = {"model": "opus", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        headers = {"x_api_key": ADMIN_KEY, "origin": f"https://{HOST}"}
        return await browser.ask("/v1/messages", method="POST", body=body, **headers)

    assert run(walk()).status == 200
    assert sent
    assert not [each for each in sent if "cookie" in each.headers]
