"""Answers off the wire, whole and streamed."""

import json

import pytest

from pondero.canon import Head, Text, Thinking, ToolCall, Usage
from pondero.dialects import Where
from pondero.dialects.ollama.caller import CALLER
from pondero.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    Malformed,
    NotFound,
    Overloaded,
    RateLimited,
    ServerFailed,
    Truncated,
)

from ..making import OK, THINKER, assembled, call, line, ndjson, streamed, whole


def test_thinking_words_and_calls_are_parts_in_this_order():
    spoken = line("stop", thinking="hm", content="yes", tool_calls=[call(id="call_1", a=1)])
    message, end = assembled(whole(spoken))
    assert message.parts == (Thinking("hm"), Text("yes"), ToolCall("call_1", "f", {"a": 1}))
    assert (end.finish, end.raw_finish, end.model) == ("tool_calls", "stop", THINKER)


def test_lines_of_one_kind_are_one_part():
    lines = [line(thinking=word) for word in ("a", "b")] + [line(content=w) for w in ("c", "d")]
    message, end = assembled(streamed(ndjson(*lines, line("stop"))))
    assert message.parts == (Thinking("ab"), Text("cd"))
    assert end.finish == "stop"


def test_a_line_with_thinking_and_words_is_two_parts():
    message, _ = assembled(streamed(ndjson(line(thinking="a", content="b"), line("stop"))))
    assert message.parts == (Thinking("a"), Text("b"))


def test_nobody_says_how_much_of_it_was_thinking():
    _, end = assembled(whole(line("stop", thinking="hm", content="yes")))
    assert end.usage == Usage(input=10, output=7, total=17)


def test_a_prompt_that_was_not_counted_makes_no_total():
    body = line("stop", content="yes")
    del body["prompt_eval_count"]
    _, end = assembled(whole(body))
    assert end.usage == Usage(output=7)


def test_a_call_without_an_id_gets_one_of_ours_that_no_other_call_has():
    calls = [call(a=1), call(a=1)]
    first, _ = assembled(whole(line("stop", tool_calls=calls)))
    later, _ = assembled(whole(line("stop", tool_calls=calls, at="2026-11-15T12:00:01Z")))
    ids = [each.id for message in (first, later) for each in message.tool_calls]
    assert len(set(ids)) == 4
    assert {len(id) for id in ids} == {22}
    assert all(each.minted for each in first.tool_calls)


def test_arguments_written_as_text_are_read():
    text = {"function": {"name": "f", "arguments": '{"a": 1}'}}
    bare = {"function": {"name": "f"}}
    message, _ = assembled(whole(line("stop", tool_calls=[text, bare])))
    assert [each.arguments for each in message.tool_calls] == [{"a": 1}, {}]


@pytest.mark.parametrize(
    ("spoken", "finish"),
    [
        ({"content": "so"}, "length"),
        ({"thinking": "so"}, "exhausted"),
        ({"thinking": "so", "content": " "}, "exhausted"),
        ({"thinking": "so", "tool_calls": [call()]}, "length"),
    ],
)
def test_a_cap_spent_on_thinking_alone_is_no_cut_answer(spoken, finish):
    assert assembled(whole(line("length", **spoken)))[1].finish == finish


def test_words_for_an_end_that_we_do_not_know_are_kept():
    _, end = assembled(whole(line("load")))
    assert (end.finish, end.raw_finish) == ("other", "load")


def test_the_older_endpoint_has_its_words_at_the_top():
    body = {"model": "m", "done": True, "response": "yes", "thinking": "hm", "eval_count": 2}
    assert assembled(whole(body))[0].parts == (Thinking("hm"), Text("yes"))


def test_probabilities_of_a_stream_are_kept_together():
    lines = [line(content=w) | {"logprobs": [{"token": w}]} for w in "ab"]
    _, end = assembled(streamed(ndjson(*lines, line("stop"))))
    assert end.extras == {"logprobs": [{"token": "a"}, {"token": "b"}]}


def test_a_stream_read_to_its_end_is_a_whole_answer():
    data = ndjson(line(content="a"), line("stop"))
    events = CALLER.decode(OK, data, Where())
    assert assembled(events)[0].text == "a"


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
    ("body", "path"),
    [
        ({"done": True}, "$.message"),
        ({"message": "hello"}, "$.message"),
        ({"message": {"tool_calls": [{}]}}, "$.message.tool_calls[0]"),
        ([], "$"),
    ],
)
def test_a_broken_answer_says_where(body, path):
    with pytest.raises(Malformed) as broken:
        whole(body)
    assert broken.value.path == path


def test_half_a_character_is_read_as_none():
    body = json.dumps(line("stop", content="a\ud83d")).encode()
    events = CALLER.decode(OK, body, Where())
    assert assembled(events)[0].text == "a\ufffd"


# -- errors ----------------------------------------------------------------------------------


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
    error = CALLER.error(Head(status), json.dumps({"error": words}).encode())
    assert (type(error), error.message, error.status) == (kind, words, status)


def test_an_error_as_another_layer_says_it_is_read_too():
    error = CALLER.error(Head(400), b'{"error": {"message": "no", "type": "api_error"}}')
    assert error.message == "no"


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
    stream = CALLER.stream(OK, Where())
    events = stream.feed(ndjson(line(content="a"), {"error": words}))
    assert events[-1].text == "a"
    with pytest.raises(kind) as failed:
        stream.eof()
    assert failed.value.message == words


def test_an_error_in_a_good_answer_is_raised():
    with pytest.raises(ServerFailed, match="no luck"):
        whole({"error": "no luck"})


@pytest.mark.parametrize(
    ("raw", "sure"),
    [
        (line(), True),
        ({"model": "m", "done": False, "response": "a"}, True),
        ({"error": "words"}, True),
        ({"error": {"message": "words"}}, False),
        ({"model": "m", "choices": []}, False),
        ([], False),
    ],
)
def test_the_wire_knows_its_own(raw, sure):
    assert (CALLER.recognises(raw, stream=True) > 50) is sure
