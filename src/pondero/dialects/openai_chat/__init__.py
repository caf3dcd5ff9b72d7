"""Chat Completions: the wire of OpenAI and of everybody who copied it; clones differ by quirks."""

from ...canon import Json
from ..dialect import Caller, Dialect, Service

NAME = "openai_chat"


def _caller() -> Caller:
    from .caller import CALLER  # noqa: PLC0415 - each side is loaded when it is first needed

    return CALLER


def _service() -> Service[Json]:
    from .service import SERVICE  # noqa: PLC0415 - each side is loaded when it is first needed

    return SERVICE


DIALECT = Dialect(NAME, _caller, _service)
