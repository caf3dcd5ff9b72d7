"""Refusals of this wire that name their own cure: there are none."""

from ...canon import HttpRequest
from ...errors import ServiceError
from ..dialect import Repair


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return None: no refusal of this wire says what would be taken instead."""
    del request, error
    return None
