"""What the service answers beside conversations: its models, and how many tokens a request is."""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import Listed

from .models import JSON, Model, pretty, rules
from .rules import authorise

_MODELS = re.compile(r".*/(?P<version>v\d\w*)(?:/publishers/google)?/models(?:/(?P<model>[^/:]+))?")
_COUNT = ":countTokens"
_WRAPPED = "generateContentRequest"
_PAGE = 50
_LONGEST = 1_000
_LABEL = re.compile(r"[a-z]+|\d[\d.]*")


def asks(http: HttpRequest) -> Literal["models", "tokens"] | None:
    """Return what is asked for, if it is one of these. Others list models at like addresses."""
    parts = urlsplit(http.url)
    if http.method == "POST" and parts.path.endswith(_COUNT):
        return "tokens"
    found = _MODELS.fullmatch(parts.path)
    if http.method != "GET" or found is None:
        return None
    keyed = "x-goog-api-key" in http.headers or "key" in parse_qs(parts.query)
    return "models" if keyed or found["version"] != "v1" else None


def counts(http: HttpRequest) -> HttpRequest:
    """Return the request whose tokens are to be counted; it may stand in a wrapping of its own."""
    body = _object(http.body)
    if isinstance(inner := body.get(_WRAPPED), dict):
        body = {key: value for key, value in inner.items() if key != "model"}
    url = http.url.replace(_COUNT, ":generateContent")
    return msgspec.structs.replace(http, url=url, body=msgspec.json.encode(body))


def counted(tokens: int) -> HttpResponse:
    """Return so many tokens."""
    details = [{"modality": "TEXT", "tokenCount": tokens}]
    return _said({"totalTokens": tokens, "promptTokensDetails": details})


def listed(http: HttpRequest, known: Sequence[Listed], service: str) -> HttpResponse:
    """Return a page of the list, or the one model that is asked for; or raise Rejected."""
    surface = rules().surface(service)
    parts = urlsplit(http.url)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    authorise(http.headers, query.get("key"), surface)
    rows = [(each, row) for each in known if (row := rules().model(each.name, service=service))]
    found = _MODELS.fullmatch(parts.path)
    if found is None or found["model"] is None:
        return _said(_page([_model(*row) for row in rows], query))
    name = unquote(found["model"])
    for each, row in rows:
        if each.name == name:
            return _said(_model(each, row))
    version = found["version"]
    raise surface.refused("no_model", model=name, version=version, method="getModel")


def _page(every: list[Json], query: dict[str, str]) -> Json:
    size = query.get("pageSize", "")
    start = int(query.get("pageToken", "0")) if query.get("pageToken", "0").isdecimal() else 0
    end = start + (min(int(size), _LONGEST) if size.isdecimal() and int(size) else _PAGE)
    more = {"nextPageToken": str(end)} if end < len(every) else {}
    return {"models": every[start:end], **more}


def _model(facts: Listed, row: Model) -> Json:
    said = {
        "name": f"models/{facts.name}",
        "version": "001",
        "displayName": " ".join(word.capitalize() for word in _LABEL.findall(facts.name)),
        "inputTokenLimit": facts.context,
        "outputTokenLimit": row.max_output,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "thinking": row.can_think or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _object(body: bytes) -> dict[str, Json]:
    """Return the body, or nothing where it is none: whoever reads the request will say so."""
    try:
        return msgspec.json.decode(body, type=dict)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _said(value: Json) -> HttpResponse:
    return HttpResponse(200, {"content-type": JSON}, pretty(value))
