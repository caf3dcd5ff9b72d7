"""A split body is the same bytes: what is remembered of it never changes what is found in it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from pondero.canon import HttpRequest
from pondero.dialects import get_dialect
from pondero.gateway.requests import split_body as module
from pondero.gateway.requests.known_turns import parse_known_in_steps
from pondero.gateway.requests.split_body import SplitBody, read_fields, renew_body, split_body
from pondero.gateway.state.conversation_memo import ConversationMemo
from pondero.gateway.state.long_text import LongText

FORM = get_dialect("anthropic").service().turn_form
MARKS = (
    *(
        b'"tools"',
        b"tools",
        b"\\u",
        b"\\u00",
        b"file_id",
        b"container",
        b"compact",
        b"a",
        b"messages",
    ),
    *(
        b'"a"',
        b'"messages"',
        b'"x"',
        b'say"',
        b'{"role"',
        b"},{",
        b'":"',
        b'","',
        b'": "',
        b"",
        b"\n",
    ),
)
TEXTS = st.sampled_from(
    ("say", "tools", "a", "\u00e9", "file_id", "", '"tools"', "\\u", '":"', "},{", "x" * 40)
)
TOOLS = [{"name": f"tool_{number}", "input_schema": {"type": "object"}} for number in range(9)]
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.none()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(TEXTS, inner)),
    max_leaves=6,
)


@pytest.fixture(autouse=True, scope="module")
def _any_size():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SHORT_BODY", 0)
        patch.setattr(module, "_LONG", 8)
        yield


def _message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "content": text}


@st.composite
def bodies(draw: st.DrawFn) -> list[bytes]:
    """Return the bodies of a conversation that grows, with fields that change."""
    said = st.tuples(TEXTS, TEXTS).map(
        lambda pair: [_message("user", pair[0]), _message("assistant", pair[1])]
    )
    turns = [turn for pair in draw(st.lists(said, min_size=1, max_size=3)) for turn in pair]
    found = []
    for _ in range(draw(st.integers(1, 4))):
        turns = [*turns, *draw(said), _message("user", draw(TEXTS))][: 2 * len(turns)]
        before = draw(st.dictionaries(TEXTS, VALUES, max_size=3))
        after = draw(st.dictionaries(TEXTS, VALUES, max_size=3))
        fields = {**before, "messages": turns, **after, "model": "claude-opus-5"}
        spaces = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "  :\n\n")]))
        raw = json.dumps(fields, separators=spaces, ensure_ascii=draw(st.booleans()))
        if draw(st.booleans()):  # a name that occurs twice: the last one counts
            raw = raw[:-1] + ',"' + draw(st.sampled_from(["messages", "tools"])) + '":[]}'
        if draw(st.booleans()):  # a name in another spelling
            raw = raw.replace('"tools"', '"to\\u006fls"')
        found.append(raw.encode())
    return found


@given(bodies(), st.lists(st.sampled_from(MARKS)), st.binary(max_size=3))
@settings(max_examples=300)
def test_a_split_body_has_the_marks_that_its_bytes_have(sent, marks, any_mark):
    memo, service = ConversationMemo(1 << 20), get_dialect("anthropic").service()
    for raw in sent:
        http = split_body(
            memo, HttpRequest("POST", "http://x/v1/messages", {}, raw), FORM, client="a"
        )
        assert http.body == raw
        body = http.body
        for mark in (*marks, *MARKS, any_mark):
            assert (mark in body) == (mark in raw)
        if isinstance(body, SplitBody):
            conversation = json.loads(raw)["messages"]
            turns = b"\n".join(body.turns)
            assert [json.loads(turn) for turn in body.turns] == conversation
            for mark in (b'"tools"', b"say", b"\\u"):
                assert body.has_in_turns(mark) == (mark in turns)
            assert dict(read_fields(body)) == dict(read_fields(raw))
            other = {**body.fields, "model": Raw(b'"say"'), "more": Raw(b'["file_id"]')}
            renewed = renew_body(body, other)
            assert json.loads(renewed) == {**json.loads(raw), "model": "say", "more": ["file_id"]}
            for mark in MARKS:
                assert (mark in renewed) == (mark in bytes(renewed))
        try:
            for _ in parse_known_in_steps(memo, service, http):
                pass
        except Exception:  # noqa: BLE001 - what is rejected is not remembered
            pass


def test_what_was_searched_is_not_searched_again():
    memo, service = ConversationMemo(1 << 20), get_dialect("anthropic").service()
    turns = [_message("user", "a"), _message("assistant", "b")] * 4

    def send(turns: list[dict[str, object]]) -> SplitBody:
        raw = json.dumps({"model": "m", "max_tokens": 9, "tools": TOOLS, "messages": turns})
        http = HttpRequest("POST", "http://x/v1/messages", {}, raw.encode())
        split = split_body(memo, http, FORM, client="a")
        for _ in parse_known_in_steps(memo, service, split):
            pass
        assert isinstance(split.body, SplitBody)
        return split.body

    send([*turns, _message("user", "c")])
    body = send([*turns, _message("user", "c"), _message("assistant", "d"), _message("user", "e")])
    assert body.begun.count == len(turns) + 1
    assert len(body.rest.texts[0]) < len(body) / 2
    assert all(b'"a"' not in text for text in body.rest.texts)


def test_a_text_that_looks_like_what_is_between_two_others_hides_no_mark():
    spaces = " " * 50
    turns = json.dumps([_message("user", "a"), _message("assistant", "b")] * 4)
    # The last value is also where a name ends and its own value begins.
    raw = f'{{"messages":{turns},"tools":{spaces}"x","pad":":{spaces}"}}'.encode()
    assert json.loads(raw)["pad"] == f":{spaces}"
    http = HttpRequest("POST", "http://x/v1/messages", {}, raw)
    body = split_body(ConversationMemo(1 << 20), http, FORM, client="a").body
    assert isinstance(body, SplitBody)
    for mark in (b'"tools"', b"tools", b'"x"', b'"pad"', b'"messages"'):
        assert mark in body


HEADS = (
    *('{"model":"m","messages":', '{"model":"n","messages":', '{"a":"[{\\"","messages":'),
    *('{"messages":3,"messages":', '{"messages":"","mess":"":'),
)
TAILS = (
    *("}", ',"tools":["a"]}', ',"messages":[]}', ',"messages":{}}', ""),
    *(',"messages":[{"role":"user","content":"b"}]}', ',"m\\u0065ssages":[1,2,3,4,5]}', "}}"),
)


def _split(memo: ConversationMemo, raw: bytes, client: str = "a") -> HttpRequest:
    http = HttpRequest("POST", "http://x/v1/messages", {}, raw)
    return split_body(memo, http, FORM, client=client)


def _describe(body: bytes) -> object:
    if not isinstance(body, SplitBody):
        return body
    fields = [(name, bytes(raw)) for name, raw in body.fields.items()]
    return bytes(body), fields, body.turns, body.about


@given(st.data())
@settings(max_examples=300)
def test_a_body_is_split_the_same_whatever_was_split_before(data):
    memo, service = ConversationMemo(1 << 20), get_dialect("anthropic").service()
    turns = [_message("user", "a"), _message("assistant", "b")] * 3
    for _ in range(data.draw(st.integers(2, 5))):
        turns = [*turns, _message("user", data.draw(TEXTS))]
        gap, head = data.draw(st.sampled_from([",", ", "])), data.draw(st.sampled_from(HEADS))
        listed = gap.join(json.dumps(turn, separators=(",", ":")) for turn in turns)
        for end in ("}", data.draw(st.sampled_from(TAILS))):
            raw = f"{head}[{listed}]{end}".encode()
            http = _split(memo, raw)
            assert _describe(http.body) == _describe(_split(ConversationMemo(0), raw).body)
            try:
                for _ in parse_known_in_steps(memo, service, http):
                    pass
            except Exception:  # noqa: BLE001 - what is rejected is not remembered
                pass
        turns = [*turns, _message("assistant", data.draw(TEXTS))]
        if data.draw(st.booleans()):
            turns[data.draw(st.integers(0, len(turns) - 1))] = _message("user", "other")


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("after", [{}, {"tools": TOOLS}])
def test_known_turns_are_not_read_again(monkeypatch, separators, after):
    memo, service = ConversationMemo(1 << 20), get_dialect("anthropic").service()
    turns = [_message("user", "a" * 99), _message("assistant", "b")] * 4

    def send(turns: list[dict[str, object]], client: str = "a") -> bytes:
        fields = {"model": "m", "max_tokens": 9, "messages": turns, **after}
        http = _split(memo, json.dumps(fields, separators=separators).encode(), client)
        for _ in parse_known_in_steps(memo, service, http):
            pass
        return http.body

    read: list[bytes] = []
    whole = module._read_turns
    monkeypatch.setattr(module, "_read_turns", lambda *args: read.append(args[0]) or whole(*args))
    send([*turns, _message("user", "c")])
    longer = [*turns, _message("user", "c"), _message("assistant", "d"), _message("user", "e")]
    assert isinstance(send(longer), SplitBody)
    assert len(read) == 1
    send(longer, "b")  # another client's
    assert len(read) == 2
    send([_message("user", "other"), *longer[1:]])
    assert len(read) == 3


def test_a_conversation_that_is_forgotten_is_not_found_by_its_end():
    memo, service = ConversationMemo(30_000), get_dialect("anthropic").service()
    for number in range(20):
        turns = [_message("user", f"{number}"), _message("assistant", "b")] * 3
        fields = {"model": "m", "max_tokens": 9, "messages": [*turns, _message("user", "c")]}
        http = _split(memo, json.dumps(fields).encode())
        for _ in parse_known_in_steps(memo, service, http):
            pass
    assert 0 < len(memo._ends) <= len(memo)


@given(TEXTS, st.lists(st.sampled_from(MARKS)))
def test_a_body_with_one_turn_is_the_same_bytes_with_a_memory_of_its_own(text, asked):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    http = HttpRequest("POST", "/v1/messages", {}, body)
    long = split_body(ConversationMemo(1 << 20), http, FORM, client="c").body
    assert long == body
    assert isinstance(long, LongText)
    renewed = renew_body(long, {**read_fields(long), "model": Raw(b'"tools"')})
    assert isinstance(renewed, LongText)
    for mark in (*asked, *MARKS):
        assert (mark in long) is (mark in body)
        assert (mark in renewed) is (mark in bytes(renewed))
