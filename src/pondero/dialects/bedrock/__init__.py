"""Amazon Bedrock's Converse and ConverseStream: one wire for the models of every maker."""

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


DIALECT = Dialect("bedrock", _caller, _service)
