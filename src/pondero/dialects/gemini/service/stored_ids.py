"""Names of cached content and files, which belong to the account: no answer gives one.

A gateway binds them to its clients, which share one account.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw

from pondero.canon import HttpRequest, HttpResponse, get_decoder
from pondero.dialects.bodies import iter_ids
from pondero.dialects.dialect import StoredId, StoredIds
from pondero.dialects.escaped_names import may_escape_names

from .errors import error

_FIELDS = get_decoder(dict[str, Raw])
_NAMES = ("cachedContent", "cached_content")  # protobuf's JSON has both
_FILES = ("fileUri", "file_uri")
_FILE = re.compile(r"/(files/[^/?#]+)$")  # of the Files API; any other address is not the account's
_MARKS = (b"cached", *(name.encode() for name in _FILES))
_TURNS = ("contents", "systemInstruction", "system_instruction")


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the cached content and the files that a request names."""
    contains = http.body.__contains__
    if not (any(map(contains, _MARKS)) or may_escape_names(contains)):
        return ()
    try:
        fields = _FIELDS.decode(http.body)
        named = [msgspec.json.decode(fields[name]) for name in _NAMES if name in fields]
        turns = [msgspec.json.decode(fields[name]) for name in _TURNS if name in fields]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    files = (_FILE.search(uri) for uri in iter_ids(turns, _FILES))
    return (
        *(StoredId(_NAMES[0], str(id), of_account=True) for id in named if id),
        *(
            StoredId(_FILES[0], found[1], may_be_dropped=True, is_shared=True)
            for found in files
            if found is not None
        ),
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


STORED_IDS = StoredIds(find=find, reject=reject, find_given=find_given)
