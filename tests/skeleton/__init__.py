"""A dialect to begin from: the smallest wire on which every law holds.

Copy this folder to `src/pondero/dialects/<name>/` and change it file by file; CONTRIBUTING.md has
the steps. The wire is made up: one JSON object a request, typed parts, a server-sent stream.
"""

from pondero.canon import Json
from pondero.dialects.dialect import Caller, Dialect, Service


def _caller() -> Caller:
    from .caller import CALLER  # noqa: PLC0415 - each side is loaded when it is first needed

    return CALLER


def _service() -> Service[Json]:
    from .service import SERVICE  # noqa: PLC0415 - each side is loaded when it is first needed

    return SERVICE


DIALECT = Dialect("skeleton", _caller, _service)
