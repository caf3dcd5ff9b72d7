"""The model's name in an answer: replaced where the API has it, and nothing else changes."""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pondero.dialects import get_dialect
from pondero.gateway.answers.model_name import ModelRenamer, rename_model

FRONTS = ("anthropic", "openai_chat", "openai_responses", "gemini")
SSE = "text/event-stream"
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(['"model":"old"', ',"modelVersion":"old"}', "\\u006d", "ends, ", "\\", "\n"]),
)


def _places(front: str):
    return get_dialect(front).service().passthrough.model_at


def _payload(front: str, draw) -> object:
    """Return an event; some services name the model in every one, some in the first."""
    name = draw(st.sampled_from(["old", "old", "old", "old-1", "new", ""]))
    text = draw(TEXTS)
    nested = {"model": draw(st.sampled_from(["old", "new"])), "modelVersion": "old"}
    inner = draw(st.sampled_from([{"text": text}] * 5 + [nested]))
    match front:
        case "anthropic":
            begin = {"type": "message_start", "message": {"id": "m", "model": name}}
            return draw(st.sampled_from([begin, {"type": "content_block_delta", "delta": inner}]))
        case "openai_responses":
            begin = {"type": "response.created", "response": {"model": name, "x": inner}}
            return draw(st.sampled_from([begin, {"type": "delta", "delta": text}]))
        case "openai_chat":
            return {"id": "c", "model": name, "choices": [{"delta": inner}]}
    counts = {"totalTokenCount": draw(st.integers(0, 99))}
    beside = {"modelVersion": name, "responseId": "r"}
    return {"candidates": [{"content": inner}], "usageMetadata": counts, **beside}


@st.composite
def streams(draw: st.DrawFn, front: str) -> bytes:
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        gap = draw(st.sampled_from([(",", ":"), (",", ":"), (",", ":"), (", ", ": ")]))
        ascii_ = draw(st.booleans())
        text = json.dumps(_payload(front, draw), ensure_ascii=ascii_, separators=gap)
        data = text.encode("utf-8", "replace")
        if draw(st.integers(0, 9)) == 0:
            data = data.replace(b'"model', b'"\\u006dodel')
        head = draw(st.sampled_from([b"data: ", b"data: ", b"data: ", b"data:"]))
        trail = draw(st.sampled_from([b"", b"", b"", b"", b" ", b"\t"]))
        lines += [head + data + trail, b""]
    if draw(st.booleans()):
        lines += [b"data: [DONE]", b""]
    return end.join(lines) + draw(st.sampled_from([b"", end]))


def _read_alone(front: str, line: bytes) -> bytes:
    """Return a line renamed by a renamer that knows no other."""
    renamer = ModelRenamer(_places(front), "new", SSE)
    return renamer.feed(line) + renamer.eof()


@pytest.mark.parametrize("front", FRONTS)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_lines_are_renamed_together_as_each_is_alone(front, data):
    stream = data.draw(streams(front))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    renamer = ModelRenamer(_places(front), "new", SSE)
    places = [0, *cuts, len(stream)]
    pieces = [stream[one:two] for one, two in pairwise(places)]
    together = b"".join(map(renamer.feed, pieces)) + renamer.eof()
    assert together == b"\n".join(_read_alone(front, line) for line in stream.split(b"\n"))


@given(
    fields=st.dictionaries(st.text(max_size=4), st.one_of(TEXTS, st.integers()), max_size=4),
    indent=st.sampled_from([None, 2]),
    place=st.integers(0, 4),
)
@example({"a": 'the "model": "old"'}, None, 0)
def test_the_name_alone_is_replaced(fields, indent, place):
    pairs = [(key, value) for key, value in fields.items() if key != "model"]
    pairs.insert(place, ("model", "old"))
    body = json.dumps(dict(pairs), indent=indent).encode()
    renamed = rename_model(body, (("model",),), "new")
    assert json.loads(renamed) == {**dict(pairs), "model": "new"}
    if body.count(b'"model"') == 1:
        assert renamed == body.replace(b'"model": "old"', b'"model": "new"')


def test_a_known_line_is_not_read(monkeypatch):
    read = []
    monkeypatch.setattr(
        "pondero.gateway.answers.model_name.rename_model",
        lambda body, places, model: read.append(body) or rename_model(body, places, model),
    )
    lines = [b'data: {"id":"c","model":"old","choices":[%d]}\n\n' % n for n in range(50)]
    for front, key in (("openai_chat", b'"model"'), ("gemini", b'"modelVersion"')):
        read.clear()
        renamer = ModelRenamer(_places(front), "new", SSE)
        own = [line.replace(b'"model"', key) for line in lines]
        sent = renamer.feed(own[0]) + renamer.feed(b"".join(own[1:]))
        assert sent == b"".join(own).replace(b'"old"', b'"new"')
        assert len(read) == 1
