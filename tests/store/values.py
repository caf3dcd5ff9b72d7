"""Messages of every shape that canon has, as somebody could want them kept."""

from hypothesis import strategies as st

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    Origin,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.handoff import Rejection
from pondero.store import StoredMessage


def _joined(text: str) -> str:
    """Two halves side by side are one character, and come back as that."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


texts = st.text(st.characters(), max_size=12).map(_joined)
some = texts | st.none()
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
seals = st.none() | st.builds(Signature, texts, values, some, some)
caches = st.none() | st.builds(CacheBreakpoint, some)
datas = st.none() | st.binary(max_size=12)
words = st.builds(Text, texts, seals, st.tuples() | st.tuples(values), caches)
images = st.builds(Image, some, datas, some, some, caches, seals)
blobs = st.builds(Blob, texts, datas, some, some, caches, seals)
others = st.builds(UnknownPart, texts, values, seals)
results = st.builds(
    ToolResult,
    texts,
    st.lists(words | images | blobs | others, max_size=2).map(tuple),
    st.booleans(),
    some,
    caches,
)
parts = st.one_of(
    words,
    st.builds(Thinking, texts, seals, st.booleans()),
    st.builds(ToolCall, texts, texts, values, seals, st.booleans(), caches),
    results,
    images,
    blobs,
    others,
)
times = st.none() | st.floats(0, 4e9)
origins = st.none() | st.builds(Origin, texts, texts, some, times)
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant"]),
    st.lists(parts, max_size=3).map(tuple),
    origins,
)
counts = st.none() | st.integers(0, 2**70)
kept = st.builds(
    StoredMessage,
    messages,
    plan=values,
    usage=st.none() | st.builds(Usage, counts, counts, counts, counts, counts, counts),
    verdict=some,
    finish=some,
    seconds=times,
    first=times,
    cost=st.sampled_from([None, "0", "0.0125", "3.14"]),
    partial=st.booleans(),
)
turns = st.lists(kept, min_size=1, max_size=3)
refused = st.lists(
    st.builds(Rejection, texts, texts, texts, st.lists(texts, max_size=2).map(tuple)), max_size=2
).map(tuple)
