"""A request that no key opens: it is signed where it is sent, anew each time."""

import re

from msgspec import Struct

from ..catalog import Provider

_BLANK = re.compile(r"\\\{(\w+)\\\}")  # of a template, after re.escape


class Signing(Struct, frozen=True):
    """Under which name and in which region to sign; ``region`` is None where no address says it.

    ``label`` and ``keys`` are for who cannot sign: the provider's name, and what would do instead.
    """

    service: str
    region: str | None
    label: str
    keys: tuple[str, ...]


def signing(provider: Provider, url: str, *, service: str) -> Signing:
    """Return how requests to this address of a provider's are signed."""
    template = _BLANK.sub(r"(?P<\1>[^/.]+)", re.escape(provider.url))
    found = re.match(template, url)
    region = found.groupdict().get("region") if found else None
    return Signing(service, region, provider.label, provider.keys)
