"""``[[deployment]]``: the accounts, regions and machines that serve a provider's models.

A route names one as ``DEPLOYMENT:MODEL``, like a provider.
"""

import re
from typing import Any

from ...catalog import did_you_mean
from .examples import EXAMPLES
from .model import REFERENCES, Deployment
from .rows import ConfigRows, Place

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # it is in headers, labels and model names


def read_deployments(rows: ConfigRows) -> tuple[Deployment, ...]:
    """Return all deployments; raises BadConfig."""
    found: dict[str, Deployment] = {}
    for place, row in rows.rows("deployment"):
        deployment = _read_deployment(rows, place, row)
        if deployment.name in found:
            problem = f"an earlier deployment is called {deployment.name!r} too"
            raise rows.error((*place, "name"), problem, "give it another name")
        found[deployment.name] = deployment
    return tuple(found.values())


def _read_deployment(rows: ConfigRows, place: Place, row: dict[str, Any]) -> Deployment:
    deployment = rows.build(row, Deployment, place)
    known = rows.lookup.catalog.providers
    if not _NAME.fullmatch(deployment.name):
        cure = 'write name = "openai-eu": letters, digits and - _ ., at most 64'
        raise rows.error((*place, "name"), f"invalid name {deployment.name[:80]!r}", cure)
    if deployment.name in known:
        problem = f"{deployment.name!r} is the name of a provider"
        cure = f'write name = "{deployment.name}-1", or set [provider.{deployment.name}]'
        raise rows.error((*place, "name"), problem, cure)
    if deployment.provider not in known:
        guess = did_you_mean(deployment.provider, known)
        problem = f"unknown provider {deployment.provider!r}"
        raise rows.error((*place, "provider"), problem, f"{guess}see 'pondero models'")
    if deployment.key is not None and not deployment.key.startswith(REFERENCES):
        variable = next(iter(known[deployment.provider].keys), "NAME")
        cure = f'write key = "env:{variable}", "file:PATH" or "keyring:{variable}"'
        raise rows.error((*place, "key"), "do not put the key itself in this file", cure)
    if deployment.url is not None:
        rows.check_url(deployment.url, (*place, "url"))
    if deployment.limit is not None and not deployment.limit.bounds:
        raise rows.error((*place, "limit"), "no maximum is set", f"write {EXAMPLES['limit']}")
    return deployment
