"""What the service says is wrong, in all the shapes there are, before and inside an answer."""

import json

import pytest

from pondero import errors
from pondero.canon import ResponseHead, TextDelta
from pondero.dialects import AnswerContext

from ..making import CHAT, chunk, sse, streamed, whole


def told(status, raw, **headers):
    data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return CHAT.caller().error(ResponseHead(status, named), data)


def nested(message="no", **rest):
    return {"error": {"message": message, **rest}}


SHAPES = [
    (
        400,
        nested("no", type="invalid_request_error", param=None, code="unsupported_value"),
        "no",
        "unsupported_value",
    ),
    (400, nested("no", type="invalid_request_error", code=None), "no", "invalid_request_error"),
    (
        400,
        nested("no", type="exceed_context_size_error", code=400),
        "no",
        "exceed_context_size_error",
    ),
    (400, {"code": "invalid-argument", "error": "no"}, "no", "invalid-argument"),
    (
        401,
        {"message": "no", "type": "invalid_request_error", "param": "key", "code": "wrong_api_key"},
        "no",
        "wrong_api_key",
    ),
    (
        400,
        {
            "object": "error",
            "message": "no",
            "type": "invalid_request_invalid_args",
            "code": "3051",
        },
        "no",
        "3051",
    ),
    (401, {"detail": "no"}, "no", "401"),
    (
        422,
        {"detail": [{"loc": ["body"], "msg": "no", "type": "enum"}, {"msg": "never"}]},
        "no; never",
        "422",
    ),
    (404, {"error": "no"}, "no", "404"),
    (500, {"message": "no"}, "no", "500"),
    (
        429,
        nested("no", code=429, metadata={"error_type": "rate_limit_exceeded"}),
        "no",
        "rate_limit_exceeded",
    ),
    (400, [nested("no", code=400, status="INVALID_ARGUMENT")], "no", "400"),
]


@pytest.mark.parametrize(("status", "raw", "message", "code"), SHAPES)
def test_every_shape_gives_its_message_and_code(status, raw, message, code):
    error = told(status, raw)
    assert (error.message, error.code, error.status) == (message, code, status)
    assert json.loads(error.body) == raw


KINDS = [
    (400, nested(code="x"), errors.BadRequest),
    (400, nested("This model's maximum context length is 8 tokens"), errors.ContextTooLong),
    (400, nested(code="context_length_exceeded"), errors.ContextTooLong),
    (400, nested("Incorrect API key provided: xai-1"), errors.AuthFailed),
    (
        400,
        {"code": "Client specified an invalid argument", "error": "Incorrect API key provided"},
        errors.AuthFailed,
    ),
    (400, nested(code="content_filter"), errors.Refused),
    (400, nested(code="model_not_found"), errors.NotFound),
    (401, nested(code="invalid_api_key"), errors.AuthFailed),
    (402, nested("Insufficient Balance"), errors.BillingFailed),
    (403, nested("not here"), errors.PermissionDenied),
    (403, {"error": "please check the api-key you provided"}, errors.AuthFailed),
    (403, nested("no", metadata={"flagged_input": "x", "reasons": ["violence"]}), errors.Refused),
    (
        403,
        nested("Provider returned error", metadata={"raw": "Content violates usage guidelines."}),
        errors.Refused,
    ),
    (404, nested(), errors.NotFound),
    (408, nested(), errors.ServiceTimeout),
    (413, nested("prompt is too long"), errors.ContextTooLong),
    (422, {"detail": []}, errors.BadRequest),
    (429, nested(code="rate_limit_exceeded"), errors.RateLimited),
    (429, nested(code="insufficient_quota", type="insufficient_quota"), errors.QuotaSpent),
    (429, nested(code="credit_balance_exhausted"), errors.QuotaSpent),
    (500, nested(type="server_error"), errors.ServerFailed),
    (502, b"<html><body>Bad Gateway</body></html>", errors.ServerFailed),
    (503, nested(code="server_is_overloaded"), errors.Overloaded),
    (503, b"upstream connect error", errors.Overloaded),
    (504, b"", errors.ServiceTimeout),
    (529, b"", errors.Overloaded),
    (418, nested(), errors.BadRequest),
]


@pytest.mark.parametrize(("status", "raw", "kind"), KINDS)
def test_every_refusal_has_its_kind(status, raw, kind):
    assert type(told(status, raw)) is kind


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html><head><title>x</title></head><body><h1>Oops</h1></body>",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"3",
        b'{"error": 3}',
        b'{"error": {"message": {"x": 1}}}',
        b'{"error": {"message": 3, "code": []}}',
        b"[" * 50_000,
    ],
)
def test_anything_at_all_is_survived(data):
    error = told(500, data)
    assert isinstance(error, errors.ServerFailed)
    assert error.message
    assert error.body == data


def test_a_page_is_read_as_its_words():
    page = b"<html><head><style>p{}</style></head><body><h1>Bad</h1><p>gateway</p></body></html>"
    assert told(502, page).message == "Bad gateway"


def test_an_error_that_is_the_event_of_a_stream_is_read_though_no_stream_began():
    event = b'id:1\nevent:error\n:HTTP_STATUS/400\ndata:{"code":"InvalidParameter","message":"no such model"}\n\n'
    error = told(400, event)
    assert (error.message, error.code) == ("no such model", "InvalidParameter")
    assert error.body == event


def test_a_huge_page_of_brackets_is_read_at_once():
    assert told(502, b"<" * 2_000_000).status == 502


@pytest.mark.parametrize(
    ("raw", "headers", "wait"),
    [
        (nested(), {"retry_after": "3"}, 3.0),
        (nested(), {"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        (nested(), {"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        (nested("Please try again in 6m0.5s. Visit"), {}, 360.5),
        (nested("Please try again in 20ms."), {}, 0.02),
        (nested("no", metadata={"retry_after_seconds": 7}), {}, 7.0),
        (nested("Please retry shortly"), {}, None),
    ],
)
def test_when_to_come_back(raw, headers, wait):
    assert told(429, raw, **headers).retry_after == wait


def test_the_request_has_an_id():
    assert told(500, nested(), x_request_id="req_1").request_id == "req_1"
    assert told(500, nested() | {"request_id": "req_2"}).request_id == "req_2"


# -- after a good status --------------------------------------------------------------------------

INSIDE = [
    (
        {
            "error": {
                "message": "no",
                "type": "invalid_request_error",
                "code": "tool_use_failed",
                "status_code": 400,
            }
        },
        errors.BadRequest,
        400,
    ),
    ({"error": {"message": "no", "type": "server_error"}}, errors.ServerFailed, None),
    ({"error": {"message": "no", "code": "insufficient_quota"}}, errors.QuotaSpent, None),
    ({"error": {"message": "no", "code": 503}}, errors.Overloaded, 503),
    (
        {
            "error": {
                "message": "no",
                "code": 400,
                "metadata": {"error_type": "provider_overloaded"},
            },
            "choices": [],
        },
        errors.Overloaded,
        400,
    ),
    ({"error": {"message": "no", "id": "x"}, "status_code": 429}, errors.RateLimited, 429),
    ({"object": "error", "message": "no", "code": "x"}, errors.ServerFailed, None),
    ({"code": "x", "error": "no"}, errors.ServerFailed, None),
    ({"detail": "no"}, errors.ServerFailed, None),
]


@pytest.mark.parametrize(("frame", "kind", "status"), INSIDE)
def test_an_error_inside_a_stream_or_a_body_is_raised(frame, kind, status):
    for read in (lambda: streamed(sse(frame)), lambda: whole(frame)):
        with pytest.raises(errors.ServiceError) as raised:
            read()
        assert type(raised.value) is kind
        assert (raised.value.message, raised.value.status) == ("no", status)


def test_an_error_with_its_own_event_name_is_raised():
    data = b'event: error\ndata: {"error":{"message":"no","code":"tool_use_failed","status_code":400}}\n\n'
    with pytest.raises(errors.BadRequest):
        streamed(data)


def test_what_came_before_an_error_in_the_same_bytes_is_given_out_first():
    stream = CHAT.caller().stream(ResponseHead(200), AnswerContext("m", "r"))
    events = stream.feed(sse(chunk({"content": "a"}), {"error": {"message": "no"}}, done=False))
    assert TextDelta(0, "a") in events
    for again in (lambda: stream.feed(b"data: x\n\n"), stream.eof):
        with pytest.raises(errors.ServerFailed):
            again()


def test_an_error_after_the_end_was_said_does_not_take_the_answer_away():
    last = chunk({}, None, error={"code": 400, "message": "Token limit reached"})
    events = streamed(sse(chunk({"content": "a"}), chunk({}, "length"), last))
    assert events[-1].extras["error"]["message"] == "Token limit reached"
    assert events[-1].finish == "length"


def test_a_model_that_is_not_there_may_be_a_bad_request_that_names_those_that_are():
    said = "The supported API model names are one or two, but you passed three."
    assert isinstance(told(400, nested(said, type="invalid_request_error")), errors.NotFound)
