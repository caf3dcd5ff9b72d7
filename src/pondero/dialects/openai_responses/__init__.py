"""The Responses wire of OpenAI: items in and out, with thinking as sealed items among them."""

from functools import cache

from pondero.canon import Json
from pondero.dialects.dialect import Caller, Dialect, Service

NAME = "openai_responses"


@cache
def _caller() -> Caller:
    from .caller import CALLER  # noqa: PLC0415 - each side is loaded when it is first needed

    return CALLER


@cache
def _service() -> Service[Json]:
    from .service import SERVICE  # noqa: PLC0415 - each side is loaded when it is first needed

    return SERVICE


DIALECT = Dialect(NAME, _caller, _service)
