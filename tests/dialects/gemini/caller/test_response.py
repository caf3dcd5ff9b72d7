"""Whole answers to parts, seals, counts and endings."""

import re

import pytest
from tests.dialects.gemini.making import (
    NAME,
    NEW,
    OK,
    SIGNATURE,
    assembled,
    call,
    chunk,
    parts_of,
    seal,
    whole,
)

from pondero.canon import (
    Blob,
    Finished,
    Image,
    Started,
    Text,
    Thinking,
    ToolCall,
    UnknownPart,
    Usage,
    UsageUpdate,
)
from pondero.dialects import AnswerContext
from pondero.dialects.gemini.caller import CALLER
from pondero.errors import Malformed, Overloaded


def used(**counts):
    return {"usageMetadata": counts}


def test_thinking_text_and_a_call_keep_their_order():
    thought, called = {"text": "hm", "thought": True}, call(id="a1", x=1)
    parts = parts_of(whole(chunk({"text": "well"}, thought, {"text": "so"}, called, thought)))
    assert parts == (
        Text("well"),
        Thinking("hm"),
        Text("so"),
        ToolCall("a1", "f", {"x": 1}),
        Thinking("hm"),
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_half_of_a_character_becomes_the_replacement_character(wrapped):
    body = chunk({"text": "a\ud83d"}, {"other": "\ude00"})

    parts = parts_of(whole({"response": body} if wrapped else body))

    assert parts == (Text("a\ufffd"), UnknownPart(NAME, {"other": "\ufffd"}))


def test_thinking_as_one_string_beside_the_parts_is_read_too():
    content = {"parts": [{"text": "42."}], "thoughts": "First I considered"}
    assert parts_of(whole({"candidates": [{"content": content}]})) == (
        Thinking("First I considered"),
        Text("42."),
    )


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"text": "so"}, Text("so", seal())),
        ({"text": ""}, Text("", seal())),
        ({"text": "hm", "thought": True}, Thinking("hm", seal())),
        ({"text": "", "thought": True}, Thinking("", seal())),
        ({"functionCall": {"id": "a", "name": "f"}}, ToolCall("a", "f", {}, seal())),
        (
            {"executableCode": {"code": "1"}},
            UnknownPart(NAME, {"executableCode": {"code": "1"}}, seal()),
        ),
        ({"toolResponse": {"id": "t"}}, UnknownPart(NAME, {"toolResponse": {"id": "t"}}, seal())),
        (
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
            Image("image/png", b"hi", signature=seal()),
        ),
        (
            {"inlineData": {"mimeType": "audio/wav", "data": "aGk"}},
            Blob("audio/wav", b"hi", signature=seal()),
        ),
    ],
)
def test_a_signature_stays_on_the_part_it_came_on(part, expected):
    assert parts_of(whole(chunk({**part, "thoughtSignature": SIGNATURE}))) == (expected,)


def test_a_signed_part_is_never_joined_with_its_neighbours():
    parts = parts_of(
        whole(chunk({"text": "a"}, {"text": "b", "thoughtSignature": "S"}, {"text": "c"}))
    )
    assert parts == (Text("a"), Text("b", seal("S")), Text("c"))


def test_only_the_first_of_parallel_calls_is_sealed():
    calls = parts_of(whole(chunk(call(signature="S"), call(), call())))
    assert [part.signature for part in calls] == [seal("S"), None, None]


def test_a_call_without_an_id_gets_one_of_22_characters_of_its_own():
    calls = parts_of(whole(chunk(call(x=1), call(x=1), call("g"))))
    assert all(part.minted for part in calls)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", part.id) for part in calls)
    assert len({part.id for part in calls}) == 3


def test_a_call_that_came_twice_under_one_id_is_one_call():
    assert len(parts_of(whole(chunk(call(id="a"), call(id="a"))))) == 1


def test_an_empty_unsigned_text_is_no_part():
    assert parts_of(whole(chunk({"text": ""}))) == ()


def test_a_part_nobody_knows_is_kept_as_it_came():
    parts = parts_of(whole(chunk({"hologram": {"size": 3}}, {"text": "so"})))
    assert parts == (UnknownPart(NAME, {"hologram": {"size": 3}}), Text("so"))


def test_an_image_thought_of_on_the_way_is_kept_and_not_shown():
    part = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thought": True}
    assert parts_of(whole(chunk(part))) == (UnknownPart(NAME, part),)


def test_only_the_first_candidate_is_read():
    other = chunk({"text": "b"})["candidates"][0] | {"index": 1}
    body = chunk({"text": "a"})
    body["candidates"].append(other)
    assert parts_of(whole(body)) == (Text("a"),)


def test_a_candidate_that_stands_there_twice_is_read_once():
    body = chunk({"text": "a"})
    body["candidates"] += chunk({"x": 1}, {"y": 2})["candidates"]
    assert parts_of(whole(body)) == (Text("a"),)


def test_an_answer_wrapped_by_cloud_code_assist_is_unwrapped():
    body = {"response": chunk({"toolCall": {"id": "t"}}), "traceId": "t-1"}
    assert parts_of(whole(body)) == (UnknownPart(NAME, {"toolCall": {"id": "t"}}),)


def test_the_model_and_the_id_of_the_answer_are_told():
    events = whole(chunk({"text": "a"}))
    assert events[0] == Started("gemini-x", "r-1")
    assert events[-1].model == "gemini-x"


def test_a_seal_names_the_model_that_was_asked_or_else_the_one_that_answered():
    body = chunk({"text": "a", "thoughtSignature": "S"})
    assert (
        parts_of(whole(body, model="gemini-flash-latest"))[0].signature.model
        == "gemini-flash-latest"
    )
    assert parts_of(whole(body, model=None, route=None))[0].signature.model == "gemini-x"


# -- endings ---------------------------------------------------------------------------------

ENDINGS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "IMAGE_OTHER": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "LANGUAGE": "error",
    "NO_IMAGE": "error",
    "OTHER": "other",
    "FINISH_REASON_UNSPECIFIED": "other",
    "SOMETHING_NEW": "other",
}


@pytest.mark.parametrize(("word", "finish"), ENDINGS.items())
def test_every_finish_reason_has_our_word_and_keeps_its_own(word, finish):
    _, finished = assembled(whole(chunk({"text": "a"}, finish=word)))
    assert (finished.finish, finished.raw_finish) == (finish, word)


@pytest.mark.parametrize(
    ("number", "finish"), [(1, "stop"), (2, "length"), (3, "content_filter"), (99, "other")]
)
def test_a_finish_reason_written_as_a_number_is_read(number, finish):
    _, finished = assembled(whole(chunk({"text": "a"}, finishReason=number, finish=None)))
    assert (finished.finish, finished.raw_finish) == (finish, str(number))


def test_calls_make_a_stop_into_tool_calls():
    assert assembled(whole(chunk(call())))[1].finish == "tool_calls"


def test_an_unexpected_call_is_an_error_with_the_call_still_there():
    message, finished = assembled(whole(chunk(call(), finish="UNEXPECTED_TOOL_CALL")))
    assert finished.finish == "error"
    assert len(message.tool_calls) == 1


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (chunk({"text": "hm", "thought": True}, finish="MAX_TOKENS"), "exhausted"),
        (
            chunk(finish="MAX_TOKENS")
            | used(promptTokenCount=3, thoughtsTokenCount=9, totalTokenCount=12),
            "exhausted",
        ),
        (chunk(finish="MAX_TOKENS") | used(promptTokenCount=3, totalTokenCount=3), "length"),
        (chunk({"text": "hm", "thought": True}, {"text": "so"}, finish="MAX_TOKENS"), "length"),
        (chunk({"text": "hm", "thought": True}, call(), finish="MAX_TOKENS"), "length"),
    ],
)
def test_a_cap_spent_on_thinking_alone_is_exhausted(body, finish):
    assert assembled(whole(body))[1].finish == finish


def test_a_refused_question_is_a_filtered_answer_without_parts():
    body = {
        "promptFeedback": {
            "blockReason": "JAILBREAK",
            "blockReasonMessage": "no",
            "safetyRatings": [{"x": 1}],
        },
        "usageMetadata": {"trafficType": "ON_DEMAND"},
        "modelVersion": "gemini-x",
    }
    message, finished = assembled(whole(body))
    assert message.parts == ()
    assert (finished.finish, finished.raw_finish) == ("content_filter", "JAILBREAK")
    assert finished.safety == [{"x": 1}]
    assert finished.extras["promptFeedback"]["blockReasonMessage"] == "no"
    assert finished.usage == Usage()


def test_an_answer_stopped_for_safety_has_empty_content_and_its_ratings():
    ratings = [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW", "blocked": True}]
    body = {"candidates": [{"content": {}, "finishReason": "SAFETY", "safetyRatings": ratings}]}
    message, finished = assembled(whole(body))
    assert message.parts == ()
    assert (finished.finish, finished.safety) == ("content_filter", ratings)


def test_grounding_citations_and_the_continuation_token_are_kept():
    beside = {
        "groundingMetadata": {"webSearchQueries": ["q"]},
        "citationMetadata": {"citationSources": [1]},
        "urlContextMetadata": {"urlMetadata": [2]},
        "continuationToken": "dG9rZW4=",
    }
    _, finished = assembled(whole(chunk({"text": "a"}, finish="CONTINUATION", **beside)))
    assert finished.finish == "length"
    assert finished.grounding == {"webSearchQueries": ["q"]}
    assert finished.extras == {
        "citationMetadata": {"citationSources": [1]},
        "urlContextMetadata": {"urlMetadata": [2]},
        "continuationToken": "dG9rZW4=",
    }


# -- counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (
            {
                "promptTokenCount": 13,
                "candidatesTokenCount": 573,
                "thoughtsTokenCount": 554,
                "totalTokenCount": 1140,
            },
            Usage(13, 0, None, 573, 554, 1140),
        ),
        (  # the visible answer is smaller than the thinking: nothing is subtracted
            {
                "promptTokenCount": 5,
                "candidatesTokenCount": 8,
                "thoughtsTokenCount": 275,
                "totalTokenCount": 288,
            },
            Usage(5, 0, None, 8, 275, 288),
        ),
        (  # inclusive only where the total proves it
            {
                "promptTokenCount": 10,
                "candidatesTokenCount": 50,
                "thoughtsTokenCount": 20,
                "totalTokenCount": 60,
            },
            Usage(10, 0, None, 30, 20, 60),
        ),
        (  # cached is inside the prompt
            {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 80,
                "candidatesTokenCount": 7,
                "totalTokenCount": 107,
            },
            Usage(20, 80, None, 7, 0, 107),
        ),
        (  # tool-use prompts are more input
            {
                "promptTokenCount": 15,
                "candidatesTokenCount": 29,
                "thoughtsTokenCount": 742,
                "toolUsePromptTokenCount": 770,
                "totalTokenCount": 1556,
            },
            Usage(785, 0, None, 29, 742, 1556),
        ),
        (  # a zero is left out
            {"promptTokenCount": 4, "thoughtsTokenCount": 6, "totalTokenCount": 10},
            Usage(4, 0, None, 0, 6, 10),
        ),
        (  # no total: the sum
            {"promptTokenCount": 4, "candidatesTokenCount": 6},
            Usage(4, 0, None, 6, 0, 10),
        ),
        (  # a file by its address: the prompt is only in the total
            {"candidatesTokenCount": 6, "totalTokenCount": 300},
            Usage(294, 0, None, 6, 0, 300),
        ),
        (
            {"promptTokenCount": None, "candidatesTokenCount": 6, "totalTokenCount": 6},
            Usage(0, 0, None, 6, 0, 6),
        ),
        ({"trafficType": "ON_DEMAND"}, Usage()),
    ],
)
def test_counts_are_disjoint_and_add_up_to_the_services_total(counts, expected):
    _, finished = assembled(whole(chunk({"text": "a"}) | {"usageMetadata": counts}))
    assert finished.usage == expected
    if expected.total is not None:
        assert expected.known_total == expected.total


def test_an_answer_without_counts_has_none_and_not_zero():
    assert assembled(whole(chunk({"text": "a"})))[1].usage == Usage()


def test_the_count_of_thinking_is_told_as_soon_as_thinking_is_over():
    counts = {"promptTokenCount": 4, "thoughtsTokenCount": 6, "totalTokenCount": 10}
    events = whole(
        chunk({"text": "hm", "thought": True}, {"text": "so"}) | {"usageMetadata": counts}
    )
    told = [event for event in events if isinstance(event, UsageUpdate)]
    assert [event.usage.thinking for event in told] == [6]


def test_a_count_of_tokens_is_an_answer_that_says_nothing():
    events = whole({"totalTokens": 31})
    assert events[-1] == Finished("other", usage=Usage(input=31, total=31))


# -- what is broken --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", "$"),
        (b"not json", "$"),
        (b"{}", "$.candidates"),
        (b"[[]]", "$"),
        (b"[]", "$"),
        (
            b'{"candidates": [{"content": {"parts": [{"text": 5}]}}]}',
            "$.candidates[0].content.parts[0].text",
        ),
        (
            b'{"candidates": [{"content": {"parts": [{"functionCall": {"args": {"a": 1}}}]}}]}',
            "$.candidates[0].content.parts[0].functionCall.name",
        ),
        (
            b'{"candidates": [{"content": {"parts": [{"inlineData": {"data": "a"}}]}}]}',
            "$..inlineData.data",
        ),
        (b'{"candidates": [' + b'{"groundingMetadata": ' * 1 + b"[" * 5000, "$"),
        (b"\xff\xfe", "$"),
    ],
)
def test_a_broken_contract_is_malformed_and_says_where(body, path):
    with pytest.raises(Malformed) as raised:
        CALLER.decode(OK, body, AnswerContext(NEW))
    assert raised.value.path == path


def test_an_error_under_a_good_status_is_raised():
    with pytest.raises(Overloaded):
        whole({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})


@pytest.mark.parametrize(
    ("raw", "least"),
    [
        (chunk({"text": "a"}), 90),
        ([chunk({"text": "a"})], 90),
        ({"response": chunk({"text": "a"})}, 90),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, 90),
        ({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}, 80),
        ([{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}], 80),
    ],
)
def test_our_own_json_is_recognised(raw, least):
    assert CALLER.match_score(raw, stream=False) >= least


@pytest.mark.parametrize(
    "raw",
    [
        {"choices": [], "usage": {}},
        {"type": "message", "content": []},
        {"error": {"type": "invalid_request_error", "message": "m"}},
        {"output": []},
        [],
        None,
        "x",
    ],
)
def test_the_json_of_others_is_not(raw):
    assert CALLER.match_score(raw, stream=False) == 0
