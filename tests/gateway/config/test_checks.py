"""What ``serve`` and ``serve --check`` both find before a gateway starts."""

import pytest

from pondero.errors import BadConfig
from pondero.gateway.config.checks import check_start
from pondero.gateway.config.reader import load
from pondero.gateway.config.routing import Routing
from pondero.store import load_catalog

WRONG = (
    'state = "redis://h:99999/0"',
    'state = "redis://h:abc/0"',
    'state = "redis://h/0?foo=bar"',
    'state = "redis://"',
    'state = "redis://[::1"',
    'state = "unix://"',
    'ledger = "postgresql://h:abc/x"',
    'ledger = "postgresql://h:99999/x"',
    "drain_seconds = inf",
    "drain_seconds = nan",
    "drain_seconds = 86401",
    "answer_cache_seconds = inf",
    "answer_cache_seconds = nan",
    'host = "192.0.2.77"',
    'host = "no such host"',
)
RIGHT = (
    'state = "redis://h:6379/0"',
    'state = "redis://h"',
    'state = "rediss://h/0?socket_timeout=3"',
    'state = "unix:///run/redis.sock?db=1"',
    'state = "memory"',
    'ledger = "postgresql://h:5432/x"',
    'ledger = "postgresql:///x?host=/run/postgresql"',
    "drain_seconds = 86400",
    'host = "localhost"',
)
KEY = f'[[key]]\nname = "ci"\nhash = "sha256:{"0" * 64}"\n'
PROVIDER = "[provider.anthropic]\n"


@pytest.fixture
def start(tmp_path):
    """Check a file as ``serve`` does."""

    def start(text: str) -> None:
        path = tmp_path / "gateway.toml"
        path.write_text(text)
        config = load(path, load_catalog())
        check_start(config, Routing(config, load_catalog()))

    return start


@pytest.mark.parametrize("line", WRONG)
def test_a_server_that_could_not_start_is_found(start, line):
    with pytest.raises(BadConfig, match=r"gateway\.toml:2: "):
        start(f"[server]\n{line}\n{KEY}")


@pytest.mark.parametrize("line", RIGHT)
def test_a_server_that_can_start_passes(start, line):
    start(f"[server]\n{line}\n{KEY}")


@pytest.mark.parametrize(
    "url", ["not a url", "http://h:abc", "http://[::1", "http://h:99999", "\\t"]
)
def test_an_address_of_a_provider_that_is_none_is_found(start, url):
    with pytest.raises(BadConfig, match=r"gateway\.toml:2: .*url"):
        start(f'{PROVIDER}url = "{url}"\n')


@pytest.mark.parametrize(
    "line",
    [
        "expires = 0001-01-01T00:00:00+14:00",
        "expires = 1999-12-31",
        "expires = 9999-12-31",
        "budget = { cost = 1e300 }",
        "budget = { cost = inf }",
        "budget = { cost = nan }",
        "budget = { cost = 1000000001 }",
    ],
)
def test_a_key_beyond_what_can_be_counted_or_shown_is_found(start, line):
    with pytest.raises(BadConfig, match=r"gateway\.toml:4: "):
        start(f"{KEY}{line}\n")
