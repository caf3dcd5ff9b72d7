"""Where a provider's key and address are found: what the caller gave, the environment, our files.

The client looks here before it prepares a request; the command line and the contract kit do too. A
key is never shown: errors name the variable, never its value.
"""

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from msgspec import Struct

from ..catalog import Provider, UrlVariable
from ..errors import BadParameter, MissingKey

NO_KEY = "offline"
"""The key that is sent where none is looked at: to the emulator, or a cassette."""

_BLANK = re.compile(r"\{(\w+)\}")
_PORT = re.compile(r":\d+$")
_HERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - where a server listens
_EVERYWHERE = re.compile(r"^(\w+://)(0\.0\.0\.0|\[::\])(?=[:/?]|$)")


class Credentials(Struct, frozen=True):
    """What a caller gave: keys and addresses, each by provider."""

    keys: Mapping[str, str] = {}
    urls: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Credentials(keys of {sorted(self.keys)}, urls={dict(self.urls)!r})"

    def key(self, provider: Provider, *, needed: bool) -> str | None:
        """Return the provider's key, as ``find_key`` does."""
        return find_key(provider, self.keys, needed=needed)

    def url(self, provider: Provider, *, needed: bool) -> str:
        """Return the provider's address, as ``resolve_url`` does."""
        return resolve_url(provider, self.urls, needed=needed)


def find_key(provider: Provider, given: Mapping[str, str], *, needed: bool) -> str | None:
    """Return the key: the given one, else the first of the provider's variables that is set."""
    if provider.name in given:
        return _sendable(given[provider.name], provider, "that was given")
    for name in provider.keys:
        if key := os.environ.get(name, "").strip():
            return _sendable(key, provider, f"in {name}")
    if not needed:
        return NO_KEY
    if (kept := saved_provider_key(provider)) is not None:
        return _sendable(kept, provider, "that is kept")
    if provider.auth in ("none", "aws"):
        return None
    variables = " or ".join(provider.keys)
    message = (
        f"{provider.label} needs a key: set {variables}, or keep one with 'pondero keys set "
        f"{provider.name}'"
    )
    raise MissingKey(message)


def _sendable(key: str, provider: Provider, where: str) -> str:
    """Return the key; raises BadParameter for one that no header can carry (a long dash)."""
    if key.isascii() and key.isprintable():
        return key
    message = (
        f"the key of {provider.label} {where} contains characters that are not valid in a key; "
        "copy it again"
    )
    raise BadParameter(message)


def saved_provider_key(provider: Provider) -> str | None:
    """Return the key the user asked us to keep for one of the provider's variables."""
    from .secrets import load_saved_key  # noqa: PLC0415 - only where the environment has none

    return next((key for name in provider.keys if (key := load_saved_key(name))), None)


def resolve_url(provider: Provider, given: Mapping[str, str], *, needed: bool) -> str:
    """Return the base URL: the given one, else the provider's variable, else the catalog's.

    An address without a path gets the provider's path, and a bare host its port, as its own SDK
    would add them; blanks are filled in.
    """
    named = given.get(provider.name) or next(
        (os.environ[name] for name in provider.url_env if os.environ.get(name)), None
    )
    try:
        whole = provider.url if named is None else _whole(named, provider.url)
    except ValueError as error:
        message = f"{named!r} is no address of {provider.label}: {error}"
        raise BadParameter(message) from None
    url = whole + provider.path
    if "{" not in url:
        return url
    return _BLANK.sub(lambda blank: _filled(provider, blank[1], needed=needed), url)


@lru_cache(maxsize=256)
def _whole(url: str, usual: str) -> str:
    url = url.strip().rstrip("/")
    if "://" not in url:
        url = f"http://{_ported(url, usual)}"
    url = _EVERYWHERE.sub(lambda found: f"{found[1]}{_HERE[found[2]]}", url)
    address, mark, query = url.partition("?")
    return url if urlsplit(url).path else f"{address}{urlsplit(usual).path}{mark}{query}"


def _ported(url: str, usual: str) -> str:
    """Return a bare host, or only a port, with what it lacks."""
    home = urlsplit(usual)
    host, slash, rest = url.partition("/")
    if host.startswith(":"):
        host = f"{home.hostname}{host}"
    if home.port is not None and not _PORT.search(host):
        host = f"{host}:{home.port}"
    return f"{host}{slash}{rest}"


def _filled(provider: Provider, blank: str, *, needed: bool) -> str:
    """Return what fills a blank of an address; raises MissingKey where nothing does."""
    fill = provider.fill.get(blank, UrlVariable())
    value = next((v for name in fill.env if (v := os.environ.get(name, "").strip())), None)
    if value is None and fill.default is not None:
        value = _BLANK.sub(lambda inner: _filled(provider, inner[1], needed=needed), fill.default)
    if value is None and not needed:
        value = NO_KEY
    if value is None:
        whole = provider.url_env if f"{{{blank}}}" in provider.url else ()
        variables = " or ".join((*fill.env, *whole))
        message = (
            f"{provider.label} has an address of your own: its {blank} is missing; set {variables}"
        )
        raise MissingKey(message)
    return fill.words.get(value, value)
