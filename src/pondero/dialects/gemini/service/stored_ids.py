"""Names of cached content, which belongs to the account: no answer gives one.

A gateway binds them to its clients, which share one account.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from pondero.canon import HttpRequest, HttpResponse, get_decoder
from pondero.dialects.dialect import StoredId, StoredIds
from pondero.dialects.escaped_names import may_escape_names

from .errors import error

_FIELDS = get_decoder(dict[str, Raw])
_NAMES = ("cachedContent", "cached_content")  # protobuf's JSON has both


def find(http: HttpRequest) -> tuple[StoredId, ...]:
    """Return the cached content that a request names."""
    body = http.body
    if b"cached" not in body and not may_escape_names(body.__contains__):
        return ()
    try:
        fields = _FIELDS.decode(body)
        named = [msgspec.json.decode(fields[name]) for name in _NAMES if name in fields]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()  # ``parse`` rejects it
    return tuple(StoredId(_NAMES[0], str(id), of_account=True) for id in named if id)


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
