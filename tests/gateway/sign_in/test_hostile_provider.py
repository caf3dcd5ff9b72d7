"""Nothing that an identity provider or somebody in between does wrong signs anybody in."""

import asyncio
import hmac
import json
from base64 import urlsafe_b64encode
from hashlib import sha256
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from msgspec.structs import replace
from tests.gateway.sign_in.asgi_browser import SIGN_IN, AsgiBrowser, Page, make_app
from tests.gateway.sign_in.hostile_provider import ISSUER, KEY, NOW, OTHER_KEY, HostileProvider

from pondero.gateway.config.model import SignInConfig
from pondero.gateway.sign_in import identity_provider
from pondero.gateway.sign_in.identity_provider import IdentityProvider
from pondero.gateway.sign_in.problems import SignInError

INVALID = "The identity provider&#x27;s answer is not valid, so you are not signed in."
EXPIRED = "This sign-in has expired or was begun in another browser; sign in again."
AWAY = "The identity provider cannot be reached now; try again in a moment."


def signed_in(provider: HostileProvider, **changed: str | None) -> tuple[Page, int]:
    """Return the page at the end of a sign-in, and what the admin API says afterwards."""

    async def walk() -> tuple[Page, int]:
        browser = AsgiBrowser(make_app(provider))
        page = await browser.sign_in(provider, **changed)
        return page, (await browser.ask("/admin/session")).status

    return asyncio.run(walk())


def test_a_provider_that_is_right_signs_in():
    page, status = signed_in(HostileProvider())
    assert (page.status, status) == (200, 200)
    assert "You are signed in as ada@example.com." in page.text


def code(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def unsigned(claims):
    return ".".join([*(code(json.dumps(each).encode()) for each in ({"alg": "none"}, claims)), ""])


def signed_with_public_key(claims):
    head = {"alg": "HS256", "kid": "first"}
    text = ".".join(code(json.dumps(each).encode()) for each in (head, claims))
    return f"{text}.{code(hmac.digest(KEY.as_pem(private=False), text.encode(), sha256))}"


def test_a_token_without_a_signature_is_refused():
    provider = HostileProvider()
    provider.sign = unsigned
    provider.description = {"id_token_signing_alg_values_supported": ["none", "RS256"]}
    page, status = signed_in(provider)
    assert (page.status, status) == (502, 401)
    assert INVALID in page.text


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused():
    provider = HostileProvider()
    provider.sign = signed_with_public_key
    provider.description = {"id_token_signing_alg_values_supported": ["HS256", "RS256"]}
    page, status = signed_in(provider)
    assert (page.status, status) == (502, 401)


def test_a_changed_token_is_refused():
    provider = HostileProvider()

    def change(claims):
        head, _, signature = provider._sign(claims).split(".")
        body = json.dumps({**claims, "groups": ["platform"]}).encode()
        return ".".join([head, code(body), signature])

    provider.claims = {"groups": ["marketing"]}
    provider.sign = change
    page, status = signed_in(provider)
    assert (page.status, status) == (502, 401)


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"aud": "another-client"},
        {"aud": ["another-client"]},
        {"aud": ["pondero", "another-client"]},
        {"aud": ["pondero", "another-client"], "azp": "another-client"},
        {"azp": "another-client"},
        {"aud": None},
        {"aud": []},
        {"iss": "https://evil.example.com"},
        {"iss": f"{ISSUER}/"},
        {"iss": None},
        {"exp": int(NOW) - 61},
        {"exp": None},
        {"exp": "never"},
        {"iat": None},
        {"iat": int(NOW) + 3600},
        {"nbf": int(NOW) + 3600},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"at_hash": "of-another-token"},
    ],
    ids=str,
)
def test_a_token_for_somebody_else_or_another_time_is_refused(claims):
    provider = HostileProvider()
    provider.claims = claims
    page, status = signed_in(provider)
    assert (page.status, status) == (502, 401), page.text
    assert INVALID in page.text


def test_a_token_for_several_audiences_names_us_as_its_party():
    provider = HostileProvider()
    provider.claims = {"aud": ["pondero", "another-client"], "azp": "pondero"}
    assert signed_in(provider)[1] == 200


def test_a_clock_may_differ_by_a_minute():
    provider = HostileProvider()
    provider.claims = {"exp": int(NOW) - 30, "iat": int(NOW) + 30}
    assert signed_in(provider)[0].status == 200


def test_the_keys_are_read_again_when_the_provider_has_changed_them():
    provider = HostileProvider()

    async def walk():
        browser = AsgiBrowser(make_app(provider))
        assert (await browser.sign_in(provider)).status == 200
        provider.keys = [KEY, OTHER_KEY]
        provider.signs_with, provider.header = OTHER_KEY, {"alg": "RS256", "kid": "second"}
        assert (await browser.sign_in(provider)).status == 200
        provider.keys = [OTHER_KEY]
        assert (await browser.sign_in(provider)).status == 200

    asyncio.run(walk())
    assert sum(each.url.endswith("/keys") for each in provider.asked) == 2


@pytest.mark.parametrize("kid", ["unknown", "second", None])
def test_a_token_of_a_key_that_the_provider_does_not_have_is_refused(kid):
    provider = HostileProvider()
    provider.signs_with = OTHER_KEY
    provider.header = {"alg": "RS256"} | ({"kid": kid} if kid else {})
    page, status = signed_in(provider)
    assert (page.status, status) == (502, 401)
    assert sum(each.url.endswith("/keys") for each in provider.asked) == 2  # once more, not forever


# -- the answer in the browser ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "status", "said"),
    [
        ({"state": "of-another"}, 400, EXPIRED),
        ({"state": None}, 400, EXPIRED),
        ({"iss": "https://evil.example.com"}, 502, INVALID),
        ({"code": None}, 502, INVALID),
        ({"code": "never-given"}, 403, "did not accept this sign-in; sign in again."),
        ({"code": None, "error": "access_denied"}, 403, "did not sign you in (access_denied)."),
        ({"code": None, "error": "%3Cscript%3E"}, 403, "did not sign you in (an error)."),
    ],
)
def test_an_answer_that_is_not_to_this_sign_in_is_refused(changed, status, said):
    page, after = signed_in(HostileProvider(), **changed)
    assert (page.status, after) == (status, 401)
    assert said in page.text
    assert "<script" not in page.text


def test_a_provider_that_says_it_names_itself_must_do_so():
    provider = HostileProvider()
    provider.description = {"authorization_response_iss_parameter_supported": True}
    assert signed_in(provider)[0].status == 502
    provider = HostileProvider()
    provider.description = {"authorization_response_iss_parameter_supported": True}
    assert signed_in(provider, iss=ISSUER)[0].status == 200


def test_a_parameter_that_is_there_twice_is_refused():
    provider = HostileProvider()

    async def walk():
        browser = AsgiBrowser(make_app(provider))
        begun = await browser.ask("/admin/sign-in")
        query = provider.authorize(begun.headers["location"])
        return await browser.ask(f"/admin/callback?{query}&code=code-0")

    assert asyncio.run(walk()).status == 400


def test_a_sign_in_that_another_browser_began_is_refused():
    provider = HostileProvider()

    async def walk():
        app = make_app(provider)
        mallory, victim = AsgiBrowser(app), AsgiBrowser(app)
        begun = await mallory.ask("/admin/sign-in")
        query = provider.authorize(begun.headers["location"])
        alone = await victim.ask(f"/admin/callback?{query}", sec_fetch_site="cross-site")
        await victim.ask("/admin/sign-in")  # nor while the victim has begun one too
        during = await victim.ask(f"/admin/callback?{query}", sec_fetch_site="cross-site")
        return alone, during, await victim.ask("/admin/session")

    alone, during, after = asyncio.run(walk())
    assert (alone.status, during.status, after.status) == (400, 400, 401)
    assert EXPIRED in alone.text
    assert not any(each.url.endswith("/token") for each in provider.asked)


def test_a_state_is_used_once_even_if_the_provider_takes_its_code_again():
    provider = HostileProvider()

    async def walk():
        browser = AsgiBrowser(make_app(provider))
        begun = await browser.ask("/admin/sign-in")
        kept = dict(browser.cookies)
        query = provider.authorize(begun.headers["location"])
        first = await browser.ask(f"/admin/callback?{query}")
        browser.cookies |= kept
        second = await browser.ask(f"/admin/callback?{query}")
        return first, second

    first, second = asyncio.run(walk())
    assert (first.status, second.status) == (200, 400)
    assert EXPIRED in second.text
    assert not any("pondero-session" in each for each in second.cookies)


# -- what we send ----------------------------------------------------------------------------------


def test_what_is_sent_has_a_challenge_that_fits_its_verifier_and_nothing_twice():
    provider = HostileProvider()

    async def walk():
        browser = AsgiBrowser(make_app(provider))
        begun = [await browser.ask("/admin/sign-in") for _ in range(2)]
        query = provider.authorize(begun[1].headers["location"])
        await browser.ask(f"/admin/callback?{query}")
        return [dict(parse_qsl(urlsplit(each.headers["location"]).query)) for each in begun]

    first, second = asyncio.run(walk())
    assert second["redirect_uri"] == "https://gateway.example.com/admin/callback"
    assert (second["response_type"], second["code_challenge_method"]) == ("code", "S256")
    assert all(first[name] != second[name] for name in ("state", "nonce", "code_challenge"))
    token = next(each for each in provider.asked if each.url.endswith("/token"))
    form = {name: values[0] for name, values in parse_qs(token.body.decode()).items()}
    digest = sha256(form["code_verifier"].encode()).digest()
    assert second["code_challenge"] == code(digest)
    assert form["redirect_uri"] == second["redirect_uri"]
    assert form["client_id"] == "pondero"  # without a secret, it is named here


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_the_secret_is_sent_where_the_provider_reads_it_and_nowhere_else(method, monkeypatch):
    monkeypatch.setenv("OIDC_SECRET", "s3cret/with+odd=signs")
    provider = HostileProvider()
    provider.description = {"token_endpoint_auth_methods_supported": [method]}
    sign_in = SignInConfig(
        issuer=ISSUER,
        client_id="pondero",
        public_url=SIGN_IN.public_url,
        admins=("platform",),
        client_secret="env:OIDC_SECRET",
    )

    async def walk():
        browser = AsgiBrowser(make_app(provider, sign_in))
        return await browser.sign_in(provider)

    assert asyncio.run(walk()).status == 200
    token = next(each for each in provider.asked if each.url.endswith("/token"))
    in_header, in_body = "authorization" in token.headers, b"s3cret" in token.body
    assert (in_header, in_body) == (
        method == "client_secret_basic",
        method != "client_secret_basic",
    )
    assert all("s3cret" not in each.url for each in provider.asked)


def test_a_secret_that_is_gone_is_a_page_and_a_record_that_say_so(tmp_path):
    provider, secret = HostileProvider(), tmp_path / "secret"
    sign_in = replace(SIGN_IN, client_secret=f"file:{secret}")

    async def walk():
        app = make_app(provider, sign_in)
        page = await AsgiBrowser(app).sign_in(provider)
        return page, app.gateway.audit.latest()

    page, (entry,) = asyncio.run(walk())
    assert page.status == 503
    assert "This gateway cannot read its client secret" in page.text
    assert str(secret) not in page.text
    assert (entry.action, entry.outcome) == ("sign_in", "rejected")
    assert str(secret) in entry.reason


# -- descriptions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "description",
    [
        {"issuer": "https://evil.example.com"},
        {"issuer": f"{ISSUER}/"},
        {"token_endpoint": "http://login.example.com/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://login.example.com/authorize"},
        {"jwks_uri": "file:///etc/passwd"},
        {"userinfo_endpoint": "http://10.0.0.7/userinfo"},
        {"token_endpoint": None},
        {"jwks_uri": 7},
        {"authorization_endpoint": f"{ISSUER}/authorize\r\nset-cookie: a=b"},
    ],
    ids=str,
)
def test_a_description_of_another_issuer_or_with_unsafe_addresses_is_refused(description):
    provider = HostileProvider()
    provider.description = description

    async def walk():
        return await AsgiBrowser(make_app(provider)).ask("/admin/sign-in")

    page = asyncio.run(walk())
    assert page.status == 502
    assert "location" not in page.headers
    assert INVALID in page.text


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token"])
def test_an_answer_without_an_end_is_given_up_at_a_limit(path):
    provider = HostileProvider()

    async def walk():
        browser = AsgiBrowser(make_app(provider))
        if path.startswith("/."):
            provider.endless = path
            return await browser.ask("/admin/sign-in")
        begun = await browser.ask("/admin/sign-in")
        provider.endless = path
        return await browser.ask(f"/admin/callback?{provider.authorize(begun.headers['location'])}")

    page = asyncio.run(walk())
    assert page.status == 502
    assert INVALID in page.text


def test_a_provider_that_does_not_answer_is_given_up_in_time():
    provider = HostileProvider()
    provider.stuck = asyncio.Event()

    async def walk():
        slow = IdentityProvider(SIGN_IN, provider, patience=0.01)
        with pytest.raises(SignInError, match="cannot be reached now"):
            await slow.describe()

    asyncio.run(walk())


def test_a_description_is_asked_for_again_after_a_failure_and_then_cached(monkeypatch):
    monkeypatch.setattr(identity_provider, "_PAUSE", 0)
    provider = HostileProvider()
    provider.statuses = {"/.well-known/openid-configuration": [500, 503, 200]}

    async def walk():
        browser = AsgiBrowser(make_app(provider))
        return [(await browser.ask("/admin/sign-in")).status for _ in range(3)]

    assert asyncio.run(walk()) == [302] * 3
    assert len(provider.asked) == 3  # two failures, and one description for all


def test_a_failure_is_not_repeated_by_everybody_and_passes(monkeypatch):
    monkeypatch.setattr(identity_provider, "_PAUSE", 0)
    provider = HostileProvider()
    path = "/.well-known/openid-configuration"
    provider.statuses = {path: [500] * 3}
    times = iter([0.0, 0.0, 1.0, 3.0, 3.0, 3.0])

    async def walk():
        asked = IdentityProvider(SIGN_IN, provider, clock=lambda: next(times))
        for _ in range(2):
            with pytest.raises(SignInError, match="cannot be reached"):
                await asked.describe()
        assert len(provider.asked) == 3
        assert (await asked.describe()).issuer == ISSUER

    asyncio.run(walk())


def test_an_old_description_stays_in_use_while_the_provider_is_away(monkeypatch):
    monkeypatch.setattr(identity_provider, "_PAUSE", 0)
    provider = HostileProvider()
    now = [0.0]

    async def walk():
        asked = IdentityProvider(SIGN_IN, provider, clock=lambda: now[0])
        await asked.describe()
        now[0] = identity_provider.FRESH + 1
        provider.statuses = {"/.well-known/openid-configuration": [500] * 3}
        assert (await asked.describe()).issuer == ISSUER
        assert len(provider.asked) == 4

    asyncio.run(walk())
