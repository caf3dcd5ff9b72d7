"""Law: a stream that is read with a stencil gives the events that it gives without one."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pondero.canon import Event, Head
from pondero.dialects import dialect
from pondero.dialects.dialect import Where
from pondero.errors import PonderoError
from pondero.framing import Stencil

HEAD = Head(200, {"content-type": "text/event-stream"})
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
    | st.tuples(st.just("call"), st.sampled_from(('{"a":', "1}")), models),
    max_size=25,
)


def frame(field: str, text: str, model: str, *, plain: bool) -> bytes:
    delta: dict[str, object] = {"role": "assistant", field: text}
    if field == "both":
        delta = {"content": text, "reasoning": text}
    elif field == "call":
        call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": text}}
        delta = {"content": "", "tool_calls": [call]}
    chunk = {"id": "c", "model": model, "choices": [{"index": 0, "delta": delta}]}
    said = json.dumps(chunk, ensure_ascii=plain, separators=(",", ":") if plain else None)
    return f"data: {said}\n\n".encode("utf-8", "surrogatepass")


def read(data: bytes) -> list[Event] | str:
    stream = dialect("openai_chat").caller().stream(HEAD, Where("m", None, {}))
    try:
        return [*stream.feed(data), *stream.eof()]
    except PonderoError as error:
        return str(error)


@given(chunks, st.booleans())
@example([("content", ":", "m"), ("content", "a", "m"), ("content", "b", "m")], True)
@example([("content", "m", "m"), ("content", "m", "m"), ("content", "m", "a")], True)
@example([("content", "a", "m"), ("content", '"},"x":{"y":"', "m")], True)
def test_a_stencil_changes_nothing(said, plain):
    data = b"".join(frame(*each, plain=plain) for each in said) + b"data: [DONE]\n\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stencil, "texts", lambda *_: [])
        parsed = read(data)
    assert read(data) == parsed


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
        if stencil.wanted:
            stencil.cut(b'{"n":%d,"text":"a"}' % number, lambda _: ("here", "a"))
    assert not stencil.wanted
