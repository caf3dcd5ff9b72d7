"""The service's table of models, its list of models, and its token counts."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, get_args
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json, read_count
from pondero.dialects.dialect import ServedModel
from pondero.dialects.tables import load_table

from .address import check_key
from .decode import decode_strict
from .errors import reject

_SUFFIX = re.compile(r"(?:-latest|[-@](?P<date>\d{8}))?")
_MODELS = re.compile(r".*/v1/models(?:/(?P<model>.+))?")
_COUNT = "/messages/count_tokens"
_UNCOUNTED = ("max_tokens", "stream")
_UNKNOWN_DAY = "1970-01-01T00:00:00Z"
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_PAGE = 20
_LONGEST = 1_000

Kind = Literal["enabled", "adaptive", "disabled", "between_tools"]


class Family(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml, where each field is explained."""

    match: tuple[str, ...]
    thinking: tuple[Kind, ...]
    max_output: int
    sampling: Literal["free", "one", "none"]
    forced: Literal["free", "adaptive", "thinking_off", "never"]
    prefill: Literal["free", "thinking_off", "never"]
    unasked: Literal["off", "on"] = "off"
    display: Literal["shown", "omitted"] = "shown"
    efforts: tuple[str, ...] = ()
    off_below: tuple[str, ...] | None = None
    bound: bool = False
    turns: bool = False
    system: Literal["rejected", "ignored", "followed", "unchecked"] = "rejected"
    formats: bool = True
    search: bool = True
    advisor: bool = True
    pairs: Literal["checked", "unchecked"] = "checked"
    limits: bool = True
    at: str | None = None
    dates: tuple[str, ...] = ()
    pictures: Literal["checked", "unchecked"] = "checked"
    ignores: tuple[str, ...] = ()


class Host(Struct, frozen=True, forbid_unknown_fields=True):
    """What another host of this API leaves unchecked; models.toml explains each field."""

    lenient: bool = False
    keyless: bool = False
    signatures: bool = True


class _Service(Struct, frozen=True, forbid_unknown_fields=True):
    family: tuple[Family, ...]
    host: dict[str, Host]


def host_of(provider: str) -> Host:
    """Return what a provider leaves unchecked; nothing unless it is another host."""
    return _book().host.get(provider, Host())


@cache
def _book() -> _Service:
    return load_table(__package__, "models.toml", _Service)


@cache
def _families() -> dict[str | None, dict[str, Family]]:
    found: dict[str | None, dict[str, Family]] = {}
    for row in _book().family:
        found.setdefault(row.at, {}).update(dict.fromkeys(row.match, row))
    return found


def family(model: str, url: str = "", provider: str = "") -> Family | None:
    """Return the family of a model at this address; its name may end in a date or "latest"."""
    return _family(model, _place(url, provider))


def find_ignored(url: str, provider: str) -> frozenset[str]:
    """Return the headers and fields that the deployment at this address ignores."""
    place = _place(url, provider)
    rows = _families()[place].values() if place is not None else ()
    return frozenset(name for row in rows for name in row.ignores)


def _place(url: str, provider: str) -> str | None:
    places = (at for at in _families() if at and (at == provider or re.search(at, url)))
    return next(places, None)


@cache
def _family(model: str, at: str | None) -> Family | None:
    for name, row in _families()[at].items():
        if name.endswith("*") and model.startswith(name[:-1]):
            return row
        ends = _SUFFIX.fullmatch(model, len(name)) if model.startswith(name) else None
        if ends and (ends["date"] is None or ends["date"] in row.dates):
            return row
    return None


def asks(http: HttpRequest) -> Literal["models", "tokens"] | None:
    """Return which of the two a request asks for. Other services list models at the same path."""
    path = urlsplit(http.url).path
    if http.method == "POST" and path.endswith(_COUNT):
        return "tokens"
    ours = "anthropic-version" in http.headers or "x-api-key" in http.headers
    return "models" if http.method == "GET" and ours and _MODELS.fullmatch(path) else None


def counts(http: HttpRequest) -> HttpRequest:
    """Return the Messages request whose tokens are counted, with a max_tokens."""
    body: dict[str, Json] = decode_strict(http.body, dict)
    for name in _UNCOUNTED:
        if name in body:
            reject("uncounted_field", name=name)
    row = family(str(body.get("model")), http.url)
    room = {"max_tokens": row.max_output if row else 1}
    url = http.url.replace(_COUNT, "/messages")
    return msgspec.structs.replace(http, url=url, body=msgspec.json.encode(body | room))


def write_count(tokens: int) -> HttpResponse:
    """Answer with the number of tokens."""
    return _answer({"input_tokens": tokens})


def write_list(http: HttpRequest, known: Sequence[ServedModel], _provider: str) -> HttpResponse:
    """Answer with a page of the list or with the requested model; raises Rejected."""
    check_key(http)
    if (name := requested_model(http)) is None:
        rows = [(each, row) for each in known if (row := family(each.name, http.url)) is not None]
        return _answer(_page([_describe_served(*row) for row in rows], http))
    row = family(name, http.url)
    if row is None:
        reject("unknown_model", model=name)
    facts = next((each for each in known if each.name == name), ServedModel(name))
    return _answer(_describe_served(facts, row))


def requested_model(http: HttpRequest) -> str | None:
    """Return the requested model; None if the request is for the list."""
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    return unquote(found["model"]) if found and found["model"] else None


def write_any_list(http: HttpRequest, known: Sequence[ServedModel]) -> HttpResponse:
    """Answer with a page of any models or with the requested one; raises Rejected."""
    models = {each.name: _describe_offered(each) for each in known}
    if (name := requested_model(http)) is None:
        return _answer(_page(list(models.values()), http))
    if name not in models:
        reject("unknown_model", model=name)
    return _answer(models[name])


def _page(every: list[dict[str, Json]], http: HttpRequest) -> Json:
    query = parse_qs(urlsplit(http.url).query)
    ids = [each["id"] for each in every]
    limit = read_count(query.get("limit", [str(_PAGE)])[-1])
    if limit is None or not 1 <= limit <= _LONGEST:
        reject("list_limit", longest=_LONGEST)
    after, before = query.get("after_id", [""])[-1], query.get("before_id", [""])[-1]
    start = ids.index(after) + 1 if after in ids else 0
    end = ids.index(before) if before in ids else len(ids)
    left = every[start:end]
    data = left[-limit:] if before else left[:limit]
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {
        "data": data,
        "has_more": len(data) < len(left),
        "first_id": first,
        "last_id": last,
    }


def _describe_served(facts: ServedModel, row: Family) -> dict[str, Json]:
    return _model(facts, max_output=row.max_output, efforts=row.efforts, kinds=row.thinking)


def _describe_offered(facts: ServedModel) -> dict[str, Json]:
    kinds: tuple[Kind, ...] = ("enabled", "adaptive") if facts.thinks else ()
    off: tuple[Kind, ...] = ("disabled",) if not facts.thinks or "off" in facts.levels else ()
    return _model(facts, max_output=facts.max_output, efforts=facts.levels, kinds=(*kinds, *off))


def _model(
    facts: ServedModel, *, max_output: int | None, efforts: tuple[str, ...], kinds: tuple[Kind, ...]
) -> dict[str, Json]:
    return {
        "type": "model",
        "id": facts.name,
        "display_name": _label(facts.name),
        "created_at": _UNKNOWN_DAY,
        "lifecycle": "active",
        "max_input_tokens": facts.context,
        "max_tokens": max_output,
        "capabilities": {
            "effort": {
                "supported": any(each in _EFFORTS for each in efforts),
                **_each(efforts, _EFFORTS),
            },
            "thinking": {
                "supported": kinds != ("disabled",) and bool(kinds),
                "types": _each(kinds, get_args(Kind)),
            },
        },
    }


def _each(has: Sequence[str], of: Sequence[str]) -> dict[str, Json]:
    return {name: {"supported": name in has} for name in of}


def _label(name: str) -> str:
    words = re.sub(r"(?<=\d)-(?=\d\b)", ".", name).split("-")
    return " ".join(word.capitalize() for word in words)


def _answer(value: Json) -> HttpResponse:
    headers = {"content-type": "application/json", "request-id": "req_emulated"}
    return HttpResponse(200, headers, msgspec.json.encode(value))
