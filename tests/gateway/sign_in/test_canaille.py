"""Sign-in with a real identity provider from the package index, without a browser."""

from collections.abc import Iterator

import httpx2
import pytest
from tests.gateway.sign_in.canaille_process import CLIENT, PASSWORD, SECRET, run_canaille
from tests.gateway.sign_in.console_gateway import (
    ADMIN_KEY,
    find_port,
    make_sign_in,
    run_console,
    signed_in_at_canaille,
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    where = f"http://127.0.0.1:{find_port()}"
    secret = tmp_path_factory.mktemp("secret") / "client"
    secret.write_text(SECRET)
    with run_canaille(f"{where}/admin/callback") as issuer:
        sign_in = make_sign_in(issuer, where, client_id=CLIENT, client_secret=f"file:{secret}")
        with run_console(sign_in) as there:
            yield there


def test_an_admin_signs_in_and_may_do_what_an_admin_key_may(console):
    with signed_in_at_canaille(console, "ada", PASSWORD) as (browser, page):
        assert (page.status_code, str(page.url).startswith(console)) == (200, True), page.text
        assert "signed in as Ada" in page.text

        found = browser.get(f"{console}/admin/session").json()
        assert found == {"actor": {"name": "Ada", "role": "admin", "how": "oidc"}, "offline": True}
        own = {"origin": console}
        made = browser.post(f"{console}/admin/keys", json={"name": "made"}, headers=own)
        assert made.status_code == 200
        changed = browser.patch(f"{console}/admin/keys/made", json={"blocked": True}, headers=own)
        assert changed.status_code == 200
        removed = browser.delete(f"{console}/admin/keys/made", headers=own)
        assert removed.status_code == 200


def test_a_viewer_sees_everything_and_changes_nothing(console):
    with signed_in_at_canaille(console, "vera", PASSWORD) as (browser, _):
        for place in ("session", "requests", "figures", "alerts", "keys", "models", "choices"):
            assert browser.get(f"{console}/admin/{place}").status_code == 200, place
        shown = browser.get(f"{console}/admin/keys").text
        assert "sha256:" not in shown
        assert ADMIN_KEY not in shown
        own = {"origin": console}
        for method, place in (
            ("POST", "keys"),
            ("PATCH", "keys/boss"),
            ("DELETE", "keys/boss"),
            ("PUT", "keys/boss"),
            ("POST", "no-such-place"),
        ):
            answer = browser.request(
                method, f"{console}/admin/{place}", json={"name": "x"}, headers=own
            )
            assert answer.status_code == 403, (method, place)
            assert "viewer" in answer.json()["error"]["message"]


def test_somebody_without_a_role_is_refused_in_one_sentence(console):
    with signed_in_at_canaille(console, "mallory", PASSWORD) as (browser, page):
        assert page.status_code == 403
        assert "Your account has no role in this gateway; ask its operator for one." in page.text
        assert browser.get(f"{console}/admin/session").status_code == 401


def test_a_wrong_password_leads_to_no_session(console):
    with signed_in_at_canaille(console, "ada", "wrong") as (browser, page):
        assert not str(page.url).startswith(console)
        assert browser.get(f"{console}/admin/session").status_code == 401


def test_signing_out_ends_the_session_and_not_only_its_cookie(console):
    with signed_in_at_canaille(console, "ada", PASSWORD) as (browser, _):
        stolen = {"cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
        assert httpx2.get(f"{console}/admin/session", headers=stolen).status_code == 200

        out = browser.post(f"{console}/admin/sign-out", headers={"origin": console})

        assert out.json() == {"signed_out": True}
        assert browser.get(f"{console}/admin/session").status_code == 401
        assert httpx2.get(f"{console}/admin/session", headers=stolen).status_code == 401


def test_an_answer_of_the_provider_signs_in_once(console):
    with signed_in_at_canaille(console, "ada", PASSWORD) as (browser, page):
        again = browser.get(str(page.url))
        assert again.status_code == 400
        assert "sign in again" in again.text
        # Nor does it in another browser, which did not begin it.
        other = httpx2.get(str(page.url))
        assert other.status_code == 400
        assert "set-cookie" not in {*other.headers} or "Max-Age=0" in other.headers["set-cookie"]


def test_an_admin_key_works_beside_it(console):
    headers = {"authorization": f"Bearer {ADMIN_KEY}"}
    found = httpx2.get(f"{console}/admin/session", headers=headers).json()
    assert found == {"actor": {"name": "boss", "role": "admin", "how": "key"}, "offline": True}
    assert httpx2.get(f"{console}/admin/keys").status_code == 401
