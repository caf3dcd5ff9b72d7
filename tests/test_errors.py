"""What a status means by itself."""

import pytest

from pondero.errors import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    NotFound,
    Overloaded,
    PermissionDenied,
    RateLimited,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
    error_for_status,
)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, ServiceError),
        (400, BadRequest),
        (401, AuthFailed),
        (402, BillingFailed),
        (403, PermissionDenied),
        (404, NotFound),
        (408, ServiceTimeout),
        (422, BadRequest),
        (429, RateLimited),
        (500, ServerFailed),
        (502, ServerFailed),
        (503, Overloaded),
        (504, ServiceTimeout),
        (529, Overloaded),
    ],
)
def test_a_status_tells_the_kind_of_error(status, kind):
    assert error_for_status(status) is kind
