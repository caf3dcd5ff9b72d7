"""The error for an answer that is not of the expected dialect: who answered, what to check.

A wrong base URL or provider is the usual cause. The decoder's own words ("a required key is
missing") are the cause of the error, for those who debug a service.
"""

import re

import msgspec

from ..canon import ResponseHead
from ..dialects import NAMES, get_dialect
from ..errors import Malformed, TransportError, Truncated, WireError
from ..framing import OversizedAnswer, describe_text, find_objects
from .request import Exchange

BEGINNING = 4096
"""How many bytes of an answer are looked at."""

_SHOWN = 100
_DOUBLED = re.compile(r"(/v\d\w*)\1(?=/)")  # the path of the catalog after the same one


def score_dialects(body: bytes, *, streamed: bool) -> dict[str, int]:
    """Return how surely the beginning of a body is an answer of each dialect, from 0 to 100."""
    scores = dict.fromkeys(NAMES, 0)
    for raw in find_objects(body, streamed=streamed):
        for name in NAMES:
            score = get_dialect(name).caller().match_score(raw, stream=streamed)
            scores[name] = max(scores[name], score)
    return scores


def recognise_dialect(body: bytes, *, expected: str) -> str | None:
    """Return the dialect of a body, whole or streamed; None if no dialect knows it."""
    whole, streamed = (score_dialects(body, streamed=each) for each in (False, True))
    scores = {name: max(whole[name], streamed[name]) for name in NAMES}
    most = max(scores.values())
    if scores[expected] == most:
        return expected if most else None
    return max(scores, key=lambda name: scores[name])


def describe_strange_answer(
    error: WireError, exchange: Exchange, head: ResponseHead, body: bytes
) -> WireError | None:
    """Return an error with the facts; None if the answer is of the expected dialect, or cut."""
    if isinstance(error, OversizedAnswer):
        return None
    found = recognise_dialect(body, expected=exchange.dialect)
    if found == exchange.dialect or isinstance(error.__cause__, TransportError):
        return None
    expected = f"{'a stream' if exchange.stream else 'an answer'} of the API {exchange.dialect!r}"
    check = f"{_describe_url_check(exchange)} and that its API is this one"
    if found is not None:
        check = f"this is one of {found!r}: {check}"
    facts = f"{_describe_source(exchange, head, body)}; expected {expected}; {check}"
    if isinstance(error, Truncated) and found is None:  # the next try may be whole
        return Truncated(f"{error}: {facts}")
    return Malformed(facts, path=None)


def describe_redirect(exchange: Exchange, head: ResponseHead) -> str:
    """Return what to check if an address has nothing, or points elsewhere."""
    moved = head.headers.get("location")
    elsewhere = f" and points to {moved}" if moved else ""
    return (
        f"{_find_address(exchange)} answered HTTP {head.status}{elsewhere}; expected the API "
        f"{exchange.dialect!r}; {_describe_url_check(exchange)}"
    )


def _describe_url_check(exchange: Exchange) -> str:
    variables = f" ({' or '.join(exchange.url_variables)})" if exchange.url_variables else ""
    doubled = _DOUBLED.search(_find_address(exchange))
    repeats = f"{doubled[1]} is doubled: " if doubled else ""
    return f"{repeats}check the base URL of {exchange.origin.provider!r}{variables}"


def _describe_source(exchange: Exchange, head: ResponseHead, body: bytes) -> str:
    kind = head.headers.get("content-type") or "no content type"
    page = "a web page: " if _is_page(head, body) else ""
    said = f"with {page}{describe_text(body)[:_SHOWN]!r}" if body else "with an empty body"
    return f"{_find_address(exchange)} answered HTTP {head.status} ({kind}) {said}"


def _find_address(exchange: Exchange) -> str:
    """Return the address without user, password and query, which may have a key."""
    scheme, mark, rest = exchange.http.url.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def _is_page(head: ResponseHead, first: bytes) -> bool:
    if head.headers.get("content-type", "").startswith("text/html"):
        return True
    return first[:1] != b"{" and first[:64].lstrip()[:5].lower() in (b"<html", b"<!doc")


def reject_page(head: ResponseHead, first: bytes) -> None:
    """Raise Malformed for a web page."""
    if _is_page(head, first):
        raise Malformed("a web page came and no answer")


def check_packing(head: ResponseHead, first: bytes) -> None:
    """Raise Malformed for a compression that was not asked for."""
    packing = head.headers.get("content-encoding", "")
    if packing and packing not in _UNPACKED and not _is_text(first):
        raise Malformed(f"the answer is packed as {packing!r}, which was not asked for")


_UNPACKED = ("gzip", "x-gzip", "deflate", "identity")  # requested, and undone by transports


def _is_text(first: bytes) -> bool:
    return first[:1] in b"{[:deir \r\n" and first[:16].isascii()


def is_whole(head: ResponseHead, first: bytes) -> bool:
    """Return whether the answer to a request for a stream is one JSON object."""
    kind = head.headers.get("content-type", "")
    return kind.startswith("application/json") and first.lstrip()[:1] == b"{"


def is_cut(body: bytes) -> bool:
    """Return whether the end of this JSON is missing."""
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except RecursionError:
        return False
    return False
