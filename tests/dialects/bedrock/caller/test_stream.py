"""A ConverseStream answer, frame by frame."""

import pytest
from tests.framing.aws import aws_event, aws_frame

from pondero.canon import (
    Finished,
    PartEnd,
    PartStart,
    ResponseHead,
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
)
from pondero.dialects import AnswerContext
from pondero.errors import (
    BadRequest,
    Malformed,
    Overloaded,
    RateLimited,
    ServerFailed,
    ServiceError,
    Truncated,
)

from ..making import (
    HEADERS,
    START,
    WIRE,
    assembled,
    begin,
    end,
    exception,
    fed,
    metadata,
    more,
    stop,
    thought,
)

DONE = (end(), metadata())


def seal(value):
    return Signature("bedrock", value, "asked", "here")


def test_thinking_its_signature_and_words_in_the_recorded_order():
    events = fed(
        START,
        thought(0, text="The"),
        thought(0, text=" sum"),
        thought(0, signature="Eu0C"),
        stop(0),
        more(1, text="Hello"),
        stop(1),
        *DONE,
    )
    assert events == [
        Started(),
        PartStart(0, "thinking"),
        ThinkingDelta(0, "The"),
        ThinkingDelta(0, " sum"),
        PartEnd(0, Thinking("The sum", seal("Eu0C"))),
        PartStart(1, "text"),
        TextDelta(1, "Hello"),
        PartEnd(1, Text("Hello")),
        Finished(
            "stop",
            Usage(input=10, output=20, total=30),
            raw_finish="end_turn",
            model="asked",
            extras={"metrics": {"latencyMs": 7}},
        ),
    ]


def test_a_signature_in_several_pieces_is_one():
    message, _ = assembled(
        fed(START, thought(0, signature="Eu"), thought(0, signature="0C"), *DONE)
    )
    assert message.parts == (Thinking("", seal("Eu0C")),)


def test_hidden_thinking_is_kept_as_it_came():
    message, _ = assembled(fed(START, thought(0, redactedContent="cmVk"), stop(0), *DONE))
    assert message.parts == (Thinking("", seal("cmVk"), redacted=True),)


def test_hidden_thinking_in_several_pieces_is_one():
    pieces = (thought(0, redactedContent="cg=="), thought(0, redactedContent="ZWQ="))
    message, _ = assembled(fed(START, *pieces, *DONE))
    assert message.parts == (Thinking("", seal("cmVk"), redacted=True),)


def test_thinking_that_nobody_signed_says_who_thought_it():
    message, _ = assembled(fed(START, thought(0, text="hm"), stop(0), *DONE))
    assert message.parts == (Thinking("hm", seal("")),)


def test_a_call_has_a_start_and_its_arguments_come_in_pieces():
    events = fed(
        START,
        begin(0, toolUse={"toolUseId": "t1", "name": "look", "type": "tool_use"}),
        more(0, toolUse={"input": '{"a":'}),
        more(0, toolUse={"input": "1}"}),
        stop(0),
        end("tool_use"),
        metadata(),
    )
    assert events[1:5] == [
        PartStart(0, "tool_call", "t1", "look"),
        ToolDelta(0, '{"a":'),
        ToolDelta(0, "1}"),
        PartEnd(0, ToolCall("t1", "look", {"a": 1})),
    ]
    assert assembled(events)[1].finish == "tool_calls"


@pytest.mark.parametrize(("pieces", "arguments"), [((), {}), (("",), {}), (('{"a"',), '{"a"')])
def test_arguments_may_be_none_or_broken(pieces, arguments):
    deltas = [more(0, toolUse={"input": piece}) for piece in pieces]
    start = begin(0, toolUse={"toolUseId": "t1", "name": "look"})
    message, _ = assembled(fed(START, start, *deltas, stop(0), *DONE))
    assert message.parts == (ToolCall("t1", "look", arguments),)


def test_citations_are_kept_with_the_words_they_are_of():
    cited = {"location": {"web": {"url": "https://example.com"}}}
    message, _ = assembled(fed(START, more(0, text="So."), more(0, citation=cited), stop(0), *DONE))
    assert message.parts == (Text("So.", citations=(cited,)),)


def test_what_the_service_runs_itself_is_no_call_of_ours():
    message, _ = assembled(
        fed(
            START,
            begin(0, toolUse={"toolUseId": "t1", "name": "ground", "type": "server_tool_use"}),
            more(0, toolUse={"input": '{"q":1}'}),
            stop(0),
            begin(1, toolResult={"toolUseId": "t1", "type": "ground_result", "status": "success"}),
            more(1, toolResult=[{"text": "x"}]),
            stop(1),
            *DONE,
        )
    )
    assert message.tool_calls == ()
    assert message.parts == (
        UnknownPart(
            "bedrock",
            {
                "toolUse": {
                    "toolUseId": "t1",
                    "name": "ground",
                    "type": "server_tool_use",
                    "input": {"q": 1},
                }
            },
        ),
        UnknownPart(
            "bedrock",
            {
                "toolResult": {
                    "toolUseId": "t1",
                    "type": "ground_result",
                    "status": "success",
                    "content": [{"text": "x"}],
                }
            },
        ),
    )


def test_what_we_do_not_know_is_kept_and_what_comes_between_is_passed_over():
    message, _ = assembled(
        fed(
            START,
            aws_event("heartbeat", {"p": "a"}),
            begin(0, novelty={"a": 1}),
            more(0, novelty={"b": 2}),
            stop(0),
            more(1, marvel="x"),
            stop(1),
            *DONE,
        )
    )
    assert message.parts == (UnknownPart("bedrock", {"novelty": {"a": 1, "b": 2}}),)


def test_counts_may_come_before_the_end():
    events = fed(START, more(0, text="x"), stop(0), metadata(), end())
    assert assembled(events)[1].usage.total == 30
    assert isinstance(events[-1], Finished)


def test_an_answer_that_is_cut_before_its_counts_is_whole():
    _, finished = assembled(fed(START, more(0, text="x"), stop(0), end(), metadata()[:-5]))
    assert (finished.finish, finished.usage) == ("stop", Usage())


@pytest.mark.parametrize(
    "frames", [(), (START,), (START, more(0, text="x"), stop(0)), (START, metadata())]
)
def test_a_stream_without_its_end_is_truncated(frames):
    with pytest.raises(Truncated):
        fed(*frames)


def test_nothing_after_the_end_is_read():
    events = fed(START, *DONE, more(3, text="late"), b"junk")
    assert isinstance(events[-1], Finished)


def test_a_block_left_open_ends_with_the_message():
    message, _ = assembled(fed(START, more(0, text="a"), more(1, text="b"), *DONE))
    assert message.parts == (Text("a"), Text("b"))


def test_a_stream_may_lack_its_start():
    events = fed(more(0, text="a"), *DONE)
    assert events[0] == Started()


def test_an_empty_start_is_filled_by_the_first_delta():
    message, _ = assembled(fed(START, begin(0), more(0, text="a"), stop(0), *DONE))
    assert message.parts == (Text("a"),)


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("model_context_window_exceeded", "context_full"),
        ("malformed_tool_use", "error"),
        ("malformed_model_output", "error"),
        ("a_new_word", "other"),
    ],
)
def test_every_stop_reason_has_a_word_of_ours(word, finish):
    _, finished = assembled(fed(START, more(0, text="x"), end(word), metadata()))
    assert (finished.finish, finished.raw_finish) == (finish, word)


def test_a_cap_that_was_all_thought_away_is_exhausted():
    _, finished = assembled(fed(START, thought(0, text="hm"), end("max_tokens"), metadata()))
    assert finished.finish == "exhausted"


def test_the_counts_add_up_and_thinking_is_unknown_unless_it_was_asked_for():
    counts = {
        "inputTokens": 10,
        "outputTokens": 20,
        "cacheReadInputTokens": 3,
        "cacheWriteInputTokens": 4,
        "totalTokens": 37,
    }
    _, finished = assembled(fed(START, more(0, text="x"), end(), metadata(**counts)))
    assert finished.usage == Usage(10, 3, 4, 20, None, 37)
    fields = {"usage": {"output_tokens_details": {"thinking_tokens": 15}}}
    told = end(additionalModelResponseFields=fields)
    _, finished = assembled(fed(START, more(0, text="x"), told, metadata(**counts)))
    assert finished.usage == Usage(10, 3, 4, 5, 15, 37)


@pytest.mark.parametrize(
    ("name", "said", "kind"),
    [
        ("throttlingException", {"message": "Too many requests"}, RateLimited),
        ("serviceUnavailableException", {"message": "busy"}, Overloaded),
        ("internalServerException", {"message": "oh"}, ServerFailed),
        ("validationException", {"message": "no"}, BadRequest),
        ("modelStreamErrorException", {"message": "x", "originalStatusCode": 500}, ServerFailed),
        ("modelStreamErrorException", {"message": "x", "originalStatusCode": 400}, BadRequest),
        ("somethingNewException", {"message": "x"}, ServerFailed),
    ],
)
def test_an_exception_in_the_stream_is_raised_after_what_came_before_it(name, said, kind):
    stream = WIRE.caller().stream(ResponseHead(200, HEADERS), AnswerContext("m"))
    events = stream.feed(START + more(0, text="He") + exception(name, **said))
    assert events[-1] == TextDelta(0, "He")
    with pytest.raises(ServiceError) as raised:
        stream.eof()
    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.message) == (name, said["message"])
    assert (raised.value.status, raised.value.request_id) == (None, "r-1")


def test_an_error_that_stands_in_headers_is_told_too():
    headers = {":message-type": "error", ":error-code": "InternalFailure", ":error-message": "gone"}
    with pytest.raises(ServerFailed, match="gone"):
        fed(START, aws_frame(headers, b""))


@pytest.mark.parametrize(
    ("frame", "path"),
    [
        (aws_event("contentBlockDelta", {"delta": {"text": "x"}}), "$"),
        (
            aws_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": 1}}),
            "$.delta.text",
        ),
        (aws_event("messageStop", {}), "$"),
        (begin(0, toolUse={"name": "look"}), "$.start.toolUse"),
        (START, "$"),
        (aws_frame({":event-type": "contentBlockStop"}, b"not json"), "$"),
    ],
)
def test_a_broken_contract_is_malformed_and_says_where(frame, path):
    with pytest.raises(Malformed) as raised:
        fed(START, frame, *DONE)
    assert raised.value.path == path


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (thought(0, text="hm"), more(0, text="So."), "$.delta.text"),
        (more(0, text="So."), thought(0, text="hm"), "$.delta.reasoningContent"),
    ],
)
def test_words_and_thinking_never_share_a_block(first, second, path):
    with pytest.raises(Malformed) as raised:
        fed(START, first, second, *DONE)
    assert raised.value.path == path


def test_half_a_surrogate_pair_is_no_text_and_breaks_nothing():
    headers = {":event-type": "contentBlockDelta", ":message-type": "event"}
    payload = b'{"contentBlockIndex":0,"delta":{"text":"a\\ud83d"}}'
    message, _ = assembled(fed(START, aws_frame(headers, payload), *DONE))
    assert message.text == "a\ufffd"
