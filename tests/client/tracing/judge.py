"""OpenTelemetry's conventions as data, and the comparison of a span with them."""

import json
import re
import tomllib
from pathlib import Path

from opentelemetry import trace

CONVENTIONS = tomllib.loads(Path(__file__).with_name("gen_ai_conventions.toml").read_text("utf-8"))


TYPES = {
    "string": lambda value: isinstance(value, str),
    "strings": lambda value: isinstance(value, tuple) and all(isinstance(v, str) for v in value),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "double": lambda value: isinstance(value, float),
    "boolean": lambda value: isinstance(value, bool),
    "any": lambda value: isinstance(value, str),
}


def find_faults(span, *, content):
    """Return how a span differs from the conventions."""
    said = dict(span.attributes)
    rules = CONVENTIONS["spans"][said["gen_ai.operation.name"]]
    rows = {row["name"]: row for row in rules["attributes"]}
    faults = [f"unknown {name}" for name in said if name not in rows and not is_ours(name)]
    for name, row in rows.items():
        if name not in said:
            faults += [f"no {name}"] * (row["level"] == "required")
            continue
        if not TYPES[row["type"]](said[name]):
            faults.append(f"{name} is {said[name]!r}")
        if row["level"] == "opt_in" and not content:
            faults.append(f"{name} without the switch")
        if row.get("provider") not in (None, said.get("gen_ai.provider.name")):
            faults.append(f"{name} of another provider")
    for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
        faults += find_message_faults(json.loads(said.get(name, "[]")))
    failed = span.status.status_code is trace.StatusCode.ERROR
    if failed != ("error.type" in said):
        faults.append("a status without error.type, or the reverse")
    if ("server.address" in said) != ("server.port" in said):
        faults.append("an address without its port")
    name = re.sub(r"\{(.*?)\}", lambda found: str(said[found[1]]), rules["name"])
    if (span.name, span.kind.name) != (name, rules["kind"]):
        faults.append(f"{span.name} {span.kind.name}")
    if span.instrumentation_scope.schema_url != CONVENTIONS["schema_url"]:
        faults.append(str(span.instrumentation_scope))
    return faults


def find_message_faults(messages):
    """Return how messages differ from the schemas of the conventions."""
    faults = [f"role {m['role']}" for m in messages if m["role"] not in _ROLES]
    for part in (part for message in messages for part in message["parts"]):
        lacks = set(CONVENTIONS["parts"].get(part["type"], ["nothing"])) - set(part)
        faults += [f"a {part['type']} without {name}" for name in lacks]
    return faults


_ROLES = ("system", "user", "assistant", "tool")


def is_ours(name):
    return name.startswith("pondero.")
