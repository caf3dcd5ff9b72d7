"""A model's name in the path of an address, for the wires that name the model there.

A name may come from anywhere, and the key goes along: it never leaves the place that is meant for
it. What cannot be quoted into one segment is refused.
"""

from urllib.parse import quote

from ..errors import BadParameter


def segment(name: str) -> str:
    """Return a name as one segment of a path; raises BadParameter for a step up or aside.

    Dots are taken for steps even where they are quoted, so ``..`` has no spelling that is safe.
    """
    try:
        quoted = quote(name, safe="@-._~")
    except UnicodeEncodeError:
        message = f"a name with half a character cannot be sent: {name!a}"
        raise BadParameter(message) from None
    if quoted.strip("."):
        return quoted
    message = f"{name!r} cannot stand in an address; name a model"
    raise BadParameter(message)


def resource(url: str, name: str) -> str:
    """Return the address of a full resource name, under a base that may have its parents already.

    ``https://host/v1/projects/p/publishers/x`` and ``projects/q/endpoints/7`` make
    ``https://host/v1/projects/q/endpoints/7``.
    """
    kind = name.partition("/")[0]
    base = url.partition(f"/{kind}/")[0].rstrip("/")
    return f"{base}/{'/'.join(map(segment, name.split('/')))}"
