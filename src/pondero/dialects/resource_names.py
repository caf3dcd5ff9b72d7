r"""Names of things that Google stores: requests write the name itself, or an address with it.

It is not known which spellings of an address Google accepts, so all that a server could take for
one are read: encoded once or often, with ``//``, ``/./``, ``/../`` or ``\``, in any case.
"""

import re
from urllib.parse import unquote

_CODED = 32  # times that an address may be percent-encoded
_KINDS = {kind.lower(): kind for kind in ("files", "fileSearchStores", "cachedContents", "batches")}
_HOST = "generativelanguage.googleapis.com"
_VERSION = re.compile(r"v\d+\w*", re.IGNORECASE)
_NAME = re.compile(r"[\w.~@-]+")
_UNSEEN = re.compile(r"[\x00-\x20\x7f]+")  # servers leave them out, or reject the address


def find_resource(text: str) -> str | None:
    """Return the name of the stored thing that a text names; None if it names none.

    >>> find_resource("https://generativelanguage.googleapis.com/v1beta/files/x:download?alt=media")
    'files/x'
    >>> find_resource("https://example.com/files/x")
    """
    text = _UNSEEN.sub("", _decode(text))
    low = text.lower()
    if low.startswith("data:") or not any(hint in low for hint in _KINDS):
        return None
    path = re.split(r"[?#]", text.replace("\\", "/"), maxsplit=1)[0]
    steps = _resolve(path)
    is_google = "://" not in path or _HOST in path.lower()
    for at, step in enumerate(steps[:-1]):
        kind = _KINDS.get(step.lower())
        is_below = at > 0 and _VERSION.fullmatch(steps[at - 1].partition(";")[0]) is not None
        if kind is not None and (is_google or is_below):
            name = _NAME.match(steps[at + 1])
            return None if name is None else f"{kind}/{name[0]}"
    return None


def _decode(text: str) -> str:
    for _ in range(_CODED):
        if "%" not in text or (decoded := unquote(text)) == text:
            break
        text = decoded
    return text


def _resolve(path: str) -> list[str]:
    """Return the segments of a path, without those that mean none."""
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return steps
