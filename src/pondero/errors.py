"""Every error of pondero, in one tree by whose fault it is.

PonderoError
  UsageError      the call is invalid; nothing was sent
                  BadThinking BadPolicy BadParameter UnknownModel UnknownProvider Unsupported
                  MissingKey MissingExtra BadCatalog BadConfig UnknownThread
  ServiceError    the service rejected the request or failed; has status, code, retry_after ...
                  AuthFailed PermissionDenied NotFound BadRequest ContextTooLong RateLimited
                  QuotaSpent BillingFailed Overloaded ServerFailed Refused
  WireError       the peer broke its contract: Malformed Truncated
  TransportError  no response arrived: Timeout Unreachable
  CassetteError   the cassette does not match
  StoreError      the threads on disk cannot be read or written
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import ClassVar

_redactors: list[Callable[[str], str]] = []


def redact_with(redactor: Callable[[str], str]) -> None:
    """Redact the text of every error: a call may have a key where a model or a level belongs."""
    _redactors[:] = [redactor]


def _redact(text: str) -> str:
    for redactor in _redactors:
        text = redactor(text)
    return text


class PonderoError(Exception):
    """The base class of all errors that pondero raises.

    >>> try:
    ...     pondero.plan("claude-opus-5", "hgih")
    ... except pondero.PonderoError as error:
    ...     print(error.category)
    invalid_arg
    """

    category: ClassVar[str] = "unknown"

    def __str__(self) -> str:
        return _redact(super().__str__())

    def __repr__(self) -> str:
        return _redact(super().__repr__())


class PythonNote(str):
    """A note of an error that only a Python program can use; the commands do not print it."""

    __slots__ = ()


def user_notes(error: BaseException) -> list[str]:
    """Return the notes of an error for the user of a command."""
    notes: list[str] = getattr(error, "__notes__", [])
    return [note for note in notes if not isinstance(note, PythonNote)]


class PonderoWarning(UserWarning):
    """An unknown setting in config.toml, or an adjustment under the policy ``unsupported="warn"``.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     plan = pondero.plan("gpt-5", "off", policy={"unsupported": "warn"})
    >>> print(caught[0].message)
    openai:gpt-5: this model does not support disabling thinking; ...
    """


def warn_caller(message: str) -> None:
    """Issue a ``PonderoWarning`` at the line that called pondero."""
    frame, depth = sys._getframe(1), 2  # noqa: SLF001 - no public function does this
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pondero."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(_redact(message), PonderoWarning, stacklevel=depth)


# -- the call is invalid ---------------------------------------------------------------------


class UsageError(PonderoError):
    """The call is invalid; nothing was sent.

    >>> try:
    ...     pondero.plan("claude-opus-5", temperature=-1)
    ... except pondero.UsageError as error:
    ...     print(error)
    invalid temperature=-1; use a number from 0 to 2
    """

    category: ClassVar[str] = "invalid_arg"


class BadThinking(UsageError):
    """The requested level is unknown.

    >>> try:
    ...     pondero.plan("claude-opus-5", "hgih")
    ... except pondero.BadThinking as error:
    ...     print(error)
    unknown level 'hgih'; did you mean 'high'? use off minimal low ...
    """


class BadPolicy(UsageError):
    """A field of the policy, or its value, is unknown."""


class BadParameter(UsageError):
    """A parameter other than the level (max_tokens, temperature ...) is invalid."""


class UnknownModel(UsageError):
    """No provider and no family in the catalog has this name.

    >>> try:
    ...     pondero.plan("nobody/nothing")
    ... except pondero.UnknownModel as error:
    ...     print(error)
    unknown model 'nobody/nothing'; see 'pondero models', ...
    """


class UnknownProvider(UsageError):
    """The catalog has no provider of this name."""


class Unsupported(UsageError):
    """The model cannot do exactly this, and the policy is ``unsupported="strict"``."""


class MissingKey(UsageError):
    """The provider needs a key and none was found.

    >>> try:
    ...     pondero.Client().ask("moonshot:kimi-k3", "What is 17 * 23?")
    ... except pondero.MissingKey as error:
    ...     print(error)
    Moonshot needs a key: set MOONSHOT_API_KEY or KIMI_API_KEY, ...
    """

    category: ClassVar[str] = "auth"


class MissingExtra(UsageError):
    """An optional dependency is not installed."""


class BadCatalog(UsageError):
    """A catalog file of the user is invalid; names file, line and key."""


class BadConfig(UsageError):
    """A setting is unknown, has an invalid value, or would hold a key."""


class UnknownThread(UsageError):
    """No saved thread, or more than one, has this id."""


# -- the service rejected the request or failed ----------------------------------------------


class ServiceError(PonderoError):
    """The service rejected the request or failed; carries its response.

    ``provider`` is the name of the one that was asked, empty if it is not known.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.ServiceError as error:
    ...     print(error.status, error.category)
    500 server
    """

    provider: str = ""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        body: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.retry_after = retry_after
        self.request_id = request_id
        self.body = body


class AuthFailed(ServiceError):
    """The key is missing, wrong or expired.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.AuthFailed as error:
    ...     print(error.status)
    401
    """

    category: ClassVar[str] = "auth"


class PermissionDenied(ServiceError):
    """The key is valid, but is not allowed to do this."""

    category: ClassVar[str] = "auth"


class NotFound(ServiceError):
    """No such model or resource."""

    category: ClassVar[str] = "not_found"


class BadRequest(ServiceError):
    """The service rejected the request as invalid."""

    category: ClassVar[str] = "invalid_arg"


class ContextTooLong(BadRequest):
    """The conversation does not fit the model's context window.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.ContextTooLong as error:
    ...     print(error.status, error.category)
    400 invalid_arg
    """


class RateLimited(ServiceError):
    """Too many requests or tokens; retry later.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.RateLimited as error:
    ...     print(error.retry_after)
    2.5
    """

    category: ClassVar[str] = "rate_limit"


class QuotaSpent(ServiceError):
    """A quota is used up; a short wait does not restore it."""

    category: ClassVar[str] = "rate_limit"


class BillingFailed(ServiceError):
    """The account has no credit or cannot be charged."""

    category: ClassVar[str] = "auth"


class Overloaded(ServiceError):
    """The service is too busy.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.Overloaded as error:
    ...     print(error.status)
    529
    """

    category: ClassVar[str] = "server"


class ServerFailed(ServiceError):
    """The service failed."""

    category: ClassVar[str] = "server"


class ServiceTimeout(ServerFailed):
    """The service itself timed out."""

    category: ClassVar[str] = "timeout"


class Refused(ServiceError):
    """A safety filter refused the content.

    >>> try:
    ...     client.ask("gpt-5.1", "What is 17 * 23?")
    ... except pondero.Refused as error:
    ...     print(error.category)
    content_filter
    """

    category: ClassVar[str] = "content_filter"


_BY_STATUS: Mapping[int, type[ServiceError]] = {
    401: AuthFailed,
    402: BillingFailed,
    403: PermissionDenied,
    404: NotFound,
    408: ServiceTimeout,
    429: RateLimited,
    503: Overloaded,
    504: ServiceTimeout,
    529: Overloaded,  # not in the HTTP standard, but common
}


def error_for_status(status: int) -> type[ServiceError]:
    """Return the error class of a status, for a service that gives no finer reason."""
    if 300 <= status < 400:  # no word on the request: a redirect, as to a page for signing in
        return ServiceError
    return _BY_STATUS.get(status, ServerFailed if status >= 500 else BadRequest)


# -- the peer broke its contract -------------------------------------------------------------


class WireError(PonderoError):
    """The response is not valid on this wire.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.WireError as error:
    ...     print(error)
    the stream ended before message_stop
    """

    category: ClassVar[str] = "server"


class Malformed(WireError):
    """A value is missing or has the wrong type; ``path`` names it, None for the whole answer."""

    def __init__(self, message: str, *, path: str | None = "$") -> None:
        super().__init__(message if path is None else f"{message} at {path}")
        self.path: str = path or "$"


class Truncated(WireError):
    """The stream ended early."""


# -- no response arrived ---------------------------------------------------------------------


class TransportError(PonderoError):
    """No response arrived; ``connected``: the service may have had the request.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.TransportError as error:
    ...     print(error.category)
    network
    """

    category: ClassVar[str] = "network"

    def __init__(self, message: str = "", *, connected: bool = True) -> None:
        super().__init__(message)
        self.connected = connected


class Timeout(TransportError):
    """The configured time is over.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.Timeout as error:
    ...     print(error.category)
    timeout
    """

    category: ClassVar[str] = "timeout"


class Unreachable(TransportError):
    """The host could not be reached."""


class CassetteError(PonderoError):
    """The cassette does not match the request, or could not be written.

    >>> from pondero.vcr import Cassette
    >>> try:
    ...     Cassette("cassettes/none.jsonl", record=False).assert_played()
    ... except pondero.errors.CassetteError as error:
    ...     print(error)
    there is no cassette cassettes/none.jsonl; ...
    """


class StoreError(PonderoError):
    """The threads on disk cannot be read or written; names the file and the fix."""
