"""Answers off the wire, whole and streamed."""

import json

import pytest

from pondero.canon import Text, Thinking, ToolCall, Usage
from pondero.dialects import AnswerContext
from pondero.dialects.ollama.caller import CALLER
from pondero.errors import (
    Malformed,
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
    events = CALLER.decode(OK, data, AnswerContext())
    assert assembled(events)[0].text == "a"


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
    events = CALLER.decode(OK, body, AnswerContext())
    assert assembled(events)[0].text == "a\ufffd"


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
    assert (CALLER.match_score(raw, stream=True) > 50) is sure
