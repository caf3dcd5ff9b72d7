"""The page on Docker agrees with the files in ``deploy``, as far as that shows without an engine."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from pondero.catalog import load_shipped
from pondero.gateway.config.model import ServerConfig

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "docker.md").read_text("utf-8")
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
LINES = [
    shlex.split(line)
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
RUN = next(line for line in LINES if line[:2] == ["docker", "run"])


def test_every_line_is_a_command_of_docker_or_prepares_one():
    verbs = [line[1] for line in LINES if line[0] == "docker"]
    alone = ["build", "run", "kill", "exec", "exec", "exec", "kill", "stop"]
    assert verbs == [*alone, "compose", "compose"]
    rest = [line for line in LINES if line[0] != "docker"]
    assert [line[0] for line in rest] == ["curl", "cp", "export", "export"]
    assert rest[-1] == ["export", "GATEWAY_TOML=./my-gateway.toml"]
    assert rest[0][-1].removeprefix("http://127.0.0.1:8787") == "/health"


def test_the_image_is_built_from_a_file_that_is_there_and_run_by_its_name():
    build = LINES[0]
    assert (ROOT / build[build.index("-f") + 1]).is_file()
    assert build[-1] == "."
    assert build[build.index("-t") + 1] == RUN[-1]


def test_the_run_publishes_the_port_and_mounts_what_the_image_reads():
    assert RUN[RUN.index("-p") + 1] == "8787:8787"
    assert re.search(r"^EXPOSE 8787$", DOCKERFILE, re.MULTILINE)
    mounts = [RUN[at + 1].split(":")[1] for at, word in enumerate(RUN) if word == "-v"]
    command = yaml.safe_load(re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
    assert mounts[0] == str(Path(command[command.index("--config") + 1]).parent)
    assert f"PONDERO_CONFIG_DIR={mounts[0]}" in DOCKERFILE, "commands for keys find it"
    assert re.search(rf"^VOLUME {mounts[1]}$", DOCKERFILE, re.MULTILINE)
    assert f"PONDERO_DATA_DIR={mounts[1]}" in DOCKERFILE


def test_the_words_that_let_the_emulator_answer_are_those_of_the_image_and_offline():
    command = yaml.safe_load(re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
    assert f"`{' '.join(command)} --offline`" in PAGE
    assert 'ENTRYPOINT ["pondero"]' in DOCKERFILE


def test_the_variable_of_the_run_is_a_providers_key():
    named = RUN[RUN.index("-e") + 1]
    assert named in {key for each in load_shipped().providers.values() for key in each.keys}


def test_a_stopped_container_has_longer_than_open_answers():
    stop = next(line for line in LINES if line[:2] == ["docker", "stop"])
    assert int(stop[stop.index("-t") + 1]) > ServerConfig().drain_seconds
    assert "STOPSIGNAL SIGTERM" in DOCKERFILE


def test_the_user_health_check_and_extras_are_those_of_the_image():
    assert "--uid 10001" in DOCKERFILE
    assert "/health" in re.search(r"^HEALTHCHECK.*\n.*$", DOCKERFILE, re.MULTILINE)[0]
    assert "'.[gateway,prices]'" in DOCKERFILE


def test_compose_has_the_services_of_the_table_and_the_variables_of_the_block():
    compose = LINES[-1]
    assert (ROOT / compose[compose.index("-f") + 1]).is_file()
    named = re.findall(r"^\| `(\w+)` \| ", PAGE.partition("## Several")[2], re.MULTILINE)
    assert set(named) == set(COMPOSE["services"])
    assert COMPOSE["services"]["gateway"]["scale"] == 2
    text = (ROOT / "deploy" / "compose.yaml").read_text("utf-8")
    exported = next(line for line in LINES if line[0] == "export")
    names = [word.removesuffix("=...") for word in exported[1:]]
    for name in ("GATEWAY_TOML", *names):
        assert f"${{{name}" in text
    assert "noeviction" in COMPOSE["services"]["redis"]["command"]
    most = re.search(r"client_max_body_size (\d+)m;", COMPOSE["configs"]["balancer"]["content"])
    assert int(most[1]) << 20 == ServerConfig().max_upload, "files may be as large as the gateway's"
    assert "proxy_next_upstream off" in COMPOSE["configs"]["balancer"]["content"]


def test_the_printed_variables_serve_every_route_of_the_example():
    exported = next(line for line in LINES if line[0] == "export")
    names = {word.removesuffix("=...") for word in exported[1:]}
    providers = load_shipped().providers
    routes = tomllib.loads((ROOT / "deploy" / "gateway.toml").read_text("utf-8"))["route"]
    for route in routes:
        assert names & set(providers[route["to"].partition(":")[0]].keys), route["to"]


@pytest.mark.parametrize("copied", [line for line in LINES if line[0] == "cp"])
def test_the_file_that_is_copied_is_there(copied):
    assert (ROOT / copied[1]).is_file()
