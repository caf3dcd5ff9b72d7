"""What is in ``deploy`` fits the program that it deploys."""

import configparser
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pondero.cli.app import run
from pondero.gateway import load_config
from pondero.gateway.config.model import ServerConfig
from pondero.gateway.server import readiness
from pondero.store import load_catalog
from tests.kubernetes_checks import PROBES

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


def find_compose_problems(compose: dict[str, Any]) -> list[str]:
    """Return what is wrong by the schema of the Compose specification, or against the image."""
    schema = files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json"
    validator = Draft202012Validator(json.loads(schema.read_text("utf-8")))
    found = [error.message for error in validator.iter_errors(compose)]
    services = compose["services"]
    for name, service in services.items():
        for other, need in service.get("depends_on", {}).items():
            if other not in services:
                found.append(f"{name} depends on {other}, which is not there")
            elif need["condition"] == "service_healthy" and "healthcheck" not in services[other]:
                found.append(f"{name} waits for the health of {other}, which has no check")
        for mount in service.get("volumes", []):
            source = mount.rpartition("/")[0].split(":")[0]
            if not source.startswith(("$", ".")) and source not in compose["volumes"]:
                found.append(f"the volume {source} is not declared")
        configs = {each["source"] for each in service.get("configs", [])}
        found += [f"no config {each}" for each in configs - compose["configs"].keys()]
    return found + find_gateway_problems(compose)


def find_gateway_problems(compose: dict[str, Any]) -> list[str]:
    gateway, port = (
        compose["services"]["gateway"],
        re.search(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE),
    )
    assert port is not None
    balancer = compose["configs"]["balancer"]["content"]
    published = compose["services"]["balancer"]["ports"]
    seconds = {name: int(gateway["healthcheck"][name].removesuffix("s")) for name in ("timeout",)}
    laws = {
        "the check of health asks /ready at the port of the image": f":{port[1]}/ready"
        in gateway["healthcheck"].get("test", [""])[-1],
        "it waits as long as /ready may take": seconds["timeout"] > PROBES * readiness._PATIENCE,
        "the balancer sends to the port of the image": f"gateway:{port[1]} " in balancer,
        "the balancer listens where it is published": published == [f"{port[1]}:{port[1]}"]
        and f"listen {port[1]};" in balancer,
        "the balancer passes the host with its port": "Host $$http_host;" in balancer,
        "the root is read-only, with room for temporary files": gateway.get("read_only") is True
        and gateway.get("tmpfs") == ["/tmp"],
        "no capability is left": gateway.get("cap_drop") == ["ALL"],
        "no privilege is gained": gateway.get("security_opt") == ["no-new-privileges:true"],
        "the data is in a volume": any(each.endswith(":/data") for each in gateway["volumes"]),
        "the configuration is read-only": any(
            each.endswith(":/config/gateway.toml:ro") for each in gateway["volumes"]
        ),
    }
    return [law for law, holds in laws.items() if not holds]


def test_compose_keeps_its_specification_and_fits_the_image():
    assert find_compose_problems(COMPOSE) == []


def change(*steps: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def plant(compose: dict[str, Any]) -> None:
        place: Any = compose
        for step in steps[:-1]:
            place = place[step]
        place[steps[-1]] = to

    return plant


@pytest.mark.parametrize(
    "plant",
    [
        change("services", "gateway", "replicas", to=2),
        change("services", "gateway", "read_only", to=False),
        change("services", "gateway", "cap_drop", to=[]),
        change("services", "gateway", "tmpfs", to=[]),
        change("services", "gateway", "healthcheck", "timeout", to="2s"),
        change("services", "gateway", "healthcheck", "test", to=["CMD", "curl", ":8787/health"]),
        change("services", "gateway", "depends_on", "cache", to={"condition": "service_started"}),
        change("services", "gateway", "volumes", to=["other:/data"]),
        change("services", "gateway", "stop_grace", to="1s"),
        change("services", "balancer", "ports", to=["8080:8080"]),
        change("services", "redis", "healthcheck", "test", to={"a": "b"}),
        change("services", "postgres", "environment", to=5),
        change("configs", "balancer", "content", to="server {}"),
        change("volumes", "redis", to=7),
        change("service", to={}),
    ],
)
def test_a_mistake_planted_in_compose_is_found(plant):
    compose = deepcopy(COMPOSE)
    plant(compose)
    assert find_compose_problems(compose) != []


def test_the_balancer_passes_websockets_on_and_uses_other_connections_again():
    said = COMPOSE["configs"]["balancer"]["content"].replace("$$", "$")
    headers = dict(re.findall(r"proxy_set_header (\S+) ([^;]+);", said))
    [(name, rows)] = re.findall(r"map \$http_upgrade (\S+) \{([^}]*)\}", said)

    assert headers["Upgrade"] == "$http_upgrade"  # nginx drops it otherwise, and a 426 comes back
    assert headers["Connection"] == name
    assert dict(re.findall(r"^ *(\S+) (\S+);", rows, re.MULTILINE)) == {
        "default": "upgrade",
        '""': '""',
    }


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
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1])  # a number: Kubernetes trusts no name
    assert lines.index(f"USER {users[-1]}") > max(
        n for n, line in enumerate(lines) if line.startswith("RUN")
    )


def test_the_image_installs_extras_that_are_there_on_a_python_that_is_supported():
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text("utf-8"))["project"]
    [named] = re.findall(r"'\.\[(.*)\]'", DOCKERFILE)
    assert set(named.split(",")) <= set(project["optional-dependencies"])
    versions = re.findall(r"^FROM python:(\d+\.\d+)-slim", DOCKERFILE, re.MULTILINE)
    assert len(set(versions)) == 1
    assert f"Programming Language :: Python :: {versions[0]}" in project["classifiers"]
    assert len(versions) == 2


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


def test_the_unit_can_write_to_its_own_folder_alone():
    service = unit()["Service"]
    assert (service["DynamicUser"], service["ProtectSystem"]) == ("yes", "strict")
    assert (service["StateDirectory"], service["ProtectHome"]) == ("pondero", "yes")
    others = ("ReadWritePaths", "CacheDirectory", "LogsDirectory", "RuntimeDirectory", "BindPaths")
    assert {name for name in others if name in service} == set()


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
