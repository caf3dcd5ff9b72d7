"""Finds a provider's key and address: the caller's, the environment's, or the saved ones.

The client, the command line and the contract kit call it. Errors name a key's variable, never its
value.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from ..catalog import Provider, UrlVariable
from ..errors import BadParameter, MissingKey, PythonNote

NO_KEY = "offline"
"""The key sent to the emulator or a cassette, which ignore it."""

_WITHOUT_KEY = PythonNote(
    "to try it without a key, write: from pondero.emulator import Emulator; "
    "client = pondero.Client(transport=Emulator())"
)
_SEGMENT = re.compile(r"[A-Za-z0-9._-]{1,128}")  # no value of a name may leave its place
_BLANK = re.compile(r"\{(\w+)\}")
_PORT = re.compile(r":\d+$")
_HERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - where a server listens
_EVERYWHERE = re.compile(r"^(\w+://)(0\.0\.0\.0|\[::\])(?=[:/?]|$)")


class Credentials(Struct, frozen=True):
    """A caller's keys and addresses, by provider."""

    keys: Mapping[str, str] = {}
    urls: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Credentials(keys of {sorted(self.keys)}, urls={dict(self.urls)!r})"

    def key(self, provider: Provider, *, needed: bool) -> str | None:
        """Return the provider's key, as ``find_key`` does."""
        return find_key(provider, self.keys, needed=needed)

    def url(self, provider: Provider, *, needed: bool, model: str = "") -> str:
        """Return the provider's address, as ``resolve_url`` does."""
        return resolve_url(provider, self.urls, needed=needed, model=model)


def find_key(provider: Provider, given: Mapping[str, str], *, needed: bool) -> str | None:
    """Return the given key, else that of the provider's variables, else the saved one."""
    if provider.name in given:
        _secrets().register_secret(given[provider.name])
        return _sendable(given[provider.name], provider, "that was given")
    for name in provider.keys:
        if key := os.environ.get(name, "").strip():
            return _sendable(key, provider, f"in {name}")
    if not needed:
        return NO_KEY
    for name in provider.keys:
        if saved := _secrets().load_saved_key(name):
            return _sendable(saved, provider, "that is saved")
    if provider.auth in ("none", "aws"):
        return None
    variables = " or ".join(provider.keys)
    message = (
        f"{provider.label} needs a key: set {variables}, or save one with 'pondero keys set "
        f"{provider.name}'"
    )
    error = MissingKey(message)
    error.add_note(_WITHOUT_KEY)
    raise error


@cache
def _secrets() -> Any:
    """Return the module, once: only few keys need it, and an import for each request is slow."""
    from . import secrets  # noqa: PLC0415 - as above

    return secrets


def _sendable(key: str, provider: Provider, where: str) -> str:
    """Return the key; raises BadParameter for one that no header can carry."""
    if key.isascii() and key.isprintable():
        return key
    message = (
        f"the key of {provider.label} {where} contains characters that are not valid in a key; "
        "copy it again"
    )
    raise BadParameter(message)


def resolve_url(
    provider: Provider, given: Mapping[str, str], *, needed: bool, model: str = ""
) -> str:
    """Return the given base URL, else that of the provider's variable, else the catalog's.

    As in the provider's own SDK, an address without a path gets the provider's path, and a bare
    host its port. Blanks are filled in; a ``model`` that is a whole path may have their values.
    """
    named, variable = given.get(provider.name), None
    if not named and (variable := _find_first(provider.url_env)) is not None:
        named = os.environ[variable]
    if named and "://" not in named and provider.url.startswith("https://"):
        # Only a local engine may have a bare host: no key goes to a guessed http address.
        what = "base URL" if provider.name in given else variable
        raise BadParameter(f"invalid {what} {named!r}; use http:// or https://")
    try:
        whole = provider.url if not named else _whole(named, provider.url)
    except ValueError as error:
        message = f"invalid address {named!r} of {provider.label}: {error}"
        raise BadParameter(message) from None
    url = whole + provider.path
    if "{" not in url:
        return url
    return _BLANK.sub(
        lambda blank: _fill_blank(provider, blank[1], needed=needed, model=model), url
    )


def _find_first(names: Sequence[str]) -> str | None:
    """Return the name of the first of these variables that is set."""
    return next((name for name in names if os.environ.get(name)), None)


@lru_cache(maxsize=256)
def _whole(url: str, usual: str) -> str:
    url = url.strip().rstrip("/")
    if "://" not in url:
        url = f"http://{_add_port(url, usual)}"
    url = _EVERYWHERE.sub(lambda found: f"{found[1]}{_HERE[found[2]]}", url)
    address, mark, query = url.partition("?")
    return url if urlsplit(url).path else f"{address}{urlsplit(usual).path}{mark}{query}"


def _add_port(url: str, usual: str) -> str:
    """Complete a bare host, or a bare port."""
    home = urlsplit(usual)
    host, slash, rest = url.partition("/")
    if host.startswith(":"):
        host = f"{home.hostname}{host}"
    if home.port is not None and not _PORT.search(host):
        host = f"{host}:{home.port}"
    return f"{host}{slash}{rest}"


def _find_in_name(part: str, model: str) -> str | None:
    """Return the segment after a part of a model's path: ``p`` of ``projects/p/locations/l``."""
    _, found, rest = f"/{model}".partition(f"/{part}") if part else ("", "", "")
    value = rest.partition("/")[0]
    return value if found and _SEGMENT.fullmatch(value) else None


def _fill_blank(provider: Provider, blank: str, *, needed: bool, model: str = "") -> str:
    fill = provider.fill.get(blank, UrlVariable())
    value = _find_in_name(fill.after, model)
    if value is None:
        value = next((v for name in fill.env if (v := os.environ.get(name, "").strip())), None)
    if value is None and fill.default is not None:
        value = _BLANK.sub(
            lambda inner: _fill_blank(provider, inner[1], needed=needed, model=model), fill.default
        )
    if value is None and not needed:
        value = NO_KEY
    if value is None:
        whole = provider.url_env if f"{{{blank}}}" in provider.url else ()
        variables = " or ".join((*fill.env, *whole))
        message = f"the {blank} of your address at {provider.label} is missing; set {variables}"
        raise MissingKey(message)
    return fill.words.get(value, value)
