"""Errors in the service's shape, and the sentences with which each deployment refuses."""

import msgspec
from msgspec import Struct

from pondero.canon import HttpResponse, Json
from pondero.dialects.dialect import Rejected

JSON = "application/json; charset=UTF-8"
RPC = "type.googleapis.com/google.rpc"
BAD_KEY = ((400, "API_KEY_INVALID"),)
"""How the service refuses a key: with a status that usually means another thing, and a code."""

_STATUS_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


class Surface(Struct, frozen=True, forbid_unknown_fields=True):
    """How one deployment refuses: by the name of a rule, its sentence and its status."""

    words: dict[str, str]
    statuses: dict[str, int] = {}

    def refused(
        self, name: str, /, *, details: list[Json] | None = None, **facts: Json
    ) -> Rejected:
        """Return the refusal of this name, to be raised."""
        status = self.statuses.get(name, 400)
        message = self.words[name].format(**facts)
        return Rejected(_response(status, _STATUS_WORDS.get(status), message, details))


def error(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Return an error of this status; a code that is not a status word is sent as a reason."""
    is_word = code == "FAILED_PRECONDITION" or code in _STATUS_WORDS.values()
    details: list[Json] = []
    if code is not None and not is_word:
        details.append({"@type": f"{RPC}.ErrorInfo", "reason": code, "domain": "googleapis.com"})
    if retry_after is not None:
        details.append({"@type": f"{RPC}.RetryInfo", "retryDelay": f"{retry_after:g}s"})
    word = code if is_word and code else _STATUS_WORDS.get(status)
    return _response(status, word, message, details)


def pretty(value: Json) -> bytes:
    """Return JSON as the service writes it outside of server-sent events."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _response(
    status: int, word: str | None, message: str, details: list[Json] | None
) -> HttpResponse:
    fault: dict[str, Json] = {"code": status, "message": message, "status": word or "UNKNOWN"}
    if details:
        fault["details"] = details
    return HttpResponse(status, {"content-type": JSON}, pretty({"error": fault}))
