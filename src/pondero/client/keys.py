"""Where a provider's key and address are found: what the caller gave, else the environment.

A key is never shown: errors name the variable, never its value.
"""

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from ..catalog import Provider
from ..errors import BadParameter, MissingKey

NO_KEY = "offline"
"""What is sent as the key to those who look at none: the emulator, a cassette."""

_BLANK = re.compile(r"\{(\w+)\}")


def key_of(provider: Provider, given: Mapping[str, str], *, needed: bool) -> str | None:
    """Return the key: the given one, else the first of the provider's variables that is set."""
    if provider.name in given:
        return given[provider.name]
    for name in provider.keys:
        if key := os.environ.get(name, "").strip():
            return key
    if not needed:
        return NO_KEY
    if provider.auth in ("none", "aws"):
        return None
    variables = " or ".join(provider.keys)
    message = f"{provider.label} needs a key: set {variables}; --offline works without one"
    raise MissingKey(message)


def url_of(provider: Provider, given: Mapping[str, str], *, needed: bool) -> str:
    """Return the base URL: the given one, else the provider's variable, else the catalog's.

    An address without a path gets the provider's path, as its own SDK would add it.
    """
    named = given.get(provider.name) or next(
        (os.environ[name] for name in provider.url_env if os.environ.get(name)), None
    )
    if named is not None:
        return _whole(named, provider.url)
    if not needed:
        return _BLANK.sub(NO_KEY, provider.url)
    if blanks := _BLANK.findall(provider.url):
        variables = " or ".join(provider.url_env)
        message = (
            f"{provider.label} has an address of your own ({', '.join(blanks)}): set {variables}"
        )
        raise BadParameter(message)
    return provider.url


def _whole(url: str, usual: str) -> str:
    url = url.strip().rstrip("/")
    if "://" not in url:
        url = f"http://{url}"
    if urlsplit(url).path:
        return url
    path = urlsplit(usual).path
    return url if "{" in path else f"{url}{path}"
