"""``pondero contract through``: what it prints, its exit codes, and the configurations it gives."""

import json
import socket
from xml.etree import ElementTree as ET

import pytest

from pondero.cli.app import run as run_command
from pondero.client import load_catalog
from pondero.contract.through import DEFAULT_BACKS, parse_matrix_models
from pondero.contract.through.pointers import POINTERS, pondero_toml
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.gateway import load_config
from pondero.gateway.server.run import run_gateway_in_thread


def run(*arguments: str) -> int:
    return run_command(["contract", "through", *arguments])


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


@pytest.fixture
def gateway(tmp_path, monkeypatch):
    """Our gateway with the configuration that the command prints, and the referee's port."""
    monkeypatch.setenv("REFEREE_KEY", "any-key")
    port = free_port()
    file = tmp_path / "gateway.toml"
    file.write_text(
        "[server]\nport = 0\n\n" + pondero_toml(f"http://127.0.0.1:{port}", parse_matrix_models([]))
    )
    with run_gateway_in_thread(load_config(str(file), load_catalog())) as url:
        yield url, str(port)


def test_it_judges_a_gateway_over_the_network_and_says_so_in_three_ways(gateway, tmp_path, capsys):
    url, port = gateway
    report = tmp_path / "report.xml"
    few = ["--front", "messages", "--front", "chat", "--check", "level", "--check", "usage"]
    assert run(url, "--port", port, *few, "--junit", str(report)) == 0
    shown = capsys.readouterr()
    assert "score      20 of 20 (100.0 %)" in shown.out
    assert "LiteLLM, config.yaml:" in shown.err
    assert "x-portkey-config: {" in shown.err
    cases = ET.parse(report).getroot().findall("testsuite/testcase")
    assert len(cases) == 20
    assert run(url, "--port", port, *few, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["score"] == {"passed": 20, "total": 20}
    assert {row["front"] for row in told["results"]} == {"messages", "chat"}
    assert {row["model"] for row in told["results"]} == set(DEFAULT_BACKS)


def test_a_gateway_that_sends_nothing_to_the_referee_misses_and_the_exit_code_is_1(capsys):
    with run_emulator_in_thread(Emulator()) as elsewhere:
        arguments = ["--front", "messages", "--model", "claude-opus-5=opus", "--check", "level"]
        assert run(elsewhere, "--port", str(free_port()), *arguments) == 1
    shown = capsys.readouterr().out
    assert "MISSED messages > claude-opus-5: level" in shown
    assert "no request arrived" in shown
    assert "score      0 of 1" in shown


@pytest.mark.parametrize("kind", POINTERS)
def test_a_configuration_names_the_referee_and_every_model(kind, capsys):
    models = ["--model", "opus", "--model", "fast=gpt"]
    assert run("--config", kind, "--port", "9999", *models) == 0
    shown = capsys.readouterr().out
    assert "http://127.0.0.1:9999" in shown
    assert "fast" in shown
    assert "claude-opus-5" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["http://g", "--front", "converse"], "use messages responses chat gemini interactions"),
        (["http://g", "--check", "speed"], "unknown check"),
        (["http://g", "--model", "a=b"], "NAME=BACK"),
        (["--config", "nginx"], "use urls litellm"),
        ([], "give the URL of the gateway"),
        (["localhost"], "is not an address"),
        (["http://g", "--header", "x"], "'NAME: VALUE'"),
    ],
)
def test_what_is_wrong_with_the_call_is_said_in_one_line(arguments, words, capsys):
    assert run(*arguments, "--port", str(free_port())) == 2
    assert words in capsys.readouterr().err


def test_where_nobody_listens_is_a_network_failure(capsys):
    assert run("http://127.0.0.1:9", "--wait", "0", "--port", str(free_port())) == 4
    assert "no gateway answers" in capsys.readouterr().err
