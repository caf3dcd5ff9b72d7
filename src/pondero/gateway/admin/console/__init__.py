"""The console: one page that shows what goes on at the gate, with keys to make and a dial to try.

``admin`` calls ``page`` for addresses under ``/console``. The page and its parts are the files
beside this one. They hold no secret and need no key; all they show comes from the admin API.
"""

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
"""Headers of all that a browser gets: nothing is loaded from, sent to, or shown elsewhere."""
HOME = "/console"


@cache
def page(path: str) -> HttpResponse | None:
    """Return the file at an address of the console; None where there is none."""
    name = path.removeprefix(HOME).removeprefix("/")
    if path == HOME:  # what the page names is beside it, so that it must end with a slash
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
