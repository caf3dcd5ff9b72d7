"""Why a sign-in fails: a status, one sentence for the person, and more for the records."""


class SignInError(Exception):
    """A sign-in ends without a session; the message is one sentence without any secret.

    ``detail`` is for the records of the gateway alone: what was wrong with the provider's answer.
    """

    def __init__(self, status: int, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


def make_unreachable(detail: str) -> SignInError:
    """Return the error for an identity provider that does not answer as it should."""
    message = "The identity provider cannot be reached now; try again in a moment."
    return SignInError(502, message, detail=detail)


def make_invalid(detail: str) -> SignInError:
    """Return the error for an answer of the identity provider that proves nothing."""
    message = "The identity provider's answer is not valid, so you are not signed in."
    return SignInError(502, message, detail=detail)


def make_expired(detail: str) -> SignInError:
    """Return the error for an answer to a sign-in that this browser did not begin, or long ago."""
    message = "This sign-in has expired or was begun in another browser; sign in again."
    return SignInError(400, message, detail=detail)


def make_unconfigured(detail: str) -> SignInError:
    """Return the error for a gateway that cannot prove to the provider who it is."""
    message = "This gateway cannot read its client secret; ask its operator for help."
    return SignInError(503, message, detail=detail)
