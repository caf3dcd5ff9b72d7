"""The server's errors as ours."""

import json

import pytest

from pondero.canon import ResponseHead
from pondero.dialects.ollama.caller import CALLER
from pondero.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    NotFound,
    Overloaded,
    RateLimited,
    ServerFailed,
)

from ..making import whole


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, '"llama3.2" does not support thinking', BadRequest),
        (400, "the input length exceeds the context length", ContextTooLong),
        (401, "unauthorized", AuthFailed),
        (404, "model 'bad_model' not found", NotFound),
        (429, "too many requests", RateLimited),
        (500, "image: unknown format", ServerFailed),
        (502, "bad gateway", ServerFailed),
        (503, "server busy", Overloaded),
    ],
)
def test_an_error_is_a_string_and_its_status_says_what_it_is(status, words, kind):
    error = CALLER.error(ResponseHead(status), json.dumps({"error": words}).encode())
    assert (type(error), error.message, error.status) == (kind, words, status)


def test_an_error_as_another_layer_says_it_is_read_too():
    error = CALLER.error(ResponseHead(400), b'{"error": {"message": "no", "type": "api_error"}}')
    assert error.message == "no"


def test_an_error_in_a_good_answer_is_raised():
    with pytest.raises(ServerFailed, match="no luck"):
        whole({"error": "no luck"})
