"""Counts in disjoint buckets, and why an answer ended."""

import pytest

from pondero.canon import Usage
from pondero.client import load_catalog

from ..making import body, chunk, end, sse, streamed, whole


def counted(raw, **quirks):
    return end(whole(body({"content": "a"}, usage=raw), quirks)).usage


def tokens(prompt, completion, total=None, **rest):
    known = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {key: value for key, value in known.items() if value is not None} | rest


def thought(count):
    return {"completion_tokens_details": {"reasoning_tokens": count}}


def cached(read, write=None):
    details = {"cached_tokens": read} | ({} if write is None else {"cache_write_tokens": write})
    return {"prompt_tokens_details": details}


@pytest.mark.parametrize(
    ("raw", "buckets"),
    [
        # thinking inside the completion, as nearly everywhere
        (tokens(577, 2320, 2897, **thought(1792), **cached(0)), (577, 0, None, 528, 1792, 2897)),
        # beside it: only the total tells
        (tokens(12, 1, 241, **thought(228), **cached(2)), (10, 2, None, 1, 228, 241)),
        # thinking known to the total alone
        (tokens(35, 12, 109), (35, None, None, 12, 62, 109)),
        # nothing said of thinking: not known, not none
        (tokens(28, 35, 63, **cached(0)), (28, 0, None, 35, None, 63)),
        # more thought than completed: cut to fit
        (tokens(24, 142, 166, **thought(155)), (24, None, None, 0, 142, 166)),
        # more cached than sent: cut to fit
        (tokens(7, 1, 8, **cached(161)), (0, 7, None, 1, None, 8)),
        (tokens(2168, 100, 2268, **cached(100, 2000)), (68, 100, 2000, 100, None, 2268)),
        # a total beyond what is explained goes to the answer
        (tokens(79, 2, 83, **thought(0)), (79, None, None, 4, 0, 83)),
        # Perplexity: citations and thinking are in no total
        (
            tokens(33, 7163, 7196, citation_tokens=20016, reasoning_tokens=193834),
            (20049, None, None, 7163, 193834, 221046),
        ),
        # other names for the same
        (tokens(10, 5, 15, prompt_cache_hit_tokens=4), (6, 4, None, 5, None, 15)),
        (tokens(10, 5, 15, cached_tokens=4, reasoning_tokens=2), (6, 4, None, 3, 2, 15)),
        (
            tokens(10, 5, 15, cache_read_input_tokens=3, cache_creation_input_tokens=2),
            (5, 3, 2, 5, None, 15),
        ),
        # no total given: the sum
        (tokens(10, 5, **thought(2)), (10, None, None, 3, 2, 15)),
        (tokens(10, 5, **thought(0)), (10, None, None, 5, 0, 15)),
    ],
)
def test_buckets_are_disjoint_and_add_up(raw, buckets):
    usage = counted(raw)
    assert usage == Usage(*buckets)
    assert usage.known_total == usage.total


def test_where_no_total_tells_the_deployment_says_where_thinking_is_counted():
    assert counted(tokens(10, 5, **thought(7)), thinking_outside_completion=True) == Usage(
        10, output=5, thinking=7, total=22
    )


def test_the_deployment_that_counts_thinking_beside_the_completion_says_so():
    providers = load_catalog().catalog.providers.values()
    outside = {each.name for each in providers if each.quirks.get("thinking_outside_completion")}
    assert outside == {"xai"}


@pytest.mark.parametrize(
    "raw", [None, {}, [], "n/a", {"prompt_tokens": "x"}, {"prompt_tokens": True}]
)
def test_what_is_no_count_is_not_known(raw):
    assert counted(raw) == Usage()


def test_a_count_below_nothing_or_beyond_measure_is_not_known():
    assert counted(tokens(5, -9, 5)) == Usage(5, total=5)
    assert counted(tokens(5, 2**63, 2**63 + 5)) == Usage(5)


def test_counts_before_the_end_of_the_text_are_not_those_of_the_answer():
    early = chunk({"content": "a"}) | {"usage": tokens(1, 2, 3)}
    used = end(streamed(sse(early, chunk({"content": "b"}), chunk({}, "stop")))).usage
    assert (used.input, used.output, used.total) == (1, None, None)


def test_later_counts_that_are_lower_are_not_taken():
    counts = [chunk({"content": "a"}) | {"usage": tokens(1, many, many + 1)} for many in (9000, 5)]
    assert end(streamed(sse(*counts, chunk({}, "stop")))).usage.output == 9000


@pytest.mark.parametrize(
    "last",
    [
        chunk({}, "stop", usage=tokens(1, 2, 3)),
        chunk({}, "stop", x_groq={"id": "r", "usage": tokens(1, 2, 3)}),
        chunk({}, "stop")
        | {"choices": [{"delta": {}, "finish_reason": "stop", "usage": tokens(1, 2, 3)}]},
    ],
)
def test_counts_on_the_last_chunk_wherever_they_stand(last):
    assert end(streamed(sse(chunk({"content": "a"}), last))).usage.total == 3


def test_counts_in_a_chunk_without_choices():
    last = {"id": "c1", "choices": [], "usage": tokens(1, 2, 3)}
    assert (
        end(streamed(sse(chunk({"content": "a"}, usage=None), chunk({}, "stop"), last))).usage.total
        == 3
    )


def test_the_last_counts_hold_where_every_chunk_has_some():
    frames = [chunk({"content": "a"}, usage=tokens(1, n, 1 + n)) for n in (1, 2)]
    assert end(streamed(sse(*frames, chunk({}, "stop", usage=tokens(1, 3, 4))))).usage.total == 4


CALL = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}
TEXT = {"content": "a"}
THOUGHT = {"reasoning": "a"}


@pytest.mark.parametrize(
    ("word", "message", "finish"),
    [
        ("stop", TEXT, "stop"),
        ("eos", TEXT, "stop"),
        ("length", TEXT, "length"),
        ("tool_calls", CALL, "tool_calls"),
        ("tool_call", CALL, "tool_calls"),
        ("function_call", CALL, "tool_calls"),
        ("stop", CALL, "tool_calls"),
        ("", CALL, "tool_calls"),
        (None, CALL, "tool_calls"),
        ("content_filter", TEXT, "content_filter"),
        ("sensitive", TEXT, "content_filter"),
        ("model_length", TEXT, "context_full"),
        ("model_context_window_exceeded", TEXT, "context_full"),
        ("error", TEXT, "error"),
        ("network_error", TEXT, "error"),
        ("insufficient_system_resource", TEXT, "error"),
        ("a new word", TEXT, "other"),
        (None, TEXT, "other"),
        ("length", THOUGHT, "exhausted"),
        ("length", {"reasoning": "a", "content": " \n"}, "exhausted"),
        ("length", THOUGHT | TEXT, "length"),
        ("length", THOUGHT | CALL, "length"),
        ("length", {"content": ""}, "length"),
    ],
)
def test_every_end_has_a_word_and_keeps_its_own(word, message, finish):
    finished = end(whole(body(message, word)))
    assert (finished.finish, finished.raw_finish) == (finish, word or None)


def test_all_spent_on_hidden_thinking_is_exhausted():
    usage = tokens(10, 64, 74, **thought(64))
    assert end(whole(body({"content": ""}, "length", usage=usage))).finish == "exhausted"


def test_two_chunks_may_say_why_it_ended():
    frames = [chunk(TEXT), chunk({}, "length"), chunk({}, "stop")]
    assert end(streamed(sse(*frames))).raw_finish == "length"


def test_an_answer_broken_off_upstream_keeps_what_came():
    answer = body({"content": "Once upon"}, None)
    answer["choices"][0]["error"] = {"code": 502, "message": "gone"}
    finished = end(whole(answer))
    assert finished.finish == "error"
    assert finished.extras["error"]["message"] == "gone"


def test_the_names_of_the_responses_api_are_read():
    other = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 29,
    }
    assert counted(other) == counted(tokens(20, 9, 29, **thought(5), **cached(4, 1)))
    assert counted(other) == Usage(15, 4, 1, 4, 5, 29)
