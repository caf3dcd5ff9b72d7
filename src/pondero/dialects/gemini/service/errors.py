"""Errors in the service's shape, and how each deployment words its rejections."""

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from pondero.canon import HttpResponse, Json, format_seconds
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

JSON = "application/json; charset=UTF-8"
RPC = "type.googleapis.com/google.rpc"
BAD_KEY = ((400, "API_KEY_INVALID"),)
"""Status and reason of a rejected key: 400 here, not 401."""

_STATUS_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
# Common code -> the service's own; None if status and message suffice.
_COMMON: Mapping[str, str | None] = {
    TOO_LONG: None,
    "insufficient_quota": "QUOTA_EXHAUSTED",
    "model_not_found": None,
}
_COUNTS = re.compile(r"(\d+) tokens > (\d+)")


class Surface(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of models.toml: what a deployment takes, and how it rejects.

    ``words`` and ``statuses`` are those of rules that rejections.toml has otherwise.
    """

    harms: tuple[str, ...]
    files: tuple[str, ...]
    absent: tuple[str, ...]
    lacking: tuple[str, ...]
    candidates: int = 0
    streams_logprobs: bool = True
    announces_tools: bool = False
    fetches_by_model: bool = False
    needs_roles: bool = False
    words: dict[str, str] = {}
    statuses: dict[str, int] = {}

    def lacks(self, name: str) -> bool:
        """Return whether a stored file or cache of this name does not exist."""
        return name.rpartition("/")[2] in self.absent

    def text(self, rule: str, /, **facts: Json) -> str:
        """Return the sentence of a rule about these facts."""
        return self.words.get(rule, load_rules(__package__).rule[rule].text).format(**facts)

    def rejection(
        self, rule: str, /, *, details: list[Json] | None = None, **facts: Json
    ) -> Rejected:
        """Return the error to raise for this rule."""
        return self.reject_as(rule, self.text(rule, **facts), details=details)

    def reject_as(self, rule: str, message: str, *, details: list[Json] | None = None) -> Rejected:
        """Return the error to raise for a rule that was broken in several places."""
        status = self.statuses.get(rule, load_rules(__package__).rule[rule].status)
        return Rejected(_response(status, _STATUS_WORDS.get(status), message, details), rule)


def error(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Return an error; a code that is not a status word is sent as a reason."""
    if code == TOO_LONG:
        message = _too_long(message)
    code = _COMMON.get(code or "", code)
    is_word = code in _STATUS_WORDS.values()
    details: list[Json] = []
    if code is not None and not is_word:
        details.append({"@type": f"{RPC}.ErrorInfo", "reason": code, "domain": "googleapis.com"})
    if retry_after is not None:
        wait = f"{format_seconds(retry_after)}s"
        details.append({"@type": f"{RPC}.RetryInfo", "retryDelay": wait})
    word = code if is_word and code else _STATUS_WORDS.get(status)
    return _response(status, word, message, details)


def _too_long(message: str) -> str:
    if "exceeds the maximum number of tokens" in message:
        return message
    found = _COUNTS.search(message)
    tokens, most = (f" ({count})" for count in found.groups()) if found else ("", "")
    return f"The input token count{tokens} exceeds the maximum number of tokens allowed{most}."


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
