"""A secret: the shapes in which it can stand in a recording, and where an exchange shows one."""

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

import msgspec

from ..canon import LEAST_LEARNED, secrets_of
from .cassette import Recorded

HEADER = re.compile(
    r"(?!.*ratelimit)(?:.*[-_])?(?:authorization|auth|token|cookie2?|signature|secret|password"
    r"|credential|(?:api)?key|organization(?:[-_]id)?)",
    re.IGNORECASE,
)
QUERY = re.compile(
    r"(?:.*[-_])?(?:(?:api)?key|token|secret|password|credential|signature|sig|auth|authorization)",
    re.IGNORECASE,
)
SCHEME = re.compile(
    r"(?P<scheme>(?:Bearer|Basic|Token|Key|ApiKey|Digest|Negotiate|AWS4-[A-Z0-9-]+) )?"
    r"(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAMES = (
    rb"(?:x[-_])?api[-_]?key|(?:access|refresh|id|auth|authorization|bearer|session|security)"
    rb"[-_]?token|client[-_]?secret|secret[-_]?(?:access[-_]?)?key|private[-_]?key"
    rb"|authorization"
)
_PLAIN = re.compile(
    rb'(?<!\\)"(?:' + _NAMES + rb')"\s*:\s*"(?P<value>(?:[^"\\]|\\.)+)', re.IGNORECASE | re.DOTALL
)
# JSON that is itself a string in JSON has backslashes before its quotes.
_NESTED = re.compile(
    rb'(?<!\\)(\\+)"(?:' + _NAMES + rb')\1"\s*:\s*\1"(?P<value>.+?)\1"', re.IGNORECASE | re.DOTALL
)


def of_environment(environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the values of variables whose names say that they hold a key."""
    yield from secrets_of(os.environ if environment is None else environment)


def of_exchange(exchange: Recorded) -> Iterator[str]:
    """Yield what an exchange itself shows to be secret: headers, queries and fields of auth."""
    for found in _shown(exchange):
        value = found.strip()
        if len(value) >= LEAST_LEARNED:
            yield value


def _shown(exchange: Recorded) -> Iterator[str]:
    head = exchange.head.headers if exchange.head else {}
    for headers in (exchange.request.headers, head):
        for name, value in headers.items():
            if HEADER.fullmatch(name):
                yield from _in_header(name.lower(), value)
    split = urlsplit(exchange.request.url)
    yield from (value for name, value in parse_qsl(split.query) if QUERY.fullmatch(name))
    if split.password:
        yield unquote(split.password)
    for body in (exchange.request.body, exchange.body):
        for field in fields(body):
            yield _without_scheme(field["value"].decode("utf-8", "replace"))[1]


def _in_header(name: str, value: str) -> Iterator[str]:
    if name == "set-cookie":  # several are joined by commas, and dates in them have commas too
        cookies = re.split(r",\s*(?=[^\s;,=]+=)", value)
        yield from (cookie.split(";")[0].partition("=")[2] for cookie in cookies)
        return
    if name == "cookie":
        yield from (pair.partition("=")[2] for pair in value.split(";"))
        return
    scheme, rest = _without_scheme(value)
    yield rest
    if scheme.startswith("aws4"):
        yield from re.findall(r"(?:Credential=|Signature=)([^/,\s]+)", rest)
    elif scheme == "basic ":
        try:
            yield b64decode(rest, validate=True).decode("utf-8").partition(":")[2]
        except ValueError:
            return


def _without_scheme(value: str) -> tuple[str, str]:
    match = SCHEME.fullmatch(value)
    return ((match["scheme"] or "").lower(), match["value"]) if match else ("", value)


def fields(body: bytes) -> Iterator[re.Match[bytes]]:
    """Yield where JSON fields stand whose names say that they hold a key, by their ``value``."""
    yield from _PLAIN.finditer(body)
    yield from _NESTED.finditer(body)


def forms(secret: str) -> frozenset[bytes]:
    """Return the bytes a secret can be written as: plain, in a URL, in JSON, in base64, in hex."""
    raw = secret.encode("utf-8")
    json = msgspec.json.encode(secret)[1:-1]
    again = msgspec.json.encode(json.decode("utf-8"))[1:-1]
    ascii_json = "".join(c if c.isascii() else _escaped(c) for c in json.decode("utf-8")).encode()
    html_json = re.sub(rb"[<>&='+]", lambda m: rb"\u%04x" % ord(m[0]), json)
    urls = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    urls |= {re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), url) for url in urls}
    found = {raw, json, again, ascii_json, html_json, json.replace(b"/", rb"\/")}
    found |= {url.encode("ascii") for url in urls}
    if len(raw) >= 8:
        found |= {raw.hex().encode(), raw.hex().upper().encode(), *_in_base64(raw)}
    return frozenset(found)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(rf"\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _in_base64(raw: bytes) -> Iterator[bytes]:
    """Yield the letters that are the secret's alone, wherever in a longer base64 it begins."""
    for before in range(3):
        letters = b64encode(bytes(before) + raw)
        begin = (0, 2, 3)[before]
        end = (before + len(raw)) * 8 // 6
        core = letters[begin:end]
        yield core
        yield core.translate(bytes.maketrans(b"+/", b"-_"))
