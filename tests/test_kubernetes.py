"""The Kubernetes manifests fit each other, the image and the program, and mistakes are found."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import kubernetes_validate
import pytest

from pondero.cli.app import run
from pondero.errors import PonderoError
from pondero.gateway.config.model import ServerConfig
from tests.kubernetes_checks import (
    CHECKS,
    DEPLOY,
    FOLDER,
    Manifests,
    config_file,
    load_manifests,
    secret,
    split_commands,
)

FILES = load_manifests()


@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.__name__)
def test_the_manifests_pass(check):
    check(FILES)


def test_the_configuration_is_right_with_the_variables_of_the_secret(capsys, monkeypatch):
    for name, value in secret(FILES).items():
        monkeypatch.setenv(name, value)
    assert run(["serve", "--check", "--config", str(config_file(FILES))]) == 0
    assert "is right" in capsys.readouterr().out


def test_the_configuration_is_the_one_of_compose():
    assert config_file(FILES).read_bytes() == (DEPLOY / "gateway.toml").read_bytes()


def test_the_memory_of_the_page_is_that_of_the_program():
    page = (DEPLOY.parent / "docs" / "kubernetes.md").read_text("utf-8")
    server = ServerConfig()
    assert f"`answer_cache_bytes` ({server.answer_cache_bytes >> 20} MiB)" in page
    assert f"`max_body` bytes ({server.max_body >> 20} MiB)" in page


def test_the_page_applies_folders_and_files_that_are_there():
    page = (DEPLOY.parent / "docs" / "kubernetes.md").read_text("utf-8")
    lines = split_commands(page)
    assert {line[0] for line in lines} == {"docker", "cp", "kubectl"}
    for line in lines:
        for flag in ("-k", "-f"):
            if flag in line and line[line.index(flag) + 1].startswith("deploy/"):
                assert (DEPLOY.parent / line[line.index(flag) + 1]).exists()
        if line[0] == "cp":
            assert (DEPLOY.parent / line[1]).is_file()
    for path in sorted(FOLDER.iterdir()):
        assert f"`deploy/kubernetes/{path.name}`" in page


# -- planted mistakes ------------------------------------------------------------------------------


def at(value: Any, *steps: Any) -> Any:
    for step in steps:
        value = value[step]
    return value


def put(*steps: Any, to: Any) -> Callable[[list[dict[str, Any]]], None]:
    def plant(docs: list[dict[str, Any]]) -> None:
        assert steps[-1] in at(docs, *steps[:-1]) or isinstance(steps[-1], int)
        at(docs, *steps[:-1])[steps[-1]] = to

    return plant


def drop(*steps: Any) -> Callable[[list[dict[str, Any]]], None]:
    def plant(docs: list[dict[str, Any]]) -> None:
        del at(docs, *steps[:-1])[steps[-1]]

    return plant


def add(*steps: Any, to: Any) -> Callable[[list[dict[str, Any]]], None]:
    def plant(docs: list[dict[str, Any]]) -> None:
        assert steps[-1] not in at(docs, *steps[:-1])
        at(docs, *steps[:-1])[steps[-1]] = to

    return plant


POD = (0, "spec", "template", "spec")
GATEWAY = (*POD, "containers", 0)
MISTAKES: list[tuple[str, Callable[[list[dict[str, Any]]], None]]] = [
    *(
        ("gateway/deployment.yaml", plant)
        for plant in (
            put(0, "spec", "replicas", to=1),
            put(0, "spec", "replicas", to="2"),
            add(0, "spec", "replica", to=2),
            put(0, "apiVersion", to="apps/v1beta1"),
            put(*POD, "terminationGracePeriodSeconds", to=30),
            put(*POD, "securityContext", "runAsUser", to=0),
            put(*POD, "securityContext", "runAsUser", to=1000),
            put(*POD, "securityContext", "fsGroup", to=1000),
            drop(*POD, "securityContext", "seccompProfile"),
            put(*POD, "automountServiceAccountToken", to=True),
            put(*POD, "serviceAccountName", to="default"),
            drop(*POD, "enableServiceLinks"),
            put(
                *POD, "topologySpreadConstraints", 0, "labelSelector", "matchLabels", to={"a": "b"}
            ),
            put(*GATEWAY, "image", to="ponderoo"),
            put(*GATEWAY, "ports", 0, "containerPort", to=8788),
            put(*GATEWAY, "ports", 0, "name", to="web"),
            put(*GATEWAY, "livenessProbe", "httpGet", "path", to="/ready"),
            put(*GATEWAY, "readinessProbe", "httpGet", "path", to="/health"),
            put(*GATEWAY, "readinessProbe", "timeoutSeconds", to=1),
            put(*GATEWAY, "startupProbe", "httpGet", "path", to="/healthz"),
            put(*GATEWAY, "securityContext", "readOnlyRootFilesystem", to=False),
            put(*GATEWAY, "securityContext", "capabilities", to={"drop": ["NET_RAW"]}),
            drop(*GATEWAY, "resources", "requests"),
            drop(*GATEWAY, "lifecycle"),
            put(*GATEWAY, "env", 0, "name", to="PONDERO_REDIS"),
            put(*GATEWAY, "env", 1, "valueFrom", "secretKeyRef", "key", to="LEDGER"),
            put(*GATEWAY, "env", 2, to={"name": "ANTHROPIC_API_KEY", "value": "sk-ant-1"}),
            put(*GATEWAY, "env", 2, "name", to="ANTROPIC_API_KEY"),
            put(*GATEWAY, "volumeMounts", 0, "mountPath", to="/etc/pondero"),
            put(*GATEWAY, "volumeMounts", 1, "name", to="dta"),
            drop(*GATEWAY, "volumeMounts", 2),
            put(*POD, "volumes", 0, "configMap", "name", to="gateway"),
            add(0, "spec", "template", "metadata", "label", to={}),
            put(0, "spec", "selector", "matchLabels", "app.kubernetes.io/component", to="gw"),
        )
    ),
    ("gateway/service.yaml", put(0, "spec", "ports", 0, "targetPort", to="web")),
    ("gateway/service.yaml", put(0, "spec", "ports", 0, "port", to=80)),
    ("gateway/service.yaml", put(0, "spec", "selector", to={"app": "pondero"})),
    ("gateway/service-account.yaml", put(0, "automountServiceAccountToken", to=True)),
    ("gateway/service-account.yaml", put(0, "metadata", "name", to="gateway")),
    ("gateway/disruption-budget.yaml", put(0, "spec", "maxUnavailable", to=2)),
    ("gateway/disruption-budget.yaml", put(0, "apiVersion", to="policy/v1beta1")),
    ("gateway/disruption-budget.yaml", put(0, "spec", "selector", "matchLabels", to={"a": "b"})),
    ("gateway/network-policy.yaml", put(0, "spec", "ingress", 0, "ports", 0, "port", to=80)),
    ("gateway/network-policy.yaml", put(0, "spec", "policyTypes", to=["Ingress"])),
    ("gateway/network-policy.yaml", drop(0, "spec", "egress", 1, "ports", 1)),
    ("gateway/network-policy.yaml", drop(0, "spec", "egress", 0, "ports", 0)),
    ("gateway/network-policy.yaml", put(0, "spec", "podSelector", to={"matchLabels": {"a": "b"}})),
    ("gateway/network-policy.yaml", drop(0, "spec", "ingress", 0, "from")),
    ("gateway/secret.example.yaml", drop(0, "stringData", "PONDERO_STATE")),
    ("gateway/secret.example.yaml", drop(0, "stringData", "GEMINI_API_KEY")),
    ("gateway/secret.example.yaml", put(0, "metadata", "name", to="keys")),
    ("gateway/secret.example.yaml", put(0, "stringData", "POSTGRES_PASSWORD", to="another")),
    (
        "gateway/secret.example.yaml",
        put(0, "stringData", "PONDERO_STATE", to="redis://cache:6379/0"),
    ),
    ("gateway/kustomization.yaml", drop(0, "resources", 1)),
    ("gateway/kustomization.yaml", put(0, "resources", 0, to="account.yaml")),
    ("gateway/kustomization.yaml", put(0, "images", 0, "name", to="gateway")),
    ("gateway/kustomization.yaml", put(0, "images", 0, "newTag", to=1)),
    ("gateway/kustomization.yaml", put(0, "configMapGenerator", 0, "name", to="config")),
    ("gateway/kustomization.yaml", put(0, "configMapGenerator", 0, "files", to=["config.toml"])),
    ("gateway/kustomization.yaml", add(0, "resource", to=[])),
    ("autoscaler/autoscaler.yaml", put(0, "spec", "minReplicas", to=1)),
    ("autoscaler/autoscaler.yaml", put(0, "spec", "scaleTargetRef", "name", to="gateway")),
    ("autoscaler/autoscaler.yaml", put(0, "apiVersion", to="autoscaling/v2beta2")),
    ("autoscaler/kustomization.yaml", put(0, "patches", 0, "target", "name", to="gateway")),
    ("autoscaler/kustomization.yaml", put(0, "kind", to="Kustomization")),
    ("with-stores/kustomization.yaml", put(0, "resources", 0, to="..")),
    ("with-stores/kustomization.yaml", drop(0, "resources", 2)),
    ("with-stores/redis.yaml", put(*GATEWAY, "command", to=["redis-server"])),
    ("with-stores/redis.yaml", put(*GATEWAY, "image", to="redis:latest")),
    ("with-stores/redis.yaml", put(0, "spec", "replicas", to=2)),
    ("with-stores/redis.yaml", drop(*POD, "securityContext", "runAsNonRoot")),
    ("with-stores/redis.yaml", put(1, "spec", "ports", 0, "port", to=6380)),
    ("with-stores/redis.yaml", put(1, "metadata", "name", to="cache")),
    ("with-stores/redis.yaml", put(2, "spec", "ingress", 0, "from", to=[{"podSelector": {}}])),
    ("with-stores/postgres.yaml", put(*GATEWAY, "env", 0, "value", to="postgres")),
    ("with-stores/postgres.yaml", put(*GATEWAY, "volumeMounts", 0, "mountPath", to="/var/lib/pg")),
    ("with-stores/postgres.yaml", put(*GATEWAY, "securityContext", to={})),
    ("with-stores/postgres.yaml", put(2, "spec", "ingress", 0, "ports", 0, "port", to=5433)),
    ("with-stores/postgres.yaml", drop(0, "spec", "volumeClaimTemplates")),
]
FOUND = (
    *(AssertionError, ValueError, KeyError, TypeError, PonderoError),
    *(kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError),
)


def find_problem(files: Manifests) -> Exception | None:
    for check in CHECKS:
        try:
            check(files)
        except FOUND as error:
            return error
    return None


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=lambda n: f"{MISTAKES[n][0]}-{n}")
def test_a_planted_mistake_is_found(number):
    path, plant = MISTAKES[number]
    files = deepcopy(FILES)
    plant(files[path])
    assert find_problem(files) is not None


def test_every_manifest_has_a_planted_mistake():
    assert {path for path, _ in MISTAKES} == set(FILES)
    assert find_problem(deepcopy(FILES)) is None
