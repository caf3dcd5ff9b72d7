"""Amazon Bedrock's Converse and ConverseStream, as every maker's models speak it there."""

from ...canon import Json
from ..dialect import Caller, Dialect, Service

NAME = "bedrock"


def _caller() -> Caller:
    from .caller import CALLER  # noqa: PLC0415 - each side is loaded when it is first needed

    return CALLER


def _service() -> Service[Json]:
    from .service import SERVICE  # noqa: PLC0415 - each side is loaded when it is first needed

    return SERVICE


DIALECT = Dialect(NAME, _caller, _service)
