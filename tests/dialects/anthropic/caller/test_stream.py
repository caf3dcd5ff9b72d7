"""Streams of the Messages API become events."""

import json

import pytest
from tests.dialects.anthropic.wiring import START, STOP, assembled, begin, end, fed, more, sse, stop

from pondero.canon import (
    Finished,
    PartEnd,
    PartStart,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
    Usage,
    UsageUpdate,
)
from pondero.dialects import AnswerContext
from pondero.errors import Malformed, Overloaded, ServerFailed, Truncated

THINKING = [
    begin(0, {"type": "thinking", "thinking": "", "signature": ""}),
    {"type": "ping"},
    more(0, type="thinking_delta", thinking="Let me "),
    more(0, type="thinking_delta", thinking="think."),
    more(0, type="signature_delta", signature="c2ln"),
    stop(0),
]
SEALED = Signature("anthropic", "c2ln", "asked", "here")


def test_thinking_text_and_a_call_come_in_the_streams_order():
    events = fed(
        sse(
            START,
            *THINKING,
            begin(1, {"type": "text", "text": ""}),
            more(1, type="text_delta", text="Hello"),
            stop(1),
            begin(2, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}),
            more(2, type="input_json_delta", partial_json=""),
            more(2, type="input_json_delta", partial_json='{"where":'),
            more(2, type="input_json_delta", partial_json='"Paris"}'),
            stop(2),
            end("tool_use"),
            STOP,
        )
    )
    assert events[:-1] == [
        Started("claude-test-1", "msg_1"),
        UsageUpdate(Usage(input=10, cache_read=2, output=1, total=13)),
        PartStart(0, "thinking"),
        ThinkingDelta(0, "Let me "),
        ThinkingDelta(0, "think."),
        PartEnd(0, Thinking("Let me think.", SEALED)),
        PartStart(1, "text"),
        TextDelta(1, "Hello"),
        PartEnd(1, Text("Hello")),
        PartStart(2, "tool_call", "toolu_1", "look"),
        ToolDelta(2, '{"where":'),
        ToolDelta(2, '"Paris"}'),
        PartEnd(2, ToolCall("toolu_1", "look", {"where": "Paris"})),
    ]
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.finish, last.raw_finish, last.model) == ("tool_calls", "tool_use", "claude-test-1")


def test_thinking_that_is_not_shown_is_empty_and_keeps_its_seal():
    message, _ = assembled(
        fed(
            sse(
                START,
                begin(0, {"type": "thinking", "thinking": "", "signature": ""}),
                more(0, type="signature_delta", signature="c2ln"),
                stop(0),
                end(),
                STOP,
            )
        )
    )
    assert message.parts == (Thinking("", SEALED),)


def test_redacted_thinking_comes_whole_and_is_sealed():
    block = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    message, _ = assembled(fed(sse(START, begin(0, block), stop(0), end(), STOP)))
    seal = Signature("anthropic", "b3BhcXVl", "asked", "here")
    assert message.parts == (Thinking("", seal, redacted=True),)


def test_thinking_cut_before_its_signature_has_no_seal():
    message, _ = assembled(fed(sse(START, *THINKING[:4], stop(0), end(), STOP)))
    assert message.parts == (Thinking("Let me think."),)


def test_interleaved_thinking_keeps_its_order_and_each_its_own_seal():
    def thought(index, text, signature):
        return [
            begin(index, {"type": "thinking", "thinking": "", "signature": ""}),
            more(index, type="thinking_delta", thinking=text),
            more(index, type="signature_delta", signature=signature),
            stop(index),
        ]

    blank = [
        begin(0, {"type": "text", "text": ""}),
        more(0, type="text_delta", text="\n\n"),
        stop(0),
    ]
    message, _ = assembled(
        fed(sse(START, *blank, *thought(1, "one", "s1"), *thought(2, "two", "s2"), end(), STOP))
    )
    kinds = [(type(part).__name__, part.text) for part in message.parts]
    assert kinds == [("Text", "\n\n"), ("Thinking", "one"), ("Thinking", "two")]
    assert [part.signature and part.signature.value for part in message.parts] == [None, "s1", "s2"]


def test_parts_that_are_open_at_the_same_time_stay_apart():
    message, _ = assembled(
        fed(
            sse(
                START,
                begin(5, {"type": "text", "text": ""}),
                begin(9, {"type": "text", "text": "b"}),
                more(5, type="text_delta", text="a"),
                more(9, type="text_delta", text="B"),
                stop(9),
                stop(5),
                end(),
                STOP,
            )
        )
    )
    assert message.parts == (Text("a"), Text("bB"))


@pytest.mark.parametrize("start", [{}, {"a": 1}, None])
def test_the_input_of_a_start_frame_never_mixes_with_the_pieces(start):
    call = {"type": "tool_use", "id": "t", "name": "n", "input": start}
    pieces = [
        more(0, type="input_json_delta", partial_json='{"b":'),
        more(0, type="input_json_delta", partial_json="2}"),
    ]
    streamed, _ = assembled(
        fed(sse(START, begin(0, call), *pieces, stop(0), end("tool_use"), STOP))
    )
    assert streamed.tool_calls[0].arguments == {"b": 2}
    at_once, _ = assembled(fed(sse(START, begin(0, call), stop(0), end("tool_use"), STOP)))
    assert at_once.tool_calls[0].arguments == (start or {})


def test_arguments_that_are_no_object_stay_text():
    for text in ('{"a": ', '"word"', "[1]", '{"a": "\\ud800"}'):
        call = begin(0, {"type": "tool_use", "id": "t", "name": "n", "input": {}})
        piece = more(0, type="input_json_delta", partial_json=text)
        message, _ = assembled(fed(sse(START, call, piece, stop(0), end("max_tokens"), STOP)))
        assert message.tool_calls[0].arguments == text


def test_who_made_a_call_is_sealed_unless_it_was_the_model_itself():
    def call(caller):
        block = {"type": "tool_use", "id": "t", "name": "n", "input": {}, "caller": caller}
        message, _ = assembled(fed(sse(START, begin(0, block), stop(0), end("tool_use"), STOP)))
        return message.tool_calls[0].signature

    program = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    assert call({"type": "direct"}) is None
    assert call(program).value == {"caller": program}


def test_citations_gather_on_their_text():
    cite = {"type": "char_location", "cited_text": "x", "document_index": 0}
    text = [
        begin(0, {"type": "text", "text": "", "citations": []}),
        more(0, type="text_delta", text="x"),
    ]
    message, _ = assembled(
        fed(sse(START, *text, more(0, type="citations_delta", citation=cite), stop(0), end(), STOP))
    )
    assert message.parts == (Text("x", citations=(cite,)),)


def test_a_block_we_do_not_know_is_kept_with_what_its_deltas_added():
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    novelty = {"type": "novelty", "content": "a", "n": 1}
    message, _ = assembled(
        fed(
            sse(
                START,
                begin(0, search),
                more(0, type="input_json_delta", partial_json='{"query": "x"}'),
                stop(0),
                begin(1, novelty),
                more(1, type="novelty_delta", content="b", n=2, seal="s"),
                stop(1),
                end(),
                STOP,
            )
        )
    )
    assert message.parts == (
        UnknownPart("anthropic", {**search, "input": {"query": "x"}}),
        UnknownPart("anthropic", {"type": "novelty", "content": "ab", "n": 2, "seal": "s"}),
    )


def test_unknown_events_and_deltas_are_passed_over():
    odd = [{"type": "novelty", "index": "x", "delta": 7}, more(0, type="novelty_delta", what=1)]
    text = begin(0, {"type": "text", "text": "hi"})
    message, _ = assembled(fed(sse(odd[0], START, text, *odd, stop(0), end(), STOP)))
    assert message.text == "hi"


def test_what_follows_the_end_is_not_read():
    stream = sse(START, end(), STOP)
    assert fed(stream + sse(START, {"type": "error"}) + b"data: [DONE]\n\n") == fed(stream)


def test_a_done_marker_of_a_proxy_is_passed_over():
    assert fed(sse(START) + b"data: [DONE]\n\n" + sse(end(), STOP))[-1].finish == "stop"


def test_padding_before_the_closing_brace_is_no_matter():
    padded = sse(START, end(), STOP).replace(b"}\n\n", b"        }\n\n")
    assert fed(padded) == fed(sse(START, end(), STOP))


def test_half_a_surrogate_pair_does_not_end_the_stream():
    halves = sse(begin(0, {"type": "text", "text": ""}), more(0, type="text_delta", text="\ud83d"))
    message, _ = assembled(fed(sse(START) + halves + sse(stop(0), end(), STOP)))
    assert message.text == "\ufffd"


# -- the end ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "paused"),
        ("compaction", "paused"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_full"),
        ("novelty", "other"),
        (None, "other"),
    ],
)
def test_every_stop_reason_has_its_finish(word, finish):
    last = fed(sse(START, begin(0, {"type": "text", "text": "x"}), stop(0), end(word), STOP))[-1]
    assert (last.finish, last.raw_finish) == (finish, word)


def test_a_cap_reached_while_thinking_is_exhausted():
    thought = sse(START, *THINKING)
    assert fed(thought + sse(end("max_tokens"), STOP))[-1].finish == "exhausted"
    blank = sse(begin(1, {"type": "text", "text": "\n"}), stop(1))
    assert fed(thought + blank + sse(end("max_tokens"), STOP))[-1].finish == "exhausted"
    spoken = sse(begin(1, {"type": "text", "text": "So"}), stop(1))
    assert fed(thought + spoken + sse(end("max_tokens"), STOP))[-1].finish == "length"
    unseen = end("max_tokens", output_tokens_details={"thinking_tokens": 20})
    assert fed(sse(START, unseen, STOP))[-1].finish == "exhausted"
    assert fed(sse(START, end("max_tokens"), STOP))[-1].finish == "length"


def test_a_refusal_says_why():
    why = {"type": "refusal", "category": "cyber", "explanation": "no"}
    refused = end("refusal")
    refused["delta"]["stop_details"] = why
    assert fed(sse(START, refused, STOP))[-1].safety == why


def test_the_stop_sequence_and_dropped_thinking_are_kept():
    dropped = [{"type": "thinking_dropped", "path": "messages.1.content.0"}]
    start = {**START, "message": {**START["message"], "input_transformations": dropped}}
    last = end("stop_sequence", service_tier="standard")
    last["delta"]["stop_sequence"] = "###"
    extras = fed(sse(start, last, STOP))[-1].extras
    assert extras == {
        "stop_sequence": "###",
        "input_transformations": dropped,
        "service_tier": "standard",
    }


# -- counting --------------------------------------------------------------------------------


def test_later_counts_replace_earlier_ones_field_by_field():
    last = end(input_tokens=None, cache_creation_input_tokens=7, output_tokens=30)
    usage = fed(sse(START, last, STOP))[-1].usage
    assert usage == Usage(input=10, cache_read=2, cache_write=7, output=30, total=49)


def test_thinking_is_taken_out_of_the_output():
    last = end(output_tokens=162, output_tokens_details={"thinking_tokens": 112})
    usage = fed(sse(START, last, STOP))[-1].usage
    assert (usage.output, usage.thinking, usage.total) == (50, 112, 174)


@pytest.mark.parametrize(
    ("details", "thinking"),
    [(None, None), ({}, None), ({"thinking_tokens": None}, None), ({"thinking_tokens": 0}, 0)],
)
def test_thinking_that_is_not_told_is_unknown_and_not_zero(details, thinking):
    assert fed(sse(START, end(output_tokens_details=details), STOP))[-1].usage.thinking == thinking


@pytest.mark.parametrize("last", [-3, 0, 4, 2**70])
def test_a_count_that_cannot_be_leaves_the_one_before(last):
    last = end(output_tokens=5, input_tokens=last, output_tokens_details={"thinking_tokens": 9})
    usage = fed(sse(START, last, STOP))[-1].usage
    assert usage == Usage(input=10, cache_read=2, output=0, thinking=5, total=17)


def test_later_counts_that_are_lower_are_not_taken():
    usage = fed(sse(START, end(output_tokens=9000), end(output_tokens=1), STOP))[-1].usage
    assert (usage.input, usage.output) == (10, 9000)


def test_without_counts_at_its_end_what_an_answer_took_is_not_known():
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    for ending in ([STOP], [last, STOP]):
        usage = fed(sse(START, *ending))[-1].usage
        assert usage == Usage(input=10, cache_read=2, total=12)


# -- what goes wrong -------------------------------------------------------------------------


def test_an_error_after_200_raises_what_it_says():
    error = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_9",
    }
    with pytest.raises(Overloaded) as raised:
        fed(sse(error))
    assert raised.value.message == "Overloaded"
    assert raised.value.code == "overloaded_error"
    assert raised.value.request_id == "req_9"
    with pytest.raises(ServerFailed):
        fed(sse({"type": "error", "error": {"type": "api_error", "message": "no"}}))


def test_events_before_an_error_in_the_same_bytes_are_not_lost():
    from tests.dialects.anthropic.wiring import WIRE

    from pondero.canon import ResponseHead

    stream = WIRE.caller().stream(ResponseHead(200), AnswerContext())
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert stream.feed(sse(START, error, STOP))[0] == Started("claude-test-1", "msg_1")
    for again in (lambda: stream.feed(b""), stream.eof):
        with pytest.raises(Overloaded):
            again()


def test_a_stream_cut_anywhere_is_truncated():
    stream = sse(START, *THINKING, end(), STOP)
    for cut in range(len(stream) - len(b"\n\n")):
        if stream[:cut].endswith(b'"message_stop"}'):
            continue
        with pytest.raises(Truncated):
            fed(stream[:cut])


def test_a_last_frame_without_its_blank_line_still_counts():
    stream = sse(START, end(), STOP)
    assert fed(stream.rstrip()) == fed(stream)


@pytest.mark.parametrize(
    ("frames", "path"),
    [
        ([{"type": "message_start"}], "$.message"),
        ([{"type": "message_start", "message": 7}], "$.message"),
        ([{"type": "message_start", "message": {"model": 7}}], "$.message.model"),
        ([START, START], "$.type"),
        ([STOP], "$.type"),
        ([begin(0, {"type": "text", "text": ""})], "$.type"),
        ([START, begin(0, {"text": ""})], "$.content_block"),
        ([START, begin(0, {"type": "text"})], "$.content_block"),
        ([START, begin(0, {"type": "thinking", "thinking": 1})], "$.content_block.thinking"),
        ([START, begin(0, {"type": "redacted_thinking"})], "$.content_block"),
        ([START, begin(0, {"type": "tool_use", "name": "n"})], "$.content_block"),
        ([START, {"type": "content_block_start", "index": 0}], "$.content_block"),
        ([START, more(0, type="text_delta", text="x")], "$.index"),
        ([START, stop(0)], "$.index"),
        (
            [START, begin(0, {"type": "text", "text": ""}), begin(0, {"type": "text", "text": ""})],
            "$.index",
        ),
        (
            [
                START,
                begin(0, {"type": "text", "text": ""}),
                {"type": "content_block_delta", "index": 0},
            ],
            "$.delta",
        ),
        ([START, begin(0, {"type": "text", "text": ""}), more(0, text=7)], "$.delta.text"),
        ([START, {"type": "message_delta"}], "$.delta"),
        ([START, end(output_tokens="many")], "$.usage.output_tokens"),
    ],
)
def test_a_broken_contract_is_malformed_with_its_path(frames, path):
    with pytest.raises(Malformed) as raised:
        fed(*(sse(frame) for frame in frames))
    assert raised.value.path == path


@pytest.mark.parametrize("data", [b"{", b"\xff", b"[" * 100_000, b"null", b"{}", b'"x"'])
def test_a_frame_that_is_no_event_is_malformed(data):
    with pytest.raises(Malformed):
        fed(b"data: " + data + b"\n\n", sse(START))


def test_a_stream_may_come_with_any_line_ends():
    stream = sse(START, *THINKING, end(), STOP)
    for ends in (b"\r\n", b"\r"):
        assert fed(stream.replace(b"\n", ends)) == fed(stream)
        assert fed(*(bytes([byte]) for byte in stream.replace(b"\n", ends))) == fed(stream)


def test_long_streams_do_not_cost_more_by_the_event():
    text = json.dumps(more(0, type="text_delta", text="word ")).encode()
    many = sse(START, begin(0, {"type": "text", "text": ""})) + (b"data: " + text + b"\n\n") * 5_000
    events = fed(many, sse(stop(0), end(), STOP))
    assert assembled(events)[0].text == "word " * 5_000
