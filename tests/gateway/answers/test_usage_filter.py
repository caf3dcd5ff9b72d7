"""A client gets every byte of a stream but the counts that it did not ask for."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pondero.dialects import get_dialect
from pondero.gateway.answers.model_name import ModelRenamer
from pondero.gateway.answers.usage_filter import UsageFilter

IS_USAGE = get_dialect("openai_chat").service().passthrough.is_usage_event
KEPT = [
    b'data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":null}',
    b'data: {"choices":[{"delta":{"content":"\\"usage\\": {}, \\"choices\\":[]"}}]}',
    b'data: {"choices":[],"prompt_filter_results":[]}',
    b'data: {"choices":[{"delta":{}}],"usage":{"total_tokens":3}}',
    b'data: {"choices":[],"usage":null}',
    b": a comment",
    b"data: [DONE]",
    b"event: x\nid: 7\ndata: {",
]
USAGE = [
    b'data: {"choices":[],"usage":{"total_tokens":3}}',
    b'id: 9\ndata:{"id":"c","choices": [ ],"usage": {"total_tokens":3},"model":"m"}',
]
events = st.sampled_from([*KEPT, *USAGE])
ends = st.sampled_from([b"\n\n", b"\r\n\r\n"])


@given(parts=st.lists(st.tuples(events, ends), max_size=8), cuts=st.sets(st.integers(0, 400)))
def test_only_the_usage_event_is_hidden_under_any_split(parts, cuts):
    assert IS_USAGE is not None
    sent = b"".join(event.replace(b"\n", end[:-2] or b"\n") + end for event, end in parts)
    kept = b"".join(
        event.replace(b"\n", end[:-2] or b"\n") + end for event, end in parts if event not in USAGE
    )
    renamer, hides = ModelRenamer((), "m", "text/event-stream"), UsageFilter(IS_USAGE)
    at = [0, *sorted(cut for cut in cuts if cut < len(sent)), len(sent)]
    got = b"".join(hides.feed(renamer.feed(sent[one:other])) for one, other in pairwise(at))
    assert got + hides.feed(renamer.eof()) + hides.eof() == kept
