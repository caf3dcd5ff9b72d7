"""Answers as the service writes them."""

import json

from tests.dialects.cohere.making import asked
from tests.laws.strategies import told

from pondero.canon import Message, PartEnd, PartStart, Reply, Text, Thinking, ToolCall, Usage
from pondero.dialects.cohere.service import SERVICE

PARTS = (Thinking("hm"), Text("yes"), ToolCall("f_1", "f", {"a": 1}))
ANSWER = Reply(Message("assistant", PARTS), "tool_calls", Usage(8, 2, None, 3, 4, 17))


def whole(answer, accepted):
    return json.loads(SERVICE.reply(accepted, answer).body)


def events(answer, accepted):
    stream = SERVICE.stream(accepted)
    data = b"".join(stream.feed(event) for event in told(answer, pieces=1)) + stream.eof()
    *frames, done, rest = data.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    read = [json.loads(frame.partition("\ndata: ")[2]) for frame in frames]
    names = [frame.partition("\n")[0] for frame in frames]
    assert names == [f"event: {event['type']}" for event in read]
    return read


def test_a_whole_answer_has_its_parts_and_counts_twice():
    body = whole(ANSWER, asked())
    function = {"name": "f", "arguments": '{"a":1}'}
    assert body["message"] == {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}],
        "tool_calls": [{"id": "f_1", "type": "function", "function": function}],
    }
    assert body["finish_reason"] == "TOOL_CALL"
    assert body["usage"] == {
        "billed_units": {"input_tokens": 8, "output_tokens": 7},
        "tokens": {"input_tokens": 10, "output_tokens": 7, "reasoning_tokens": 4},
        "cached_tokens": 2,
    }


def test_a_stream_numbers_contents_and_calls_apart():
    found = events(ANSWER, asked())
    assert [(event["type"], event.get("index")) for event in found] == [
        ("message-start", None),
        *[(f"content-{each}", 0) for each in ("start", "delta", "end")],
        *[(f"content-{each}", 1) for each in ("start", "delta", "end")],
        *[(f"tool-call-{each}", 0) for each in ("start", "delta", "end")],
        ("message-end", None),
    ]
    assert found[-1]["delta"]["usage"] == whole(ANSWER, asked())["usage"]
    assert found[0]["id"] == whole(ANSWER, asked())["id"]


def test_thinking_that_is_off_is_not_shown():
    accepted = asked(thinking={"type": "disabled"})
    assert [part["type"] for part in whole(ANSWER, accepted)["message"]["content"]] == ["text"]
    assert not any("thinking" in json.dumps(event) for event in events(ANSWER, accepted))


def test_a_stop_sequence_and_a_cap_have_their_words():
    said = Message("assistant", (Text("so"),))
    assert whole(Reply(said, "length"), asked())["finish_reason"] == "MAX_TOKENS"
    stopped = Reply(said, "stop", extras={"stop_sequence": "x"})
    assert whole(stopped, asked())["finish_reason"] == "STOP_SEQUENCE"
    assert "usage" not in whole(stopped, asked())


def test_a_stream_that_fails_says_so_in_its_last_event():
    error = SERVICE.error(500, "no luck", code=None, retry_after=None)
    data = SERVICE.stream(asked()).fail(error)
    delta = json.loads(data.decode().partition("\ndata: ")[2])["delta"]
    assert (delta["finish_reason"], delta["error"]) == ("ERROR", "no luck")


def test_parts_that_come_whole_are_said():
    stream = SERVICE.stream(asked())
    parts = (Thinking("hm"), Text("yes"), ToolCall("c", "f", {"a": 1}))
    kinds = ("thinking", "text", "tool_call")
    sent = b""
    for index, part in enumerate(parts):
        named = ("c", "f") if isinstance(part, ToolCall) else ()
        sent += stream.feed(PartStart(index, kinds[index], *named))
        sent += stream.feed(PartEnd(index, part))
    assert b'"thinking":"hm"' in sent
    assert b'"text":"yes"' in sent
    assert rb'"arguments":"{\"a\":1}"' in sent


def test_a_page_that_another_wire_cites_is_a_document():
    page = {"type": "url_citation", "url": "https://x.example", "title": "X"}
    reply = Reply(Message("assistant", (Text("yes", citations=(page, {"odd": 1})),)), "stop")
    (cited,) = json.loads(SERVICE.reply(asked(), reply).body)["message"]["citations"]
    assert cited["sources"][0]["document"] == {"url": "https://x.example", "title": "X"}
