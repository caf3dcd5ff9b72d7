"""Streams to events, in any split, cut anywhere."""

import pytest
from tests.dialects.openai_responses.making import (
    MODEL,
    NAME,
    OK,
    answer,
    assembled,
    begun,
    decoded,
    parts_of,
    seal,
    sse,
    streamed,
)

from pondero.canon import (
    Finished,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
)
from pondero.dialects import AnswerContext
from pondero.dialects.openai_responses.caller import CALLER
from pondero.errors import Malformed, QuotaSpent, RateLimited, ServerFailed, Truncated

CREATED = {"type": "response.created", "response": answer(status="in_progress")}
PROGRESS = {"type": "response.in_progress", "response": answer(status="in_progress")}
THOUGHT = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [
        {"type": "summary_text", "text": "Hm. So"},
        {"type": "summary_text", "text": "yes."},
    ],
    "encrypted_content": "gAAAAABfinal",
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It is 42.", "annotations": []}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city":"Paris"}',
}
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 19,
}


def completed(*output, **changes):
    return {"type": "response.completed", "response": answer(*output, usage=USAGE, **changes)}


def added(item, at=0, **changes):
    return {"type": "response.output_item.added", "output_index": at, "item": item | changes}


def done(item, at=0):
    return {"type": "response.output_item.done", "output_index": at, "item": item}


def delta(kind, text, at=0, **where):
    return {"type": f"response.{kind}.delta", "output_index": at, "delta": text, **where}


THINKING = [
    added(THOUGHT, summary=[], encrypted_content="gAAAAABpreliminary"),
    delta("reasoning_summary_text", "Hm.", summary_index=0),
    delta("reasoning_summary_text", " So", summary_index=0),
    delta("reasoning_summary_text", "yes.", summary_index=1),
    done(THOUGHT),
]
SAYING = [
    added(SAID, 1, content=[], status="in_progress"),
    {
        "type": "response.content_part.added",
        "output_index": 1,
        "content_index": 0,
        "part": {"type": "output_text", "text": ""},
    },
    delta("output_text", "It is", 1, content_index=0),
    delta("output_text", " 42.", 1, content_index=0),
    done(SAID, 1),
]
CALLING = [
    added(CALL, 2, arguments="", status="in_progress"),
    delta("function_call_arguments", '{"city":', 2),
    delta("function_call_arguments", '"Paris"}', 2),
    done(CALL, 2),
]
WHOLE = sse(CREATED, PROGRESS, *THINKING, *SAYING, *CALLING, completed(THOUGHT, SAID, CALL))


def test_a_stream_is_told_in_events():
    thought = Thinking(
        "Hm. So\n\nyes.", seal({key: value for key, value in THOUGHT.items() if key != "type"})
    )
    said = Text(
        "It is 42.", seal({"item": {"id": "msg_1", "status": "completed"}, "after": "rs_1"})
    )
    call = ToolCall(
        "call_1",
        "weather",
        {"city": "Paris"},
        seal({"item": {"id": "fc_1", "status": "completed"}, "after": "rs_1"}),
    )

    events = streamed(WHOLE)

    assert events[:-1] == [
        Started(MODEL, "resp_1"),
        PartStart(0, "thinking"),
        ThinkingDelta(0, "Hm."),
        ThinkingDelta(0, " So"),
        ThinkingDelta(0, "\n\n"),
        ThinkingDelta(0, "yes."),
        PartEnd(0, thought),
        PartStart(1, "text", signature=said.signature),
        TextDelta(1, "It is"),
        TextDelta(1, " 42."),
        PartEnd(1, said),
        PartStart(2, "tool_call", "call_1", "weather", call.signature),
        ToolDelta(2, '{"city":'),
        ToolDelta(2, '"Paris"}'),
        PartEnd(2, call),
    ]
    assert isinstance(events[-1], Finished)
    assert events[-1].finish == "tool_calls"


def test_the_whole_answer_gives_the_same_message_finish_and_usage():
    whole = assembled(decoded(answer(THOUGHT, SAID, CALL, usage=USAGE)))
    stream = assembled(streamed(WHOLE))

    assert stream.message() == whole.message()
    assert stream.finished == whole.finished


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100, 1000])
def test_any_split_gives_the_same_events(size):
    assert streamed(WHOLE, size=size) == streamed(WHOLE)


@pytest.mark.parametrize("ends", [b"\r\n", b"\r"])
def test_any_line_end_will_do(ends):
    assert streamed(WHOLE.replace(b"\n", ends), size=5) == streamed(WHOLE)


def test_any_cut_raises():
    last = WHOLE.rindex(b"event: response.completed")
    for end in range(0, last, 17):
        with pytest.raises(Truncated):
            streamed(WHOLE[:end])


def test_a_cut_stream_has_given_what_came_before_and_no_seal_that_was_not_final():
    cut = sse(CREATED, *THINKING[:-1])
    stream = CALLER.stream(OK, AnswerContext(MODEL, "openai"))

    parts = assembled(stream.feed(cut)).message().parts

    assert parts == (Thinking("Hm. So\n\nyes."),)
    with pytest.raises(Truncated):
        stream.eof()


def test_done_is_tolerated_and_does_not_stand_for_the_end():
    assert streamed(WHOLE + b"data: [DONE]\n\n") == streamed(WHOLE)
    with pytest.raises(Truncated):
        streamed(sse(CREATED) + b"data: [DONE]\n\n")


def test_comments_and_events_nobody_knows_are_passed_over():
    noise = b': keepalive\n\nevent: ping\ndata: {"type": "ping"}\n\n' + sse(
        {"type": "keepalive"},
        {"type": "response.hologram.delta", "delta": {"not": "text"}, "output_index": "x"},
        {"type": "response.web_search_call.searching", "output_index": 0},
        {"type": "response.output_text.done", "output_index": 1, "text": "It is 42."},
    )
    frames = WHOLE.split(b"\n\n")
    noisy = b"\n\n".join(frames[:9]) + b"\n\n" + noise + b"\n\n".join(frames[9:])

    assert streamed(noisy) == streamed(WHOLE)


def test_an_item_that_comes_only_when_it_is_done_is_whole():
    events = streamed(sse(CREATED, done(THOUGHT), done(SAID, 1), completed(THOUGHT, SAID)))

    assert parts_of(events) == parts_of(decoded(answer(THOUGHT, SAID)))
    assert ThinkingDelta(0, "Hm. So\n\nyes.") in events


def test_items_that_come_only_with_the_end_are_taken_from_there():
    events = streamed(sse(CREATED, completed(THOUGHT, SAID, CALL)))

    assert parts_of(events) == parts_of(streamed(WHOLE))


def test_an_end_without_items_does_not_take_back_what_was_streamed():
    """Some deployments end with an empty output."""
    events = streamed(sse(CREATED, *THINKING, *SAYING, completed()))

    assert len(parts_of(events)) == 2


def test_an_item_left_open_ends_by_its_final_form():
    events = streamed(sse(CREATED, *THINKING[:-1], completed(THOUGHT)))

    assert parts_of(events) == parts_of(decoded(answer(THOUGHT)))


def test_an_item_left_open_for_good_ends_without_a_seal():
    events = streamed(sse(CREATED, *THINKING[:-1], *CALLING[:-1], completed()))

    assert parts_of(events) == (
        Thinking("Hm. So\n\nyes."),
        ToolCall(
            "call_1",
            "weather",
            {"city": "Paris"},
            seal({"item": {"id": "fc_1", "status": "in_progress"}}),
        ),
    )


def test_raw_thinking_may_end_after_the_answer():
    item = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "2+2"}],
    }
    events = streamed(
        sse(
            CREATED,
            added(item, content=[]),
            {
                "type": "response.content_part.added",
                "output_index": 0,
                "content_index": 0,
                "part": {"type": "reasoning_text", "text": ""},
            },
            delta("reasoning_text", "2+2", content_index=0),
            *SAYING,
            done(item),
            completed(),
        )
    )

    thinking, said = parts_of(events)

    assert thinking.text == "2+2"
    assert said.signature.value["after"] == "rs_1"
    assert [event.index for event in events if isinstance(event, PartEnd)] == [1, 0]


def test_ids_that_change_under_way_are_settled_by_the_end_of_the_item():
    events = streamed(
        sse(
            CREATED,
            added(THOUGHT, id="rs_other", summary=[]),
            done(THOUGHT),
            *SAYING,
            completed(),
        )
    )

    thinking, said = parts_of(events)

    assert thinking.signature.value["id"] == said.signature.value["after"] == "rs_1"


def test_events_without_a_place_belong_to_the_latest_item():
    def nowhere(event):
        return {key: value for key, value in event.items() if key != "output_index"}

    events = streamed(
        sse(CREATED, *[nowhere(event) for event in (*THINKING, *SAYING, *CALLING)], completed())
    )

    assert parts_of(events) == parts_of(streamed(WHOLE))


def test_an_end_without_a_place_is_of_the_item_with_its_id():
    def nowhere(event):
        return {key: value for key, value in event.items() if key != "output_index"}

    *thinking, thought = THINKING
    *saying, said = SAYING
    late = (*thinking, *saying, thought, said, *CALLING)  # as llama.cpp says it
    events = streamed(sse(CREATED, *[nowhere(event) for event in late], completed()))

    assert parts_of(events) == parts_of(streamed(WHOLE))


def test_a_server_that_gives_every_item_the_same_place_is_understood():
    def at_zero(event):
        return event | {"output_index": 0}

    events = streamed(
        sse(CREATED, *[at_zero(event) for event in (*THINKING, *SAYING, *CALLING)], completed())
    )

    assert parts_of(events) == parts_of(streamed(WHOLE))


def test_deltas_that_nobody_announced_open_their_part():
    events = streamed(
        sse(
            delta("reasoning_summary_text", "Hm.", summary_index=0),
            delta("output_text", "Hi", 1, content_index=0),
            {"type": "response.completed", "response": answer()},
        )
    )

    assert begun(events)[:4] == [
        PartStart(0, "thinking"),
        ThinkingDelta(0, "Hm."),
        PartStart(1, "text"),
        TextDelta(1, "Hi"),
    ]
    assert [part.text for part in parts_of(events)] == ["Hm.", "Hi"]


def test_what_the_final_form_has_beyond_the_deltas_is_said():
    events = streamed(sse(CREATED, *SAYING[:3], SAYING[4], completed(SAID)))

    assert [event.text for event in events if isinstance(event, TextDelta)] == ["It is", " 42."]


def test_a_summary_that_was_written_anew_ends_as_the_service_ends_it():
    """Seen on the wire: two drafts in the deltas, one text in the end."""
    events = streamed(
        sse(
            CREATED,
            added(THOUGHT, summary=[]),
            delta("reasoning_summary_text", "A draft.", summary_index=0),
            done(THOUGHT),
            completed(),
        )
    )

    assert parts_of(events)[0].text == "Hm. So\n\nyes."


def test_server_tools_are_kept_as_they_end():
    search = {"id": "ws_1", "type": "web_search_call", "status": "in_progress"}
    final = search | {"status": "completed", "action": {"type": "search", "query": "q"}}

    events = streamed(sse(CREATED, added(search), done(final), completed(final)))

    assert begun(events)[:2] == [PartStart(0, "other"), PartEnd(0, UnknownPart(NAME, final))]


def test_a_refusal_streams_as_text():
    said = SAID | {"content": [{"type": "refusal", "refusal": "No."}]}
    events = streamed(
        sse(
            CREATED,
            added(said, content=[]),
            delta("refusal", "N", content_index=0),
            delta("refusal", "o.", content_index=0),
            done(said),
            completed(said),
        )
    )

    assert [event.text for event in events if isinstance(event, TextDelta)] == ["N", "o."]
    assert events[-1].finish == "refusal"


def test_thinking_inside_a_message_streams_too():
    said = {
        "type": "message",
        "content": [
            {"type": "reasoning_content", "reasoning_content": "Hm."},
            {"type": "output_text", "text": "42"},
        ],
    }
    events = streamed(
        sse(
            CREATED,
            added(said, content=[]),
            delta("reasoning_content", "Hm.", content_index=0),
            delta("output_text", "42", content_index=1),
            done(said),
            completed(said),
        )
    )

    assert parts_of(events) == (Thinking("Hm."), Text("42"))
    assert ThinkingDelta(0, "Hm.") in events


def test_free_text_of_a_custom_call_streams():
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"}
    events = streamed(
        sse(
            CREATED,
            added(item, input=""),
            delta("custom_tool_call_input", "l"),
            delta("custom_tool_call_input", "s"),
            done(item),
            completed(item),
        )
    )

    assert ToolDelta(0, "l") in events
    assert parts_of(events)[0].arguments == "ls"


def test_a_custom_call_that_the_service_runs_itself_streams_as_no_call():
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "xs_1", "name": "x_user_search"}
    listed = answer(status="in_progress", tools=[{"type": "x_search"}])
    events = streamed(
        sse(
            {"type": "response.created", "response": listed},
            added(item, input="", status="in_progress"),
            delta("custom_tool_call_input", '{"query":"a"}'),
            done(item | {"input": '{"query":"a"}', "status": "completed"}),
            completed(item, tools=[{"type": "x_search"}]),
        )
    )

    (part,) = parts_of(events)
    assert part == UnknownPart(NAME, item | {"input": '{"query":"a"}', "status": "completed"})
    assert not [event for event in events if isinstance(event, ToolDelta)]
    assert events[-1].finish == "stop"


def test_nothing_of_a_second_answer_is_taken():
    assert streamed(WHOLE + WHOLE + b"data: {not json\n\n", size=50) == streamed(WHOLE)


# -- errors inside a stream --------------------------------------------------------------------

QUOTA = {"code": "insufficient_quota", "message": "You exceeded your current quota."}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "error": QUOTA}, QuotaSpent),
        ({"type": "error", **QUOTA}, QuotaSpent),
        ({"type": "response.failed", "response": answer(status="failed", error=QUOTA)}, QuotaSpent),
        ({"type": "response.failed", "response": answer(status="failed")}, ServerFailed),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Slow down."}, RateLimited),
        ({"type": "error", "error": {"code": 429, "message": "Slow down."}}, RateLimited),
    ],
)
def test_an_error_after_a_good_start_raises_its_own_type(event, kind):
    with pytest.raises(kind):
        streamed(sse(CREATED) + sse(event), size=10)


def test_an_error_without_a_type_is_one_all_the_same():
    with pytest.raises(QuotaSpent):
        streamed(
            sse(CREATED) + b'data: {"error": {"code": "insufficient_quota", "message": "x"}}\n\n'
        )


def test_what_came_before_an_error_is_returned_before_it_is_raised():
    stream = CALLER.stream(OK, AnswerContext(MODEL, "openai"))

    events = stream.feed(sse(CREATED, *SAYING[:3], {"type": "error", "error": QUOTA}))

    assert events[-1] == TextDelta(0, "It is")
    with pytest.raises(QuotaSpent):
        stream.feed(b"")
    with pytest.raises(QuotaSpent):
        stream.eof()


@pytest.mark.parametrize(
    ("event", "path"),
    [
        ({"type": "response.output_item.added"}, "$"),
        ({"type": "response.output_item.added", "item": {"id": "x"}}, "$.item"),
        ({"type": "response.output_item.done", "item": "x"}, "$.item"),
        ({"type": "response.completed"}, "$"),
        ({"type": "response.completed", "response": []}, "$.response"),
        ({"type": "response.completed", "response": {"status": 1}}, "$.response.status"),
        ({"type": "response.output_text.delta", "delta": 5}, "$.delta"),
    ],
)
def test_a_broken_event_says_where(event, path):
    with pytest.raises(Malformed) as caught:
        streamed(sse(event))

    assert caught.value.path == path


def test_what_is_no_json_is_malformed():
    with pytest.raises(Malformed):
        streamed(sse(CREATED) + b"data: {broken\n\n")


def test_an_event_without_its_blank_line_still_counts():
    assert streamed(WHOLE.rstrip(b"\n")) == streamed(WHOLE)


def test_a_stream_of_many_deltas_costs_the_same_for_each():
    many = [delta("output_text", "x", 1, content_index=0)] * 5000
    said = SAID | {"content": [{"type": "output_text", "text": "x" * 5000}]}

    events = streamed(sse(CREATED, *SAYING[:2], *many, done(said, 1), completed(said)), size=100)

    assert parts_of(events)[0].text == "x" * 5000
