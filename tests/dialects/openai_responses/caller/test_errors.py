"""What a service says is wrong, as an error of our tree."""

import json

import pytest

from pondero.canon import ResponseHead
from pondero.dialects.openai_responses.caller import CALLER
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
    Refused,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
)


def failed(status, body=b"", **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return CALLER.error(ResponseHead(status, named), raw)


def saying(message="m", **fields):
    return {"error": {"message": message, "type": "invalid_request_error", "param": None} | fields}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, saying(code="unsupported_value"), BadRequest),
        (400, saying(code="model_not_found"), NotFound),
        (400, saying(code="context_length_exceeded"), ContextTooLong),
        (400, saying("Your input exceeds the context window of this model."), ContextTooLong),
        (400, saying("This model's maximum context length is 8192 tokens."), ContextTooLong),
        (400, saying(code="invalid_encrypted_content"), BadRequest),
        (400, saying(code="content_filter"), Refused),
        (400, saying(code="invalid_prompt"), Refused),
        (401, saying(code="invalid_api_key"), AuthFailed),
        (402, saying("Insufficient Balance"), BillingFailed),
        (403, saying("Country, region, or territory not supported"), PermissionDenied),
        (404, saying("No such thing"), NotFound),
        (408, saying(), ServiceTimeout),
        (422, saying(), BadRequest),
        (429, saying(code="rate_limit_exceeded"), RateLimited),
        (429, saying(code="slow_down", type="rate_limit_error"), RateLimited),
        (429, saying(code="insufficient_quota"), QuotaSpent),
        (429, saying(type="insufficient_quota", code=None), QuotaSpent),
        (429, saying(code="billing_hard_limit_reached"), BillingFailed),
        (429, saying(code="project_spend_limit_exceeded"), QuotaSpent),
        (500, saying(code="server_error", type="server_error"), ServerFailed),
        (502, b"<html>Bad gateway</html>", ServerFailed),
        (503, saying(code="server_is_overloaded", type="service_unavailable_error"), Overloaded),
        (503, b"upstream connect error", Overloaded),
        (504, b"", ServiceTimeout),
        # other deployments of this wire
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided."}, AuthFailed),
        (400, {"code": "invalid-argument", "error": "Model not found: grok-0"}, NotFound),
        (401, {"detail": "Could not parse your authentication token."}, AuthFailed),
        (402, {"error": {"code": 402, "message": "Insufficient credits"}}, BillingFailed),
        (
            400,
            {"error": {"code": 400, "message": "x", "metadata": {"error_type": "refusal"}}},
            Refused,
        ),
    ],
)
def test_each_refusal_has_its_type(status, body, kind):
    error = failed(status, body)

    assert type(error) is kind
    assert error.status == status


def test_it_says_what_the_service_said():
    body = saying("Unknown parameter: 'x'.", code="unknown_parameter", param="x")
    error = failed(400, body, x_request_id="req_1")

    assert error.message == "Unknown parameter: 'x'."
    assert error.code == "unknown_parameter"
    assert error.request_id == "req_1"
    assert json.loads(error.body) == body


def test_without_a_code_the_type_stands_for_it():
    assert failed(400, saying(code=None)).code == "invalid_request_error"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>no</body></html>",
        b"\xff\xfe",
        b"[]",
        b"5",
        b'"x"',
        b"null",
        b"{}",
        b"[" * 9999,
    ],
)
def test_what_is_no_error_of_this_wire_is_survived(body):
    error = failed(500, body)

    assert isinstance(error, ServiceError)
    assert error.message


@pytest.mark.parametrize(
    "odd", [{"error": 5}, {"error": [1]}, {"error": {"message": 5, "code": {}, "type": []}}, [[]]]
)
def test_wrong_types_are_survived(odd):
    assert failed(400, odd).message


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry_after_ms": "1500", "retry_after": "2"}, "m", 1.5),
        ({"retry_after": "7"}, "m", 7.0),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "m", None),
        ({}, "Rate limit reached. Please try again in 1.2s. Visit us.", 1.2),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please try again in 1m3s.", 63.0),
        ({"x_ratelimit_reset_requests": "6m0s", "x_ratelimit_remaining_requests": "0"}, "m", 360.0),
        (
            {
                "x_ratelimit_reset_requests": "1s",
                "x_ratelimit_remaining_requests": "9",
                "x_ratelimit_reset_tokens": "2s",
                "x_ratelimit_remaining_tokens": "0",
            },
            "m",
            2.0,
        ),
        ({"retry_after": "-1"}, "m", None),
        ({"retry_after": "nan"}, "m", None),
        ({}, "m", None),
    ],
)
def test_the_wait_is_read_wherever_it_stands(headers, message, seconds):
    assert (
        failed(429, saying(message, code="rate_limit_exceeded"), **headers).retry_after == seconds
    )


def test_a_wait_in_the_details_is_read():
    body = {"error": {"code": 429, "message": "m", "metadata": {"retry_after_seconds": 3}}}

    assert failed(429, body).retry_after == 3.0
