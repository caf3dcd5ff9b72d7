"""Thinking in every form the clones give it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import PartEnd, PartStart, Text, TextDelta, Thinking, ThinkingDelta, ToolCall
from pondero.catalog import load_shipped

from ..making import assembled, body, chunk, loosely, parts, seal, sse, stream_of, streamed, whole

PREOPENED = {"think_tags": "preopened"}
FIELDS = ["reasoning_content", "reasoning", "reasoning_text"]


def detail(**fields):
    return {"type": "reasoning.text", "format": "unknown", "index": 0, **fields}


@pytest.mark.parametrize("field", FIELDS)
def test_the_field_it_came_in_is_remembered(field):
    expected = (Thinking("Hm.", seal({field: True})), Text("Yes"))
    assert parts(whole(body({field: "Hm.", "content": "Yes"}))) == expected
    assert parts(streamed(stream_of({field: "Hm"}, {field: "."}, {"content": "Yes"}))) == expected


def test_thinking_ends_where_the_answer_begins():
    events = streamed(stream_of({"reasoning": "Hm"}, {"content": "Yes"}))
    assert [type(event) for event in events[1:6]] == [
        PartStart,
        ThinkingDelta,
        PartEnd,
        PartStart,
        TextDelta,
    ]


def test_thinking_stands_before_the_text_of_the_same_delta():
    events = streamed(stream_of({"content": "Yes", "reasoning_content": "Hm"}))
    assert [type(part) for part in parts(events)] == [Thinking, Text]


def test_the_same_text_in_two_fields_is_read_once():
    both = {"reasoning_content": "Hm", "reasoning": "Hm", "content": "Yes"}
    assert parts(whole(body(both)))[0] == Thinking("Hm", seal({"reasoning_content": True}))
    assert parts(streamed(stream_of(both)))[0].text == "Hm"


def test_the_order_of_fields_is_the_deployments():
    both = {"reasoning_content": "a", "reasoning": "b"}
    quirks = {"thinking_fields": ["reasoning", "reasoning_content"]}
    assert parts(whole(body(both), quirks))[0].text == "b"


def test_placeholders_open_no_thinking():
    deltas = [{"content": None, "reasoning_content": ""}, {"reasoning": None}, {"content": "Yes"}]
    assert parts(streamed(stream_of(*deltas, {"reasoning_details": []}))) == (Text("Yes"),)


def test_empty_content_between_deltas_does_not_split_the_thinking():
    deltas = [
        {"reasoning_content": "a"},
        {"content": ""},
        {"reasoning_content": "b"},
        {"content": "Yes"},
    ]
    assert [part.text for part in parts(streamed(stream_of(*deltas)))] == ["ab", "Yes"]


def test_thinking_that_resumes_after_text_is_a_part_of_its_own():
    deltas = [{"reasoning": "a"}, {"content": "b"}, {"reasoning": "c"}, {"content": "d"}]
    assert [(type(p), p.text) for p in parts(streamed(stream_of(*deltas)))] == [
        (Thinking, "a"),
        (Text, "b"),
        (Thinking, "c"),
        (Text, "d"),
    ]


# -- details ---------------------------------------------------------------------------------


def test_details_are_read_once_though_their_text_comes_twice():
    deltas = [
        {"content": "", "reasoning": "This ", "reasoning_details": [detail(text="This ")]},
        {"content": "", "reasoning": "is", "reasoning_details": [detail(text="is")]},
        {"content": "2", "reasoning": None, "reasoning_details": []},
    ]
    merged = [detail(text="This is")]
    assert parts(streamed(stream_of(*deltas))) == (
        Thinking("This is", seal({"reasoning_details": merged})),
        Text("2"),
    )


def test_details_alone_are_read_too():
    summary = {"type": "reasoning.summary", "summary": "Sum", "index": 0}
    (thinking,) = parts(whole(body({"reasoning_details": [summary]})))
    assert thinking == Thinking("Sum", seal({"reasoning_details": [summary]}))


def test_a_signature_in_the_last_delta_alone_is_kept():
    deltas = [
        {"reasoning_details": [detail(text="Hm", format="anthropic-claude-v1")]},
        {
            "content": "",
            "reasoning_details": [detail(signature="c2ln", format="anthropic-claude-v1")],
        },
        {"content": "Yes"},
    ]
    thinking, _ = parts(streamed(stream_of(*deltas)))
    merged = detail(text="Hm", signature="c2ln", format="anthropic-claude-v1")
    assert thinking == Thinking("Hm", seal({"reasoning_details": [merged]}))


def test_text_and_encrypted_details_of_one_index_stay_apart():
    encrypted = {"type": "reasoning.encrypted", "data": "gAAA", "index": 0, "id": "rs_1"}
    deltas = [
        {"reasoning_details": [detail(text="Hm")]},
        {"content": "Yes"},
        {"reasoning": None, "reasoning_details": [encrypted]},
        {"content": "!"},
    ]
    thinking, text = parts(streamed(stream_of(*deltas)))
    assert thinking == Thinking("Hm", seal({"reasoning_details": [detail(text="Hm"), encrypted]}))
    assert text == Text("Yes!")


def test_text_goes_on_after_an_encrypted_detail_of_the_same_index():
    encrypted = {"type": "reasoning.encrypted", "data": "gAAA", "index": 0}
    summary = {"type": "reasoning.summary", "summary": "In short", "index": 0}
    pieces = (detail(text="Hm"), encrypted, detail(text=", so"), summary, detail(text="."))
    (thinking,) = parts(streamed(stream_of(*({"reasoning_details": [each]} for each in pieces))))
    assert thinking.signature.value == {
        "reasoning_details": [detail(text="Hm, so."), encrypted, summary]
    }


def test_two_encrypted_details_of_one_index_stay_apart():
    one, two = ({"type": "reasoning.encrypted", "data": d, "index": 0} for d in ("a", "b"))
    (thinking,) = parts(
        streamed(stream_of({"reasoning_details": [one]}, {"reasoning_details": [two]}))
    )
    assert thinking.signature.value == {"reasoning_details": [one, two]}


def test_encrypted_thinking_alone_is_an_empty_sealed_part():
    encrypted = {"type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1"}
    assert parts(
        whole(body({"content": "a", "reasoning": None, "reasoning_details": [encrypted]}))
    ) == (
        Thinking("", seal({"reasoning_details": [encrypted]})),
        Text("a"),
    )


def test_a_kind_of_detail_nobody_knows_is_kept_raw():
    odd = {"type": "reasoning.server_tool_call", "tool_name": "t", "arguments": "{}", "index": 0}
    (thinking,) = parts(
        streamed(stream_of({"reasoning_details": [odd]}, {"reasoning_details": [odd]}))
    )
    assert thinking.signature.value == {"reasoning_details": [odd, odd]}


def test_details_without_an_index_go_by_their_place():
    one = {"type": "reasoning.text", "text": "a"}
    deltas = [{"reasoning_details": [one]}, {"reasoning_details": [{**one, "text": "b"}]}]
    (thinking,) = parts(streamed(stream_of(*deltas)))
    assert thinking.signature.value["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab"}
    ]


def test_several_details_have_an_index_each():
    first = [detail(text="a"), detail(text="x", index=1)]
    second = [detail(text="b"), detail(text="y", index=1)]
    (thinking,) = parts(
        streamed(stream_of({"reasoning_details": first}, {"reasoning_details": second}))
    )
    assert [d["text"] for d in thinking.signature.value["reasoning_details"]] == ["ab", "xy"]


def test_the_route_of_a_seal_is_the_upstream_that_answered():
    answer = body({"reasoning_details": [detail(text="a")]}, provider="Upstream")
    assert parts(whole(answer))[0].signature.route == "r/Upstream"


def test_the_model_of_a_seal_is_the_one_asked_else_the_one_that_answered():
    answer = body({"reasoning": "a"})
    assert parts(whole(answer))[0].signature.model == "m"
    assert parts(whole(answer, model=None))[0].signature.model == "m-1"


# -- chunks of the content -----------------------------------------------------------------------


def thinks(text, **fields):
    inner = [{"type": "text", "text": text}] if text else []
    return {"type": "thinking", "thinking": inner, **fields}


def test_thinking_chunks_in_the_content_whole():
    content = [thinks("Hm.", closed=True), {"type": "text", "text": "4"}]
    expected = (Thinking("Hm.", seal({"chunk": {"closed": True}})), Text("4"))
    assert parts(whole(body({"content": content}))) == expected


def test_thinking_chunks_in_the_content_streamed():
    deltas = [
        {"role": "assistant", "content": ""},
        {"content": [thinks("H")]},
        {"content": ""},
        {"content": [thinks("m.")]},
        {"content": [thinks("", closed=True)]},
        {"content": "4"},
    ]
    expected = (Thinking("Hm.", seal({"chunk": {"closed": True}})), Text("4"))
    assert parts(streamed(stream_of(*deltas))) == expected


def test_a_thinking_chunk_may_hold_a_plain_string_and_a_signature():
    content = [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}]
    assert parts(whole(body({"content": content}))) == (
        Thinking("Hm", seal({"chunk": {"signature": "c2ln"}})),
    )


@pytest.mark.parametrize("key", ["reasoning", "text", "thinking"])
def test_a_part_called_reasoning_is_thinking(key):
    content = [{"type": "reasoning", key: "Hm"}, {"type": "text", "text": "4"}]
    expected = (Thinking("Hm", seal({"chunk": {}})), Text("4"))
    assert parts(whole(body({"content": content}))) == expected
    assert parts(streamed(stream_of(*({"content": [each]} for each in content)))) == expected


def test_thinking_and_text_chunks_keep_their_order():
    content = [
        thinks("a"),
        {"type": "text", "text": "b"},
        thinks("c"),
        {"type": "text", "text": "d"},
    ]
    assert [part.text for part in parts(whole(body({"content": content})))] == ["a", "b", "c", "d"]
    deltas = [{"content": [each]} for each in content]
    assert [part.text for part in parts(streamed(stream_of(*deltas)))] == ["a", "b", "c", "d"]


# -- seals on the message ------------------------------------------------------------------------


def test_a_signature_on_the_message_is_an_empty_sealed_part():
    extra = {"google": {"thought": True, "thought_signature": "c2ln"}}
    answer = body({"content": "a", "extra_content": extra, "thought_signature": "c2ln"})
    sealed = [part for part in parts(whole(answer)) if isinstance(part, Thinking)]
    message = {"extra_content": extra, "thought_signature": "c2ln"}
    assert sealed == [Thinking("", seal({"message": message}))]


# -- tags in the content -------------------------------------------------------------------------

TAGGED = [
    ("<think>\nHm.\n</think>\n\nYes", "Hm.", "Yes", ["<think>\n", "\n</think>\n\n"]),
    ("<think>Hm.</think>Yes", "Hm.", "Yes", ["<think>", "</think>"]),
    ("\n<thinking>Hm.</thinking> Yes", "Hm.", " Yes", ["\n<thinking>", "</thinking>"]),
    ("<mm:think>Hm. 1 < 2</mm:think>\nYes", "Hm. 1 < 2", "Yes", ["<mm:think>", "</mm:think>\n"]),
    ("<think>a\n\nb</think>c", "a\n\nb", "c", ["<think>", "</think>"]),
]


@pytest.mark.parametrize(("content", "thought", "text", "tags"), TAGGED)
def test_tags_are_split_off_wherever_the_deltas_cut_them(content, thought, text, tags):
    expected = (Thinking(thought, seal({"tags": tags})), Text(text))
    assert parts(whole(body({"content": content}))) == expected
    for size in (1, 2, 3, 7):
        deltas = [{"content": content[at : at + size]} for at in range(0, len(content), size)]
        assert parts(streamed(stream_of(*deltas))) == expected


def test_a_tag_that_is_never_closed_is_all_thinking():
    events = streamed(
        stream_of({"content": "<think>\nHm"}, {"content": " and </th"}, finish="length")
    )
    assert parts(events) == (Thinking("Hm and </th", seal({"tags": ["<think>\n", ""]})),)
    assert assembled(events)[1].finish == "exhausted"


def test_an_empty_pair_of_tags_is_no_thinking():
    assert parts(whole(body({"content": "<think>\n\n</think>\n\nHello"}))) == (Text("Hello"),)


def test_a_closing_tag_that_nothing_opened_closes_what_a_template_opened():
    content = "Hm, let me see.\n</think>\n\nYes"
    expected = (Thinking("Hm, let me see.\n", seal({"tags": ["", "</think>\n\n"]})), Text("Yes"))
    assert parts(whole(body({"content": content}), PREOPENED)) == expected
    for size in (1, 4, 9):
        deltas = [{"content": content[at : at + size]} for at in range(0, len(content), size)]
        assert loosely(streamed(stream_of(*deltas), quirks=PREOPENED))[0].parts == expected


PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "</thinking>", "<", "</", "think>", "`", "\n", "a", "é "]
    ),
    min_size=1,
    max_size=8,
)


@given(PIECES, st.booleans())
def test_without_tags_in_the_catalog_any_text_comes_back_byte_for_byte(pieces, stream):
    """The deployments whose thinking has a field; before, ``</think>`` alone was no text."""
    text = "".join(pieces)
    for name in ("openai-chat", "azure-chat", "deepseek", "moonshot", "xai", "xiaomi", "zai"):
        quirks = load_shipped().providers[name].quirks
        assert parts(_read(pieces, quirks, stream=stream)) == (Text(text),), name


@given(PIECES, st.booleans())
def test_only_an_opening_tag_at_the_beginning_makes_thinking_if_no_template_opens_it(
    pieces, stream
):
    text = "a" + "".join(pieces)
    assert parts(_read(["a", *pieces], {}, stream=stream)) == (Text(text),)
    text = "</think>" + "".join(pieces)
    assert parts(_read(["</think>", *pieces], {}, stream=stream)) == (Text(text),)


def _read(pieces, quirks, *, stream):
    if stream:
        return streamed(stream_of(*({"content": piece} for piece in pieces)), quirks=quirks)
    return whole(body({"content": "".join(pieces)}), quirks)


PLAIN = [
    "a < b and c > d",
    "<b>bold</b>",
    "<thin",
    "<",
    "x <think> y",
    "Write <think> first, then </think>.",
    "It ends with `</think>` there.",
    "<!-- <think> -->",
    "1 </ 2",
    "</thinker>",
    "\n\n  text",
]


@pytest.mark.parametrize("quirks", [{}, PREOPENED])
@pytest.mark.parametrize("content", PLAIN)
def test_normal_text_is_left_alone(content, quirks):
    assert parts(whole(body({"content": content}), quirks)) == (Text(content),)
    deltas = [{"content": letter} for letter in content]
    assert parts(streamed(stream_of(*deltas), quirks=quirks)) == (Text(content),)


def test_tags_are_text_where_thinking_has_a_field():
    deltas = [{"reasoning_content": "Hm"}, {"content": "<think>x</think>"}]
    assert parts(streamed(stream_of(*deltas)))[1] == Text("<think>x</think>")


def test_tags_are_text_where_the_deployment_says_so():
    assert parts(whole(body({"content": "<think>x</think>y"}), {"think_tags": "no"})) == (
        Text("<think>x</think>y"),
    )


def test_a_call_after_tags_ends_the_thinking():
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    events = streamed(
        sse(
            chunk({"content": "<think>Hm</think>"}),
            chunk({"tool_calls": [call]}),
            chunk({}, "tool_calls"),
        )
    )
    assert parts(events) == (
        Thinking("Hm", seal({"tags": ["<think>", "</think>"]})),
        ToolCall("a", "f", {}),
    )
