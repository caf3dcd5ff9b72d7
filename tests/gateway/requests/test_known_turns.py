"""Reading a request whose beginning is known: the same result as reading all of it."""

import json
from operator import is_

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pondero.canon import HttpRequest
from pondero.dialects import NAMES, Rejected, get_dialect
from pondero.gateway.requests import split_body
from pondero.gateway.requests.known_turns import parse_known
from pondero.gateway.state.conversation_memo import ConversationMemo


@pytest.fixture(autouse=True, scope="module")
def _any_size():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_body, "SHORT_BODY", 0)
        yield


CALL = {"path": "/a", "lines": [1, 2]}
TEXT = '{"path":"/a","lines":[1, 2]}'
WORDS = ("Go on.", "é \ud83d\ude00 \\u0041", "", "output_config", '"role":"assistant"')


def _anthropic() -> list[object]:
    def user(content: object, **more: object) -> object:
        return {"role": "user", "content": content, **more}

    def said(*content: object, **more: object) -> object:
        return {"role": "assistant", "content": list(content), **more}

    text = {"type": "text", "text": "I look."}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s" * 70}
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": CALL}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}
    return [
        *map(user, WORDS),
        user([{**text, "cache_control": {"type": "ephemeral"}}]),
        user([result]),
        user([{**result, "content": [text], "is_error": True}]),
        said(thought, text, call),
        said(text),
        {"role": "assistant", "content": "Sunny."},
        {"role": "system", "content": "Be brief."},
        said({"type": "new_kind", "x": 1}),
        said({**text, "unknown": 1}),
        said({"type": "text"}),
        user("x", unknown=1),
        user("x", output_config={"effort": "low"}),
        {"role": "system", "content": [], "output_config": {"effort": "max"}},
        user("x", clear_at="next_user_message"),
        {"role": "tool", "content": "x"},
        {"content": "x"},
        "x",
        None,
    ]


def _chat() -> list[object]:
    function = {"name": "look", "arguments": TEXT}
    call = {"id": "call_1", "type": "function", "function": function}
    said = {"role": "assistant", "content": "I look."}
    return [
        *({"role": "user", "content": each} for each in WORDS),
        {"role": "user", "content": [{"type": "text", "text": "a"}, "b"]},
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        said,
        {**said, "reasoning_content": "hm"},
        {**said, "content": "<think>\nhm\n</think>\n\nSunny."},
        {**said, "tool_calls": [call]},
        {"role": "assistant", "content": None, "tool_calls": [{**call, "id": None}, call]},
        {**said, "tool_calls": [{**call, "function": {"name": "look", "arguments": CALL}}]},
        {"role": "assistant", "function_call": function},
        {"role": "function", "name": "look", "content": "seen"},
        {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "no"}]},
        {"role": "tool", "content": "seen"},
        {"role": "user", "content": None},
        {"role": "user", "content": "x", "name": "Ada"},
        {"role": "user", "content": [{"type": "new_kind"}]},
        {**said, "unknown": 1},
        {**said, "configuration_update": {"reasoning": {"effort": "low"}}},
        {"role": "robot", "content": "x"},
        {"content": "x"},
        "x",
    ]


def _responses() -> list[object]:
    def message(role: str, content: object, **more: object) -> object:
        return {"type": "message", "role": role, "content": content, **more}

    text = {"type": "output_text", "text": "I look.", "annotations": []}
    call = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": TEXT}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g" * 70}
    return [
        *(message("user", each) for each in WORDS),
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        message("developer", "Be brief."),
        message("developer", []),
        message("system", "Be brief."),
        message("assistant", "Sunny."),
        message("assistant", [text], id="msg_1", status="completed"),
        message("assistant", []),
        thought,
        {**thought, "summary": [{"type": "summary_text", "text": "hm"}], "id": "rs_2"},
        call,
        {**call, "id": "fc_1", "arguments": "no json"},
        {"type": "custom_tool_call", "call_id": "call_2", "name": "look", "input": "x"},
        {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
        {"type": "function_call_output", "call_id": "call_1", "output": []},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": "seen"},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"type": "additional_tools", "tools": [{"type": "function", "name": "more"}]},
        {"type": "item_reference", "id": "msg_1"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        message("user", "x", unknown=1),
        {"type": "new_kind"},
        {"type": "function_call"},
        "x",
    ]


def _gemini() -> list[object]:
    call = {"functionCall": {"name": "look", "args": CALL}, "thoughtSignature": "c2ln"}
    result = {"functionResponse": {"name": "look", "response": {"output": "seen"}}}
    return [
        *({"role": "user", "parts": [{"text": each}]} for each in WORDS),
        {"parts": [{"text": "no role"}]},
        {"role": "user", "parts": [result]},
        {"role": "user", "parts": [result, result, {"text": "x"}]},
        {"role": "function", "parts": [result]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "Sunny."}]},
        {"role": "model", "parts": [call]},
        {"role": "model", "parts": [call, {"functionCall": {"name": "other", "args": {}}}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {**result["functionResponse"], "id": "c1"}}],
        },
        {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "AAAA"}}]},
        {"role": "user", "parts": [{"text": "x", "unknown": 1}]},
        {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "?"}}]},
        {"role": "robot", "parts": [{"text": "x"}]},
        {"role": "user", "parts": "x"},
        {"role": "model", "parts": []},
        "x",
    ]


# The field of the conversation, all kinds of turns, the places of those that make a plain one (a
# question, a call, its result, an answer), and fields beside the conversation.
FRONTS = {
    "anthropic": ("messages", _anthropic(), (0, 8, 6, 9), [
        {}, {"system": "Be brief."}, {"output_config": {"effort": "high"}}, {"unknown": 1},
        {"system": [{"type": "text", "text": "Be brief."}], "tools": [
            {"name": "look", "input_schema": {"type": "object"}, "unknown": 1},
            {"type": "bash_20250124", "name": "bash"},
        ], "tool_choice": {"type": "any"}},
    ]),
    "openai_chat": ("messages", _chat(), (0, 11, 16, 8), [
        {}, {"functions": [{"name": "look"}]}, {"temperature": "hot"}, {"tools": []},
        {"tools": [
            {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
            {"type": "custom", "custom": {"name": "write"}}, {"type": "web_search"},
        ], "tool_choice": "required"},
    ]),
    "openai_responses": ("input", _responses(), (0, 14, 17, 10), [
        {}, {"instructions": None}, {"instructions": "Be brief."}, {"store": False},
        {"reasoning": {"effort": "high"}},
        {"tools": [
            {"type": "function", "name": "look", "parameters": {"type": "object"}},
            {"type": "custom", "name": "write"}, {"type": "apply_patch"}, {"type": "web_search"},
            {"type": "namespace", "name": "files", "tools": [{"type": "function", "name": "read"}]},
        ], "instructions": "Be brief.", "tool_choice": "required"},
    ]),
    "gemini": ("contents", _gemini(), (0, 10, 6, 9), [
        {}, {"systemInstruction": {"parts": [{"text": "Be brief."}]}},
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}},
        {"tools": [{"functionDeclarations": [{"name": "look"}]}, {"googleSearch": {}}],
         "systemInstruction": {"parts": [{"text": "Be brief."}]}},
    ]),
}  # fmt: skip


def _http(front: str, turns: list[object], beside: dict[str, object], model: str) -> HttpRequest:
    paths = {
        "anthropic": "/v1/messages",
        "openai_chat": "/v1/chat/completions",
        "openai_responses": "/v1/responses",
        "gemini": f"/v1beta/models/{model}:generateContent",
    }
    fields = {**beside, FRONTS[front][0]: turns}
    if front != "gemini":
        fields["model"] = model
    return HttpRequest("POST", f"http://gateway{paths[front]}", {}, json.dumps(fields).encode())


@st.composite
def histories(draw: st.DrawFn, front: str):
    """Return requests of a client: a conversation that grows, is edited, and begins anew."""
    _, kinds, plain, besides = FRONTS[front]
    usual = [kinds[at] for at in plain]
    step = st.one_of(
        st.just(usual),
        st.just(usual[1:]),
        st.lists(st.sampled_from(usual), min_size=1, max_size=3),
        st.sampled_from(kinds).map(lambda odd: [odd, *usual]),
        st.sampled_from(kinds).map(lambda odd: [*usual, odd]),
        st.sampled_from(kinds).map(lambda odd: [usual[0], odd, *usual]),
    )
    turns = [*draw(step), *usual]
    beside, model = draw(st.sampled_from(besides)), "model-one"
    requests = [(turns, beside, model)]
    for _ in range(draw(st.integers(1, 5))):
        match draw(st.sampled_from(["grow", "grow", "grow", "grow", "edit", "cut", "beside"])):
            case "grow":
                turns = [*turns, *draw(step)]
            case "edit":
                at = draw(st.integers(0, len(turns) - 1))
                turns = [*turns[:at], draw(st.sampled_from(kinds)), *turns[at + 1 :]]
            case "cut":
                turns = turns[: draw(st.integers(1, len(turns)))]
            case "beside":
                beside = draw(st.sampled_from(besides))
                model = draw(st.sampled_from(["model-one", "model-two"]))
        requests.append((turns, beside, model))
    return requests


def _read(parse):
    try:
        return parse()
    except Rejected as error:
        return (error.response.status, error.response.body)


@pytest.mark.parametrize("front", FRONTS)
@given(data=st.data(), size=st.sampled_from([0, 4_000, 1 << 20]))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_request_is_read_the_same_whatever_was_read_before(front, data, size):
    memo = ConversationMemo(size)
    service = get_dialect(front).service()
    for turns, beside, model in data.draw(histories(front)):
        http = _http(front, turns, beside, model)
        known = _read(lambda http=http: parse_known(memo, service, http, client="a"))
        assert known == _read(lambda http=http: service.parse(http))
        assert memo.used <= size


@pytest.mark.parametrize("front", FRONTS)
def test_only_new_turns_are_read(front):
    _, kinds, plain, _ = FRONTS[front]
    memo, service = ConversationMemo(1 << 20), get_dialect(front).service()
    turns = [*[kinds[at] for at in plain] * 3, kinds[0]]
    first = parse_known(memo, service, _http(front, turns, {}, "m"), client="a")
    answer = kinds[plain[1]]
    again = parse_known(memo, service, _http(front, [*turns, answer], {}, "m"), client="a")
    other = parse_known(memo, service, _http(front, [*turns, answer], {}, "m"), client="b")
    old = first.request.messages
    assert len(memo) > 1
    assert again.request.messages[: len(old)] == old
    assert all(map(is_, again.request.messages, old))
    assert not any(map(is_, other.request.messages, old))


def test_every_api_of_agents_has_a_form_of_turns():
    formed = {name for name in NAMES if get_dialect(name).service().turn_form is not None}
    assert formed == set(FRONTS)
