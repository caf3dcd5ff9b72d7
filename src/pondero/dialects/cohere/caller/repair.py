"""Refusals of this wire that name their own cure: there are none."""

from pondero.canon import HttpRequest
from pondero.dialects.dialect import Repair
from pondero.errors import ServiceError


def repair(request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return None: no refusal of this wire says what would be taken instead."""
    del request, error
    return None
