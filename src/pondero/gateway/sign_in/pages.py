"""The page that a browser sees when it comes back from the identity provider."""

from html import escape

from ...canon import HttpResponse
from ..admin import console

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{refresh}<title>{title} · pondero</title>
<link rel="icon" href="{home}/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="{home}/style.css">
</head>
<body>
<main class="single">
<h1>{title}</h1>
<p>{sentence}</p>
<p><a class="main" href="{link}">{action}</a></p>
</main>
</body>
</html>
"""
_HEADERS = {
    **console.GUARDED,
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
}


def write_welcome(name: str) -> HttpResponse:
    """Return the page that leads to the console.

    A redirect would not do: the browser comes from another site, and would say so there too.
    """
    page = _PAGE.format(
        home=console.HOME,
        refresh=f'<meta http-equiv="refresh" content="0; url={console.HOME}/">\n',
        title="Signed in",
        sentence=f"You are signed in as {escape(name)}.",
        link=f"{console.HOME}/",
        action="Open the console",
    )
    return HttpResponse(200, _HEADERS, page.encode())


def write_failure(status: int, sentence: str, *, link: str) -> HttpResponse:
    """Return the page that says why the sign-in failed."""
    page = _PAGE.format(
        home=console.HOME,
        refresh="",
        title="Not signed in",
        sentence=escape(sentence),
        link=link,
        action="Sign in again",
    )
    return HttpResponse(status, _HEADERS, page.encode())
