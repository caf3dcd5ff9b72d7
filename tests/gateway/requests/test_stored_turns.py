"""Turns that name nothing stored are not read again, and whatever is stored is still found."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero.canon import HttpRequest
from pondero.dialects import get_dialect
from pondero.gateway.requests import kept_history
from pondero.gateway.requests import split_body as module
from pondero.gateway.requests.kept_items import find_stored_ids
from pondero.gateway.requests.known_turns import parse_known_in_steps
from pondero.gateway.requests.split_body import SplitBody, split_body
from pondero.gateway.state.conversation_memo import ConversationMemo

SERVICE = get_dialect("openai_responses").service()
PLAIN = (
    {"role": "user", "content": "Look, a container_id and a file_id."},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": "Caf\u00e9 <b>."},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z"},
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": '{"file_id": "file_2"}'},
)
STORED = (
    {"type": "item_reference", "id": "msg_9"},
    {"id": "msg_8"},
    {"type": "reasoning", "id": "rs_7", "summary": []},
    {"type": "reasoning", "id": "rs_6", "summary": [], "content": [{"text": "hm"}]},
    {"type": "web_search_call", "id": "ws_5", "status": "completed"},
    {"type": "code_interpreter_call", "id": "ci_4", "status": "done", "container_id": "cntr_1"},
    {"role": "user", "content": [{"type": "input_file", "file_id": "file_3"}]},
    [{"file_id": "file_1"}],
)
EXTRA = {"tools": [{"type": "code_interpreter", "container": "cntr_2"}], "conversation": "conv_1"}


@pytest.fixture(autouse=True, scope="module")
def _any_size():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SHORT_BODY", 0)
        yield


ITEMS = st.sampled_from(PLAIN) | st.sampled_from(PLAIN) | st.sampled_from(STORED)
FIELDS = st.fixed_dictionaries({}, optional={name: st.just(EXTRA[name]) for name in EXTRA})


@given(
    st.lists(st.tuples(st.lists(ITEMS, min_size=2, max_size=5), FIELDS), min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_what_a_request_names_is_found_whatever_was_read_before(requests, spelt, stored):
    memo, items = ConversationMemo(1 << 20), list(PLAIN)
    for more, fields in requests:
        items = [*items, *more]
        raw = json.dumps({"model": "m", "store": stored, "input": items, **fields})
        if spelt:  # names in another spelling
            raw = raw.replace('"file_id"', '"file\\u005fid"').replace('"id"', '"\\u0069d"')
        http = HttpRequest("POST", "http://x/v1/responses", {}, raw.encode())
        split = split_body(memo, http, SERVICE.turn_form, client="a")
        assert isinstance(split.body, SplitBody)
        rules, kept = SERVICE.stored_ids, SERVICE.kept_responses
        assert find_stored_ids(rules, split) == rules.find(http)
        assert kept_history._read_continuation(kept, split) == kept.read(http)
        try:
            for _ in parse_known_in_steps(memo, SERVICE, split):
                pass
        except Exception:  # noqa: BLE001 - what is rejected is not remembered
            pass


def test_known_turns_that_name_nothing_are_not_read_again():
    memo, read = ConversationMemo(1 << 20), list[bytes]()
    rules = SERVICE.stored_ids
    is_named_in = rules.is_named_in

    def note(turn: bytes) -> bool:
        read.append(turn)
        return is_named_in(turn)

    noting = replace(rules, is_named_in=note)
    items = list(PLAIN) * 3
    for question in ("One?", "Two?"):
        body = {"model": "m", "input": [*items, {"role": "user", "content": question}]}
        http = HttpRequest("POST", "http://x/v1/responses", {}, json.dumps(body).encode())
        split = split_body(memo, http, SERVICE.turn_form, client="a")
        read.clear()
        assert find_stored_ids(noting, split) == ()
        for _ in parse_known_in_steps(memo, SERVICE, split):
            pass
    assert len(read) < len(items)
