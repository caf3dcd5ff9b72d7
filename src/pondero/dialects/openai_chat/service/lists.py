"""What a service answers beside conversations: its models, by name and little else."""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from pondero.canon import HttpRequest, HttpResponse, Json
from pondero.dialects.dialect import Listed

from .accept import check_key
from .errors import Denier
from .models import service as table_of

# Anything but the versions of another wire, which lists its models at like addresses.
_MODELS = re.compile(r"(?!.*/v\d+beta\d*/models).*/models(?:/(?P<model>.+))?")
_CREATED = 1_700_000_000


def asks(http: HttpRequest) -> Literal["models"] | None:
    """Return what is asked for, if it is this."""
    path = urlsplit(http.url).path
    return "models" if http.method == "GET" and _MODELS.fullmatch(path) else None


def listed(http: HttpRequest, known: Sequence[Listed], service: str) -> HttpResponse:
    """Return the list, or the one model that is asked for; or raise Rejected."""
    table = table_of(service)
    denier = Denier(table)
    check_key(http, table, denier)
    names = [each.name for each in known if table.find(each.name) is not None]
    found = _MODELS.fullmatch(urlsplit(http.url).path)
    if found is None or found["model"] is None:
        return _said({"object": "list", "data": [_model(name, service) for name in names]})
    name = unquote(found["model"])
    if name not in names:
        message = f"The model '{name}' does not exist"
        denier.deny(message, status=404, param="model", code="model_not_found")
    return _said(_model(name, service))


def _model(name: str, service: str) -> Json:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": service}


def _said(value: Json) -> HttpResponse:
    headers = {"content-type": "application/json", "x-request-id": "req_emulated"}
    return HttpResponse(200, headers, msgspec.json.encode(value))
