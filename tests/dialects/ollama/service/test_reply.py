"""Answers as the server writes them."""

import json

from tests.laws.strategies import told

from pondero.canon import (
    HttpRequest,
    Image,
    Message,
    PartEnd,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from pondero.dialects.ollama.service import SERVICE

from ..making import THINKER, asked

ANSWER = Reply(
    Message("assistant", (Thinking("hm"), Text("yes"), ToolCall("call_1", "f", {"a": 1}))),
    "tool_calls",
    Usage(input=8, cache_read=2, output=3, thinking=4, total=17),
)
FUNCTION = {"index": 0, "name": "f", "arguments": {"a": 1}}


def whole(answer, accepted):
    return json.loads(SERVICE.reply(accepted, answer).body)


def lines(answer, accepted):
    stream = SERVICE.stream(accepted)
    data = b"".join(stream.feed(event) for event in told(answer)) + stream.eof()
    return [json.loads(line) for line in data.splitlines()]


def test_a_whole_answer_has_thinking_words_and_calls_beside_each_other():
    body = whole(ANSWER, asked())
    assert body["message"] == {
        "role": "assistant",
        "content": "yes",
        "thinking": "hm",
        "tool_calls": [{"id": "call_1", "function": FUNCTION}],
    }
    assert (body["model"], body["done"], body["done_reason"]) == (THINKER, True, "stop")


def test_thinking_is_counted_with_the_answer_and_the_cache_with_the_prompt():
    body = whole(ANSWER, asked())
    assert (body["prompt_eval_count"], body["eval_count"]) == (10, 7)


def test_a_stream_ends_with_the_line_that_counts():
    *before, last = lines(ANSWER, asked())
    assert [line["done"] for line in before] == [False] * len(before)
    assert before[0]["message"] == {"role": "assistant", "content": "", "thinking": "h"}
    assert before[-1]["message"]["tool_calls"] == [{"id": "call_1", "function": FUNCTION}]
    assert (last["message"]["content"], last["eval_count"]) == ("", 7)


def test_what_was_thought_though_it_was_off_is_told():
    accepted = asked(think=False)
    assert whole(ANSWER, accepted)["message"]["thinking"] == "hm"
    assert "thinking" in lines(ANSWER, accepted)[0]["message"]


def test_a_cap_that_was_reached_is_said():
    cut = Reply(Message("assistant", (Text("so"),)), "length")
    assert whole(cut, asked())["done_reason"] == "length"


def test_an_older_server_gives_no_ids():
    bare = Reply(Message("assistant", (ToolCall("x", "f", {}, minted=True),)), "tool_calls")
    assert whole(bare, asked())["message"]["tool_calls"] == [
        {"function": {"index": 0, "name": "f", "arguments": {}}}
    ]


def test_what_fails_after_all_was_well_is_a_line_of_its_own():
    stream = SERVICE.stream(asked())
    error = SERVICE.error(500, "no luck", code=None, retry_after=None)
    assert stream.fail(error) == b'{"error":"no luck"}\n'
    assert stream.headers == {"content-type": "application/x-ndjson"}


def test_an_answer_to_a_prompt_has_its_fields_at_the_top():
    prompt = HttpRequest(
        "POST",
        "http://here/api/generate",
        {},
        json.dumps({"model": THINKER, "prompt": "hi", "system": "Be brief."}).encode(),
    )
    accepted = SERVICE.accept(prompt, "ollama")
    assert accepted.request.system == (Text("Be brief."),)
    assert accepted.request.messages == (Message("user", (Text("hi"),)),)
    body = whole(ANSWER, accepted)
    assert (body["response"], body["thinking"]) == ("yes", "hm")
    assert "message" not in body
    said = lines(ANSWER, accepted)
    assert "".join(line["response"] for line in said) == "yes"
    assert all("message" not in line for line in said)


def test_parts_that_come_whole_are_said():
    stream = SERVICE.stream(asked())
    parts = (Thinking("hm"), Text("yes"), Image("image/png", b"1"))  # no client reads the last
    sent = b"".join(stream.feed(PartEnd(index, part)) for index, part in enumerate(parts))
    said = [json.loads(line)["message"] for line in sent.splitlines()]
    assert [line.get("thinking") or line["content"] for line in said] == ["hm", "yes"]


def test_arguments_that_are_no_object_are_a_field_of_one():
    (told,) = whole(
        Reply(Message("assistant", (ToolCall("c", "f", "ls -l"),)), "tool_calls"), asked()
    )["message"]["tool_calls"]
    assert told["function"]["arguments"] == {"input": "ls -l"}
