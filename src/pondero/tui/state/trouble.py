"""What went wrong, in a sentence, and a way on."""

from ...errors import (
    AuthFailed,
    BillingFailed,
    ContextTooLong,
    MissingKey,
    NotFound,
    Overloaded,
    PermissionDenied,
    PonderoError,
    QuotaSpent,
    RateLimited,
    Refused,
    ServerFailed,
    Timeout,
    Truncated,
    Unreachable,
    WireError,
)

_AGAIN = "press Enter to send it again"
_WAYS: tuple[tuple[type[PonderoError], str], ...] = (
    (MissingKey, "set it and start again, or /model; pondero chat --offline needs none"),
    (AuthFailed, "check the key: /doctor says where it comes from"),
    (PermissionDenied, "this key may not use it: /model to go on with another"),
    (BillingFailed, "/model to go on with another provider"),
    (QuotaSpent, "/model to go on with another provider"),
    (NotFound, "is it spelt right? /model with Tab completes the names"),
    (ContextTooLong, "/new begins afresh, /model goes on with one that has a longer window"),
    (RateLimited, f"wait a little, then {_AGAIN}; or /model"),
    (Overloaded, f"wait a little, then {_AGAIN}; or /model"),
    (Refused, "say it in other words, or /model"),
    (ServerFailed, f"{_AGAIN}, or /model"),
    (Timeout, f"{_AGAIN}, or try less thinking with Ctrl+T"),
    (Unreachable, f"is there a network? {_AGAIN}; pondero chat --offline works without one"),
    (Truncated, _AGAIN),
    (WireError, f"{_AGAIN}; /raw shows what came"),
)


def trouble(error: PonderoError) -> tuple[str, ...]:
    """Return what happened and what can be done, a line each."""
    said = " ".join(str(error).split()) or type(error).__name__
    status = getattr(error, "status", None)
    kind = f" ({status})" if status else ""
    way = next((way for kind, way in _WAYS if isinstance(error, kind)), "/help shows what there is")
    return (f"✗ {said}{kind}", f"  → {way}")
