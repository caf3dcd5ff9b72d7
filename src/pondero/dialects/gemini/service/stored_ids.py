"""Names of files, stores and cached content, which requests name: no answer gives one.

A gateway binds them to its clients, which share one account.
"""

from collections.abc import Iterator

import msgspec

from pondero.canon import HttpRequest, HttpResponse
from pondero.dialects.bodies import iter_ids
from pondero.dialects.dialect import StoredId, StoredIds
from pondero.dialects.escaped_names import may_escape_names
from pondero.dialects.resource_names import find_resource

from .errors import error

# protobuf's JSON has both spellings
_CACHES = ("cachedContent", "cached_content")
_FILES = ("fileUri", "file_uri", "fileSearchStoreNames", "file_search_store_names")
_MARKS = (
    b"cachedContent",
    b"cached_content",
    b"fileUri",
    b"file_uri",
    b"SearchStore",
    b"search_store",
)


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the stored things that a request names, in any of its parts."""
    contains = http.body.__contains__
    if not (any(map(contains, _MARKS)) or may_escape_names(contains)):
        return ()
    try:
        body = msgspec.json.decode(http.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    caches = (StoredId(_CACHES[0], find_resource(id) or id) for id in iter_ids(body, _CACHES))
    # Other addresses than those of stored things are open to all.
    files = (name for text in iter_ids(body, _FILES) if (name := find_resource(text)) is not None)
    return (
        *caches,
        *(StoredId("file", name, may_be_dropped=True, is_shared=True) for name in files),
    )


def reject(stored: StoredId) -> HttpResponse:
    """Return the answer to a name that is not the client's; the wording is ours."""
    return error(
        403,
        f"{stored.field} {stored.id!r} not found, or permission denied",
        code=None,
        retry_after=None,
    )


def find_given(data: bytes, *, stream: bool) -> Iterator[str]:  # noqa: ARG001 - a protocol
    """Yield nothing: no answer gives such a name."""
    yield from ()


STORED_IDS = StoredIds(
    find=find,
    reject=reject,
    find_given=find_given,
    find_address=find_resource,
    named_at=(*_FILES, *_CACHES),
)
