"""A dialect's repair of a request, where it has any."""

from pondero.canon import HttpRequest
from pondero.dialects import Repair, get_dialect
from pondero.errors import ServiceError


def repair(name: str, request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request as the service would take it; None where its refusal names no cure."""
    made = get_dialect(name).caller().repair
    return made(request, error) if made is not None else None
