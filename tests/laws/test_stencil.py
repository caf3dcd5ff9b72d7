"""Law: a stream that is read with a stencil gives the events that it gives without one."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pondero.canon import Event, ResponseHead
from pondero.dialects import get_dialect
from pondero.dialects.dialect import AnswerContext
from pondero.errors import PonderoError
from pondero.framing import Stencil

HEAD = ResponseHead(200, {"content-type": "text/event-stream"})
# Texts that look like the JSON around them, that open tags, and that are alike.
HARD = (
    ":",
    ",",
    "content",
    "m",
    '"',
    "\\",
    '","content":"',
    "<think>",
    "</think>",
    "\n",
    "é",
    "🙂",
)
texts = st.sampled_from(HARD) | st.text(max_size=4)
fields = st.sampled_from(("content", "reasoning_content", "reasoning"))
models = st.sampled_from(("m", "content", "a"))
chunks = st.lists(
    st.tuples(fields, texts, models)
    | st.tuples(st.just("both"), texts, models)
    | st.tuples(st.sampled_from(("empty usage", "usage")), texts, models)
    | st.tuples(st.just("call"), st.sampled_from(('{"a":', "1}")), models),
    max_size=25,
)
USAGES = {"empty usage": {}, "usage": {"prompt_tokens": 1, "completion_tokens": 2}}


def frame(field: str, text: str, model: str, *, plain: bool) -> bytes:
    delta: dict[str, object] = {"role": "assistant", field: text}
    if field == "both":
        delta = {"content": text, "reasoning": text}
    elif field == "call":
        call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": text}}
        delta = {"content": "", "tool_calls": [call]}
    elif field in USAGES:
        delta = {"content": text}
    chunk: dict[str, object] = {
        "id": "c",
        "model": model,
        "choices": [{"index": 0, "delta": delta}],
    }
    if field in USAGES:
        chunk["usage"] = USAGES[field]
    said = json.dumps(chunk, ensure_ascii=plain, separators=(",", ":") if plain else None)
    return f"data: {said}\n\n".encode("utf-8", "surrogatepass")


blocks = st.lists(
    st.tuples(
        st.sampled_from(("text", "thinking", "tool_use")),
        st.integers(0, 2),
        st.lists(st.tuples(st.sampled_from(("text", "thinking", "signature")), texts), max_size=12),
        st.sampled_from(("closed", "open", "ended", "broken off")),
    ),
    max_size=4,
)
STARTS = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
    "tool_use": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
}


def messages(said) -> bytes:
    """Return a Messages stream of these blocks, whether or not it makes sense."""
    message = {"id": "i", "role": "assistant", "model": "m", "content": [], "usage": {}}
    events: list[dict[str, object]] = [{"type": "message_start", "message": message}]
    for kind, index, pieces, end in said:
        start = STARTS[kind]
        events += [{"type": "content_block_start", "index": index, "content_block": start}]
        for field, text in pieces:
            delta = {"type": f"{field}_delta", field: text}
            events += [{"type": "content_block_delta", "index": index, "delta": delta}]
        if end in ("closed", "ended"):
            events += [{"type": "content_block_stop", "index": index}]
        if end in ("ended", "broken off"):  # and then goes on
            events += [{"type": "message_stop"}]
            late = {"type": "text_delta", "text": "late"}
            events += [{"type": "content_block_delta", "index": index, "delta": late}] * 2
    events += [{"type": "message_stop"}]
    return b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in events)


def read(data: bytes, wire: str = "openai_chat") -> list[Event] | str:
    stream = get_dialect(wire).caller().stream(HEAD, AnswerContext("m", None, {}))
    try:
        return [*stream.feed(data), *stream.eof()]
    except PonderoError as error:
        return str(error)


@given(chunks, st.booleans())
@example([("content", ":", "m"), ("content", "a", "m"), ("content", "b", "m")], True)
@example([("content", "m", "m"), ("content", "m", "m"), ("content", "m", "a")], True)
@example([("content", "a", "m"), ("content", '"},"x":{"y":"', "m")], True)
@example([("empty usage", "a", "m"), ("usage", "b", "m"), ("empty usage", "c", "m")], True)
def test_a_stencil_changes_nothing(said, plain):
    data = b"".join(frame(*each, plain=plain) for each in said) + b"data: [DONE]\n\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stencil, "texts", lambda *_: [])
        parsed = read(data)
    assert read(data) == parsed


@given(blocks)
@example([("text", 0, [("text", "a")] * 3, "closed"), ("thinking", 0, [("text", "a")] * 3, "open")])
@example([("text", 0, [("text", "a")] * 3, "ended")])
@example([("text", 0, [], "broken off")])
def test_a_stencil_changes_nothing_of_blocks(said):
    data = messages(said)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stencil, "texts", lambda *_: [])
        parsed = read(data, "anthropic")
    assert read(data, "anthropic") == parsed


def test_a_long_run_of_words_is_read_through_the_stencil():
    stencil: Stencil[str] = Stencil("nowhere")

    def words(frame: bytes) -> tuple[str, str] | None:
        said = json.loads(frame)
        return ("here", said["text"]) if said["of"] == "words" else None

    assert stencil.texts([b'"more"']) == []
    stencil.cut(b'{"of":"words","text":"words"}', words)  # the first of the two is elsewhere
    assert stencil.texts([b'{"of":"words","text":"more"}']) == []
    stencil.cut(b'{"of":"words","text":"one"}', words)
    assert stencil.place == "here"
    assert stencil.texts([b'{"of":"words","text":"a \\"quoted\\" \\u00e9"}']) == ['a "quoted" é']
    assert stencil.texts([b'{"of":"words","text":"a","text":"b"}']) == []
    assert stencil.texts([b'{"of":"words","text":"\xff"}']) == []
    assert stencil.texts([b'{"of":"words","text":"']) == []
    assert stencil.texts([b'{"of":"noise","text":"a"}']) == []


def test_a_stream_that_never_fits_is_not_tried_for_ever():
    stencil: Stencil[str] = Stencil("nowhere")
    for number in range(20):
        if stencil.is_wanted:
            stencil.cut(b'{"n":%d,"text":"a"}' % number, lambda _: ("here", "a"))
    assert not stencil.is_wanted
