"""A key that is given by mistake as a name, a level or an address is in no error."""

import traceback

import pytest

import pondero
from pondero.errors import PonderoError, PonderoWarning, UnknownModel, warn_caller
from pondero.store import save_key

_LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0"
KEYS = {
    "shape": "sk-" + "ant-api03-" + _LETTERS,
    "google": "AIza" + "Sy" + _LETTERS + "xyz",
    "groq": "gsk_" + _LETTERS,
    "variable": "a-word-of-no-shape-" + "77",
    "saved": "another-word-of-no-shape-" + "88",
}
CALLS = {
    "model": lambda key: pondero.plan(key, "high"),
    "provider": lambda key: pondero.plan(f"{key}:gpt-5", "high"),
    "level": lambda key: pondero.plan("gpt-5", key),
    "level of a name": lambda key: pondero.plan(f"gpt-5/{key}"),
    "policy": lambda key: pondero.plan("gpt-5", policy=key),
    "chat": lambda key: pondero.Chat(key).send("Hi"),
    "key of a provider": lambda key: pondero.Client(keys={key: "x"}).ask("gpt-5", "Hi"),
    "url": lambda key: pondero.Client(urls={"openai": f"ht!tp://{key}"}).ask("gpt-5", "Hi"),
    "port": lambda key: pondero.Client(urls={"openai": f"http://a:{key}/"}).ask("gpt-5", "Hi"),
    "proxy": lambda key: pondero.HttpTransport(proxy=f"http://a:{key}/"),
    "path": lambda key: pondero.HttpTransport(proxy=f"ht!tp://{key}/v1"),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("call", CALLS)
def test_no_error_quotes_a_key(call, key, monkeypatch, config_dir):
    monkeypatch.setenv("MISTRAL_API_KEY", KEYS["variable"])
    save_key("GROQ_API_KEY", KEYS["saved"])
    with pytest.raises(PonderoError) as caught:
        CALLS[call](KEYS[key])
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEYS[key] not in shown
    assert "REDACTED" in shown


def test_an_error_without_a_key_stays_as_it_is():
    error = UnknownModel("unknown model 'gpt-55'")
    assert (str(error), repr(error)) == (
        "unknown model 'gpt-55'",
        "UnknownModel(\"unknown model 'gpt-55'\")",
    )


def test_no_warning_quotes_a_key():
    with pytest.warns(PonderoWarning, match="^unknown setting 'REDACTED'$"):
        warn_caller(f"unknown setting '{KEYS['shape']}'")
