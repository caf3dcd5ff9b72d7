"""Finds providers' keys by reference, at each use, and makes and checks clients' keys."""

import hmac
import os
import secrets
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ... import catalog, exchange, store, transport
from ...errors import MissingKey, UnknownModel
from .model import (
    HASH,
    REFERENCES,
    Deployment,
    GatewayConfig,
    GatewayKey,
    ProviderOverride,
    ServerConfig,
)

_PREFIX = "pnd_"
_WEBHOOK_SECRET = "whsec_"  # noqa: S105 - what each begins with
_LEAST_WEBHOOK_SECRET = 24  # bytes
_LEAST_SECRET = 32  # characters: a shorter one may be guessed


def make_key() -> str:
    """Return a new key for a client of the gateway."""
    return f"{_PREFIX}{secrets.token_urlsafe(32)}"


def hash_key(key: str) -> str:
    """Return the hash of a client's key; for 256 random bits a plain digest is enough."""
    return f"{HASH}{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def find_holder(keys: Iterable[GatewayKey], shown: str) -> GatewayKey | None:
    """Return the entry of a client's key, compared in constant time; None if unknown."""
    digest = hash_key(shown)
    found = None
    for each in keys:
        if hmac.compare_digest(each.hash, digest):
            found = each
    return found


def read_reference(reference: str) -> str:
    """Return the secret behind a reference; raises MissingKey, which never quotes one."""
    kind, _, where = reference.partition(":")
    follow, cure = _READERS[kind]
    secret = follow(where).strip()
    if not secret:
        state = "not set" if kind == "env" and where not in os.environ else "empty"
        message = f"{reference} is {state}; {cure}"
        raise MissingKey(message)
    store.register_secret(secret)
    return secret


def read_envelope_secrets(server: ServerConfig) -> tuple[str, ...]:
    """Return the configured secrets of envelopes; raises MissingKey, which never quotes one."""
    secrets = tuple(read_reference(each) for each in server.envelope_secret)
    for reference, secret in zip(server.envelope_secret, secrets, strict=True):
        if len(secret) < _LEAST_SECRET:
            message = (
                f"{reference} is too short for a secret of envelopes; make one of at least "
                f"{_LEAST_SECRET} characters, for example with 'openssl rand -base64 32'"
            )
            raise MissingKey(message)
    return secrets


_NO_OVERRIDE = ProviderOverride()


def find_override(
    config: GatewayConfig, provider: catalog.Provider, deployment: str = ""
) -> ProviderOverride:
    """Return the configured address and key of a provider, or of one of its deployments.

    Raises UnknownModel for a deployment that a changed configuration no longer has.
    """
    usual = config.providers.get(provider.name, _NO_OVERRIDE)
    if not deployment:
        return usual
    for each in config.deployments:
        if each.name == deployment:
            return ProviderOverride(each.url or usual.url, each.key or usual.key)
    raise UnknownModel(f"deployment {deployment!r} is not configured any more")


def find_provider_key(
    config: GatewayConfig, provider: catalog.Provider, *, deployment: str = "", needed: bool = True
) -> str | None:
    """Return a provider's key: by the configuration's reference, else as the client finds it."""
    own = find_override(config, provider, deployment)
    if own.key is None or not needed:
        return store.find_key(provider, {}, needed=needed)
    return store.find_key(provider, {provider.name: read_reference(own.key)}, needed=needed)


def find_provider_url(
    config: GatewayConfig, provider: catalog.Provider, *, deployment: str = "", needed: bool = True
) -> str:
    """Return a provider's address: the configuration's, else as the client finds it."""
    own = find_override(config, provider, deployment)
    given = {provider.name: own.url} if own.url else {}
    return store.resolve_url(provider, given, needed=needed)


def check_credentials(
    config: GatewayConfig, provider: catalog.Provider, *, deployment: str = ""
) -> None:
    """Raise MissingKey or MissingExtra if no request to a provider or deployment could be sent."""
    key = find_provider_key(config, provider, deployment=deployment)
    url = find_provider_url(config, provider, deployment=deployment)
    check_signature(provider, url, key)


def check_signature(provider: catalog.Provider, url: str, key: str | None) -> None:
    """Raise MissingKey or MissingExtra if requests to be signed lack something; may take long."""
    if key is None and provider.auth == "aws":
        transport.check_signing(exchange.make_signing(provider, url))


class AddressBook:
    """The addresses and keys of providers, as a configuration and the environment say them.

    What depends on variables alone is found once, and again if one of them changes.
    """

    def __init__(self, config: Callable[[], GatewayConfig]) -> None:
        self._config = config
        self._known: dict[tuple[str, str, bool], _KnownAddress] = {}
        self._former: dict[str, Deployment] = {}  # of earlier configurations

    def keep(self, deployments: Iterable[Deployment]) -> None:
        """Keep the deployments of a configuration that ends, for requests that have begun."""
        self._former |= {each.name: each for each in deployments}

    def find(
        self, provider: catalog.Provider, deployment: str, *, needed: bool
    ) -> tuple[str, str | None]:
        """Return the address and key of a provider, or of its deployment; raises UsageError."""
        config, place = self._config(), (provider.name, deployment, needed)
        known = self._known.get(place)
        if known is not None and known.config is config and known.provider is provider:
            if known.values == _read_variables(known.variables):
                return known.address
            del self._known[place]
        if deployment in self._former and all(e.name != deployment for e in config.deployments):
            config = replace(config, deployments=(self._former[deployment],))
        url = find_provider_url(config, provider, deployment=deployment, needed=needed)
        key = find_provider_key(config, provider, deployment=deployment, needed=needed)
        names = _list_variables(find_override(config, provider, deployment), provider)
        if names is not None:
            variables = tuple(map(os.environ.encodekey, names))
            values = _read_variables(variables)
            self._known[place] = _KnownAddress(config, provider, variables, values, (url, key))
        return url, key


class _KnownAddress(Struct, frozen=True, eq=False):
    config: GatewayConfig
    provider: catalog.Provider
    variables: tuple[object, ...]
    values: list[object]
    address: tuple[str, str | None]


def _read_variables(variables: Iterable[object]) -> list[object]:
    """Return the values of encoded variables, as the system has them.

    The environment itself raises and catches an error for each one that is not set, which takes
    longer than most steps of a request.
    """
    return list(map(vars(os.environ)["_data"].get, variables))


def _list_variables(own: ProviderOverride, provider: catalog.Provider) -> tuple[str, ...] | None:
    """Return the variables that an address and its key depend on; None if on more than these."""
    kind, _, name = (own.key or "").partition(":")
    if own.key is None:
        keys = provider.keys
        if not any(os.environ.get(each, "").strip() for each in keys):
            return None  # it may be saved
    elif kind == "env":
        keys = (name,)
    else:
        return None
    blanks = (each for fill in provider.fill.values() for each in fill.env)
    return (*keys, *blanks) if own.url else (*keys, *provider.url_env, *blanks)


def is_self(config: GatewayConfig, provider: catalog.Provider, deployment: str = "") -> bool:
    """Return whether a provider's address is the gateway itself, which would loop.

    That happens if the variable that points clients at the gateway is set for the gateway too.
    """
    url = find_provider_url(config, provider, deployment=deployment, needed=False)
    parts = urlsplit(url)
    here = (config.server.host, "localhost", "127.0.0.1", "::1")
    return parts.hostname in here and parts.port == config.server.port


def _read_variable(name: str) -> str:
    return os.environ.get(name, "")


def _read_file(path: str) -> str:
    try:
        return Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        message = f"could not read the key in file:{path}: {why}"
        raise MissingKey(message) from None


@lru_cache(maxsize=64)  # a keyring may take a second; its keys change with a restart or SIGHUP
def _read_keyring(name: str) -> str:
    return store.load_saved_key(name) or ""


def forget() -> None:
    """Read the keyring again at the next use; called after the configuration changed."""
    _read_keyring.cache_clear()


_READERS: Mapping[str, tuple[Callable[[str], str], str]] = {
    "env": (_read_variable, "set that variable"),
    "file": (_read_file, "put the key into that file"),
    "keyring": (_read_keyring, "keep one with 'pondero keys set PROVIDER'"),
}
"""For each kind of reference: its reader, and the advice if it is empty."""


def read_webhook(said: str) -> str:
    """Return the address that a setting means; raises ValueError, without it, if it is invalid."""
    address = read_reference(said) if said.startswith(REFERENCES) else said
    parts = urlsplit(address)
    _ = parts.port  # raises ValueError if it is not a number
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("this is not an address that begins with http:// or https://")
    return address


def read_webhook_secret(reference: str) -> bytes:
    """Return the secret that signs what is sent to a webhook, as Standard Webhooks writes it.

    Raises MissingKey and ValueError, which never quote it.
    """
    text = read_reference(reference)
    try:
        secret = b64decode(text.removeprefix(_WEBHOOK_SECRET), validate=True)
    except ValueError:
        secret = b""
    if not text.startswith(_WEBHOOK_SECRET) or len(secret) < _LEAST_WEBHOOK_SECRET:
        message = (
            f"{reference} is no secret of a webhook: {_WEBHOOK_SECRET} and base64 of at least "
            f"{_LEAST_WEBHOOK_SECRET} bytes, for example "
            f"{_WEBHOOK_SECRET}$(openssl rand -base64 32)"
        )
        raise ValueError(message)
    return secret
