"""The service's answers in its exact shape, whole and streamed."""

import json

import pytest
from msgspec.structs import replace
from tests.dialects.openai_responses.making import (
    MODEL,
    NAME,
    accepted,
    asking,
    assembled,
    decoded,
    seal,
    streamed,
)
from tests.laws.strategies import told

from pondero.canon import (
    Finished,
    Message,
    PartEnd,
    PartStart,
    Reply,
    ResponseHead,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
    Usage,
)
from pondero.dialects.openai_responses.caller import CALLER
from pondero.dialects.openai_responses.service import SERVICE
from pondero.errors import QuotaSpent

USAGE = Usage(10, 2, 1, 4, 3, 20)
TOOLS = [{"type": "function", "name": "f", "parameters": {}}]
SHOWN = {"reasoning": {"effort": "low", "summary": "auto"}, "tools": TOOLS}
PARTS = (Thinking("Hm."), Text("So:"), ToolCall("c1", "f", {"a": 1}))


def whole(asked, *parts, finish="stop", raw=None):
    answer = Reply(Message("assistant", parts), finish, USAGE, raw_finish=raw)
    return json.loads(SERVICE.reply(asked, answer).body)


def sent(asked, *events):
    stream = SERVICE.stream(asked)
    return b"".join(stream.feed(event) for event in events) + stream.eof()


def said(asked, *parts, finish="stop", raw=None):
    answer = Reply(Message("assistant", parts), finish, USAGE, raw_finish=raw)
    *events, last = told(answer)
    return sent(asked, *events, Finished(last.finish, last.usage, raw_finish=raw))


def objects(stream):
    return [
        json.loads(line[6:]) for line in stream.decode().splitlines() if line.startswith("data: ")
    ]


def test_a_whole_answer():
    body = whole(accepted(asking(**SHOWN)), *PARTS, finish="tool_calls")
    thought, message, call = body["output"]

    assert (body["object"], body["status"], body["model"]) == ("response", "completed", MODEL)
    assert body["reasoning"]["effort"] == "low"
    assert thought["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert message["content"][0]["text"] == "So:"
    assert message["phase"] == "final_answer"
    assert (call["call_id"], call["arguments"]) == ("c1", '{"a":1}')
    assert body["usage"] == {
        "input_tokens": 13,
        "input_tokens_details": {"cache_write_tokens": 1, "cached_tokens": 2},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 20,
    }


def test_a_stream_has_the_services_events_in_its_order():
    events = objects(said(accepted(asking(**SHOWN)), Thinking("Hm"), Text("So"), finish="stop"))

    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        *["reasoning_summary_text.delta"] * 2,
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        *["output_text.delta"] * 2,
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_the_seal_that_a_stream_shows_first_is_not_the_final_one():
    events = objects(said(accepted(asking(**SHOWN)), Thinking("Hm"), Text("So")))
    seals = [
        e["item"]["encrypted_content"] for e in events if "encrypted_content" in e.get("item", {})
    ]

    assert len(seals) == 2
    assert seals[0] != seals[1]


def test_stream_and_whole_answer_are_one():
    asked = accepted(asking(**SHOWN))

    stream = assembled(streamed(said(asked, *PARTS, finish="tool_calls")))
    body = assembled(decoded(whole(asked, *PARTS, finish="tool_calls")))

    assert stream.message() == body.message()
    assert stream.finished == body.finished


def test_thinking_is_shown_only_to_who_asked_to_read_it():
    stream = said(accepted(asking(reasoning={"effort": "low"})), Thinking("A secret"), Text("So"))

    assert b"A secret" not in stream
    assert assembled(streamed(stream)).message().parts[0].text == ""


def test_older_models_seal_only_when_asked():
    unasked = whole(accepted(asking(model="gpt-5")), Thinking("Hm"), Text("So"))["output"][0]
    asked = accepted(asking(model="gpt-5", include=["reasoning.encrypted_content"]))

    assert "encrypted_content" not in unasked
    assert "encrypted_content" in whole(asked, Thinking("Hm"), Text("So"))["output"][0]


@pytest.mark.parametrize(
    ("finish", "raw", "last", "status", "reason"),
    [
        ("stop", None, "completed", "completed", None),
        ("length", None, "incomplete", "incomplete", "max_output_tokens"),
        ("exhausted", None, "incomplete", "incomplete", "max_output_tokens"),
        ("content_filter", None, "incomplete", "incomplete", "content_filter"),
        ("other", "steered", "incomplete", "incomplete", "steered"),
        ("other", "cancelled", "completed", "cancelled", None),
        ("error", None, "failed", "failed", None),
    ],
)
def test_every_finish_has_its_status(finish, raw, last, status, reason):
    asked = accepted(asking())
    event = objects(said(asked, Text("So"), finish=finish, raw=raw))[-1]

    for answer in (event["response"], whole(asked, Text("So"), finish=finish, raw=raw)):
        assert answer["status"] == status
        assert (answer["incomplete_details"] or {}).get("reason") == reason
    assert event["type"] == f"response.{last}"


def test_an_item_that_the_cap_cut_says_so():
    asked = accepted(asking())

    assert whole(asked, Text("So"), finish="length")["output"][0]["status"] == "incomplete"
    assert objects(said(asked, Text("So"), finish="length"))[-2]["item"]["status"] == "incomplete"


def test_a_refusal_is_a_refusal():
    asked = replace(accepted(asking()), refuses=True)

    for body in (
        whole(asked, Text("No."), finish="refusal"),
        objects(said(asked, Text("No."), finish="refusal"))[-1]["response"],
    ):
        assert body["output"][0]["content"] == [{"type": "refusal", "refusal": "No."}]
    assert (
        assembled(streamed(said(asked, Text("No."), finish="refusal"))).finished.finish == "refusal"
    )


def test_words_that_were_sent_as_an_answer_stay_one_where_the_end_says_refusal():
    events = objects(said(accepted(asking()), Text("No."), finish="refusal"))

    assert not [event for event in events if "refusal" in event["type"]]
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "No."


def test_what_has_a_seal_goes_out_as_the_seal_says():
    value = {
        "id": "rs_9",
        "summary": [{"type": "summary_text", "text": "Hm"}],
        "status": "completed",
    }
    parts = (
        Thinking("Hm", seal(value)),
        Text("So", seal({"item": {"id": "msg_9", "status": "completed"}, "after": "rs_9"})),
        ToolCall(
            "c",
            "f",
            {"a": 1},
            seal({"item": {"id": "fc_9"}, "after": "rs_9", "arguments": '{"a": 1}'}),
        ),
        UnknownPart(NAME, {"type": "web_search_call", "id": "ws_9"}, seal({"after": "rs_9"})),
    )
    asked = accepted(asking(**SHOWN))

    for events in (
        decoded(whole(asked, *parts, finish="tool_calls")),
        streamed(said(asked, *parts, finish="tool_calls")),
    ):
        assert assembled(events).message().parts == parts


def test_citations_are_annotations():
    cited = {"type": "url_citation", "url": "https://x.example"}
    asked = accepted(asking())
    stream = said(asked, Text("So", citations=(cited,)))

    assert assembled(streamed(stream)).message().parts[0].citations == (cited,)
    assert [e for e in objects(stream) if e["type"].endswith("annotation.added")]


def test_a_free_text_tool_is_called_with_free_text():
    asked = accepted(asking(tools=[{"type": "custom", "name": "sh"}]))
    events = [
        Started(),
        PartStart(0, "tool_call", "c", "sh"),
        ToolDelta(0, "ls"),
        PartEnd(0, ToolCall("c", "sh", "ls")),
        Finished("tool_calls", USAGE),
    ]

    (part,) = assembled(streamed(sent(asked, *events))).message().parts

    assert (part.arguments, part.signature.value["type"]) == ("ls", "custom_tool_call")


def test_interleaved_parts_keep_their_places():
    events = [
        PartStart(0, "thinking"),
        ThinkingDelta(0, "Hm"),
        PartStart(1, "text"),
        TextDelta(1, "So"),
        ThinkingDelta(0, "."),
        PartEnd(1, Text("So")),
        PartEnd(0, Thinking("Hm.")),
        Finished("stop", USAGE),
    ]

    found = streamed(sent(accepted(asking(**SHOWN)), *events))

    assert [part.text for part in assembled(found).message().parts] == ["Hm.", "So"]


def test_parts_without_deltas_are_said_at_their_end():
    events = [PartStart(0, "text"), PartEnd(0, Text("So")), Finished("stop", USAGE)]

    assert TextDelta(0, "So") in streamed(sent(accepted(asking()), *events))


def test_no_two_answers_have_the_same_ids():
    one = whole(accepted(asking()), Text("So"))
    two = whole(accepted(asking(model="gpt-5.5")), Text("So"))

    assert one["id"] != two["id"]
    assert one["output"][0]["id"] != two["output"][0]["id"]


@pytest.mark.parametrize(
    ("status", "code", "type_"),
    [
        (400, None, "invalid_request_error"),
        (401, "invalid_api_key", "invalid_request_error"),
        (429, "rate_limit_exceeded", "rate_limit_error"),
        (500, "server_error", "server_error"),
        (503, "server_is_overloaded", "service_unavailable_error"),
    ],
)
def test_errors_have_the_services_shape(status, code, type_):
    response = SERVICE.error(status, "words", code=None, retry_after=None)

    assert response.status == status
    assert json.loads(response.body) == {
        "error": {"message": "words", "type": type_, "param": None, "code": code}
    }


def test_an_error_after_all_was_well_is_an_event():
    stream = SERVICE.stream(accepted(asking()))
    failing = SERVICE.error(429, "words", code="insufficient_quota", retry_after=None)
    data = stream.feed(Started()) + stream.fail(failing)

    with pytest.raises(QuotaSpent, match="words"):
        streamed(data)


def test_a_quota_that_is_spent_says_so_twice():
    response = SERVICE.error(429, "words", code="insufficient_quota", retry_after=None)

    assert json.loads(response.body)["error"]["type"] == "insufficient_quota"


def test_retry_hints_are_read_back():
    response = SERVICE.error(429, "words", code=None, retry_after=1.5)
    error = CALLER.error(ResponseHead(response.status, response.headers), response.body)

    assert error.retry_after == 1.5
    assert response.headers["retry-after"] == "2"
