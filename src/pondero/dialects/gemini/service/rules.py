"""The service reads a request, strictly: address, key, fields, rules, then what it means."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import Accepted
from pondero.thinking import Intent

from .checks import check
from .models import Surface, rules
from .parse import canon
from .protobuf import UNREADABLE, Reader
from .types import GenerateContentRequest

HOME = "google"
_ADDRESS = re.compile(
    r"(?:.*/(?P<version>v\d\w*))?(?:/[^:]*)?/models/(?P<model>[^/:]+):(?P<method>\w+)"
)
_WRAPPED = re.compile(r".*/(?P<version>v\d\w*):(?P<method>\w+)")
_METHODS = ("generateContent", "streamGenerateContent")
_BAD_KEY = re.compile(r"bad|invalid|wrong|expired", re.IGNORECASE)
_RPC = "type.googleapis.com/google.rpc"


class _Address(NamedTuple):
    model: str | None  # None: it stands in the body
    method: str
    version: str
    framing: str
    key: str | None


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    found = _ADDRESS.fullmatch(path) or _WRAPPED.fullmatch(path)
    return found is not None and found["method"] in _METHODS


def accept(http: HttpRequest, service: str) -> Accepted[Json]:
    """Return what was asked, or raise Rejected in the service's own words."""
    surface = rules().surface(service)
    address = _address(http, surface)
    authorise(http.headers, address.key, surface)
    body = _json(http.body, surface)
    name = address.model
    if name is None:
        name, body = _unwrapped(body, surface)
    if re.search(r"[^\w.@-]", name):
        raise surface.refused("bad_model")
    model = rules().model(name, service=service)
    if model is None:
        raise surface.refused(
            "no_model", model=name, version=address.version, method=address.method
        )
    read = _read(body, surface)
    wish = check(read, model, surface, service=service)
    stream = address.method == "streamGenerateContent"
    return Accepted(
        request=canon(read, model=name, service=service, stream=stream),
        intent=Intent(wish.kind, wish.level, wish.budget),
        thinks=wish.thinks,
        shown=wish.shown,
        context={
            "framing": address.framing,
            "service": service,
            "signs": model.signs,
            "wrapped": address.model is None,
            "body": body,
        },
        caches="always",
    )


def _address(http: HttpRequest, surface: Surface) -> _Address:
    parts = urlsplit(http.url)
    query = parse_qs(parts.query)
    found = _ADDRESS.fullmatch(parts.path) or _WRAPPED.fullmatch(parts.path)
    if http.method != "POST" or found is None or found["method"] not in _METHODS:
        raise surface.refused("no_address")
    named = found.groupdict().get("model")
    alt = query.get("alt", ["json"])[-1]
    return _Address(
        unquote(named) if named is not None else None,
        found["method"],
        found["version"] or "v1beta",
        alt if alt in ("sse", "ndjson") else "array",
        query.get("key", [""])[-1],
    )


def authorise(headers: Mapping[str, str], in_query: str | None, surface: Surface) -> None:
    """Refuse a request without a key, and one with a bad one."""
    key = headers.get("x-goog-api-key") or in_query
    token = headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key and not token:
        raise surface.refused("nobody")
    if key and _BAD_KEY.match(key):
        info = {
            "@type": f"{_RPC}.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        }
        text = surface.words["bad_key"]
        local = {"@type": f"{_RPC}.LocalizedMessage", "locale": "en-US", "message": text}
        raise surface.refused("bad_key", details=[info, local])
    if not key and _BAD_KEY.match(token):
        raise surface.refused("bad_token")


def _json(body: bytes, surface: Surface) -> dict[str, Json]:
    try:
        raw = msgspec.json.decode(body)
    except UNREADABLE as error:
        raise surface.refused("bad_json", why=str(error)) from error
    if not isinstance(raw, dict):
        raise surface.refused("bad_json", why="Root element must be a message.")
    return raw


def _unwrapped(body: dict[str, Json], surface: Surface) -> tuple[str, dict[str, Json]]:
    name, inner = body.get("model"), body.get("request")
    if not isinstance(name, str) or not isinstance(inner, dict):
        raise surface.refused("invalid")
    return name, {k: v for k, v in inner.items() if k not in ("session_id", "sessionId")}


def _read(body: dict[str, Json], surface: Surface) -> GenerateContentRequest:
    reader = Reader()
    read = reader.message(GenerateContentRequest, body)
    if not reader.violations:
        return read
    found = [
        ({"field": each.field} if each.field else {}) | {"description": each.description}
        for each in reader.violations
    ]
    detail = {"@type": f"{_RPC}.BadRequest", "fieldViolations": found}
    text = "\n".join(each.description for each in reader.violations)
    raise surface.refused("as_found", text=text, details=[detail])
