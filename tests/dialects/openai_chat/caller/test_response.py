"""Text, calls and what comes along, from bodies and streams alike."""

import json

import pytest

from pondero.canon import (
    Image,
    PartStart,
    Started,
    Text,
    TextDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
)
from pondero.errors import Malformed, ServerFailed

from ..making import assembled, body, chunk, end, parts, seal, sse, stream_of, streamed, whole


def call(index=0, **rest):
    return {"tool_calls": [{"index": index, **rest}]}


def function(arguments="", name=None):
    return {"function": {"arguments": arguments} | ({"name": name} if name else {})}


def test_words_come_one_delta_at_a_time():
    events = streamed(
        stream_of({"role": "assistant", "content": ""}, {"content": "He"}, {"content": "y"})
    )
    assert events[:4] == [
        Started("m-1", "c1"),
        PartStart(0, "text"),
        TextDelta(0, "He"),
        TextDelta(0, "y"),
    ]
    assert parts(events) == (Text("Hey"),)


def test_a_body_gives_what_its_stream_gives():
    answer = {
        "content": "Hey",
        "reasoning_content": "Hm",
        "tool_calls": [{"id": "a", "type": "function", **function("{}", "f")}],
    }
    stream = stream_of(
        {"reasoning_content": "H"},
        {"reasoning_content": "m"},
        {"content": "Hey"},
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", **function("", "f")}]},
        call(**function("{}")),
        finish="tool_calls",
    )
    assert assembled(whole(body(answer, "tool_calls"))) == assembled(streamed(stream))


def test_empty_content_opens_no_part():
    assert parts(streamed(stream_of({"content": ""}, {"content": None}))) == ()
    assert parts(whole(body({"content": "", "tool_calls": []}))) == ()


def test_a_call_comes_in_fragments_and_says_its_name_and_id_at_once():
    events = streamed(
        stream_of(
            call(id="a", type="function", **function("", "f")),
            call(**function('{"x"')),
            call(**function(":1}")),
            finish="tool_calls",
        )
    )
    assert events[1] == PartStart(0, "tool_call", "a", "f")
    assert [e.json for e in events if isinstance(e, ToolDelta)] == ['{"x"', ":1}"]
    assert parts(events) == (ToolCall("a", "f", {"x": 1}),)


def test_parallel_calls_interleave():
    events = streamed(
        stream_of(
            call(0, id="a", **function("", "f")),
            call(1, id="b", **function("", "g")),
            call(0, **function("[1]")),
            call(1, **function("[2]")),
        )
    )
    assert parts(events) == (ToolCall("a", "f", [1]), ToolCall("b", "g", [2]))


def test_an_id_that_comes_late_is_the_calls_id():
    events = streamed(stream_of(call(**function("{", "f")), call(id="late", **function("}"))))
    assert parts(events) == (ToolCall("late", "f", {}),)


def test_a_repeated_name_or_id_changes_nothing():
    one = call(id="a", **function('{"x":', "f"))
    two = call(id="a", **function("1}", "f"))
    assert parts(streamed(stream_of(one, two))) == (ToolCall("a", "f", {"x": 1}),)


def test_a_name_and_id_sent_as_null_later_change_nothing():
    later = {
        "tool_calls": [{"index": 0, "id": None, "function": {"name": None, "arguments": "{}"}}]
    }
    assert parts(streamed(stream_of(call(id="a", **function("", "f")), later))) == (
        ToolCall("a", "f", {}),
    )


def test_a_name_that_comes_after_the_arguments_began_is_waited_for():
    events = streamed(stream_of(call(id="a", **function("{")), call(**function("}", "f"))))
    assert parts(events) == (ToolCall("a", "f", {}),)


def test_parallel_calls_that_all_count_as_the_first_are_told_apart_by_id_and_name():
    events = streamed(
        stream_of(call(id="a", **function("{}", "f")), call(id="b", **function("{}", "f")))
    )
    assert parts(events) == (ToolCall("a", "f", {}), ToolCall("b", "f", {}))


def test_calls_without_index_are_told_apart():
    both = {"tool_calls": [{"id": "a", **function("{}", "f")}, {"id": "b", **function("{}", "g")}]}
    assert [part.id for part in parts(streamed(stream_of(both)))] == ["a", "b"]
    apart = [{"tool_calls": [function("{}", "f")]}, {"tool_calls": [function("[]", "f")]}]
    assert [part.arguments for part in parts(streamed(stream_of(*apart)))] == [{}, []]


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ("", {}),
        (" ", {}),
        (None, {}),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", [1]),
        ("{oops", "{oops"),
        ('"text"', '"text"'),
    ],
)
def test_arguments_come_as_text_object_or_nothing(given, means):
    raw = {"id": "a", "type": "function", "function": {"name": "f", "arguments": given}}
    assert parts(whole(body({"tool_calls": [raw]})))[0].arguments == means
    assert parts(streamed(stream_of({"tool_calls": [{"index": 0, **raw}]})))[0].arguments == means


@pytest.mark.parametrize("given", [{}, {"id": ""}, {"id": None}])
def test_a_call_without_an_id_gets_one_of_ours_of_22_characters(given):
    raw = {**given, "type": "function", **function("{}", "f")}
    (made,) = parts(whole(body({"tool_calls": [raw]})))
    assert made.minted
    assert len(made.id) == 22
    assert parts(streamed(stream_of({"tool_calls": [{"index": 0, **raw}]}))) == (made,)


def test_ids_of_ours_differ_within_a_message():
    made = parts(whole(body({"tool_calls": [function("{}", "f"), function("{}", "f")]})))
    assert len({part.id for part in made}) == 2


def test_a_call_without_a_name_is_malformed():
    with pytest.raises(Malformed) as raised:
        whole(body({"tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]}))
    assert raised.value.path == "$.choices[0].message.tool_calls[0].function.name"


def test_what_a_service_adds_to_a_call_is_kept_in_its_seal():
    extra = {"google": {"thought_signature": "c2ln"}}
    raw = {
        "id": "a",
        "type": "function",
        **function("{}", "f"),
        "extra_content": extra,
        "odd": None,
    }
    expected = seal({"extra_content": extra})
    assert parts(whole(body({"tool_calls": [raw]})))[0].signature == expected
    assert (
        parts(streamed(stream_of({"tool_calls": [{"index": 0, **raw}]})))[0].signature == expected
    )


def test_a_custom_tool_is_called_with_plain_text():
    raw = {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    (made,) = parts(whole(body({"tool_calls": [raw]})))
    assert (made.name, made.arguments, made.signature) == ("shell", "ls", seal({"type": "custom"}))


def test_the_older_form_of_a_call_is_a_call():
    (made,) = parts(
        whole(body({"function_call": {"name": "f", "arguments": "{}"}}, "function_call"))
    )
    assert (made.name, made.minted) == ("f", True)


def test_text_goes_on_after_a_call():
    events = streamed(
        stream_of({"content": "a"}, call(id="x", **function("{}", "f")), {"content": "b"})
    )
    assert [part for part in parts(events) if isinstance(part, Text)] == [Text("ab")]


def test_blank_text_before_a_call_stays_before_it():
    events = streamed(stream_of({"content": "\n\n"}, call(id="x", **function("{}", "f"))))
    assert parts(events) == (Text("\n\n"), ToolCall("x", "f", {}))


def test_content_may_be_a_list_of_chunks_or_the_object_itself():
    chunks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert parts(whole(body({"content": chunks}))) == (Text("ab"),)
    assert parts(whole(body({"content": {"age": 3}}))) == (Text('{"age":3}'),)


def test_a_chunk_nobody_knows_is_kept_as_it_came():
    odd = {"type": "reference", "reference_ids": [1]}
    assert parts(whole(body({"content": [odd]}))) == (UnknownPart("openai_chat", odd),)


def test_a_picture_in_an_answer_is_a_picture():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert parts(whole(body({"content": None, "images": [image]}))) == (Image("image/png", b"hi"),)
    far = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
    assert parts(whole(body({"images": [far]}))) == (Image(url="https://x.test/a.png"),)


def test_sound_is_kept_for_its_maker():
    events = streamed(stream_of({"audio": {"id": "au", "data": "AA"}}, {"audio": {"data": "BB"}}))
    assert parts(events) == (UnknownPart("openai_chat", {"audio": {"id": "au", "data": "AABB"}}),)


def test_a_refusal_is_text_sealed_as_one_and_ends_as_one():
    events = streamed(stream_of({"refusal": "I "}, {"refusal": "won't"}))
    assert parts(events) == (Text("I won't", seal({"refusal": True})),)
    assert end(events).finish == "refusal"
    assert (
        assembled(whole(body({"content": None, "refusal": "I won't"})))[0] == assembled(events)[0]
    )


def test_citations_search_results_and_safety_are_kept():
    note = {"type": "url_citation", "url_citation": {"url": "https://x.test"}}
    answer = body(
        {"content": "a", "annotations": [note]},
        citations=["https://x.test"],
        search_results=[{"title": "x"}],
    )
    answer["prompt_filter_results"] = [{"prompt_index": 0}]
    answer["choices"][0]["content_filter_results"] = {"hate": {"filtered": False}}
    events = whole(answer)
    assert parts(events) == (Text("a", citations=(note,)),)
    assert end(events).grounding == {
        "citations": ["https://x.test"],
        "search_results": [{"title": "x"}],
    }
    assert end(events).safety == {
        "content_filter_results": {"hate": {"filtered": False}},
        "prompt_filter_results": [{"prompt_index": 0}],
    }


def test_cost_provider_and_the_upstreams_word_for_the_end_are_kept():
    answer = body({"content": "a"}, provider="Upstream", usage={"cost": 0.5})
    answer["choices"][0]["native_finish_reason"] = "end_turn"
    assert end(whole(answer)).extras == {
        "provider": "Upstream",
        "native_finish_reason": "end_turn",
        "cost": 0.5,
    }
    assert end(whole(body({}, usage={"cost_in_usd_ticks": 5_000_000_000}))).extras == {"cost": 0.5}


def test_only_the_first_of_several_answers_is_read():
    answer = body({"content": "a"})
    answer["choices"].append({"index": 1, "message": {"content": "b"}, "finish_reason": "stop"})
    assert parts(whole(answer)) == (Text("a"),)


def test_a_body_with_an_empty_delta_beside_its_message_is_the_message():
    answer = body({"content": "a"})
    answer["choices"][0]["delta"] = {"role": "assistant", "content": ""}
    assert parts(whole(answer)) == (Text("a"),)


def test_a_stream_that_sums_up_at_its_end_is_not_read_twice():
    last = chunk({}, "stop")
    last["choices"][0] |= {"message": {"role": "assistant", "content": "Hey"}}
    del last["choices"][0]["delta"]
    assert parts(streamed(sse(chunk({"content": "Hey"}), last))) == (Text("Hey"),)


def test_a_body_may_begin_with_blank_lines():
    assert parts(whole(b"\n \n\r\n" + json.dumps(body({"content": "a"})).encode())) == (Text("a"),)


def test_a_whole_body_where_a_stream_was_asked_for_is_read():
    data = json.dumps(body({"content": "a"})).encode()
    assert parts(streamed(b" ", data[:9], data[9:])) == (Text("a"),)


def test_half_a_surrogate_pair_is_replaced():
    assert parts(whole(b'{"choices":[{"message":{"content":"a\\ud83d"}}]}')) == (Text("a\ufffd"),)


def test_unknown_fields_are_passed_over():
    assert parts(
        streamed(sse(chunk({"content": "a", "new": 1}, new={"x": 1}), chunk({}, "stop")))
    ) == (Text("a"),)


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ({"id": "x"}, "$.choices"),
        ({"choices": [{"message": {"content": 3}}]}, "$.choices[0].message.content"),
        ({"choices": [{"message": {"tool_calls": {"id": 1}}}]}, "$.choices[0].message.tool_calls"),
        ({"choices": {}}, "$.choices"),
        ([], "$"),
    ],
)
def test_a_broken_contract_is_malformed_and_says_where(answer, path):
    with pytest.raises(Malformed) as raised:
        whole(answer)
    assert raised.value.path == path


@pytest.mark.parametrize("choices", [None, []])
def test_an_answer_without_a_choice_is_the_services_failure(choices):
    with pytest.raises(ServerFailed):
        whole({"id": "x", "choices": choices})


@pytest.mark.parametrize("data", [b"", b"<html>", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_malformed(data):
    with pytest.raises(Malformed):
        whole(data)


def test_it_knows_its_own():
    from ..making import CHAT

    sure = CHAT.caller().match_score
    assert sure(body({}), stream=False) > 90
    assert sure(chunk({}), stream=True) > 90
    assert sure({"choices": [{"message": {}}]}, stream=False) > 50
    assert sure({"error": {"message": "no", "code": None}}, stream=False) > 0
    assert sure({"type": "message", "content": []}, stream=False) == 0
    assert sure([], stream=True) == 0


# -- services that fill every field -----------------------------------------------------------------

FIELDS = (
    *("reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "tool_calls"),
    *("refusal", "function_call", "annotations", "images", "audio", "extra_content"),
    *("thought_signature", "executed_tools", "provider_metadata"),
)
EMPTY_CALL = {"name": "", "arguments": ""}
EMPTY = {
    "null": None,
    "text": "",
    "list": [],
    "object": {},
    "call": EMPTY_CALL,
    "calls": [{"index": 0, "id": "", "type": "", "function": EMPTY_CALL}],
}


def filled(empty):
    """All fields of a message empty in this way, where it could be meant so."""
    if empty is EMPTY["call"]:
        return {"function_call": empty}
    if empty is EMPTY["calls"]:
        return {"tool_calls": empty}
    return dict.fromkeys(FIELDS, empty)


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
def test_a_field_that_is_empty_is_absent(empty):
    plain = {"role": "assistant", "content": "Hi"}
    assert whole(body(plain | filled(empty))) == whole(body(plain))
    bare = [{"content": "H"}, {"content": "i"}]
    stuffed = [each | filled(empty) for each in bare]
    assert streamed(stream_of(*stuffed)) == streamed(stream_of(*bare))


def test_an_empty_finish_reason_in_every_chunk_ends_nothing():
    stuffed = {"function_call": EMPTY_CALL, "tool_calls": None, "refusal": ""}
    frames = [chunk({"content": text, **stuffed}, "") for text in ("H", "i")]
    events = streamed(sse(*frames, chunk(stuffed, "stop")))
    assert parts(events) == (Text("Hi"),)
    assert end(events).finish == "stop"


def test_a_call_is_read_among_empty_fields():
    stuffed = {"function_call": EMPTY_CALL, "refusal": "", "content": ""}
    asked = {"id": "a", "type": "function", **function("{}", "f")}
    events = whole(body({**stuffed, "tool_calls": [asked]}, "tool_calls"))
    assert parts(events) == (ToolCall("a", "f", {}),)


@pytest.mark.parametrize("index", [[], {}, None, "0", 0.5, True])
def test_an_index_of_any_type_is_read(index):
    first = {"index": index, "id": "a", "type": "function", **function('{"x":', "f")}
    more = {"index": index, **function("1}")}
    try:
        events = streamed(stream_of({"tool_calls": [first]}, {"tool_calls": [more]}))
    except Malformed:
        return
    assert parts(events)[0].name == "f"
