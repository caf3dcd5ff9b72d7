"""``[[endpoint]]`` and ``endpoints`` of a key: what is read, and what is wrong with it."""

import asyncio
from pathlib import Path

import pytest

from pondero.errors import BadConfig, BadParameter
from pondero.gateway.config.model import EndpointRoute, GatewayConfig
from pondero.gateway.config.reader import load
from pondero.gateway.state.keys import KeyRing, LocalKeys
from pondero.store import load_catalog

KEY = f'[[key]]\nname = "ci"\nhash = "sha256:{"0" * 64}"\n'


def read(tmp_path: Path, text: str) -> GatewayConfig:
    file = tmp_path / "gateway.toml"
    file.write_text(text, "utf-8")
    return load(file, load_catalog())


def test_providers_of_endpoints_and_lists_of_keys_are_read(tmp_path):
    text = (
        '[[endpoint]]\nmatch = "files"\nto = "openai"\n'
        '[[endpoint]]\nmatch = "/v1/x/*"\nto = "mistral"\n'
        f'{KEY}endpoints = ["embeddings", "other"]\n'
    )
    config = read(tmp_path, text)
    assert config.endpoints == (
        EndpointRoute("files", "openai"),
        EndpointRoute("/v1/x/*", "mistral"),
    )
    assert config.keys[0].endpoints == ("embeddings", "other")
    assert read(tmp_path, KEY).keys[0].endpoints is None
    assert read(tmp_path, f"{KEY}endpoints = []\n").keys[0].endpoints == ()


MISTAKES = [
    (
        '[[endpoint]]\nmatch = "fils"\nto = "openai"\n',
        "unknown endpoint 'fils'; did you mean 'files'",
    ),
    ('[[endpoint]]\nmatch = "files"\nto = "openia"\n', "unknown provider 'openia'"),
    ('[[endpoint]]\nmatch = "/v1/../x"\nto = "openai"\n', "invalid path"),
    ('[[endpoint]]\nmatch = "/v1/*/x"\nto = "openai"\n', "invalid path"),
    ('[[endpoint]]\nmatch = "/v1//x"\nto = "openai"\n', "invalid path"),
    ('[[endpoint]]\nmatch = "files"\n', "missing required field to"),
    ('[[endpoint]]\nmatch = "files"\nto = "openai"\n' * 2, "the first one wins"),
    ('[endpoint]\nmatch = "files"\n', "is not a list of tables"),
    (
        f'{KEY}endpoints = ["embedings"]\n',
        "unknown endpoint 'embedings'; did you mean 'embeddings'",
    ),
    (f'{KEY}endpoints = "embeddings"\n', "endpoints"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path, text, said):
    with pytest.raises(BadConfig, match=r"gateway\.toml:\d+") as wrong:
        read(tmp_path, text)
    assert said in str(wrong.value)


def test_a_key_that_is_made_while_the_gateway_runs_has_endpoints_too():
    ring = KeyRing(tuple, LocalKeys())
    asyncio.run(ring.make("ci", {"endpoints": ["embeddings"]}))
    (key,) = asyncio.run(ring.all())
    assert key.endpoints == ("embeddings",)
    with pytest.raises(BadParameter, match="unknown endpoint"):
        asyncio.run(ring.make("other", {"endpoints": ["embedings"]}))
