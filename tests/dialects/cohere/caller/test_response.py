"""Answers off the wire, whole and streamed."""

import json

import pytest
from tests.dialects.cohere.making import (
    NAME,
    OK,
    THINKER,
    assembled,
    begin,
    body,
    call,
    end,
    event,
    sse,
    streamed,
    thought,
    whole,
)

from pondero.canon import ResponseHead, Signature, Text, Thinking, ToolCall, UnknownPart, Usage
from pondero.dialects import AnswerContext
from pondero.dialects.cohere.caller import CALLER
from pondero.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    Malformed,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaSpent,
    RateLimited,
    ServerFailed,
    Truncated,
)

PLAN = Signature(NAME, {"tool_plan": True}, THINKER, NAME)
CITED = {"start": 0, "end": 1, "text": "a"}


def piece(name, index, **content):
    return event(name, index, content=content)


def test_thinking_and_words_are_parts_in_their_order():
    message, last = assembled(whole(body(thought("hm"), "yes")))
    assert message.parts == (Thinking("hm"), Text("yes"))
    assert (last.finish, last.raw_finish) == ("stop", "COMPLETE")


def test_a_stream_is_the_same_and_two_parts_of_one_number_stay_two():
    data = sse(
        begin(),
        piece("content-start", 0, type="thinking", thinking=""),
        piece("content-delta", 0, thinking="h"),
        piece("content-delta", 0, thinking="m"),
        event("content-end", 0),
        piece("content-start", 0, type="text", text=""),
        piece("content-delta", 0, text="yes"),
        event("content-end", 0),
        end(),
    )
    assert assembled(streamed(data)) == assembled(whole(body(thought("hm"), "yes")))


def test_what_is_empty_is_no_part():
    assert assembled(whole(body(thought(""), "")))[0].parts == ()
    data = sse(begin(), piece("content-start", 0, type="text", text=""), end())
    assert assembled(streamed(data))[0].parts == ()


def test_a_call_in_pieces_is_the_call_that_came_whole():
    started = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    pieces = [{"function": {"arguments": text}} for text in ('{"a"', ": 1}")]
    data = sse(
        begin(),
        event("tool-call-start", 0, tool_calls=started),
        *(event("tool-call-delta", 0, tool_calls=each) for each in pieces),
        event("tool-call-end", 0),
        end("TOOL_CALL"),
    )
    expected = whole(body(finish="TOOL_CALL", tool_calls=[call('{"a": 1}')]))
    assert assembled(streamed(data)) == assembled(expected)
    assert assembled(expected)[0].parts == (ToolCall("f_1", "f", {"a": 1}),)


@pytest.mark.parametrize("pieces", [["null"], ["nu", "ll"], [""], ["{}"]])
def test_no_arguments_are_an_empty_object_however_they_are_said(pieces):
    started = call("")
    deltas = [{"function": {"arguments": text}} for text in pieces]
    data = sse(
        begin(),
        event("tool-call-start", 0, tool_calls=started),
        *(event("tool-call-delta", 0, tool_calls=each) for each in deltas),
        end("TOOL_CALL"),
    )
    for events in (streamed(data), whole(body(tool_calls=[call("".join(pieces))]))):
        assert assembled(events)[0].tool_calls[0].arguments == {}


def test_arguments_that_are_no_json_are_kept_as_they_are():
    message, _ = assembled(whole(body(tool_calls=[call('{"a": ')])))
    assert message.tool_calls[0].arguments == '{"a": '


def test_the_plan_before_a_call_is_words_that_remember_what_they_were():
    plan = [event("tool-plan-delta", tool_plan=word) for word in ("I ", "look")]
    data = sse(begin(), *plan, event("tool-call-start", 0, tool_calls=call()), end("TOOL_CALL"))
    answer = body(finish="TOOL_CALL", tool_plan="I look", tool_calls=[call()])
    del answer["message"]["content"]
    assert assembled(streamed(data)) == assembled(whole(answer))
    assert assembled(whole(answer))[0].parts[0] == Text("I look", PLAN)


def test_where_words_are_from_stays_with_them():
    data = sse(
        begin(),
        piece("content-start", 0, type="text", text=""),
        piece("content-delta", 0, text="a"),
        event("citation-start", 0, citations=CITED),
        event("citation-end", 0),
        event("content-end", 0),
        end(),
    )
    assert assembled(streamed(data)) == assembled(whole(body("a", citations=[CITED])))
    assert assembled(streamed(data))[0].parts == (Text("a", citations=(CITED,)),)


def test_probabilities_are_kept_together():
    weighed = [piece("content-delta", 0, text=w) | {"logprobs": {"text": w}} for w in "ab"]
    _, last = assembled(streamed(sse(begin(), *weighed, end())))
    assert last.extras == {"logprobs": [{"text": "a"}, {"text": "b"}]}
    _, last = assembled(whole(body("ab") | {"logprobs": [{"text": "ab"}]}))
    assert last.extras == {"logprobs": [{"text": "ab"}]}


def test_a_call_without_an_id_gets_one_of_ours():
    bare = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    message, _ = assembled(whole(body(tool_calls=[bare, bare])))
    first, second = message.tool_calls
    assert first.minted
    assert (len(first.id), first.id == second.id) == (22, False)


def test_content_that_is_one_string_is_read():
    answer = body()
    answer["message"]["content"] = "yes"
    assert assembled(whole(answer))[0].parts == (Text("yes"),)


def test_a_stream_read_to_its_end_is_a_whole_answer():
    data = sse(begin(), piece("content-delta", 0, text="a"), end())
    events = CALLER.decode(OK, data, AnswerContext())
    assert assembled(events)[0].text == "a"


def test_half_a_character_is_read_as_none():
    raw = json.dumps(body("a\ud83d")).encode()
    events = CALLER.decode(OK, raw, AnswerContext())
    assert assembled(events)[0].text == "a\ufffd"


def test_a_part_nobody_knows_is_kept():
    new = {"type": "map", "map": {"x": 1}}
    data = sse(begin(), event("content-start", 0, content=new), event("content-end", 0), end())
    assert assembled(streamed(data)) == assembled(whole(body(new)))
    assert assembled(whole(body(new)))[0].parts == (UnknownPart(NAME, new),)


def test_an_event_nobody_knows_is_passed_over():
    data = sse(begin(), {"type": "debug", "x": 1}, piece("content-delta", 0, text="a"), end())
    assert assembled(streamed(data))[0].text == "a"


# -- counts and ends -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "cached", "usage"),
    [
        ({"reasoning_tokens": 4}, 3, Usage(7, 3, None, 3, 4, 17)),
        ({"reasoning_tokens": 0}, 0, Usage(10, 0, None, 7, 0, 17)),
        ({}, None, Usage(10, None, None, 7, None, 17)),
        ({"image_tokens": 259}, 3, Usage(266, 3, None, 7, None, 276)),
        ({"reasoning_tokens": 99}, 99, Usage(0, 10, None, 0, 7, 17)),
        ({"input_tokens": 10.0, "output_tokens": 7.0}, None, Usage(10, None, None, 7, None, 17)),
    ],
)
def test_thinking_is_inside_the_output_and_pictures_beside_the_input(tokens, cached, usage):
    counted = {"tokens": {"input_tokens": 10, "output_tokens": 7, **tokens}}
    if cached is not None:
        counted["cached_tokens"] = cached
    assert assembled(whole(body("a", usage=counted)))[1].usage == usage


def test_what_is_only_billed_is_not_counted():
    billed = {"billed_units": {"input_tokens": 1, "output_tokens": 2}}
    assert assembled(whole(body("a", usage=billed)))[1].usage == Usage()


@pytest.mark.parametrize(
    ("content", "raw", "finish"),
    [
        (["a"], "STOP_SEQUENCE", "stop"),
        (["a"], "MAX_TOKENS", "length"),
        ([thought("a")], "MAX_TOKENS", "exhausted"),
        (["a"], "TIMEOUT", "error"),
        (["a"], "ERROR", "error"),
        (["a"], "NEW_WORD", "other"),
    ],
)
def test_how_it_ended(content, raw, finish):
    _, last = assembled(whole(body(*content, finish=raw)))
    assert (last.finish, last.raw_finish) == (finish, raw)


@pytest.mark.parametrize("data", [b"", sse(begin())[:-14], sse(begin(), end())[:-40]])
def test_a_stream_without_its_last_event_is_truncated(data):
    with pytest.raises(Truncated):
        streamed(data)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"id": "r"}, "$.message"),
        (body(tool_calls=[{"id": "x"}]), "$..tool_calls.function.name"),
        (body({"type": "text", "text": 1}), "$.message.content[0].text"),
    ],
)
def test_a_broken_answer_says_where(raw, path):
    with pytest.raises(Malformed) as broken:
        whole(raw)
    assert broken.value.path == path


def test_arguments_of_no_call_are_a_broken_contract():
    stray = event("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}})
    stream = CALLER.stream(OK, AnswerContext())
    stream.feed(sse(begin(), stray))
    with pytest.raises(Malformed, match="arguments of no call"):
        stream.eof()


# -- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "invalid request: image content is not supported for this model", BadRequest),
        (400, "too many tokens: size limit exceeded by 9 tokens", ContextTooLong),
        (401, "invalid api token", AuthFailed),
        (403, "forbidden", PermissionDenied),
        (404, "model 'x' not found", NotFound),
        (422, "No valid response generated. Try updating messages", BadRequest),
        (498, "invalid api token", AuthFailed),
        (429, "too many requests", RateLimited),
        (429, "You are past the per month request limit", QuotaSpent),
        (500, "oops", ServerFailed),
        (503, "busy", Overloaded),
    ],
)
def test_an_error_is_an_id_and_a_message_and_its_status_says_what_it_is(status, words, kind):
    raw = json.dumps({"id": "r-1", "message": words}).encode()
    error = CALLER.error(ResponseHead(status), raw)
    assert (type(error), error.message, error.request_id) == (kind, words, "r-1")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("your request resulted in an invalid tool generation. Try updating", BadRequest),
        ("too many tokens", ContextTooLong),
        ("something broke", ServerFailed),
    ],
)
def test_a_stream_that_ends_in_an_error_raises_it_after_what_came_before(words, kind):
    failed = end("ERROR", error=words, error_type="SOME_CODE")
    stream = CALLER.stream(OK, AnswerContext())
    events = stream.feed(sse(begin(), piece("content-delta", 0, text="a"), failed))
    assert events[-1].text == "a"
    with pytest.raises(kind) as raised:
        stream.eof()
    assert (raised.value.message, raised.value.code) == (words, "SOME_CODE")


def test_an_error_in_a_good_answer_is_raised():
    with pytest.raises(BadRequest, match="no luck"):
        whole({"id": "r-1", "message": "no luck"})


@pytest.mark.parametrize(
    ("raw", "least"),
    [
        (begin(), 90),
        (body("a"), 90),
        ({"id": "r-1", "message": "words"}, 40),
        ({"message": "words"}, 0),
        ({"type": "message_start"}, 0),
        ([], 0),
    ],
)
def test_the_wire_knows_its_own(raw, least):
    sure = CALLER.match_score(raw, stream=True)
    assert sure >= least
    assert bool(sure) is bool(least)
