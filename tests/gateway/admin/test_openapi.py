"""The OpenAPI document of the admin API, held against the running gateway by schemathesis."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import time
from typing import Any

import httpx2
import pytest
from tests.gateway.ledger_rows import make_ledger

from pondero.emulator import Emulator
from pondero.gateway.admin.openapi import describe
from pondero.gateway.admin.operations import OPERATIONS
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server import rejections
from pondero.gateway.server.run import run_gateway_in_thread

ADMIN = "pnd_admin"
KEYS = (
    GatewayKey("boss", hash_key(ADMIN), admin=True),
    GatewayKey("ci", hash_key("pnd_ci"), budget=SpendBudget(cost=3), group="research"),
)
CONFIG = GatewayConfig(
    ServerConfig(port=0),
    (GatewayRoute("opus", ("anthropic:claude-opus-5",)),),
    keys=KEYS,
    groups=(GatewayGroup("research", limit=RateLimitRule(requests=5)),),
)
# What a schema cannot say is rejected too: a group that does not exist, an end before its beginning.
CHECKS = ("--exclude-checks", "positive_data_acceptance")
# It never ends; ``test_console_requests`` follows it.
LEFT_OUT = ("--exclude-path", "/admin/live")

Document = dict[str, Any]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("ledger")
    database = make_ledger(folder / "gateway.db", 300, until=time())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rejections, "PER_ADDRESS", 1_000_000)  # wrong keys are tried on purpose
        with run_gateway_in_thread(
            CONFIG, transport=Emulator(any_model=True), ledger=database
        ) as address:
            yield address
    database.close()


def check(where: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "schemathesis"
    fixed = (
        "--seed",
        "1",
        "--generation-database",
        "none",
        "--no-color",
        "--request-timeout",
        "60",
    )
    return subprocess.run(
        [program, "run", where, "-H", f"Authorization: Bearer {ADMIN}", *fixed, *CHECKS, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=900,
    )


def test_every_answer_of_the_running_gateway_is_as_the_document_says(gateway, tmp_path):
    found = check(f"{gateway}/admin/openapi.json", tmp_path, *LEFT_OUT, "-n", "5")

    assert found.returncode == 0, found.stdout
    # All but the one that is left out, and the document itself, which was read.
    assert f"Tested: {len(OPERATIONS) - 2}" in found.stdout


def fetch(gateway: str) -> Document:
    headers = {"authorization": f"Bearer {ADMIN}"}
    document: Document = httpx2.get(f"{gateway}/admin/openapi.json", headers=headers).json()
    return document


def forget_status(document: Document) -> None:
    del document["paths"]["/admin/requests/{id}"]["get"]["responses"]["404"]


def forget_method(document: Document) -> None:
    del document["paths"]["/admin/keys"]["post"]


def change_type(document: Document) -> None:
    document["components"]["schemas"]["KeyList"]["properties"]["guarded"]["type"] = "string"


def change_media(document: Document) -> None:
    content = document["paths"]["/admin/audit.csv"]["get"]["responses"]["200"]["content"]
    content["text/plain"] = content.pop("text/csv")


def forget_limit(document: Document) -> None:
    (count,) = (
        each
        for each in document["paths"]["/admin/audit"]["get"]["parameters"]
        if each["name"] == "count"
    )
    count["schema"]["anyOf"][0]["maximum"] = 1


@pytest.mark.parametrize(
    ("path", "sabotage"),
    [
        ("/admin/requests/{id}", forget_status),
        ("/admin/keys", forget_method),
        ("/admin/keys", change_type),
        ("/admin/audit.csv", change_media),
        ("/admin/audit", forget_limit),
    ],
)
def test_a_document_that_is_wrong_is_found_out(
    gateway: str, tmp_path: Path, path: str, sabotage: Callable[[Document], None]
) -> None:
    document = fetch(gateway)
    sabotage(document)
    (tmp_path / "wrong.json").write_text(json.dumps(document))

    options = ("--url", gateway, "--include-path", path, "--phases", "coverage", "-n", "1")
    found = check("wrong.json", tmp_path, *options)

    assert found.returncode == 1, found.stdout
    assert "FAILURES" in found.stdout


def test_the_document_says_who_may_call_what(gateway):
    document = fetch(gateway)

    assert document["openapi"] == "3.1.0"
    assert document["security"] == [{"adminKey": []}]
    assert describe(OPERATIONS, guarded=False)["security"] == [{}]
    cookie = describe(OPERATIONS, guarded=True, cookie="__Host-a")
    assert cookie["security"] == [{"adminKey": []}, {"session": []}]
    assert cookie["components"]["securitySchemes"]["session"]["name"] == "__Host-a"
    roles = {
        (method, path): operation["x-pondero-role"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert {key for key, role in roles.items() if role == "admin"} == {
        ("post", "/admin/keys"),
        ("patch", "/admin/keys/{name}"),
        ("delete", "/admin/keys/{name}"),
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"401", "403"} <= operation["responses"].keys()


def test_every_setting_of_a_key_is_in_the_document(gateway):
    schemas = fetch(gateway)["components"]["schemas"]

    settings = {*GatewayKey.__struct_fields__} - {"hash"}
    assert schemas["NewKey"]["properties"].keys() == settings
    assert schemas["KeySettings"]["properties"].keys() == settings - {"name"} | {"revision"}
    assert schemas["KeyView"]["properties"].keys() >= settings
