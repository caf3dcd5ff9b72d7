"""Web pages that an answer cites, whichever wire it came on.

A citation in canon is JSON as its wire has it. The services' sides write those of their own wire as
they are; of another wire's, the page's address and title are what every wire can say.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from ..canon import Json

_INSIDE = (("url_citation",), ("location", "web"), ("web",), ())
"""Where the address of a page stands in a citation: on some wires inside another object."""


class WebPage(Struct, frozen=True):
    """A page on the web."""

    url: str
    title: str = ""


def web_page(citation: Json) -> WebPage | None:
    """Return the page that a citation names; None where it names none."""
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
    """Return citations as one wire has them: its own as they are, and pages of others' by ``page``.

    What is neither is left out.
    """
    said: list[Json] = []
    for each in citations:
        if isinstance(each, dict) and own(each):
            said.append(each)
        elif (found := web_page(each)) is not None:
            said.append(page(found))
    return said
