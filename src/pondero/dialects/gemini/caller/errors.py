"""Reads errors by the reason in their details, else by the status; a bad key is a 400 here."""

from pondero.canon import ResponseHead
from pondero.dialects.google_errors import from_error
from pondero.errors import ServiceError
from pondero.framing import parse_json_or_none

__all__ = ["error", "from_error"]


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error that an answer is; survives HTML and an empty body."""
    raw = parse_json_or_none(body)
    if isinstance(raw, list) and raw:
        raw = raw[0]
    error = raw.get("error") if isinstance(raw, dict) else None
    if isinstance(raw, dict) and error is None and isinstance(raw.get("response"), dict):
        error = raw["response"].get("error")
    return from_error(error, head=head, body=body)
