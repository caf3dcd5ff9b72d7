"""What the service answers beside conversations: how many tokens a request is.

Its models are listed at another address, by another service.
"""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import Listed

from .errors import refuse, request_id
from .typing import typed

_COUNT = re.compile(r".*/model/[^/]+/count-tokens")


class _Converse(msgspec.Struct, forbid_unknown_fields=True):
    converse: dict[str, Json]


class _Counted(msgspec.Struct, forbid_unknown_fields=True):
    input: _Converse


def asks(http: HttpRequest) -> Literal["models", "tokens"] | None:
    """Return what is asked for, if it is one of these."""
    counts = http.method == "POST" and _COUNT.fullmatch(urlsplit(http.url).path)
    return "tokens" if counts else None


def listed(http: HttpRequest, known: Sequence[Listed], service: str) -> HttpResponse:
    """Refuse: no model is listed here."""
    del http, known, service
    raise refuse("Not Found", status=404, code="UnknownOperationException")


def counts(http: HttpRequest) -> HttpRequest:
    """Return the usual request whose tokens are to be counted."""
    asked = typed(http.body, _Counted).input.converse
    url = re.sub(r"/count-tokens(?=$|\?)", "/converse", http.url)
    return msgspec.structs.replace(http, url=url, body=msgspec.json.encode(asked))


def counted(tokens: int) -> HttpResponse:
    """Return so many tokens."""
    headers = {"content-type": "application/json", "x-amzn-requestid": request_id(str(tokens))}
    return HttpResponse(200, headers, msgspec.json.encode({"inputTokens": tokens}))
