"""What the service says is wrong, as our errors."""

import json

import pytest

from pondero.canon import ResponseHead
from pondero.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaSpent,
    RateLimited,
    ServerFailed,
    ServiceTimeout,
)

from ..making import WIRE

CASES = [
    (400, "ValidationException", "The text field is blank.", BadRequest),
    (400, "ValidationException", "The provided model identifier is invalid.", NotFound),
    (400, "ValidationException", "Input is too long for requested model.", ContextTooLong),
    (
        400,
        None,
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
        ContextTooLong,
    ),
    (403, "AccessDeniedException", "You don't have access to the model.", PermissionDenied),
    (403, "ExpiredTokenException", "The token has expired", AuthFailed),
    (403, None, "The security token included in the request is expired", AuthFailed),
    (403, "UnrecognizedClientException", "The key is invalid.", AuthFailed),
    (404, "ResourceNotFoundException", "no such", NotFound),
    (408, "ModelTimeoutException", "too slow", ServiceTimeout),
    (424, "ModelErrorException", "the model broke", ServerFailed),
    (429, "ThrottlingException", "Too many tokens, please wait before trying again.", RateLimited),
    (429, "ThrottlingException:http://internal.amazon.com/coral/", "slow down", RateLimited),
    (429, "ThrottlingException", "Too many tokens per day, please wait.", QuotaSpent),
    (429, "ModelNotReadyException", "warming up", Overloaded),
    (500, "InternalServerException", "oh", ServerFailed),
    (503, "ServiceUnavailableException", "busy", Overloaded),
    (418, None, "teapot", BadRequest),
]


@pytest.mark.parametrize(("status", "name", "message", "kind"), CASES)
def test_every_exception_has_its_error(status, name, message, kind):
    headers = {"x-amzn-requestid": "r-1"} | ({"x-amzn-errortype": name} if name else {})
    error = WIRE.caller().error(
        ResponseHead(status, headers), json.dumps({"message": message}).encode()
    )
    assert type(error) is kind
    assert (error.status, error.message, error.request_id) == (status, message, "r-1")
    assert error.code == (name.partition(":")[0] if name else None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "soon"}, None),
        (
            {
                "retry-after": "Sun, 15 Nov 2026 12:00:09 GMT",
                "date": "Sun, 15 Nov 2026 12:00:00 GMT",
            },
            9.0,
        ),
    ],
)
def test_a_hint_when_to_come_back_is_read(headers, seconds):
    assert WIRE.caller().error(ResponseHead(429, headers), b"{}").retry_after == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "HTTP 502, and nothing more"),
        (b"<html>Bad gateway</html>", "HTTP 502: Bad gateway"),
        (b'{"Message": "in capitals"}', "in capitals"),
        (b"[1]", "HTTP 502: [1]"),
    ],
)
def test_any_body_is_survived(body, words):
    assert WIRE.caller().error(ResponseHead(502), body).message == words
