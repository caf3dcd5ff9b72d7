"""Everything pondero raises, as one tree that says whose fault it is.

PonderoError
  UsageError      you asked for something that cannot be
                  BadThinking BadPolicy BadParameter UnknownModel UnknownProvider Unsupported
                  MissingKey MissingExtra BadCatalog BadConfig UnknownThread
  ServiceError    the service said no; has status, code, retry_after, request_id
                  AuthFailed PermissionDenied NotFound BadRequest ContextTooLong RateLimited
                  QuotaSpent BillingFailed Overloaded ServerFailed Refused
  WireError       the peer broke its contract: Malformed Truncated
  TransportError  nothing came: Timeout Unreachable
  CassetteError   the recording does not fit
  StoreError      the threads on disk cannot be read or written
"""

from collections.abc import Mapping
from typing import ClassVar


class PonderoError(Exception):
    """The root: whatever pondero raises on purpose is one of these.

    >>> try:
    ...     pondero.plan("claude-opus-5", "hgih")
    ... except pondero.PonderoError as error:
    ...     print(error.category)
    invalid_arg
    """

    category: ClassVar[str] = "unknown"


class PonderoWarning(UserWarning):
    """What a plan adjusted, said aloud under the policy ``unsupported="warn"``.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     plan = pondero.plan("gpt-5", "off", policy={"unsupported": "warn"})
    >>> print(caught[0].message)
    openai:gpt-5: this model does not support disabling thinking; ...
    """


# -- you asked for something that cannot be --------------------------------------------------


class UsageError(PonderoError):
    """The call itself is wrong; nothing was sent.

    >>> try:
    ...     pondero.plan("claude-opus-5", temperature=-1)
    ... except pondero.UsageError as error:
    ...     print(error)
    temperature=-1 cannot be; use a number from 0 to 2
    """

    category: ClassVar[str] = "invalid_arg"


class BadThinking(UsageError):
    """The wish for thinking is not in the vocabulary.

    >>> try:
    ...     pondero.plan("claude-opus-5", "hgih")
    ... except pondero.BadThinking as error:
    ...     print(error)
    unknown level 'hgih'; did you mean 'high'? use off minimal low ...
    """


class BadPolicy(UsageError):
    """A policy field or its value is not known."""


class BadParameter(UsageError):
    """A parameter beside the wish (max_tokens, temperature ...) is out of range."""


class UnknownModel(UsageError):
    """No provider and no family in the catalog answers to this name.

    >>> try:
    ...     pondero.plan("nobody/nothing")
    ... except pondero.UnknownModel as error:
    ...     print(error)
    unknown model 'nobody/nothing'; see 'pondero models', ...
    """


class UnknownProvider(UsageError):
    """No provider of this name is in the catalog."""


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
    """An optional dependency is needed and not installed."""


class BadCatalog(UsageError):
    """A catalog file of the user's is broken; says file, line and key."""


class BadConfig(UsageError):
    """A setting is not known, cannot have that value, or would hold a key."""


class UnknownThread(UsageError):
    """No thread on disk, or more than one, answers to this id."""


# -- the service said no ---------------------------------------------------------------------


class ServiceError(PonderoError):
    """The service refused or failed; carries what it said.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.ServiceError as error:
    ...     print(error.status, error.category)
    500 server
    """

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
    """The key is good and may not do this."""

    category: ClassVar[str] = "auth"


class NotFound(ServiceError):
    """No such model or resource."""

    category: ClassVar[str] = "not_found"


class BadRequest(ServiceError):
    """The service refused the request as it was written."""

    category: ClassVar[str] = "invalid_arg"


class ContextTooLong(BadRequest):
    """The conversation does not fit the model's window.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.ContextTooLong as error:
    ...     print(error.status, error.category)
    400 invalid_arg
    """


class RateLimited(ServiceError):
    """Too many requests or tokens for now.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.RateLimited as error:
    ...     print(error.retry_after)
    2.5
    """

    category: ClassVar[str] = "rate_limit"


class QuotaSpent(ServiceError):
    """A quota that does not come back by waiting a little."""

    category: ClassVar[str] = "rate_limit"


class BillingFailed(ServiceError):
    """No credit, or the account cannot be charged."""

    category: ClassVar[str] = "auth"


class Overloaded(ServiceError):
    """The service is up and too busy.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.Overloaded as error:
    ...     print(error.status)
    529
    """

    category: ClassVar[str] = "server"


class ServerFailed(ServiceError):
    """The service broke."""

    category: ClassVar[str] = "server"


class ServiceTimeout(ServerFailed):
    """The service itself gave up waiting."""

    category: ClassVar[str] = "timeout"


class Refused(ServiceError):
    """The content was refused by a safety filter.

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
    529: Overloaded,  # in no standard, and said by many
}


def error_for_status(status: int) -> type[ServiceError]:
    """Return what a status means by itself, where the service says nothing finer."""
    return _BY_STATUS.get(status, ServerFailed if status >= 500 else BadRequest)


# -- the peer broke its contract -------------------------------------------------------------


class WireError(PonderoError):
    """What came is not what this wire allows.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.WireError as error:
    ...     print(error)
    the stream ended before message_stop
    """

    category: ClassVar[str] = "server"


class Malformed(WireError):
    """A value is missing or of the wrong type; ``path`` says where."""

    def __init__(self, message: str, *, path: str = "$") -> None:
        super().__init__(f"{message} at {path}")
        self.path = path


class Truncated(WireError):
    """The stream ended before its end."""


# -- nothing came ----------------------------------------------------------------------------


class TransportError(PonderoError):
    """No answer reached us.

    >>> try:
    ...     client.ask("claude-opus-5", "What is 17 * 23?")
    ... except pondero.TransportError as error:
    ...     print(error.category)
    network
    """

    category: ClassVar[str] = "network"


class Timeout(TransportError):
    """We waited as long as we were told to.

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
    """The recording does not fit the request, or could not be written.

    >>> from pondero.vcr import Cassette
    >>> try:
    ...     Cassette("cassettes/none.jsonl", record=False).assert_played()
    ... except pondero.errors.CassetteError as error:
    ...     print(error)
    there is no cassette cassettes/none.jsonl; ...
    """


class StoreError(PonderoError):
    """The threads on disk cannot be read or written; says where they are and what would help."""
