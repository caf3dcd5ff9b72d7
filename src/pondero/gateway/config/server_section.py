"""``[server]``, ``[alerts]`` and ``[provider.NAME]``: the gateway's own settings and addresses."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ...catalog import did_you_mean
from .examples import EXAMPLES
from .model import ALERT_KINDS, REFERENCES, AlertsConfig, ProviderOverride, ServerConfig
from .rows import ConfigRows, Place

STATES = ("redis", "rediss", "unix")
LEDGERS = ("postgresql", "postgres")

_RENAMED_KINDS = {"budget_used_up": "budget_without_room"}  # of alerts


def read_server(rows: ConfigRows) -> ServerConfig:
    """Return the settings of the server; raises BadConfig."""
    row = rows.table(rows.file.values.get("server", {}), ("server",))
    secret = row.get("envelope_secret")
    row = {**row, "envelope_secret": [secret]} if isinstance(secret, str) else row
    server = rows.build(row, ServerConfig, ("server",))
    check_store(rows, ("server", "state"), server.state, ("memory",), STATES)
    check_store(rows, ("server", "ledger"), server.ledger, ("sqlite", "off"), LEDGERS)
    if not all(each.startswith(REFERENCES) for each in server.envelope_secret):
        cure = f"write {EXAMPLES['envelope_secret']}"
        place = ("server", "envelope_secret")
        raise rows.error(place, "do not put the secret itself in this file", cure)
    return server


def check_store(
    rows: ConfigRows, place: Place, said: str, words: tuple[str, ...], schemes: tuple[str, ...]
) -> None:
    """Raise BadConfig for a setting that is no word, no address of such a scheme, no reference."""
    name = str(place[-1])
    if said in words or said.startswith(REFERENCES):
        return
    try:
        parts = urlsplit(said)
    except ValueError:
        cure = f"write {EXAMPLES[name]}"
        raise rows.error(place, f"invalid {name}", cure) from None
    if parts.password:
        raise rows.error(
            place,
            "this address contains a password",
            f'write {name} = "env:NAME" and put the address into that variable',
        )
    if parts.scheme not in schemes:
        raise rows.error(place, f"invalid {name} {said!r}", f"write {EXAMPLES[name]}")


def read_alerts(rows: ConfigRows) -> AlertsConfig:
    """Return where alerts are sent, and from when on; raises BadConfig."""
    place: Place = ("alerts",)
    alerts = rows.build(rows.table(rows.file.values.get("alerts", {}), place), AlertsConfig, place)
    if alerts.webhook is not None and not alerts.webhook.startswith(REFERENCES):
        rows.check_url(alerts.webhook, (*place, "webhook"), "webhook")
    if alerts.secret is not None and not alerts.secret.startswith(REFERENCES):
        cure = f"write {EXAMPLES['secret']}"
        raise rows.error((*place, "secret"), "do not put the secret itself in this file", cure)
    for kind in alerts.kinds:
        if kind not in ALERT_KINDS:
            cure = f"{did_you_mean(kind, ALERT_KINDS)}use {' '.join(ALERT_KINDS)}"
            if kind in _RENAMED_KINDS:
                cure = f"it is now {_RENAMED_KINDS[kind]!r}"
            raise rows.error((*place, "kinds"), f"unknown kind {kind!r}", cure)
    return alerts


def read_providers(rows: ConfigRows) -> Mapping[str, ProviderOverride]:
    """Return the addresses and keys of providers, by name; raises BadConfig."""
    return {name: _read_provider(rows, name, row) for name, row in rows.tables("provider")}


def _read_provider(rows: ConfigRows, name: str, row: Any) -> ProviderOverride:
    place: Place = ("provider", name)
    known = rows.lookup.catalog.providers
    if name not in known:
        guess = did_you_mean(name, known)
        raise rows.error(place, f"unknown provider {name!r}", f"{guess}see 'pondero models'")
    provider = rows.build(rows.table(row, place), ProviderOverride, place)
    if provider.key is not None and not provider.key.startswith(REFERENCES):
        variable = next(iter(known[name].keys), "NAME")
        cure = f'write key = "env:{variable}", "file:PATH" or "keyring:{variable}"'
        raise rows.error((*place, "key"), "do not put the key itself in this file", cure)
    if provider.url is not None:
        rows.check_url(provider.url, (*place, "url"))
    return provider
