"""The service's own table of models, and its token counts; another service lists models."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import ServedModel
from pondero.dialects.tables import load_table

from .errors import reject, request_id
from .types import decode_strict

_REGION = re.compile(r"^(?:us-gov|us|ca|eu|apac|jp|au|in|global)\.")
_VERSION = re.compile(r"(?:-preview)?(?:-\d{8})?(?:-v\d+|-1(?=:))?(?::\d+(?::\d+k)?)?")


class Family(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, where each field is explained."""

    match: tuple[str, ...]
    control: Literal["claude", "nova", "flat", "flat_beside", "nested", "qwen", "none", "any"]
    thinking: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    thinks_at: tuple[str, ...] | None = None
    off_below: tuple[str, ...] | None = None
    unasked: Literal["off", "on"] = "off"
    display: Literal["shown", "omitted", "redacted", "nothing"] = "shown"
    sampling: Literal["free", "one", "none"] = "free"
    forced: Literal["free", "adaptive", "thinking_off", "never"] = "free"
    begins: Literal["user", "anyone"] = "user"
    max_output: int | None = None
    bound: bool = False
    prefill: Literal["free", "never"] = "free"
    system: Literal["rejected", "ignored", "followed", "unchecked"] = "rejected"
    formats: bool = True
    contains: bool = True
    s3: bool = False
    citations: bool = False
    result_media: tuple[str, ...] | None = None
    results_alone: bool = False
    result_status: bool = True
    images: bool = True
    tools: bool = True
    choices: Literal["free", "auto"] = "free"


class _Service(Struct, frozen=True, forbid_unknown_fields=True):
    family: tuple[Family, ...]


@cache
def _families() -> dict[str, Family]:
    table = load_table(__package__, "models.toml", _Service)
    rows = {name: row for row in table.family for name in row.match}
    return {name: rows[name] for name in sorted(rows, key=len, reverse=True)}


@cache
def family(model: str) -> Family | None:
    """Return the family of a model, by its id or ARN; None if it is not served."""
    name = _REGION.sub("", model.rpartition("/")[2])
    for known, row in _families().items():
        begin = known.removesuffix("*")
        if not name.startswith(begin):
            continue
        if known != begin or _VERSION.fullmatch(name, len(begin)):
            return row
    # An application profile can name any model, and its ARN does not say which.
    return (
        Family((model,), "any", begins="anyone", system="unchecked", s3=True, citations=True)
        if model.startswith("arn:aws")
        else None
    )


_COUNT = re.compile(r".*/model/[^/]+/count-tokens")


class _Converse(msgspec.Struct, forbid_unknown_fields=True):
    converse: dict[str, Json]


class _CountRequest(msgspec.Struct, forbid_unknown_fields=True):
    input: _Converse


def asks(http: HttpRequest) -> Literal["models", "tokens"] | None:
    """Return "tokens" for a request to count them."""
    counts = http.method == "POST" and _COUNT.fullmatch(urlsplit(http.url).path)
    return "tokens" if counts else None


def write_list(_http: HttpRequest, _known: Sequence[ServedModel], _provider: str) -> HttpResponse:
    """Reject: this endpoint lists no models."""
    reject("no_path")


def requested_model(_http: HttpRequest) -> str | None:
    """Return None: this endpoint lists no models."""
    return None


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Reject, as ``write_list`` does."""
    return write_list(http, known, "")


def counts(http: HttpRequest) -> HttpRequest:
    """Return the conversation request whose tokens are counted."""
    asked = decode_strict(http.body, _CountRequest).input.converse
    url = re.sub(r"/count-tokens(?=$|\?)", "/converse", http.url)
    return msgspec.structs.replace(http, url=url, body=msgspec.json.encode(asked))


def write_count(tokens: int) -> HttpResponse:
    """Return the count in the service's shape."""
    headers = {"content-type": "application/json", "x-amzn-requestid": request_id(str(tokens))}
    return HttpResponse(200, headers, msgspec.json.encode({"inputTokens": tokens}))
