"""Reads JSON that is still arriving: what is certain so far."""

import re

from msgspec import MsgspecError

from .decoder import decode_json
from .parts import Json

_TOKEN = re.compile(r'\s*(?:([{}\[\],:])|"((?:[^"\\]|\\.)*)(")?|([-+.\w]+))', re.DOTALL)
_HALF = r"\\u[dD][89abAB][0-9a-fA-F]{2}"  # the first half of a character beyond U+FFFF
_CUT = re.compile(rf"(?:{_HALF})?\\(?:u[0-9a-fA-F]{{0,3}})?$|{_HALF}$")
_BACKSLASHES = re.compile(r"\\+$")


def parse_partial(text: str) -> Json:
    """Return the value so far: texts and containers may be cut, numbers and names are whole.

    None if nothing is certain yet.

    >>> parse_partial('{"name": "Be')
    {'name': 'Be'}
    """
    whole = _close(text)
    if not whole:
        return None
    try:
        return decode_json(whole, object)
    except (MsgspecError, ValueError, RecursionError):
        return None


def _close(text: str) -> str:
    """Return the longest beginning that is JSON, with the brackets that close it."""
    closers: list[str] = []
    good, wants_key = "", False
    for found in _TOKEN.finditer(text):
        sign, _, quote, word = found.groups()
        if sign and sign in "{[":
            closers.append("}" if sign == "{" else "]")
            good, wants_key = _finish(text, found.end(), closers), sign == "{"
        elif sign and sign in "}]":
            if not closers or closers.pop() != sign:
                return good
            good = _finish(text, found.end(), closers)
        elif sign == ",":
            wants_key = bool(closers) and closers[-1] == "}"
        elif sign == ":":
            wants_key = False
        elif wants_key:
            continue
        elif word is not None:
            if found.end() < len(text) or not closers:
                good = _finish(text, found.end(), closers)
        elif quote is not None:
            good = _finish(text, found.end(), closers)
        else:
            good = _cut_escape(text) + '"' + "".join(reversed(closers))
    return good


def _finish(text: str, end: int, closers: list[str]) -> str:
    return text[:end] + "".join(reversed(closers))


def _cut_escape(text: str) -> str:
    """Return an open string without the escape that is still arriving at its end."""
    found = _CUT.search(text)
    if found is None:
        return text
    before = _BACKSLASHES.search(text[: found.start()])
    escaped = before is not None and len(before[0]) % 2
    return text if escaped else text[: found.start()]
