"""Streams to events: three framings, any split, any cut, and signatures that come apart."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.gemini.making import (
    NAME,
    NEW,
    OK,
    array,
    assembled,
    call,
    chunk,
    ndjson,
    parts_of,
    seal,
    sse,
    streamed,
    whole,
)

from pondero.canon import Text, TextDelta, Thinking, ToolCall, UnknownPart, Usage
from pondero.dialects import AnswerContext
from pondero.dialects.gemini.caller import CALLER
from pondero.errors import Malformed, Overloaded, RateLimited, ServerFailed, Truncated

FRAMINGS = [sse, array, ndjson]
ANSWER = (
    chunk({"text": "**Weighing**\n", "thought": True}, finish=None),
    chunk({"text": "more ", "thought": True}, finish=None),
    chunk({"text": "Grüße"}, finish=None),
    chunk({"text": " 🙂"}, finish=None),
    chunk(call(id="a1", q="\n\ndata: x"), finish=None),
    chunk({"text": "", "thoughtSignature": "S"}),
)


@pytest.mark.parametrize("framed", FRAMINGS)
@pytest.mark.parametrize("size", [1, 2, 7, 100, 1 << 20])
def test_every_framing_in_every_split_is_the_same_answer(framed, size):
    assert streamed(framed(*ANSWER), size=size) == streamed(sse(*ANSWER))


def test_one_pretty_object_instead_of_a_stream_is_read():
    body = json.dumps(chunk({"text": "a"}), indent=2).encode()
    assert streamed(body, size=3) == streamed(sse(chunk({"text": "a"})))


def test_pieces_wrapped_by_cloud_code_assist_are_unwrapped():
    wrapped = [{"response": each, "traceId": "t"} for each in ANSWER]
    assert streamed(sse(*wrapped)) == streamed(sse(*ANSWER))


def test_text_goes_on_from_piece_to_piece_and_parts_of_one_piece_stay_apart():
    data = sse(
        chunk({"text": "a"}, finish=None),
        chunk({"text": "b"}, {"text": "c"}, finish=None),
        chunk({"text": "d"}),
    )
    assert parts_of(streamed(data)) == (Text("ab"), Text("cd"))


def test_thinking_goes_on_too_and_ends_where_text_begins():
    data = sse(
        chunk({"text": "a", "thought": True}, finish=None),
        chunk({"text": "b", "thought": True}, {"text": "c"}, finish=None),
        chunk({"text": "d", "thought": True}),
    )
    assert parts_of(streamed(data)) == (Thinking("ab"), Text("c"), Thinking("d"))


def test_thinking_in_a_string_of_its_own_goes_on_as_well():
    data = ndjson(
        {"candidates": [{"content": {"thoughts": "First "}}]},
        {"candidates": [{"content": {"thoughts": "I considered"}}]},
        chunk({"text": "42."}),
    )
    assert parts_of(streamed(data)) == (Thinking("First I considered"), Text("42."))


@pytest.mark.parametrize(
    ("chunks", "parts"),
    [
        (  # the first piece of the answer is signed (2.5)
            [chunk({"text": "a", "thoughtSignature": "S"}, finish=None), chunk({"text": "b"})],
            (Text("a", seal("S")), Text("b")),
        ),
        (  # an empty last one is (3)
            [chunk({"text": "a"}, finish=None), chunk({"text": "", "thoughtSignature": "S"})],
            (Text("a"), Text("", seal("S"))),
        ),
        (  # the last with text is
            [chunk({"text": "a"}, finish=None), chunk({"text": "b", "thoughtSignature": "S"})],
            (Text("a"), Text("b", seal("S"))),
        ),
        (  # every one is
            [
                chunk({"text": "a", "thoughtSignature": "S"}, finish=None),
                chunk({"text": "b", "thoughtSignature": "T"}),
            ],
            (Text("a", seal("S")), Text("b", seal("T"))),
        ),
        (  # only thinking, then a signature
            [
                chunk({"text": "a", "thought": True}, finish=None),
                chunk({"text": "", "thoughtSignature": "S"}),
            ],
            (Thinking("a"), Text("", seal("S"))),
        ),
        (
            [
                chunk({"executableCode": {"code": "1"}, "thoughtSignature": "S"}),
                chunk({"text": "1"}),
            ],
            (UnknownPart(NAME, {"executableCode": {"code": "1"}}, seal("S")), Text("1")),
        ),
    ],
)
def test_a_signed_piece_is_a_part_of_its_own(chunks, parts):
    assert parts_of(streamed(sse(*chunks))) == parts


@pytest.mark.parametrize(
    "loose", [{"text": "", "thoughtSignature": "S"}, {"thoughtSignature": "S"}]
)
@pytest.mark.parametrize("apart", [True, False])
def test_a_signature_before_its_call_is_given_to_the_call(loose, apart):
    chunks = (
        [chunk(loose, finish=None), chunk(call(id="a"))] if apart else [chunk(loose, call(id="a"))]
    )
    assert parts_of(streamed(sse(*chunks))) == (ToolCall("a", "f", {}, seal("S")),)


@pytest.mark.parametrize(
    "loose", [{"text": "", "thoughtSignature": "S"}, {"thoughtSignature": "S"}]
)
def test_a_signature_after_its_call_is_given_to_the_call(loose):
    chunks = [chunk(call(id="a"), finish=None), chunk(loose)]
    assert parts_of(streamed(sse(*chunks))) == (ToolCall("a", "f", {}, seal("S")),)


def test_a_signature_after_a_signed_call_is_a_part_of_its_own():
    chunks = [
        chunk(call(id="a", signature="S"), finish=None),
        chunk({"text": "", "thoughtSignature": "T"}),
    ]
    assert parts_of(streamed(sse(*chunks))) == (
        ToolCall("a", "f", {}, seal("S")),
        Text("", seal("T")),
    )


def test_a_signature_on_words_is_never_given_to_the_call_behind_them():
    chunks = [chunk({"text": "so", "thoughtSignature": "S"}, finish=None), chunk(call(id="a"))]
    assert parts_of(streamed(sse(*chunks))) == (Text("so", seal("S")), ToolCall("a", "f", {}))


def test_parallel_calls_over_several_pieces_keep_their_own_seals():
    chunks = [chunk(call(id="a", signature="S"), finish=None), chunk(call(id="b"), call(id="c"))]
    assert [(part.id, part.signature) for part in parts_of(streamed(sse(*chunks)))] == [
        ("a", seal("S")),
        ("b", None),
        ("c", None),
    ]


def test_the_empty_text_that_closes_a_call_is_no_part():
    chunks = [chunk(call(id="a", signature="S"), finish=None), chunk({"text": ""})]
    assert len(parts_of(streamed(sse(*chunks)))) == 1


# -- arguments in pieces (Vertex) --------------------------------------------------------------


def partial(*pieces, more=True, **beside):
    function = {"partialArgs": list(pieces)} | ({"willContinue": True} if more else {})
    return chunk({"functionCall": function, **beside}, finish=None)


def begun(name="write", **beside):
    return chunk({"functionCall": {"name": name, "willContinue": True}, **beside}, finish=None)


def test_arguments_that_come_as_values_at_paths_are_put_together():
    data = sse(
        begun(thoughtSignature="S"),
        partial({"jsonPath": "$.rows[0].word", "stringValue": "Gr", "willContinue": True}),
        partial({"jsonPath": "$.rows[0].word", "stringValue": "üße", "willContinue": True}),
        partial({"jsonPath": "$.rows[0].word", "stringValue": ""}),
        partial(
            {"jsonPath": "$.rows[0].price", "numberValue": 0.5},
            {"jsonPath": "$.rows[0].ok", "boolValue": True},
        ),
        partial({"jsonPath": "$.rows[1]['a.b']", "nullValue": "NULL_VALUE"}),
        chunk({"functionCall": {}}, finish=None),
        chunk({"text": ""}),
    )
    (made,) = parts_of(streamed(data))
    assert made.arguments == {"rows": [{"word": "Grüße", "price": 0.5, "ok": True}, {"a.b": None}]}
    assert made.signature == seal("S")


def test_the_last_piece_may_end_the_call_and_another_may_follow():
    data = sse(
        begun("f"),
        partial({"jsonPath": "$.a", "numberValue": 1}, more=False),
        begun("g"),
        partial({"jsonPath": "$.b", "stringValue": "x", "willContinue": True}),
        chunk({"text": "done"}),
    )
    made = parts_of(streamed(data))
    assert [(p.name, p.arguments) for p in made[:2]] == [("f", {"a": 1}), ("g", {"b": "x"})]
    assert made[2] == Text("done")


def test_pieces_that_repeat_name_and_id_are_of_the_same_call():
    def piece(**function):
        return chunk({"functionCall": {"id": "a", "name": "f", **function}}, finish=None)

    data = sse(
        piece(willContinue=True),
        piece(partialArgs=[{"jsonPath": "$.x", "numberValue": 1}], willContinue=True),
        piece(partialArgs=[{"jsonPath": "$.y", "numberValue": 2}]),
        chunk({"text": ""}),
    )
    assert parts_of(streamed(data)) == (ToolCall("a", "f", {"x": 1, "y": 2}),)


@pytest.mark.parametrize("path", ["$.a[5]", "a", "$.a..b", "$[0]", "$.s.t"])
def test_a_path_that_leads_nowhere_is_malformed(path):
    pieces = ({"jsonPath": "$.s", "stringValue": "x"}, {"jsonPath": path, "numberValue": 1})
    with pytest.raises(Malformed):
        streamed(sse(begun(), partial(*pieces), chunk({"text": ""})))


# -- counts and metadata ---------------------------------------------------------------------


def test_snapshots_of_the_counts_are_merged_and_never_added():
    first = chunk({"text": "a"}, finish=None) | {
        "usageMetadata": {
            "promptTokenCount": 169,
            "cachedContentTokenCount": 9,
            "totalTokenCount": 169,
        }
    }
    last = chunk({"text": "b"}) | {
        "usageMetadata": {"promptTokenCount": 79, "candidatesTokenCount": 8, "totalTokenCount": 87}
    }
    assert assembled(streamed(sse(first, last)))[1].usage == Usage(70, 9, None, 8, 0, 87)


def test_a_gap_in_the_last_snapshot_is_filled_from_the_one_before():
    first = chunk({"text": "a"}, finish=None) | {
        "usageMetadata": {"promptTokenCount": 10, "thoughtsTokenCount": 5, "totalTokenCount": 15}
    }
    last = chunk({"text": "b"}) | {
        "usageMetadata": {"candidatesTokenCount": 8, "totalTokenCount": 23}
    }
    assert assembled(streamed(sse(first, last)))[1].usage == Usage(10, 0, None, 8, 5, 23)


def test_a_snapshot_that_adds_up_by_itself_stands_for_itself():
    first = chunk({"text": "a"}, finish=None) | {
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 21, "totalTokenCount": 30}
    }
    last = chunk({"text": ""}) | {
        "usageMetadata": {"promptTokenCount": 87, "thoughtsTokenCount": 78, "totalTokenCount": 165}
    }
    assert assembled(streamed(sse(first, last)))[1].usage == Usage(87, 0, None, 0, 78, 165)


def test_grounding_is_the_last_that_says_something():
    chunks = [
        chunk({"text": "a"}, finish=None, groundingMetadata={"webSearchQueries": ["q"]}),
        chunk({"text": "b"}, groundingMetadata={}),
    ]
    assert assembled(streamed(sse(*chunks)))[1].grounding == {"webSearchQueries": ["q"]}


def test_an_older_model_that_says_stop_on_every_piece_is_read_to_its_end():
    assert parts_of(streamed(sse(chunk({"text": "a"}), chunk({"text": "b"})))) == (Text("ab"),)


# -- ends and errors -------------------------------------------------------------------------


def test_a_stream_without_a_finish_reason_is_truncated():
    with pytest.raises(Truncated):
        streamed(sse(chunk({"text": "a"}, finish=None)))


@pytest.mark.parametrize("framed", FRAMINGS)
def test_a_stream_cut_anywhere_is_truncated_or_was_complete(framed):
    data = framed(*ANSWER)
    complete = assembled(streamed(data))[0]
    for cut in range(len(data)):
        try:
            events = streamed(data[:cut])
        except Truncated:
            continue
        assert assembled(events)[0] == complete


def test_nothing_at_all_is_truncated():
    with pytest.raises(Truncated):
        streamed(b"")


def test_a_refused_question_ends_a_stream_without_a_finish_reason():
    _, finished = assembled(streamed(sse({"promptFeedback": {"blockReason": "SAFETY"}})))
    assert finished.finish == "content_filter"


@pytest.mark.parametrize("framed", FRAMINGS)
def test_what_came_before_an_error_is_given_first_and_the_error_next(framed):
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    data = framed(chunk({"text": "a"}, finish=None), error)
    stream = CALLER.stream(OK, AnswerContext(NEW))
    assert TextDelta(0, "a") in stream.feed(data)
    with pytest.raises(Overloaded) as raised:
        stream.feed(b"")
    assert raised.value.status == 503
    with pytest.raises(Overloaded):
        stream.eof()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}, RateLimited),
        ({"code": 500, "message": "m", "status": "INTERNAL"}, ServerFailed),
    ],
)
def test_an_error_as_the_first_piece_is_raised_at_once(error, kind):
    with pytest.raises(kind):
        CALLER.stream(OK, AnswerContext(NEW)).feed(sse({"error": error}))


def test_a_broken_piece_is_malformed_after_the_good_ones():
    stream = CALLER.stream(OK, AnswerContext(NEW))
    events = stream.feed(sse(chunk({"text": "a"}, finish=None)) + b"data: {oops\r\n\r\n")
    assert TextDelta(0, "a") in events
    with pytest.raises(Malformed):
        stream.eof()


def test_the_end_mark_of_other_wires_is_passed_over():
    assert parts_of(streamed(sse(chunk({"text": "a"})) + b"data: [DONE]\n\n")) == (Text("a"),)


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_random_pieces_between_good_ones_raise_only_our_errors(pieces):
    stream = CALLER.stream(OK, AnswerContext(NEW))
    try:
        for piece in pieces:
            stream.feed(b"data: " + piece + b"\n\n" + sse(chunk({"text": "a"}, finish=None)))
        stream.eof()
    except (Malformed, Truncated):
        return


def test_a_whole_answer_is_a_stream_of_one_piece():
    body = chunk({"text": "hm", "thought": True}, {"text": "so"}, call(id="a", signature="S"))
    assert whole(body) == streamed(sse(body))


def test_what_is_no_frame_after_the_answer_is_malformed_and_not_a_cut():
    stream = CALLER.stream(OK, AnswerContext(NEW))
    assert stream.feed(array(*ANSWER) + b" garbage")
    with pytest.raises(Malformed):
        stream.eof()


@pytest.mark.parametrize("step", [".a", "[0]", "['a']"])
def test_a_path_of_a_thousand_steps_is_malformed(step):
    piece = {"jsonPath": "$.a" + step * 1000, "stringValue": "x"}
    with pytest.raises(Malformed, match="nested too deep"):
        streamed(sse(begun(), partial(piece), chunk({"text": ""})))


def test_the_last_event_has_the_counts_and_the_reason_of_the_last_chunk():
    counts = {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}
    first = chunk({"text": "Hm.", "thought": True}, finish=None)
    last = chunk({"text": "Hi"}, finish="MAX_TOKENS") | {
        "usageMetadata": counts | {"totalTokenCount": 16}
    }
    _, finished = assembled(streamed(sse(first, last)))
    assert finished.usage == Usage(9, 0, None, 2, 5, 16)
    assert (finished.finish, finished.raw_finish) == ("length", "MAX_TOKENS")


def test_thoughts_and_text_keep_their_order():
    pieces = [("a", False), ("one", True), ("b", False), ("two", True), ("c", False)]
    parts = [{"text": text, "thought": thought} for text, thought in pieces]
    expected = tuple(Thinking(text) if thought else Text(text) for text, thought in pieces)
    one_each = [chunk(part, finish=None) for part in parts]
    for chunks in (one_each, [chunk(*parts, finish=None)]):
        assert parts_of(streamed(sse(*chunks, chunk({"text": ""})))) == expected
