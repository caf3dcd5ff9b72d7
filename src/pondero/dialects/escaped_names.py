"""Names in JSON that are written with escapes, so that a search for their bytes does not find them.

Clients escape what is not ASCII, and some escape ``<``, ``>`` and ``&``. No client escapes a letter
without a purpose.
"""

from collections.abc import Callable

_LETTERS = (b"\\u004", b"\\u005", b"\\u006", b"\\u007")
_DIGITS = tuple(b"\\u003%c" % each for each in b"0123456789aA")  # and the colon
_SIGNS = tuple(b"\\u002%c" % each for each in b"dDeEfF")  # - . /


def may_escape_names(contains: Callable[[bytes], object]) -> bool:
    """Return whether a text of JSON may have an escape for a letter, a digit or one of ``_:-./``.

    ``contains`` says whether the text has some bytes.
    """
    if not contains(b"\\u00"):
        return False
    return (
        any(map(contains, _LETTERS))
        or (bool(contains(b"\\u003")) and any(map(contains, _DIGITS)))
        or (bool(contains(b"\\u002")) and any(map(contains, _SIGNS)))
    )
