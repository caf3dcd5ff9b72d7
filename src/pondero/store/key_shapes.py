"""Recognises keys by their shape, and lists the encodings of a known one. No I/O.

``KEY_SHAPES`` is the only table of shapes: threads, exports, templates, settings, logs and
cassettes all use it. A value that merely begins like a key (a format's name, a signature, base64)
does not count.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import msgspec

from ..canon import HIDDEN

# A key begins where a word begins, or after an escape, whose last letter is no part of the word:
# JSON's \n and \u003d, %3D of an address, =3D of a mail, the color of a terminal. One that begins
# with letters alone could also be a piece of base64, so no letter of base64 may precede it, except
# at the beginning of an address.
_ESCAPES = (
    r"\\[nrtbfv0]",
    r"\\u[0-9A-Fa-f]{4}",
    r"\\x[0-9A-Fa-f]{2}",
    r"[%=][0-9A-Fa-f]{2}",
    r"\[m",
    r"[\[;][0-9]m",
    r"[\[;][0-9]{2}m",
)
_ESCAPED = "|".join(f"(?<={escape})" for escape in _ESCAPES)
_WORD = rf"(?:(?<![A-Za-z0-9_-])|{_ESCAPED})"
_ALONE = rf"(?:(?<![A-Za-z0-9_+/-])|(?<=://)|{_ESCAPED})"
CONTEXT = 8
"""Characters before a key that decide whether it is one: the longest escape, and more."""
_OVER = r"(?![A-Za-z0-9_+/=-])"
_LETTERS = r"[A-Za-z0-9]{20,}"
# "sk-ant-your-key-here" is a placeholder: a key has a digit or a capital letter.
_SK = (
    r"sk-(?:(?:ant|proj|or|svcacct|admin|lf)-(?=[a-z_-]*[A-Z0-9])[A-Za-z0-9_-]{8,}"
    r"|[A-Za-z0-9]{16,}|(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{24,})"
)
_BEARER = r"[Bb]earer +(?P<secret>(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}=*)"
_PRIVATE = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"(?:[A-Za-z0-9+/=\s\\:,.-]{0,16384}?-----END [A-Z ]*PRIVATE KEY-----)?"
)

KEY_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # Its name, its possible beginnings (a fast first search), and its pattern.
    # Anthropic, OpenAI, OpenRouter, DeepSeek, Moonshot, Langfuse: the consoles that make them.
    ("an sk- key", ("sk-",), _SK),
    # Google Cloud, "API keys": 39 characters; the newer ones of AI Studio begin with AQ.
    ("a Google key", ("AIza",), r"AIza[A-Za-z0-9_-]{30,}"),
    ("a Google key", ("AQ.A",), r"AQ\.A[A-Za-z0-9_-]{30,}"),
    ("a Google token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
    # Groq, Cerebras, xAI, Hugging Face, Replicate, Perplexity, Fireworks: their consoles.
    ("a key", ("gsk_", "csk-", "xai-", "hf_", "r8_", "pplx-", "fw_"), r"[a-z0-9]+[_-]" + _LETTERS),
    # Together, NVIDIA, Amazon Bedrock (short-term keys).
    ("a key", ("tgp_v1_", "nvapi-", "bedrock-api-key-"), r"[A-Za-z0-9_+/=-]{28,}"),
    # Our own, from gateway/config/secrets.py: make_key.
    ("a gateway key", ("pnd_",), r"pnd_[A-Za-z0-9_-]{40,}"),
    # GitHub, "token formats"; GitLab and npm, "token prefixes".
    (
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"[a-z_]+_[A-Za-z0-9_]{20,}",
    ),
    ("a GitLab token", ("glpat-",), r"glpat-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    ("an npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}" + _OVER),
    ("a Slack token", ("xoxb-", "xoxp-", "xoxa-"), r"xox[abp]-[A-Za-z0-9-]{20,}"),
    ("a Stripe key", ("sk_live_", "rk_live_"), r"[rs]k_live_" + _LETTERS),
    # AWS IAM, "unique identifiers"; Amazon Bedrock, long-term API keys.
    ("an AWS key id", ("AKIA", "ASIA"), r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9_+=-])"),
    ("an AWS key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{40,}={0,2}" + _OVER),
    ("a search key", ("BSA",), r"BSA[A-Za-z0-9_-]{27,29}" + _OVER),
    # RFC 7519, RFC 7468, RFC 6750.
    ("a JSON Web Token", ("eyJ",), r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    ("a private key", ("-----BEGIN ",), _PRIVATE),
    ("a bearer token", ("Bearer ", "bearer "), _BEARER),
)
"""Well-known shapes of keys."""

# Beginnings that are unmistakable inside a word too (KEY_sk-proj-...), each with what must follow.
# The text after them is as long as in real keys, so that no word, hash or base64 has this shape.
_RANDOM = r"(?=[A-Za-z_-]*[0-9])(?=[A-Za-z0-9_-]*?[A-Za-z0-9]{16})[A-Za-z0-9_-]{20,}"
_SOLID = r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}"
_ANYWHERE: dict[str, str] = {
    **dict.fromkeys(
        ("sk-ant-", "sk-proj-", "sk-or-", "sk-svcacct-", "sk-admin-", "sk-lf-"), _RANDOM
    ),
    **dict.fromkeys(("gsk_", "csk-", "xai-", "pplx-", "sk_live_", "rk_live_"), _SOLID),
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _SOLID),
    **dict.fromkeys(("github_pat_", "glpat-", "nvapi-", "tgp_v1_"), _RANDOM),
    "npm_": r"[A-Za-z0-9]{36}" + _OVER,
    "pnd_": r"[A-Za-z0-9_-]{40,}",
    "AIza": r"[A-Za-z0-9_-]{35}" + _OVER,
    # after a slash, which is a letter of base64
    "AKIA": r"(?<=/AKIA)[A-Z0-9]{16}(?![A-Za-z0-9_+=-])",
    "ASIA": r"(?<=/ASIA)[A-Z0-9]{16}(?![A-Za-z0-9_+=-])",
    "eyJ": r"(?<=/eyJ)[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
}


def _compile_starts() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """Yield each beginning of a key with the pattern that decides."""
    for shape, starts, pattern in KEY_SHAPES:
        for start in starts:
            before = _WORD if {"-", "_", "."} & set(start) else _ALONE
            also = "".join(
                f"|{re.escape(long)}{rest}"
                for long, rest in _ANYWHERE.items()
                if long.startswith(start)
            )
            yield shape, start, re.compile(f"{before}{pattern}{also}", re.ASCII)


_STARTS = tuple(_compile_starts())
_FREE = re.compile(_WORD, re.ASCII)
_TAIL = re.compile(r"[A-Za-z0-9_.+/~=-]{0,600}\Z")
_FRAGMENT = re.compile(r"-----BEGIN (?:(?!-----END )[\s\S]){0,16384}\Z|[Bb]earer +\S{0,600}\Z")


class KeyShape(NamedTuple):
    """A part of a text that looks like a key: ``start`` and ``end`` enclose the secret alone."""

    shape: str
    start: int
    end: int
    text: str


def find_key_shapes(text: str) -> Iterator[KeyShape]:
    """Yield the parts of a text that look like keys."""
    for shape, start, pattern in _STARTS:
        at = text.find(start)
        while at >= 0:
            match = pattern.match(text, at)
            if match and HIDDEN not in match[0]:
                begin, end = match.span("secret" if "secret" in pattern.groupindex else 0)
                yield KeyShape(shape, begin, end, match[0])
            at = text.find(start, at + len(start))


def find_open_key(text: str) -> int:
    """Return where a key may begin that is not complete at the end of a text; else its length."""
    if fragment := _FRAGMENT.search(text, max(0, len(text) - 16_500)):
        return fragment.start()
    tail = _TAIL.search(text, max(0, len(text) - 600))
    if tail is None or not tail[0]:
        return len(text)
    found = (at for start in _OPENINGS for at in _find_openings(text, tail.start(), start))
    return min((at for at, inside in found if inside or _FREE.match(text, at)), default=len(text))


_OPENINGS = (*(start for _, start, _ in _STARTS), *(each for each in _ANYWHERE if "-" in each))
_CLEAR = 3  # letters of a start: a word's last one or two are not held back for a key inside it


def _find_openings(text: str, begin: int, start: str) -> Iterator[tuple[int, bool]]:
    """Yield where a start is, complete or cut by the end, and if a key may be there in a word."""
    inside = start in _ANYWHERE
    at = text.find(start, begin)
    while at >= 0:
        yield at, inside
        at = text.find(start, at + 1)
    for end in range(max(begin, len(text) - len(start) + 1), len(text)):
        if start.startswith(text[end:]):
            yield end, inside and len(text) - end >= _CLEAR


def list_encodings(secret: str) -> frozenset[bytes]:
    """Return a secret's encodings: plain, UTF-16, and in a URL, HTML, JSON, base64 or hex."""
    raw = secret.encode("utf-8", "surrogatepass")
    text = raw.decode("utf-8", "replace")
    json = msgspec.json.encode(text)[1:-1]
    again = msgspec.json.encode(json.decode("utf-8"))[1:-1]
    ascii_json = "".join(
        c if c.isascii() else _escape_character(c) for c in json.decode("utf-8")
    ).encode()
    html_json = re.sub(rb"[<>&='+]", lambda m: rb"\u%04x" % ord(m[0]), json)
    urls = {quote(text, safe=""), quote(text), quote_plus(text)}
    urls |= {re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), url) for url in urls}
    found = {raw, json, again, ascii_json, html_json, json.replace(b"/", rb"\/")}
    found |= {url.encode("ascii") for url in urls}
    found |= {escape(text).encode(), escape(text, quote=False).encode()}
    if len(raw) >= 8:
        for wide in ("utf-16-le", "utf-16-be"):
            found |= {text.encode(wide), *_in_base64(text.encode(wide))}
        found |= {raw.hex().encode(), raw.hex().upper().encode(), *_in_base64(raw)}
    return frozenset(found)


def _escape_character(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(rf"\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _in_base64(raw: bytes) -> Iterator[bytes]:
    """Yield the base64 of a secret at each of the three offsets inside a longer text."""
    for before in range(3):
        letters = b64encode(bytes(before) + raw)
        begin = (0, 2, 3)[before]
        end = (before + len(raw)) * 8 // 6
        core = letters[begin:end]
        yield core
        yield core.translate(bytes.maketrans(b"+/", b"-_"))
