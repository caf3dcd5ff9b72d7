"""Errors that every wire has: a gateway writes what one service said in another's words."""

import json

import pytest

from pondero.canon import HttpResponse, ResponseHead
from pondero.dialects import get_dialect
from pondero.dialects.dialect import TOO_LONG
from pondero.errors import ContextTooLong, NotFound, QuotaSpent, RateLimited, ServiceError

NAMES = ("anthropic", "gemini", "bedrock")
"""The codes are the words of other wires to these."""
SAID = "prompt is too long: 210000 tokens > 200000 maximum"


def written(name: str, status: int, message: str, code: str | None = None) -> HttpResponse:
    return get_dialect(name).service().error(status, message, code=code, retry_after=None)


def read(name: str, sent: HttpResponse) -> ServiceError:
    return get_dialect(name).caller().error(ResponseHead(sent.status, sent.headers), sent.body)


@pytest.mark.parametrize("message", [SAID, "your words do not fit"])
@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_that_is_too_long_is_read_as_one(name, message):
    error = read(name, written(name, 400, message, TOO_LONG))
    assert type(error) is ContextTooLong
    assert TOO_LONG not in error.body.decode()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anthropic", SAID),
        (
            "gemini",
            "The input token count (210000) exceeds the maximum number of tokens allowed (200000).",
        ),
        ("bedrock", f"Input is too long for requested model. {SAID}"),
    ],
)
def test_the_words_are_those_that_agents_look_for(name, words):
    assert read(name, written(name, 400, SAID, TOO_LONG)).message == words


def test_claude_code_finds_its_words_whatever_was_said():
    error = read("anthropic", written("anthropic", 400, "too much", TOO_LONG))
    assert error.message == "prompt is too long: too much"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(429, "insufficient_quota", QuotaSpent), (404, "model_not_found", NotFound)],
)
def test_a_code_of_every_wire_becomes_the_wires_own(name, status, code, kind):
    sent = written(name, status, "no", code)
    assert type(read(name, sent)) is kind
    assert code not in sent.body.decode() + json.dumps(dict(sent.headers))


@pytest.mark.parametrize("name", NAMES)
def test_the_time_to_wait_is_told_in_the_wires_own_way(name):
    sent = get_dialect(name).service().error(429, "slow", code=None, retry_after=2.5)
    error = read(name, sent)
    assert (type(error), error.retry_after) == (RateLimited, 2.5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [402, 408, 409, 413, 422, 500, 501, 502, 503, 504, 529])
def test_every_status_has_a_shape_and_a_word(name, status):
    sent = written(name, status, "no")
    assert sent.status == status
    assert read(name, sent).message == "no"
    assert "UNKNOWN" not in sent.body.decode()
