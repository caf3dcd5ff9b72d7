"""Streams in pieces, streams cut off, and streams that end each in its own way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.framing.pieces import splits

from pondero.canon import Finished, ResponseHead
from pondero.dialects import AnswerContext
from pondero.errors import Malformed, Truncated

from ..making import CHAT, chunk, sse, streamed

USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
RICH = sse(
    chunk({"role": "assistant", "content": ""}, usage=None),
    chunk(
        {
            "content": "",
            "reasoning": "Ich weiß",
            "reasoning_details": [{"type": "reasoning.text", "text": "Ich weiß", "index": 0}],
        }
    ),
    chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "c2ln", "index": 0}]}),
    chunk({"content": "Grüße 🙂 <"}),
    chunk({"content": "b>"}),
    chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"x":"é"}'}}]}),
    chunk({}, "tool_calls"),
    {"id": "c1", "choices": [], "usage": USAGE},
)


@given(st.lists(st.integers(0, len(RICH))))
def test_any_split_gives_the_same_events(cuts):
    assert streamed(*splits(RICH, cuts)) == streamed(RICH)


def test_one_byte_at_a_time_gives_the_same_events():
    assert streamed(*(bytes([byte]) for byte in RICH)) == streamed(RICH)


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_any_line_end_gives_the_same_events(end):
    assert streamed(RICH.replace(b"\n", end)) == streamed(RICH)


def test_comments_and_blank_lines_are_passed_over():
    noisy = RICH.replace(b"data: ", b": OPENROUTER PROCESSING\n\n\ndata: ")
    assert streamed(b"\xef\xbb\xbf" + noisy) == streamed(RICH)


MARKED = {"done_marker": True}


def test_with_a_marker_to_come_every_cut_is_seen():
    for at in range(len(RICH) - 3):
        with pytest.raises(Truncated):
            streamed(RICH[:at], quirks=MARKED)


def test_a_cut_is_seen_unless_all_that_matters_had_come():
    whole = streamed(RICH)
    unseen = []
    for at in range(len(RICH) - 3):
        try:
            events = streamed(RICH[:at])
        except Truncated:
            continue
        unseen.append(at)
        assert events == whole
    assert len(unseen) <= 2  # between the counts and the marker


def test_a_service_without_marker_ends_when_it_has_said_why_and_how_much():
    data = sse(chunk({"content": "a"}), chunk({}, "stop", usage=USAGE), done=False)
    assert isinstance(streamed(data)[-1], Finished)
    assert streamed(data + b"data: [DONE]\n\n") == streamed(data)


def test_without_marker_or_counts_only_the_deployments_word_makes_it_whole():
    data = sse(chunk({"content": "a"}), chunk({}, "stop"), done=False)
    with pytest.raises(Truncated):
        streamed(data)
    assert isinstance(streamed(data, quirks={"done_marker": False})[-1], Finished)


def test_a_marker_ends_an_answer_that_never_said_why():
    events = streamed(sse(chunk({"content": "a"})))
    assert (events[-1].finish, events[-1].raw_finish) == ("other", None)


def test_nothing_after_the_marker_counts():
    assert streamed(RICH + sse(chunk({"content": "more"}))) == streamed(RICH)


def test_a_stream_that_never_began_is_truncated():
    for data in (b"", b"\n\n", b": hello\n\n", b"event: ping\n\n"):
        with pytest.raises(Truncated):
            streamed(data)


def test_a_broken_chunk_is_malformed_after_what_came_before_it():
    stream = CHAT.caller().stream(ResponseHead(200), AnswerContext("m", "r"))
    assert stream.feed(sse(chunk({"content": "a"}), done=False) + b"data: {oops}\n\n")
    with pytest.raises(Malformed):
        stream.eof()


def test_half_a_chunk_at_the_end_is_truncated():
    with pytest.raises(Truncated):
        streamed(sse(chunk({"content": "a"}), done=False) + b'data: {"choi')


def test_unknown_frames_are_passed_over():
    odd = [{"type": "ping"}, {"id": "x", "object": "keepalive"}, {"choices": None}]
    assert streamed(sse(*odd, chunk({"content": "a"}), chunk({}, "stop")))[-1].finish == "stop"
