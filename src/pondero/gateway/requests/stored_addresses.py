"""Files that a conversation names by an address, as any API can.

A picture's address in one API is sent on as the address of a file to another, which may store it.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ...canon import Blob, Image, Message, ToolResult
from ...catalog import ModelEntry
from ...dialects import StoredId, get_dialect
from .kept_items import StoredContent


def add_addresses(
    stored: StoredContent,
    messages: Iterable[Message],
    entries: Iterable[ModelEntry],
    *,
    client_dialect: str,
) -> StoredContent:
    """Return what a request names with the files at its addresses, for models of other APIs.

    The models of the client's own API get its body, in which its own rules find them.
    """
    rules = {each.provider.dialect for each in entries} - {client_dialect}
    found = [
        StoredId("file", name, may_be_dropped=True, is_shared=True, is_address=True)
        for dialect in rules
        if (ids := get_dialect(dialect).service().stored_ids) is not None
        and ids.find_address is not None
        for url in _iter_addresses(messages)
        if (name := ids.find_address(url)) is not None
    ]
    return replace(stored, named=(*stored.named, *found)) if found else stored


def _iter_addresses(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        for part in message.parts:
            for each in part.content if isinstance(part, ToolResult) else (part,):
                if isinstance(each, Image | Blob) and each.url and not each.url.startswith("data:"):
                    yield each.url
