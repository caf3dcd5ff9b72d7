"""Chat Completions: OpenAI's wire, which many other providers copied and changed a little.

How one deployment differs is data: quirks from the catalog on the caller's side, tables in
``service/providers`` on the service's side.
"""

from functools import cache

from ...canon import Json
from ..dialect import Caller, Dialect, Service

NAME = "openai_chat"


@cache
def _caller() -> Caller:
    from .caller import CALLER  # noqa: PLC0415 - each side is loaded when it is first needed

    return CALLER


@cache
def _service() -> Service[Json]:
    from .service import SERVICE  # noqa: PLC0415 - each side is loaded when it is first needed

    return SERVICE


DIALECT = Dialect(NAME, _caller, _service)
