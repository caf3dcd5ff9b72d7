"""A model's name in the path of an address; it is untrusted and must not change the rest."""

from urllib.parse import quote

from ..errors import BadParameter


def segment(name: str) -> str:
    """Return a name as one path segment; raises BadParameter for dots, which servers resolve."""
    try:
        quoted = quote(name, safe="@-._~")
    except UnicodeEncodeError:
        raise BadParameter(f"a name with half a character cannot be sent: {name!a}") from None
    if quoted.strip("."):
        return quoted
    raise BadParameter(f"invalid model {name!r}; use a name that an address can have")


def resource(url: str, name: str) -> str:
    """Return the address of a full resource name, under a base that can have its parents already.

    ``https://host/v1/projects/p/publishers/x`` and ``projects/q/endpoints/7`` make
    ``https://host/v1/projects/q/endpoints/7``.
    """
    kind = name.partition("/")[0]
    base = url.partition(f"/{kind}/")[0].rstrip("/")
    return f"{base}/{'/'.join(map(segment, name.split('/')))}"
