"""``[sign_in]`` of gateway.toml: what it says, and every mistake with its line and cure."""

import pytest

from pondero.errors import BadConfig
from pondero.gateway.config.checks import check_start
from pondero.gateway.config.model import GatewayConfig, SignInConfig
from pondero.gateway.config.reader import load, reload_config
from pondero.gateway.config.routing import Routing
from pondero.store import load_catalog

ROUTE = '[[route]]\nmatch = "opus"\nto = "claude-opus-5"\n'
RIGHT = {
    "issuer": '"https://login.example.com/realms/team"',
    "client_id": '"pondero"',
    "public_url": '"https://gateway.example.com"',
    "admins": '["platform"]',
}


@pytest.fixture
def read(tmp_path):
    def read(**changed: str | None) -> GatewayConfig:
        path = tmp_path / "gateway.toml"
        rows = {**RIGHT, **changed}
        text = "\n".join(f"{name} = {value}" for name, value in rows.items() if value is not None)
        path.write_text(f"{ROUTE}[sign_in]\n{text}\n")
        return load(path, load_catalog())

    return read


def test_a_short_section_has_safe_defaults(read):
    assert read().sign_in == SignInConfig(
        issuer="https://login.example.com/realms/team",
        client_id="pondero",
        public_url="https://gateway.example.com",
        admins=("platform",),
        viewers=(),
        role_claim=("groups",),
        client_secret=None,
        session_seconds=None,
    )


def test_a_claim_inside_a_claim_is_named_by_its_path(read):
    found = read(role_claim='["realm_access", "roles"]').sign_in
    assert found is not None
    assert found.role_claim == ("realm_access", "roles")


def test_on_this_machine_https_is_not_needed(read):
    local = '"http://127.0.0.1:8787"'
    assert read(issuer='"http://localhost:9000"', public_url=local).sign_in is not None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"issuer": None}, "issuer: .*missing required field issuer; write issuer ="),
        ({"issuer": '"http://login.example.com"'}, ":5: issuer without https is for this machine"),
        ({"issuer": '"https://user:pw@login.example.com"'}, ":5: this address contains a password"),
        ({"issuer": '"https://login.example.com?a=b"'}, ":5: invalid issuer"),
        ({"issuer": '"login.example.com"'}, ":5: invalid issuer"),
        ({"public_url": '"http://gateway.example.com"'}, ":7: public_url without https"),
        ({"public_url": '"https://gateway.example.com/a"'}, ":7: public_url may not have a path"),
        ({"client_secret": '"hunter22"'}, ":9: do not put the secret itself in this file"),
        ({"scopes": '["profile"]'}, ":9: scopes without 'openid'"),
        ({"admins": "[]"}, ":4: admins and viewers are empty"),
        ({"admins": '[""]'}, ":4: an empty name gives no role"),
        ({"role_claim": "[]"}, ":9: role_claim: "),
        ({"session_seconds": "1"}, ":9: session_seconds: "),
        ({"admin": '["platform"]'}, ":9: unknown setting 'admin'; did you mean 'admins'?"),
    ],
)
def test_a_mistake_has_its_line_and_its_cure(read, changed, said):
    with pytest.raises(BadConfig, match=said) as raised:
        read(**changed)
    assert "hunter22" not in str(raised.value)


def test_a_secret_that_is_not_there_is_found_before_the_start(read, monkeypatch):
    monkeypatch.delenv("OIDC_SECRET", raising=False)
    config = read(client_secret='"env:OIDC_SECRET"')
    with pytest.raises(BadConfig, match=":9: client_secret: env:OIDC_SECRET is not set"):
        check_start(config, Routing(config, load_catalog()), offline=True)
    monkeypatch.setenv("OIDC_SECRET", "a-secret-0123456789")
    check_start(config, Routing(config, load_catalog()), offline=True)


def test_roles_change_when_the_file_is_read_again(read):
    config = read()
    assert config.path is not None
    config.path.write_text(config.path.read_text().replace("platform", "operators"))
    again = reload_config(config, load_catalog())
    assert again.sign_in is not None
    assert again.sign_in.admins == ("operators",)
