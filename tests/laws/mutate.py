"""Valid bytes made wrong, one value or one byte at a time."""

import json
import re
from typing import Any

from hypothesis import strategies as st
from tests.framing.aws import aws_objects, aws_stream

Json = Any
WRONG: list[Json] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x",
    [],
    {},
    [None],
    {"type": "x"},
    [[]],
    "\ud800",
]


@st.composite
def wrong_json(draw: st.DrawFn, value: Json) -> Json:
    """Return the value with one value in it replaced, left out or doubled."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 5)):
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: draw(wrong_json(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        at = draw(st.integers(0, len(value) - 1))
        if not draw(st.integers(0, 5)):
            return [
                *value[:at],
                *value[at : at + 1] * draw(st.sampled_from([0, 2])),
                *value[at + 1 :],
            ]
        return [*value[:at], draw(wrong_json(value[at])), *value[at + 1 :]]
    return draw(st.sampled_from(WRONG))


@st.composite
def wrong_body(draw: st.DrawFn, body: bytes) -> bytes:
    """Return a JSON body with something wrong in it."""
    if draw(st.booleans()):
        return draw(wrong_bytes(body))
    return json.dumps(draw(wrong_json(json.loads(body)))).encode()


@st.composite
def wrong_stream(draw: st.DrawFn, stream: bytes) -> bytes:
    """Return a stream with a frame wrong, gone, doubled or moved, or with a byte wrong."""
    way = draw(st.integers(0, 3))
    if stream.startswith(b"\0") and way == 3:
        return draw(wrong_aws_stream(stream))
    frames = re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\}\n)(?=\{)", stream)
    at = draw(st.integers(0, len(frames) - 1))
    found = re.search(rb"\{.*\}", frames[at], re.DOTALL)
    if way == 0 or not found:
        return draw(wrong_bytes(stream))
    if way == 1:
        frames[at] *= draw(st.sampled_from([0, 2]))
    elif way == 2:
        frames.insert(draw(st.integers(0, len(frames))), frames.pop(at))
    else:
        try:
            value = draw(wrong_json(json.loads(found[0])))
        except ValueError:
            return draw(wrong_bytes(stream))
        frames[at] = frames[at].replace(found[0], json.dumps(value).encode())
    return b"".join(frames)


@st.composite
def wrong_aws_stream(draw: st.DrawFn, stream: bytes) -> bytes:
    """Return a binary stream with one event wrong in it, gone, doubled or moved; no frame is."""
    events = aws_objects(stream)
    at = draw(st.integers(0, len(events) - 1))
    ((kind, said),) = events.pop(at).items()
    where = draw(st.sampled_from([at, draw(st.integers(0, len(events)))]))
    changed = draw(st.sampled_from([[], [said, said], [draw(wrong_json(said))]]))
    events[where:where] = [{kind: each} for each in changed]
    return aws_stream(events)


@st.composite
def wrong_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Return the data with a few bytes changed, gone or new."""
    at = draw(st.integers(0, len(data)))
    gone = draw(st.integers(0, 5))
    return data[:at] + draw(st.binary(max_size=5)) + data[at + gone :]
