"""[[deployment]] in gateway.toml: what is read, what is rejected, and what --check says."""

from pathlib import Path

import pytest

from pondero.errors import BadConfig
from pondero.gateway.config.model import RateLimitRule
from pondero.gateway.config.reader import check_sharing, load
from pondero.gateway.config.routing import Routing
from pondero.gateway.config.secrets import find_provider_key, find_provider_url
from pondero.store import load_catalog

GOOD = """[[deployment]]
name = "openai-eu"
provider = "openai"
key = "env:OPENAI_EU_KEY"
url = "http://127.0.0.1:9100"
weight = 3
limit = { requests = 1000, tokens = 400000, per = "minute" }

[[deployment]]
name = "openai-us"
provider = "openai"
key = "env:OPENAI_US_KEY"

[[deployment]]
name = "openai-us-2"
provider = "openai"
key = "env:OPENAI_US_KEY"

[[route]]
match = "pool"
to = ["openai-eu:gpt-5.5", "openai-us:gpt-5.5", "openai:gpt-5.5", "anthropic:claude-opus-5"]
balance = "spread"
"""


def read(tmp_path: Path, text: str):
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    return load(path, load_catalog())


def test_a_deployment_has_its_own_key_address_weight_and_limit(tmp_path, monkeypatch):
    config = read(tmp_path, GOOD)
    eu, us, _ = config.deployments
    assert (eu.weight, us.weight, us.limit) == (3.0, 1.0, None)
    assert eu.limit == RateLimitRule(1000, 400_000, "minute")
    monkeypatch.setenv("OPENAI_EU_KEY", "key-of-eu-1234")
    monkeypatch.setenv("OPENAI_US_KEY", "key-of-us-1234")
    entry = Routing(config, load_catalog()).resolve("pool").entries[0]
    assert (entry.id, entry.deployment) == ("openai:gpt-5.5", "openai-eu")
    assert find_provider_key(config, entry.provider, deployment="openai-eu") == "key-of-eu-1234"
    assert find_provider_key(config, entry.provider, deployment="openai-us") == "key-of-us-1234"
    assert find_provider_url(config, entry.provider, deployment="openai-eu").startswith(eu.url)


def test_accounts_with_one_key_read_each_others_signatures(tmp_path):
    routing = Routing(read(tmp_path, GOOD), load_catalog())
    found = {each.deployment: each.reads_of for each in routing.resolve("pool").entries}
    accounts = {each.deployment: each.account for each in routing.resolve("pool").entries}
    us = {"openai-us", "openai-us-2", accounts["openai-us"]}
    assert found["openai-eu"] == {"openai-eu", accounts["openai-eu"]}
    assert found["openai-us"] == us
    assert accounts["openai-eu"] != accounts["openai-us"]
    entries = routing.resolve("pool").entries
    assert entries[2].reads_of == {""}  # the usual account of the provider
    assert entries[3].reads_of is None  # what it signs is bound to no account


def test_a_provider_alone_signs_as_before_and_reads_all_but_what_deployments_signed(tmp_path):
    text = '[[route]]\nmatch = "gpt"\nto = "openai:gpt-5.5"\n'
    (entry,) = Routing(read(tmp_path, text), load_catalog()).resolve("gpt").entries
    assert (entry.deployment, entry.signer) == ("", None)
    assert entry.reads_of == {"", "?"}


def test_an_account_is_its_key_whatever_its_deployment_is_called(tmp_path):
    def name(text: str, target: str) -> str:
        routing = Routing(read(tmp_path, text), load_catalog())
        return routing.find_entry(f"{target}:gpt-5.5").account

    deployment = '[[deployment]]\nname = "NAME"\nprovider = "openai"\nkey = "env:KEY"\n'
    first = name(deployment.replace("NAME", "one"), "one")
    assert first == name(deployment.replace("NAME", "two"), "two")
    assert first == name('[provider.openai]\nkey = "env:KEY"\n', "openai")
    assert first != name('[provider.openai]\nkey = "env:OTHER"\n', "openai")
    assert name("", "openai") == name('[provider.openai]\nkey = "env:OPENAI_API_KEY"\n', "openai")


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ('name = "openai-eu"', 'name = "openai"', 2, "is the name of a provider"),
        ('name = "openai-eu"', 'name = "open ai:eu"', 2, "invalid name"),
        ('name = "openai-us-2"', 'name = "openai-us"', 15, "an earlier deployment is called"),
        ('provider = "openai"\nkey = "env:OPENAI_EU_KEY"', 'provider = "opena"', 3, "did you mean"),
        ('key = "env:OPENAI_EU_KEY"', 'key = "sk-secret"', 4, "do not put the key itself"),
        ('url = "http://127.0.0.1:9100"', 'url = "ftp://x"', 5, "invalid url"),
        ("weight = 3", "weight = 0", 6, "write weight = 3"),
        ("requests = 1000, tokens = 400000, ", "", 7, "no maximum is set"),
        ("weight = 3\n", "wieght = 3\n", 6, "unknown setting 'wieght'"),
        ('balance = "spread"', 'balance = "even"', 22, 'write balance = "sticky"'),
        ('"openai-eu:gpt-5.5"', '"openai-eu:gpt-55"', 21, "did you mean openai-eu:gpt-5.5?"),
        ('"openai-eu:gpt-5.5"', '"openai-ue:gpt-5.5"', 21, "openai-ue"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_a_cure(tmp_path, before, after, line, said):
    assert before in GOOD
    with pytest.raises(BadConfig) as caught:
        read(tmp_path, GOOD.replace(before, after, 1))
    assert f"gateway.toml:{line}:" in str(caught.value)
    assert said in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_workers_that_do_not_share_a_state_cannot_keep_an_accounts_limit(tmp_path):
    config = read(tmp_path, "[server]\nworkers = 2\n\n" + GOOD)
    with pytest.raises(BadConfig, match=r"gateway.toml:10: .*'openai-eu' separately"):
        check_sharing(config)
