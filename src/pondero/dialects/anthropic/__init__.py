"""Anthropic's Messages API, as Anthropic, Vertex, Azure and others speak it."""

from functools import cache

from pondero.canon import Json
from pondero.dialects.dialect import Caller, Dialect, Service


@cache
def _caller() -> Caller:
    from .caller import CALLER  # noqa: PLC0415 - each side is loaded when it is first needed

    return CALLER


@cache
def _service() -> Service[Json]:
    from .service import SERVICE  # noqa: PLC0415 - each side is loaded when it is first needed

    return SERVICE


DIALECT = Dialect("anthropic", _caller, _service)
