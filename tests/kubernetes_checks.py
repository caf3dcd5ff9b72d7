"""What must hold for the manifests in ``deploy/kubernetes``, as far as that shows without a cluster.

Each check takes all manifests, and raises AssertionError or a validation error.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import yaml

from pondero.catalog import load_shipped
from pondero.gateway import load_config
from pondero.gateway.server import readiness
from pondero.gateway.server.run import FORCED
from pondero.store import load_catalog

DEPLOY = Path(__file__).parent.parent / "deploy"
FOLDER = DEPLOY / "kubernetes"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
VERSIONS = ("1.28", "1.31", "1.34", "1.37")
KUSTOMIZE = ("Kustomization", "Component")
PROBES = 3  # of readiness, one after another
Manifests = dict[str, list[dict[str, Any]]]
"""By path under ``deploy/kubernetes``."""


def load_manifests() -> Manifests:
    """Return all files, each with its documents."""
    return {
        path.relative_to(FOLDER).as_posix(): list(yaml.safe_load_all(path.read_text("utf-8")))
        for path in sorted(FOLDER.rglob("*.yaml"))
    }


def of_kind(files: Manifests, *kinds: str) -> list[dict[str, Any]]:
    return [doc for docs in files.values() for doc in docs if doc["kind"] in kinds]


def gateway(files: Manifests) -> dict[str, Any]:
    return next(iter(of_kind(files, "Deployment")))


def pods(files: Manifests) -> Iterator[dict[str, Any]]:
    for each in of_kind(files, "Deployment", "StatefulSet"):
        yield each["spec"]["template"]


def container(files: Manifests) -> dict[str, Any]:
    [found] = gateway(files)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def find_line(pattern: str) -> str:
    """Return what a pattern finds in the Dockerfile."""
    found = re.search(pattern, DOCKERFILE, re.MULTILINE)
    assert found is not None, pattern
    return found[1]


def config_file(files: Manifests) -> Path:
    [generator] = files["gateway/kustomization.yaml"][0]["configMapGenerator"]
    [name] = generator["files"]
    return FOLDER / "gateway" / str(name)


def secret(files: Manifests) -> dict[str, str]:
    [found] = of_kind(files, "Secret")
    return dict(found["stringData"])


# -- the checks ------------------------------------------------------------------------------------


def check_schemas(files: Manifests) -> None:
    for docs in files.values():
        for doc in docs:
            if doc["kind"] not in KUSTOMIZE:
                for version in VERSIONS:
                    _validate(json.dumps(doc), version)


@cache  # reading the schemas takes a while
def _validate(doc: str, version: str) -> None:
    kubernetes_validate.validate(json.loads(doc), version, strict=True)


def check_kustomizations(files: Manifests) -> None:
    for name, [doc] in ((n, d) for n, d in files.items() if n.endswith("kustomization.yaml")):
        here = FOLDER / Path(name).parent
        version = "v1alpha1" if doc["kind"] == "Component" else "v1beta1"
        assert doc["apiVersion"] == f"kustomize.config.k8s.io/{version}"
        known = {"apiVersion", "kind", "labels", "resources", "configMapGenerator", "images"}
        assert doc.keys() <= known | {"patches", "components"}
        named = [(here / each).resolve() for each in doc["resources"]]
        assert all(each.exists() for each in named), name
        # Kustomize takes a folder above its own for a cycle.
        assert not any(each in here.resolve().parents for each in named)
        beside = {path for path in here.glob("*.yaml") if ".example." not in path.name}
        beside -= {here / "kustomization.yaml"}
        assert {path.resolve() for path in beside} <= set(named), f"{name} leaves a file out"
        assert doc["kind"] in KUSTOMIZE
    [image] = files["gateway/kustomization.yaml"][0]["images"]
    assert image["name"] == container(files)["image"]
    assert isinstance(image["newTag"], str)


def check_ports_and_paths(files: Manifests) -> None:
    port = int(find_line(r"^EXPOSE (\d+)$"))
    assert load_config(str(config_file(files)), load_catalog(), offline=True).server.port == port
    found = container(files)
    [opened] = found["ports"]
    assert opened["containerPort"] == port
    paths = {
        name: found[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")
    }
    assert {each["port"] for each in paths.values()} == {opened["name"]}
    assert [each["path"] for each in paths.values()] == ["/health", "/health", "/ready"]
    assert "/health" in find_line(r"^    CMD (\[\"python\".*\])$")
    assert found["readinessProbe"]["timeoutSeconds"] > PROBES * readiness._PATIENCE
    for service in of_kind(files, "Service"):
        [listed] = service["spec"]["ports"]
        target = find_selected(files, service["spec"]["selector"])
        [there] = target["spec"]["containers"][0]["ports"]
        assert (listed["targetPort"], listed["port"]) == (there["name"], there["containerPort"])
    for policy in of_kind(files, "NetworkPolicy"):
        target = find_selected(files, policy["spec"]["podSelector"]["matchLabels"])
        [rule] = policy["spec"]["ingress"]
        [there] = target["spec"]["containers"][0]["ports"]
        assert rule["ports"] == [{"protocol": "TCP", "port": there["containerPort"]}]
        assert rule["from"]


def find_selected(files: Manifests, labels: dict[str, str]) -> dict[str, Any]:
    """Return the pod that a selector means, and no other."""
    assert labels
    [found] = [pod for pod in pods(files) if labels.items() <= pod["metadata"]["labels"].items()]
    return found


def check_selectors(files: Manifests) -> None:
    for each in of_kind(files, "Deployment", "StatefulSet"):
        selector = each["spec"]["selector"]["matchLabels"]
        assert find_selected(files, selector) is each["spec"]["template"]
    pod = gateway(files)["spec"]["template"]
    [spread] = pod["spec"]["topologySpreadConstraints"]
    [budget] = of_kind(files, "PodDisruptionBudget")
    for each in (spread["labelSelector"], budget["spec"]["selector"]):
        assert find_selected(files, each["matchLabels"]) is pod
    for policy in of_kind(files, "NetworkPolicy"):
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        if policy["metadata"]["name"] != "pondero":
            [source] = policy["spec"]["ingress"][0]["from"]
            assert find_selected(files, source["podSelector"]["matchLabels"]) is pod
    for each in of_kind(files, "StatefulSet"):
        assert each["spec"]["serviceName"] in {
            s["metadata"]["name"] for s in of_kind(files, "Service")
        }


def check_egress(files: Manifests) -> None:
    [policy] = [p for p in of_kind(files, "NetworkPolicy") if p["metadata"]["name"] == "pondero"]
    dns, rest = policy["spec"]["egress"]
    assert {(each["protocol"], each["port"]) for each in dns["ports"]} == {("UDP", 53), ("TCP", 53)}
    stores = {urlsplit(secret(files)[name]).port for name in ("PONDERO_STATE", "PONDERO_LEDGER")}
    assert {each["port"] for each in rest["ports"]} == {443, *stores}


def check_pods_are_locked_down(files: Manifests) -> None:
    for pod in pods(files):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        own = spec["securityContext"]
        assert own["runAsNonRoot"] is True
        assert own["runAsUser"] > 0
        assert own["runAsGroup"] == own["fsGroup"] > 0
        assert own["seccompProfile"] == {"type": "RuntimeDefault"}
        for each in spec["containers"]:
            assert each["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert each["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in each["resources"]["limits"]
            assert {"readinessProbe", "livenessProbe"} <= each.keys()
    uid, gid = find_line(r"^USER (\d+:\d+)$").split(":")
    own = gateway(files)["spec"]["template"]["spec"]["securityContext"]
    assert (own["runAsUser"], own["runAsGroup"]) == (int(uid), int(gid))
    assert f"--uid {uid}" in DOCKERFILE
    assert f"--gid {gid}" in DOCKERFILE
    [account] = of_kind(files, "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    spec = gateway(files)["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == account["metadata"]["name"]


def check_volumes(files: Manifests) -> None:
    for each in of_kind(files, "Deployment", "StatefulSet"):
        spec = each["spec"]["template"]["spec"]
        claims = each["spec"].get("volumeClaimTemplates", [])
        there = {v["name"] for v in spec.get("volumes", [])} | {
            c["metadata"]["name"] for c in claims
        }
        mounted = [m["name"] for c in spec["containers"] for m in c["volumeMounts"]]
        assert sorted(mounted) == sorted(there)
    spec = gateway(files)["spec"]["template"]["spec"]
    mounts = {each["mountPath"]: each for each in container(files)["volumeMounts"]}
    volumes = {each["name"]: each for each in spec["volumes"]}
    [generator] = files["gateway/kustomization.yaml"][0]["configMapGenerator"]
    command = yaml.safe_load(find_line(r"^CMD (\[.*\])$"))
    asked = Path(command[command.index("--config") + 1])
    config = mounts[str(asked.parent)]
    assert config["readOnly"] is True
    assert volumes[config["name"]]["configMap"]["name"] == generator["name"]
    assert config_file(files).name == asked.name
    assert f"PONDERO_CONFIG_DIR={asked.parent}" in DOCKERFILE
    for path in (find_line(r"PONDERO_DATA_DIR=(\S+)"), "/tmp"):
        mount = mounts[path]
        assert not mount.get("readOnly")
        assert "sizeLimit" in volumes[mount["name"]]["emptyDir"]


def check_time_to_end(files: Manifests) -> None:
    spec = gateway(files)["spec"]["template"]["spec"]
    server = load_config(str(config_file(files)), load_catalog(), offline=True).server
    program, seconds = container(files)["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    probes = container(files)["readinessProbe"]
    assert int(seconds) >= probes["periodSeconds"]
    assert spec["terminationGracePeriodSeconds"] > int(seconds) + server.drain_seconds + FORCED + 1


def check_availability(files: Manifests) -> None:
    spec = gateway(files)["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    [budget] = of_kind(files, "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] < spec["replicas"]
    [scaler] = of_kind(files, "HorizontalPodAutoscaler")
    target = scaler["spec"]["scaleTargetRef"]
    named = {"apiVersion": gateway(files)["apiVersion"], "kind": "Deployment"}
    assert target == {**named, "name": gateway(files)["metadata"]["name"]}
    assert spec["replicas"] <= scaler["spec"]["minReplicas"] < scaler["spec"]["maxReplicas"]
    [metric] = scaler["spec"]["metrics"]
    assert metric["resource"]["name"] in container(files)["resources"]["requests"]
    [patch] = files["autoscaler/kustomization.yaml"][0]["patches"]
    assert patch["target"] == {"kind": "Deployment", "name": target["name"]}
    assert yaml.safe_load(patch["patch"]) == [{"op": "remove", "path": "/spec/replicas"}]


def check_variables(files: Manifests) -> None:
    given = secret(files)
    for pod in pods(files):
        for each in (env for c in pod["spec"]["containers"] for env in c.get("env", [])):
            if "value" in each:
                assert not re.search("KEY|PASSWORD|SECRET|STATE|LEDGER", each["name"])
                continue
            reference = each["valueFrom"]["secretKeyRef"]
            assert reference["name"] == of_kind(files, "Secret")[0]["metadata"]["name"]
            assert reference["key"] == each["name"] in given
    optional = {
        each["name"]: each["valueFrom"]["secretKeyRef"].get("optional", False)
        for each in container(files)["env"]
    }
    text = config_file(files).read_text("utf-8")
    needed = set(re.findall(r'"env:(\w+)"', text))
    assert needed == {name for name, may_lack in optional.items() if not may_lack}
    keys = {key for each in load_shipped().providers.values() for key in each.keys}
    assert set(optional) - needed <= keys


def check_stores(files: Manifests) -> None:
    given = secret(files)
    services = {each["metadata"]["name"]: each for each in of_kind(files, "Service")}
    for name in ("PONDERO_STATE", "PONDERO_LEDGER"):
        parts = urlsplit(given[name])
        assert parts.port == services[str(parts.hostname)]["spec"]["ports"][0]["port"]
    ledger = urlsplit(given["PONDERO_LEDGER"])
    assert ledger.password == given["POSTGRES_PASSWORD"]
    stores = {each["metadata"]["name"]: each for each in of_kind(files, "StatefulSet")}
    [postgres] = stores["postgres"]["spec"]["template"]["spec"]["containers"]
    env = {each["name"]: each.get("value") for each in postgres["env"]}
    assert (env["POSTGRES_USER"], env["POSTGRES_DB"]) == (ledger.username, ledger.path[1:])
    [redis] = stores["redis"]["spec"]["template"]["spec"]["containers"]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    assert redis["command"] == compose["redis"]["command"]
    for name, found in (("redis", redis), ("postgres", postgres)):
        assert found["image"] == compose[name]["image"]
        assert stores[name]["spec"]["replicas"] == 1
        mount = compose[name]["volumes"][0].split(":")[1]
        assert mount in {each["mountPath"] for each in found["volumeMounts"]}
        assert (
            found["readinessProbe"]["exec"]["command"] == compose[name]["healthcheck"]["test"][1:]
        )


CHECKS: tuple[Callable[[Manifests], None], ...] = (
    check_kustomizations,
    check_ports_and_paths,
    check_selectors,
    check_egress,
    check_pods_are_locked_down,
    check_volumes,
    check_time_to_end,
    check_availability,
    check_variables,
    check_stores,
    check_schemas,  # takes longest
)


def split_commands(page: str) -> list[list[str]]:
    """Return the commands in the shell blocks of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.strip()]
