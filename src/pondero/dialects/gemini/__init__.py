"""Gemini's generateContent, as the Gemini API, Vertex and Cloud Code Assist speak it."""

from functools import cache

from ...canon import Json
from ..dialect import Caller, Dialect, Service

NAME = "gemini"


@cache
def _caller() -> Caller:
    from .caller import CALLER  # noqa: PLC0415 - each side is loaded when it is first needed

    return CALLER


@cache
def _service() -> Service[Json]:
    from .service import SERVICE  # noqa: PLC0415 - each side is loaded when it is first needed

    return SERVICE


DIALECT = Dialect(NAME, _caller, _service)
