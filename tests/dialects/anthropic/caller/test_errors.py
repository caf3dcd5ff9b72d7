"""Errors of the Messages API become ours."""

import json

import pytest
from tests.dialects.anthropic.wiring import WIRE

from pondero.canon import ResponseHead
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


def error(status, body=b"", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return WIRE.caller().error(ResponseHead(status, given), body)


def said(kind, message="words", **details):
    return {
        "type": "error",
        "error": {"type": kind, "message": message, "details": details or None},
    }


@pytest.mark.parametrize(
    ("status", "kind", "raised"),
    [
        (400, "invalid_request_error", BadRequest),
        (401, "authentication_error", AuthFailed),
        (402, "billing_error", BillingFailed),
        (403, "permission_error", PermissionDenied),
        (404, "not_found_error", NotFound),
        (413, "request_too_large", BadRequest),
        (429, "rate_limit_error", RateLimited),
        (500, "api_error", ServerFailed),
        (504, "timeout_error", ServiceTimeout),
        (529, "overloaded_error", Overloaded),
    ],
)
def test_a_type_tells_the_error_and_so_does_the_status_alone(status, kind, raised):
    typed = error(status, said(kind))
    assert type(typed) is raised
    assert (typed.status, typed.code, typed.message) == (status, kind, "words")
    assert type(error(status, b"<html>oops</html>")) is raised


@pytest.mark.parametrize(
    ("message", "raised"),
    [
        ("prompt is too long: 208310 tokens > 200000 maximum", ContextTooLong),
        ("input length and `max_tokens` exceed context limit: 199 + 20 > 200", ContextTooLong),
        ("Your credit balance is too low to access the Anthropic API.", BillingFailed),
        ("max_tokens: Field required", BadRequest),
    ],
)
def test_only_the_message_tells_a_full_context_or_an_empty_account(message, raised):
    assert type(error(400, said("invalid_request_error", message))) is raised


def test_the_finer_code_comes_first():
    spent = error(429, said("rate_limit_error", error_code="enforced_spend_limit_reached"))
    assert type(spent) is QuotaSpent
    assert spent.code == "enforced_spend_limit_reached"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        (
            {
                "retry_after": "Sun, 15 Nov 2026 10:00:30 GMT",
                "date": "Sun, 15 Nov 2026 10:00:00 GMT",
            },
            30,
        ),
        ({"retry_after": "Sun, 15 Nov 2026 10:00:30 GMT"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "nan"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_told_in_seconds(headers, seconds):
    assert error(429, said("rate_limit_error"), **headers).retry_after == seconds


def test_the_request_id_comes_from_the_header_or_the_body():
    assert error(500, {**said("api_error"), "request_id": "req_b"}).request_id == "req_b"
    assert error(500, said("api_error"), request_id="req_h").request_id == "req_h"


def test_other_hosts_shapes_are_read_too():
    google = [{"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}]
    found = error(404, google)
    assert (type(found), found.message, found.code) == (NotFound, "no such model", "NOT_FOUND")
    azure = {"error": {"code": "DeploymentNotFound", "message": "none"}}
    assert error(404, azure).code == "DeploymentNotFound"
    assert error(400, {"error": "bad"}).message == "bad"
    assert error(400, {"message": "top"}).message == "top"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "HTTP 503, and nothing more"),
        (b"<html><h1>503</h1>\n<p>busy</p></html>", "HTTP 503: 503 busy"),
        (b"\xff\xfe", "HTTP 503: \ufffd\ufffd"),
        (b"[]", "HTTP 503: []"),
        (b"7", "HTTP 503: 7"),
        (
            b'{"error": {"message": 7, "type": []}}',
            'HTTP 503: {"error": {"message": 7, "type": []}}',
        ),
    ],
)
def test_any_body_leaves_something_to_read(body, message):
    found = error(503, body)
    assert (type(found), found.message, found.body) == (Overloaded, message, body)
