"""What the service said was wrong, to our tree."""

import json

import pytest

from pondero.canon import ResponseHead
from pondero.dialects.gemini.caller import CALLER
from pondero.errors import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    ContextTooLong,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaSpent,
    RateLimited,
    ServerFailed,
    ServiceTimeout,
)

RPC = "type.googleapis.com/google.rpc"
BAD_KEY = [{"@type": f"{RPC}.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]


def error_of(status, message="words", word=None, details=None, *, headers=None, in_array=False):
    fault = {"code": status, "message": message, "status": word}
    if details:
        fault["details"] = details
    body = [{"error": fault}] if in_array else {"error": fault}
    return CALLER.error(ResponseHead(status, headers or {}), json.dumps(body).encode())


@pytest.mark.parametrize(
    ("status", "word", "message", "details", "kind"),
    [
        (400, "INVALID_ARGUMENT", "Budget 0 is invalid.", None, BadRequest),
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            BAD_KEY,
            AuthFailed,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            None,
            AuthFailed,
        ),
        (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", None, AuthFailed),
        (
            400,
            "FAILED_PRECONDITION",
            "User location is not supported for the API use.",
            None,
            PermissionDenied,
        ),
        (400, "FAILED_PRECONDITION", "Please enable billing on your project.", None, BillingFailed),
        (
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials.",
            None,
            AuthFailed,
        ),
        (
            403,
            "PERMISSION_DENIED",
            "Permission denied on resource project p.",
            None,
            PermissionDenied,
        ),
        (403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers", None, AuthFailed),
        (403, "PERMISSION_DENIED", "Your API key was reported as leaked.", None, AuthFailed),
        (403, "PERMISSION_DENIED", "x", [{"reason": "BILLING_DISABLED"}], BillingFailed),
        (404, "NOT_FOUND", "models/x is not found for API version v1beta", None, NotFound),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Resource exhausted. Please try again later.",
            None,
            RateLimited,
        ),
        (429, "RESOURCE_EXHAUSTED", "Quota exceeded, limit: 0, model: x", None, QuotaSpent),
        (429, "RESOURCE_EXHAUSTED", "x", [{"reason": "QUOTA_EXHAUSTED"}], QuotaSpent),
        (499, "CANCELLED", "The operation was cancelled.", None, ServerFailed),
        (500, "INTERNAL", "An internal error has occurred.", None, ServerFailed),
        (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", None, Overloaded),
        (504, "DEADLINE_EXCEEDED", "Deadline expired.", None, ServiceTimeout),
        (502, None, "bad gateway", None, ServerFailed),
    ],
)
@pytest.mark.parametrize("in_array", [False, True])
def test_every_error_has_its_kind(status, word, message, details, kind, in_array):
    error = error_of(status, message, word, details, in_array=in_array)
    assert type(error) is kind
    assert (error.status, error.message, error.code) == (status, message, word)
    assert json.loads(error.body)


def test_a_conversation_too_long_is_told_from_other_bad_requests():
    message = (
        "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576)."
    )
    assert type(error_of(400, message, "INVALID_ARGUMENT")) is ContextTooLong


def test_a_quota_of_the_day_is_spent_and_one_of_the_minute_is_not():
    def limited(quota):
        failure = {"@type": f"{RPC}.QuotaFailure", "violations": [{"quotaId": quota}]}
        return error_of(429, "You exceeded your current quota", "RESOURCE_EXHAUSTED", [failure])

    assert type(limited("GenerateRequestsPerDayPerProjectPerModel-FreeTier")) is QuotaSpent
    assert type(limited("GenerateRequestsPerMinutePerProjectPerModel")) is RateLimited


@pytest.mark.parametrize(
    ("message", "details", "headers", "seconds"),
    [
        ("m", [{"@type": f"{RPC}.RetryInfo", "retryDelay": "34.4s"}], {}, 34.4),
        ("m", [{"@type": f"{RPC}.RetryInfo", "retryDelay": "5s"}], {"retry-after": "60"}, 5.0),
        ("m", [{"@type": f"{RPC}.RetryInfo", "retryDelay": "soon"}], {"retry-after": "60"}, 60.0),
        ("m", None, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ("Please retry in 34.421s.", None, {}, 34.421),
        ("Please retry in 421.5ms.", None, {}, 0.4215),
        ("Your quota will reset after 18h31m10s.", None, {}, 66670.0),
        ("m", None, {}, None),
    ],
)
def test_how_long_to_wait_is_found_wherever_it_stands(message, details, headers, seconds):
    error = error_of(429, message, "RESOURCE_EXHAUSTED", details, headers=headers)
    assert error.retry_after == (pytest.approx(seconds) if seconds is not None else None)


def test_the_request_id_is_kept():
    details = [{"@type": f"{RPC}.RequestInfo", "requestId": "r-1"}]
    assert error_of(500, "m", "INTERNAL", details).request_id == "r-1"
    assert error_of(500, "m", "INTERNAL", headers={"x-request-id": "r-2"}).request_id == "r-2"


@pytest.mark.parametrize(
    ("status", "body", "kind", "word"),
    [
        (
            502,
            b"<html><head><style>x{}</style></head><body>Bad <b>Gateway</b></body></html>",
            ServerFailed,
            "Bad Gateway",
        ),
        (503, b"", Overloaded, "503"),
        (429, b"slow down", RateLimited, "slow down"),
        (500, b'{"error": "words"}', ServerFailed, "words"),
        (
            400,
            b'{"error": {"code": "400", "message": 7, "details": [1, {"violations": 3}]}}',
            BadRequest,
            "400",
        ),
        (400, b"[]", BadRequest, "400"),
        (400, b"\xff\xfe", BadRequest, "400"),
    ],
)
def test_a_body_of_any_shape_is_survived(status, body, kind, word):
    error = CALLER.error(ResponseHead(status), body)
    assert type(error) is kind
    assert word in error.message
    assert error.body == body


def test_an_error_wrapped_by_cloud_code_assist_is_unwrapped():
    body = b'{"response": {"error": {"code": 404, "message": "m", "status": "NOT_FOUND"}}}'
    assert type(CALLER.error(ResponseHead(404), body)) is NotFound
