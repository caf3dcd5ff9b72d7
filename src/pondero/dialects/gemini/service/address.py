"""The address of a request: path, model, method, framing, and its key."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit, urlunsplit

import msgspec

from pondero.canon import HttpRequest, get_decoder
from pondero.dialects.dialect import OwnPaths

from .errors import RPC, Surface

Framing = Literal["sse", "ndjson", "array"]

# A client may write a name with slashes and colons as it is: all up to the method is the name.
_NAMED = re.compile(
    r"(?:.*?/(?P<version>v\d\w*))?(?:/[^:]*?)??/models/(?P<model>.+):(?P<method>\w+)"
)
_UNNAMED = re.compile(r".*/(?P<version>v\d\w*):(?P<method>\w+)")  # Cloud Code Assist
_METHODS = ("generateContent", "streamGenerateContent")
COUNT = "countTokens"
_MODEL = re.compile(r"(?<=/models/)[^?]+(?=:\w+(?:\?|$))")
_FRAMINGS: dict[str, Framing] = {"sse": "sse", "ndjson": "ndjson"}
OWN_PATHS = OwnPaths(
    pattern=re.compile(
        r"/v\d+(?:alpha|beta)\d*/(?!openai/|(?:.*/)?interactions(?:/|$))"
        r"|/publishers/google/|/models/[^/]+:\w+$"
    ),
    not_found="Requested entity was not found.",
)
"""Addresses of google-genai: versions that no other API has, Vertex AI, and methods of a model."""
_BAD_KEY = re.compile(r"bad|invalid|wrong|expired", re.IGNORECASE)


class _Wrapping(msgspec.Struct):
    model: str
    request: msgspec.Raw


SESSION = ("session_id", "sessionId")
"""Fields of Cloud Code Assist inside the request that it wraps."""
_WRAPPING = get_decoder(_Wrapping)
_FIELDS = get_decoder(dict[str, msgspec.Raw])


class Address(NamedTuple):
    """The parts of a request's address; ``model`` is None if the body names it."""

    model: str | None
    method: str
    version: str
    framing: Framing
    key: str | None

    @property
    def streams(self) -> bool:
        """Return whether a streamed answer is asked for."""
        return self.method == "streamGenerateContent"

    @property
    def counts(self) -> bool:
        """Return whether only the tokens are to be counted."""
        return self.method == COUNT


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return _match_path(path) is not None


def model_of(http: HttpRequest) -> str | None:
    """Return the model's name; None if the address has none."""
    found = _MODEL.search(http.url)
    return unquote(found[0]) if found else None


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; its address must name one."""
    url = _MODEL.sub(lambda _: quote(model, safe=""), http.url, count=1)
    return msgspec.structs.replace(http, url=url)


def unwrap(http: HttpRequest) -> HttpRequest:
    """Return the request inside that of Cloud Code Assist, at the address that it has by itself."""
    parts = urlsplit(http.url)
    found = _UNNAMED.fullmatch(parts.path)
    if found is None:
        return http
    try:
        outer = _WRAPPING.decode(http.body)
        inner = _FIELDS.decode(outer.request)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return http  # ``parse`` rejects it
    for name in SESSION:
        inner.pop(name, None)
    path = f"/v1beta/models/{quote(outer.model, safe='')}:{found['method']}"
    url = urlunsplit(parts._replace(path=path))
    return msgspec.structs.replace(http, url=url, body=msgspec.json.encode(inner))


def address_of(http: HttpRequest) -> Address | None:
    """Return the parts of an address; None if it is not one of this wire's."""
    parts = urlsplit(http.url)
    found = _match_path(parts.path, (*_METHODS, COUNT))
    if http.method != "POST" or found is None:
        return None
    query = parse_qs(parts.query)
    named = found.groupdict().get("model")
    return Address(
        model=unquote(named) if named is not None else None,
        method=found["method"],
        version=found["version"] or "v1beta",
        framing=_FRAMINGS.get(query.get("alt", ["json"])[-1], "array"),
        key=query.get("key", [""])[-1],
    )


def authorise(headers: Mapping[str, str], in_query: str | None, surface: Surface) -> None:
    """Reject a request without a key, or with a bad one."""
    key = headers.get("x-goog-api-key") or in_query
    token = headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key and not token:
        raise surface.rejection("nobody")
    if key and _BAD_KEY.match(key):
        info = {
            "@type": f"{RPC}.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        }
        text = surface.text("bad_key")
        local = {"@type": f"{RPC}.LocalizedMessage", "locale": "en-US", "message": text}
        raise surface.rejection("bad_key", details=[info, local])
    if not key and _BAD_KEY.match(token):
        raise surface.rejection("bad_token")


def _match_path(path: str, methods: Sequence[str] = _METHODS) -> re.Match[str] | None:
    found = _NAMED.fullmatch(path) or _UNNAMED.fullmatch(path)
    return found if found is not None and found["method"] in methods else None


def config_paths(*names: str) -> tuple[tuple[str, str], ...]:
    """Return the places of a generation setting; protobuf's JSON takes both spellings of a name."""
    return tuple((top, name) for top in ("generationConfig", "generation_config") for name in names)
