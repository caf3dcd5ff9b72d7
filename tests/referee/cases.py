"""The negative corpus: for each rule of a service, a request that breaks it and one that does not.

A case is a pair of neighbours: the smallest change that makes a good request a bad one. The tests
fail if a rule has no case, if the bad request is rejected by another rule or not at all, and if
its neighbour is rejected.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pondero.canon import HttpRequest
from pondero.dialects import NAMES, Rejected, get_dialect
from pondero.emulator import home_providers

Json = Any
_CORPUS = Path(__file__).parent / "corpus"
_MORE = {"openai_chat": ("chat_providers",)}


@dataclass(frozen=True)
class Case:
    """A rule, a request that it rejects, and the nearest one that the service accepts.

    ``provider`` is whose service is asked; the dialect's own if it is empty.
    """

    rule: str
    bad: HttpRequest
    good: HttpRequest
    provider: str = ""


def post(url: str, body: Json, headers: Mapping[str, str]) -> HttpRequest:
    """Return a request with this JSON, or with these bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpRequest("POST", url, {"content-type": "application/json", **headers}, data)


def corpora() -> list[str]:
    """Return the dialects that have a corpus."""
    return [name for name in NAMES if (_CORPUS / f"{name}.py").exists()]


def cases_of(dialect: str) -> list[Case]:
    """Return the corpus of a dialect, with that of its other providers if it has one."""
    names = (
        dialect,
        *(name for name in _MORE.get(dialect, ()) if (_CORPUS / f"{name}.py").exists()),
    )
    return [case for name in names for case in import_module(f"tests.referee.corpus.{name}").CASES]


def judge(dialect: str, case: Case, request: HttpRequest) -> tuple[str, str] | None:
    """Return the rule that rejects a request and the answer's text; None if it is accepted."""
    service = get_dialect(dialect).service()
    provider = case.provider or _HOMES[dialect]
    try:
        endpoints = service.models
        asks = endpoints.classify(request) if endpoints is not None else None
        if endpoints is not None and asks == "models":
            endpoints.write_list(request, [], provider)
        elif endpoints is not None and endpoints.parse_count is not None and asks == "tokens":
            service.accept(endpoints.parse_count(request), provider)
        else:
            service.accept(request, provider)
    except Rejected as rejection:
        return rejection.rule, str(rejection)
    return None


_HOMES = dict(zip(NAMES, (each.name for each in home_providers()), strict=True))
