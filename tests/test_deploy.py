"""What is in ``deploy`` fits the program that it deploys."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from pondero.cli.app import run
from pondero.gateway import load_config
from pondero.gateway.config.model import ServerConfig
from pondero.store import load_catalog

DEPLOY = Path(__file__).parent.parent / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
INSTRUCTIONS = {
    *("FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL"),
    *("HEALTHCHECK", "ENTRYPOINT", "CMD"),
}


def lines_of(dockerfile: str) -> list[str]:
    """Return the instructions, each on one line, without comments."""
    plain = "\n".join(line for line in dockerfile.splitlines() if not line.startswith("#"))
    return [line for line in re.sub(r"\\\n\s*", " ", plain).splitlines() if line.strip()]


def test_the_configuration_is_right(capsys, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "a-key-0123456789")
    monkeypatch.setenv("PONDERO_STATE", "redis://redis:6379/0")
    monkeypatch.setenv("PONDERO_LEDGER", "postgresql://postgres/pondero")
    assert run(["serve", "--check", "--config", str(DEPLOY / "gateway.toml")]) == 0
    assert "is right" in capsys.readouterr().out


def test_every_variable_that_the_configuration_refers_to_is_set():
    server = load_config(str(DEPLOY / "gateway.toml"), load_catalog(), offline=True).server
    named = {each.removeprefix("env:") for each in (server.state, server.ledger)}
    assert named <= set(COMPOSE["services"]["gateway"]["environment"])


def test_the_services_of_the_addresses_are_there_and_have_a_check_of_health():
    services = COMPOSE["services"]
    said = services["gateway"]["environment"]
    hosts = {
        re.search(r"(?:@|//)([a-z]+):\d+/", said[f"PONDERO_{each}"])[1]
        for each in ("STATE", "LEDGER")
    }
    assert hosts == {"redis", "postgres"} == set(services["gateway"]["depends_on"])
    assert all("healthcheck" in services[host] for host in hosts)
    assert set(COMPOSE["volumes"]) == {"aside", "postgres", "redis"}
    assert "proxy_buffering off" in COMPOSE["configs"]["balancer"]["content"]


def test_a_container_is_given_longer_to_stop_than_answers_have_to_end():
    assert (
        int(COMPOSE["services"]["gateway"]["stop_grace_period"].removesuffix("s"))
        > ServerConfig().drain_seconds
    )
    assert int(unit()["Service"]["TimeoutStopSec"]) > ServerConfig().drain_seconds


def test_the_image_is_made_of_known_instructions_and_files_that_are_there():
    lines = lines_of(DOCKERFILE)
    assert {line.split()[0] for line in lines} <= INSTRUCTIONS
    assert lines[0].startswith("FROM ")
    for line in lines:
        words = line.split()
        if words[0] == "COPY" and not words[1].startswith("--"):
            assert all((DEPLOY.parent / name).exists() for name in words[1:-1])
        if words[0] in ("ENTRYPOINT", "CMD"):
            assert isinstance(yaml.safe_load(line.partition(" ")[2]), list)
    assert lines.index("USER pondero") > max(
        n for n, line in enumerate(lines) if line.startswith("RUN")
    )


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their case
    parser.read(DEPLOY / "pondero.service", "utf-8")
    return parser


def test_the_unit_starts_a_verb_that_is_there_and_reloads_as_the_gateway_does():
    service = unit()["Service"]
    program, verb, *rest = service["ExecStart"].split()
    assert program.endswith("/pondero")
    assert run([verb, "--help"]) == 0
    assert rest == ["--config", "/etc/pondero/gateway.toml"]
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert service["KillMode"] == "mixed"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_knows_every_line_of_the_unit(tmp_path):
    text = (DEPLOY / "pondero.service").read_text("utf-8")
    there = tmp_path / "pondero.service"
    there.write_text(text.replace("/opt/pondero/bin/pondero", "/bin/true"))
    said = subprocess.run(
        ["systemd-analyze", "verify", there],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert [line for line in said.stderr.splitlines() if "pondero.service" in line] == []
