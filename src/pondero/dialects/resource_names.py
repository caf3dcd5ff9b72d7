"""Names of things that Google stores: requests write the name itself, or an address with it."""

import re
from urllib.parse import unquote

_CODED = 3  # times that an address may be percent-encoded
_NAME = re.compile(
    r"(?:^/*|/v\d+\w*/[./]*)((?:files|fileSearchStores|cachedContents|batches)/[\w.~@-]+)"
)


def find_resource(text: str) -> str | None:
    """Return the name of the stored thing that a text names; None if it names none.

    >>> find_resource("https://generativelanguage.googleapis.com/v1beta/files/x:download?alt=media")
    'files/x'
    """
    for _ in range(_CODED):
        if "%" not in text:
            break
        text = unquote(text)
    found = _NAME.search(text.strip())
    return None if found is None else found[1]
