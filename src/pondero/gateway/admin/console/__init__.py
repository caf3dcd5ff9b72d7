"""Serves the console's files, which hold no secret; their data comes from the admin API."""

from functools import cache
from importlib.resources import files

from ....canon import HttpResponse

_KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
GUARDED = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of every answer: a page loads from, sends to and is shown on this site only."""
HOME = "/console"


@cache
def page(path: str) -> HttpResponse | None:
    """Return the file at an address of the console; None if there is none."""
    name = path.removeprefix(HOME).removeprefix("/")
    if path == HOME:  # relative links in the page need the slash
        return HttpResponse(308, {"location": f"{HOME}/"})
    if name not in _files():
        return None
    name = name or "index.html"
    headers = {"content-type": _KINDS[name.rpartition(".")[2]], "cache-control": "no-cache"}
    return HttpResponse(200, {**GUARDED, **headers}, (files(__name__) / name).read_bytes())


@cache
def _files() -> frozenset[str]:
    names = (each.name for each in files(__name__).iterdir())
    return frozenset({"", *(name for name in names if name.rpartition(".")[2] in _KINDS)})
