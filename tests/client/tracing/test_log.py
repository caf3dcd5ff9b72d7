"""Lines of log; and nothing for programs that neither log nor trace."""

import subprocess
import sys

import pytest

import pondero
from pondero.emulator import Emulator
from pondero.exchange import Retry

QUESTION = "What is 17 * 23?"


def test_nobody_who_does_not_trace_imports_the_tracing():
    code = (
        "import sys, pondero; from pondero.emulator import Emulator;"
        "from pondero import Client;"
        "client = Client(transport=Emulator()); client.ask('gpt-5.1', 'What is 17 * 23?');"
        "names = ('opentelemetry', 'httpx2', 'pondero.client.tracing.exchanges',"
        " 'pondero.client.tracing.agents', 'pondero.client.tracing.content');"
        "print(*[name in sys.modules for name in names])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"] * 5


def test_a_key_that_was_given_as_a_models_name_is_not_logged(caplog, monkeypatch):
    key = "mistralSecretKey0123456789abcd"
    monkeypatch.setenv("MISTRAL_API_KEY", key)
    client = pondero.Client(
        transport=Emulator(faults=[529], any_model=True), retry=Retry(waits=False)
    )
    with caplog.at_level("DEBUG", logger="pondero"):
        client.ask(f"claude-{key}", QUESTION)
    assert "claude-REDACTED" in caplog.text
    assert key not in caplog.text


@pytest.mark.parametrize("fault", [529, "429 2.5", "refused", "cut 1"])
def test_every_retry_is_a_line_of_the_log(caplog, fault):
    key = "sk-test-0123456789-secret"
    client = pondero.Client(
        transport=Emulator(faults=[fault, fault]), keys={"anthropic": key}, retry=Retry(waits=False)
    )
    with caplog.at_level("INFO", logger="pondero"):
        client.ask("claude-opus-5/low", QUESTION)
    lines = [record.getMessage() for record in caplog.records if record.name == "pondero"]
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("anthropic claude-opus-5: ")
        assert line.endswith(", tried again after 0.0 s")
        assert not isinstance(fault, int) or "Overloaded (HTTP 529)" in line
        assert key not in line
        assert QUESTION not in line
