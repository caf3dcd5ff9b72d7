"""The size of a split body is that of its bytes, and known turns are not measured again."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pondero.canon import HttpRequest
from pondero.dialects import Rejected, get_dialect
from pondero.exchange import finish_steps
from pondero.gateway.quotas import body_size
from pondero.gateway.quotas.body_size import measure_body
from pondero.gateway.requests import split_body as split_module
from pondero.gateway.requests.known_turns import parse_known_in_steps
from pondero.gateway.requests.split_body import SplitBody, split_body
from pondero.gateway.state.conversation_memo import ConversationMemo

SERVICE = get_dialect("openai_chat").service()
FILE = "iVBORw0KGgo" + "A" * 70
TEXTS = st.sampled_from(("say", "", "\u00e9", "x" * 40, FILE, "\ud800", '"url"', "null"))
NAMES = st.sampled_from(("url", "data", "documents", "prediction", "a", "tools"))
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.none()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(NAMES, inner)),
    max_leaves=6,
)


@pytest.fixture(autouse=True, scope="module")
def _any_size():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_module, "SHORT_BODY", 0)
        patch.setattr(split_module, "_LONG", 8)
        yield


def _send(memo: ConversationMemo, fields: object) -> bytes:
    raw = json.dumps(fields).encode()
    http = HttpRequest("POST", "http://x/v1/chat/completions", {}, raw)
    http = split_body(memo, http, SERVICE.turn_form, client="a")
    with suppress(Rejected):  # then it is not remembered
        finish_steps(parse_known_in_steps(memo, SERVICE, http))
    return http.body


def _talk(*said: str) -> list[dict[str, Any]]:
    return [
        turn
        for text in said
        for turn in ({"role": "user", "content": text}, {"role": "assistant", "content": text})
    ]


@st.composite
def talks(draw: st.DrawFn) -> list[object]:
    """Return the requests of a conversation that grows, with fields that change."""
    turns, found = _talk("a", "b"), list[object]()
    for _ in range(draw(st.integers(1, 5))):
        turns = [*turns, *_talk(draw(TEXTS))]
        part = draw(st.dictionaries(NAMES, VALUES, max_size=2))
        turns[-2] |= draw(st.sampled_from(({}, {"content": [{"type": "text", **part}]})))
        more = draw(st.dictionaries(NAMES, VALUES, max_size=3))
        last = {"role": "user", "content": draw(TEXTS)}
        found.append({"model": "m", **more, "messages": [*turns, last]})
    return found


@given(talks())
@settings(max_examples=200, deadline=None)
def test_a_split_body_has_the_size_of_its_bytes(requests):
    memo = ConversationMemo(1 << 20)
    for fields in requests:
        body = _send(memo, fields)
        assert measure_body(body, memo) == measure_body(bytes(body), None)


def test_known_turns_and_long_fields_are_not_measured_again(monkeypatch):
    memo, read, parse = ConversationMemo(1 << 20), list[bytes](), body_size.parse_json_or_none

    def note(data: bytes) -> object:
        read.append(data)
        return parse(data)

    monkeypatch.setattr(body_size, "parse_json_or_none", note)
    turns, tools = _talk(*map(str, range(20))), [{"x": "tool" * 20}]
    for number in range(3):
        read.clear()
        turns = [*turns, *_talk(f"later {number}")]
        last = {"role": "user", "content": "?"}
        body = _send(memo, {"model": "m", "data": tools, "messages": [*turns, last]})
        assert isinstance(body, SplitBody)
        assert measure_body(body, memo)
    assert sum(map(len, read)) < 400
    assert b"later 2" in b"".join(read)
