"""Web pages that an answer cites, read from the citations of any dialect."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from ..canon import Json

_INSIDE = (("url_citation",), ("location", "web"), ("web",), ())
"""Paths of the object with the page's address, by dialect."""


class WebPage(Struct, frozen=True):
    """A page on the web."""

    url: str
    title: str = ""


def web_page(citation: Json) -> WebPage | None:
    """Return the page of a citation; None if it has none."""
    for path in _INSIDE:
        found = citation
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict):
            url, title = found.get("url") or found.get("uri"), found.get("title")
            if isinstance(url, str) and url:
                return WebPage(url, title if isinstance(title, str) else "")
    return None


def convert_citations(
    citations: Iterable[Json], *, own: Callable[[Json], bool], page: Callable[[WebPage], Json]
) -> list[Json]:
    """Return citations for one dialect: its own unchanged, others' pages written by ``page``."""
    converted: list[Json] = []
    for each in citations:
        if isinstance(each, dict) and own(each):
            converted.append(each)
        elif (found := web_page(each)) is not None:
            converted.append(page(found))
    return converted
