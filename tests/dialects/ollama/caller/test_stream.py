"""Streamed answers: where they end, and what breaks them off."""

import pytest

from pondero.dialects import AnswerContext
from pondero.dialects.ollama.caller import CALLER
from pondero.errors import (
    AuthFailed,
    ContextTooLong,
    NotFound,
    Overloaded,
    RateLimited,
    ServerFailed,
    Truncated,
)

from ..making import OK, assembled, line, ndjson, streamed


def test_what_follows_the_end_is_not_looked_at():
    data = ndjson(line(content="a"), line("stop"), {"error": "too late"}) + b"nonsense\n"
    assert assembled(streamed(data))[0].text == "a"


@pytest.mark.parametrize("data", [b"", ndjson(line(content="a")), ndjson(line("stop"))[:-9]])
def test_a_stream_without_its_last_line_is_truncated(data):
    with pytest.raises(Truncated):
        streamed(data)


def test_a_last_line_without_its_line_feed_is_a_line():
    assert assembled(streamed(ndjson(line("stop", content="a"))[:-1]))[0].text == "a"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("an error was encountered while running the model", ServerFailed),
        ("model 'x' not found", NotFound),
        ("unauthorized", AuthFailed),
        ("too many requests", RateLimited),
        ("server busy, please try again", Overloaded),
        ("prompt exceeds the available context", ContextTooLong),
    ],
)
def test_an_error_inside_a_stream_is_raised_after_what_came_before_it(words, kind):
    stream = CALLER.stream(OK, AnswerContext())
    events = stream.feed(ndjson(line(content="a"), {"error": words}))
    assert events[-1].text == "a"
    with pytest.raises(kind) as failed:
        stream.eof()
    assert failed.value.message == words
