"""Requests as this wire and its clones take them."""

import json

import pytest
from tests.plans import plan

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    OutputFormat,
    Request,
    Signature,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.errors import BadCatalog

from ..making import CHAT, seal

USER = Message("user", (Text("hi"),))
TARGET = Target("r", "https://x.test/v1/", {"Authorization": "Bearer k"})


def sent(*messages, quirks=None, planned=None, **fields):
    request = Request("m", messages or (USER,), **({"stream": False} | fields))
    target = Target("r", "https://x.test/v1", quirks=quirks or {})
    http = CHAT.caller().encode(request, planned or plan("openai_chat"), target)
    return json.loads(http.body)


def messages(*given, **rest):
    return sent(*given, **rest)["messages"]


def turn(*parts):
    return Message("assistant", parts)


def test_the_smallest_request():
    http = CHAT.caller().encode(Request("m", (USER,)), plan("openai_chat"), TARGET)
    assert (http.method, http.url) == ("POST", "https://x.test/v1/chat/completions")
    assert http.headers == {"content-type": "application/json", "authorization": "Bearer k"}
    assert http.body == (
        b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,'
        b'"stream_options":{"include_usage":true}}'
    )


def test_everything_at_once():
    tool = Tool("f", "Does f", {"type": "object"}, strict=True)
    body = sent(
        system=(Text("Be brief."),),
        tools=(tool, Tool("g")),
        tool_choice=ToolChoice("tool", "f", parallel=False),
        output=OutputFormat({"type": "object"}, "shape", strict=True),
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        top_k=4,
        stop=("END",),
        extras={"seed": 7, "stream_options": {"x": 1}},
    )
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 4,
        "stop": ["END"],
        "max_completion_tokens": 100,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "f",
                    "description": "Does f",
                    "parameters": {"type": "object"},
                    "strict": True,
                },
            },
            {
                "type": "function",
                "function": {"name": "g", "parameters": {"type": "object", "properties": {}}},
            },
        ],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "shape", "schema": {"type": "object"}, "strict": True},
        },
        "seed": 7,
        "stream_options": {"x": 1},
    }


@pytest.mark.parametrize(
    ("choice", "fields"),
    [
        (None, {}),
        (ToolChoice(), {"tool_choice": "auto"}),
        (ToolChoice("none"), {"tool_choice": "none"}),
        (ToolChoice("required"), {"tool_choice": "required"}),
        (ToolChoice(parallel=True), {"parallel_tool_calls": True}),
        (
            ToolChoice("required", parallel=False),
            {"tool_choice": "required", "parallel_tool_calls": False},
        ),
    ],
)
def test_tool_choice(choice, fields):
    body = sent(tools=(Tool("f"),), tool_choice=choice)
    assert {
        key: body[key] for key in ("tool_choice", "parallel_tool_calls") if key in body
    } == fields


def test_a_choice_without_tools_is_not_sent():
    assert "tool_choice" not in sent(tool_choice=ToolChoice("required"))


def test_any_json_and_a_tool_as_its_service_writes_it():
    raw = {"type": "web_search"}
    body = sent(output=OutputFormat(), tools=(Tool("web_search", raw=raw),))
    assert (body["response_format"], body["tools"]) == ({"type": "json_object"}, [raw])


def test_the_plan_lays_over_the_rest_and_drops_what_it_names():
    planned = plan(
        "openai_chat",
        {"reasoning_effort": "high", "max_completion_tokens": 9, "stream_options": {"y": 2}},
        headers={"OpenAI-Beta": "b"},
        dropped=("temperature",),
    )
    body = sent(
        planned=planned,
        stream=True,
        max_tokens=5,
        temperature=0.1,
        extras={"reasoning_effort": "low"},
    )
    assert body["reasoning_effort"] == "high"
    assert body["max_completion_tokens"] == 9
    assert body["stream_options"] == {"include_usage": True, "y": 2}
    assert "temperature" not in body
    assert "max_tokens" not in body


def test_beta_headers_are_joined_and_others_replaced():
    target = Target(
        "r",
        "https://x.test",
        {"openai-beta": "a", "x-title": "one"},
        quirks={"headers": {"X-Title": "two"}},
    )
    http = CHAT.caller().encode(
        Request("m", (USER,)), plan("openai_chat", headers={"OpenAI-Beta": "b"}), target
    )
    assert http.headers["openai-beta"] == "a,b"
    assert http.headers["x-title"] == "two"


def test_the_request_itself_is_left_as_it_was():
    extras = {"stream_options": {"x": 1}}
    planned = plan("openai_chat", {"stream_options": {"y": 1}})
    sent(planned=planned, extras=extras, stream=True)
    assert (extras, planned.fields) == ({"stream_options": {"x": 1}}, {"stream_options": {"y": 1}})


def test_quirks_of_writing():
    quirks = {
        "max_tokens_field": "max_tokens",
        "system_role": "developer",
        "usage_in_stream": "always",
        "path": "/chat",
        "unheard_of": 1,
    }
    request = Request("m", (USER,), (Text("s"),), max_tokens=3)
    http = CHAT.caller().encode(
        request, plan("openai_chat"), Target("r", "https://x.test", quirks=quirks)
    )
    body = json.loads(http.body)
    assert http.url == "https://x.test/chat"
    assert body["max_tokens"] == 3
    assert body["messages"][0]["role"] == "developer"
    assert "stream_options" not in body


def test_quirks_of_turns():
    """Mistral marks an answer begun, and wants an assistant's turn after a tool's."""
    results = Message("user", (ToolResult("a", (Text("one"),)), Text("go on")))
    told = (USER, turn(ToolCall("a", "f", {})), results, turn(Text("So")))
    quirks = {"prefill_field": "prefix", "bridge": "OK."}
    target = Target("r", "https://x.test", quirks=quirks)
    http = CHAT.caller().encode(Request("m", told), plan("openai_chat"), target)
    assert json.loads(http.body)["messages"][2:] == [
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "assistant", "content": "OK."},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": "So", "prefix": True},
    ]


def test_a_quirk_with_a_value_nobody_knows_is_the_catalogs_fault():
    with pytest.raises(BadCatalog):
        sent(quirks={"replay_when": "sometimes"})


# -- what a user says -------------------------------------------------------------------------------


def test_one_text_is_a_string_and_several_parts_are_a_list():
    several = Message("user", (Text("a"), Text("b")))
    assert messages(USER)[0]["content"] == "hi"
    assert messages(several)[0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (
            Image("image/png", b"hi"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        ),
        (
            Image(url="https://x.test/a", detail="low"),
            {"type": "image_url", "image_url": {"url": "https://x.test/a", "detail": "low"}},
        ),
        (
            Blob("audio/wav", b"hi"),
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        ),
        (
            Blob("audio/mpeg", b"hi"),
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        ),
        (
            Blob("application/pdf", b"hi", name="a.pdf"),
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"},
            },
        ),
        (
            Blob("video/mp4", url="https://x.test/v"),
            {"type": "video_url", "video_url": {"url": "https://x.test/v"}},
        ),
        (UnknownPart("openai_chat", {"type": "odd"}), {"type": "odd"}),
    ],
)
def test_media(part, wire):
    assert messages(Message("user", (part,)))[0]["content"] == [wire]


def test_what_another_wire_could_not_name_stays_home():
    assert (
        messages(Message("user", (Text("a"), UnknownPart("another", {"type": "odd"}))))[0][
            "content"
        ]
        == "a"
    )


@pytest.mark.parametrize(
    ("marks", "mark"),
    [
        ("none", None),
        ("cache_control", {"type": "ephemeral", "ttl": "1h"}),
        ("prompt_cache_breakpoint", {"mode": "explicit", "ttl": "1h"}),
    ],
)
def test_cache_marks_are_sent_where_they_are_known(marks, mark):
    marked = Message("user", (Text("a", cache=CacheBreakpoint("1h")),))
    content = messages(marked, quirks={"cache_marks": marks})[0]["content"]
    assert content == ("a" if mark is None else [{"type": "text", "text": "a", marks: mark}])


def test_results_are_messages_of_their_own_before_the_users_words():
    call = turn(ToolCall("a", "f", {"x": 1}), ToolCall("b", "g", {}))
    results = Message(
        "user",
        (ToolResult("a", (Text("one"),)), ToolResult("b", (Text("x"), Text("y"))), Text("go on")),
    )
    assert messages(USER, call, results)[1:] == [
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {
            "role": "tool",
            "tool_call_id": "b",
            "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
        },
        {"role": "user", "content": "go on"},
    ]


def test_a_picture_in_a_result_follows_as_the_users():
    result = ToolResult("a", (Text("see"), Image(url="https://x.test/a")))
    wire = messages(USER, turn(ToolCall("a", "f", {})), Message("user", (result,)))
    assert wire[2]["content"] == "see"
    assert wire[3]["content"] == [{"type": "image_url", "image_url": {"url": "https://x.test/a"}}]


def test_a_system_message_amid_the_others():
    assert messages(USER, Message("system", (Text("now"),)))[1] == {
        "role": "system",
        "content": "now",
    }


# -- what the model said ------------------------------------------------------------------------------


def test_arguments_are_always_a_string():
    (wire,) = messages(turn(ToolCall("a", "f", "{oops")))
    assert wire["tool_calls"][0]["function"]["arguments"] == "{oops"


def test_an_empty_turn_is_left_out():
    assert [m["role"] for m in messages(USER, turn(), USER)] == ["user", "user"]


def test_a_refusal_is_the_content_where_the_service_has_no_field_for_it():
    (wire,) = messages(turn(Text("I won't", seal({"refusal": True}))))
    assert wire == {"role": "assistant", "content": "I won't"}


def test_a_refusal_goes_back_as_one():
    said = turn(Text("I won't", seal({"refusal": True})))
    (wire,) = messages(said, quirks={"refusals": True})
    assert wire == {"role": "assistant", "refusal": "I won't"}


def test_what_a_call_carried_goes_back_with_it():
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    (wire,) = messages(turn(ToolCall("a", "f", {}, seal(extra))))
    assert wire["tool_calls"][0]["extra_content"] == extra["extra_content"]
    (wire,) = messages(turn(ToolCall("a", "f", {}, Signature("another", extra))))
    assert "extra_content" not in wire["tool_calls"][0]


@pytest.mark.parametrize("given", ["", None])
def test_an_id_of_ours_goes_out_where_a_service_gave_none_and_the_wire_needs_one(given):
    call = ToolCall("A" * 22, "f", {}, seal({"id": given}), minted=True)
    answer = Message("user", (ToolResult("A" * 22, (Text("ok"),)),))
    assistant, tool = messages(turn(call), answer)
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"] == "A" * 22
    assistant, tool = messages(turn(call), answer, quirks={"tool_call_ids": "9 alphanumerics"})
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"]
    assert len(tool["tool_call_id"]) == 9


@pytest.mark.parametrize("given", ["", None])
def test_an_id_of_ours_never_goes_where_results_answer_calls_by_their_place(given):
    call = ToolCall("A" * 22, "f", {}, seal({"id": given}), minted=True)
    answer = Message("user", (ToolResult("A" * 22, (Text("ok"),)),))
    assistant, tool = messages(turn(call), answer, quirks={"results_by_place": True})
    assert assistant["tool_calls"][0].get("id") == given
    assert tool.get("tool_call_id") == given


def test_an_id_of_another_services_minting_goes_where_ids_are_needed():
    (wire,) = messages(turn(ToolCall("A" * 22, "f", {}, minted=True)))
    assert wire["tool_calls"][0]["id"] == "A" * 22


def test_ids_of_nine_where_that_is_all_a_service_takes():
    call = turn(ToolCall("call_long_enough", "f", {}), ToolCall("abcdefgh9", "f", {}))
    results = Message("user", (ToolResult("call_long_enough", ()), ToolResult("abcdefgh9", ())))
    assistant, one, two = messages(call, results, quirks={"tool_call_ids": "9 alphanumerics"})
    ids = [made["id"] for made in assistant["tool_calls"]]
    assert len(ids[0]) == 9
    assert ids[0].isalnum()
    assert [one["tool_call_id"], two["tool_call_id"]] == ids
    assert ids[1] == "abcdefgh9"


def test_custom_and_older_calls_go_back_in_their_form():
    custom = ToolCall("a", "shell", "ls", seal({"type": "custom"}))
    (wire,) = messages(turn(custom), quirks={"text_tools": True})
    assert wire["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    ]
    older = ToolCall("A" * 22, "f", {}, seal({"function_call": True, "id": None}), minted=True)
    wire, answer = messages(turn(older), Message("user", (ToolResult("A" * 22, (Text("ok"),)),)))
    assert wire == {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}
    assert answer == {"role": "function", "name": "f", "content": "ok"}


def test_sound_goes_back_by_its_id():
    (wire,) = messages(turn(UnknownPart("openai_chat", {"audio": {"id": "au", "data": "AA"}})))
    assert wire["audio"] == {"id": "au"}


# -- thinking sent back -------------------------------------------------------------------------------

DETAILS = [
    {"type": "reasoning.text", "text": "Hm", "signature": "c2ln"},
    {"type": "reasoning.encrypted", "data": "x"},
]
THOUGHTS = [
    (seal({"reasoning_content": True}), {"content": "Yes", "reasoning_content": "Hm"}),
    (seal({"reasoning": True}), {"content": "Yes", "reasoning": "Hm"}),
    (
        seal({"reasoning": True, "reasoning_details": DETAILS}),
        {"content": "Yes", "reasoning_details": DETAILS},
    ),
    (
        seal({"chunk": {"closed": True, "signature": "c2ln"}}),
        {
            "content": [
                {
                    "type": "thinking",
                    "thinking": [{"type": "text", "text": "Hm"}],
                    "closed": True,
                    "signature": "c2ln",
                },
                {"type": "text", "text": "Yes"},
            ]
        },
    ),
    (seal({"tags": ["<think>\n", "\n</think>\n\n"]}), {"content": "<think>\nHm\n</think>\n\nYes"}),
    (
        seal({"message": {"thought_signature": "c2ln"}}),
        {"content": "Yes", "thought_signature": "c2ln"},
    ),
    (Signature("another", {"reasoning_content": True}), {"content": "Yes"}),
    (None, {"content": "Yes"}),
]


@pytest.mark.parametrize(("sealed", "wire"), THOUGHTS)
def test_thinking_goes_back_where_it_came_from_and_only_ours(sealed, wire):
    assert messages(turn(Thinking("Hm", sealed), Text("Yes"))) == [{"role": "assistant", **wire}]


@pytest.mark.parametrize(
    ("field", "wire"),
    [
        ("reasoning_content", {"content": "Yes", "reasoning_content": "Hm"}),
        ("reasoning", {"content": "Yes", "reasoning": "Hm"}),
        ("reasoning_details", {"content": "Yes", "reasoning": "Hm"}),
        ("think_tags", {"content": "<think>\nHm\n</think>\n\nYes"}),
        ("none", {"content": "Yes"}),
        (
            "content_chunks",
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
                    {"type": "text", "text": "Yes"},
                ]
            },
        ),
    ],
)
def test_the_deployment_may_want_it_elsewhere(field, wire):
    thought = Thinking("Hm", seal({"reasoning": True}))
    assert messages(turn(thought, Text("Yes")), quirks={"replay_field": field}) == [
        {"role": "assistant", **wire}
    ]


def test_details_of_several_thoughts_go_back_in_order():
    two = [Thinking("a", seal({"reasoning_details": [{"n": n}]})) for n in (1, 2)]
    (wire,) = messages(turn(*two, Text("x")))
    assert wire["reasoning_details"] == [{"n": 1}, {"n": 2}]


def test_a_thought_of_a_signing_upstream_without_signature_stays_home():
    unsigned = {"type": "reasoning.text", "text": "a", "format": "anthropic-claude-v1"}
    (wire,) = messages(turn(Thinking("a", seal({"reasoning_details": [unsigned]})), Text("x")))
    assert wire == {"role": "assistant", "content": "x"}


def test_thinking_is_wanted_from_the_first_call_on():
    thought = Thinking("Hm", seal({"reasoning_content": True}))
    thread = [
        turn(thought, Text("one")),
        turn(thought, ToolCall("a", "f", {})),
        Message("user", (ToolResult("a", (Text("ok"),)),)),
        turn(thought, Text("two")),
    ]
    wire = messages(*thread, quirks={"replay_when": "tools"})
    assert [m.get("reasoning_content") for m in wire] == [None, "Hm", None, "Hm"]
    assert not any(
        "reasoning_content" in m for m in messages(*thread, quirks={"replay_when": "never"})
    )


def test_a_turn_without_thinking_carries_what_must_stand_there():
    quirks = {"replay_field": "reasoning_content", "replay_when": "tools", "replay_missing": ""}
    foreign = Thinking("Hm", Signature("another", "x"))
    wire = messages(turn(Text("a")), turn(foreign, ToolCall("a", "f", {})), quirks=quirks)
    assert "reasoning_content" not in wire[0]
    assert wire[1]["reasoning_content"] == ""


@pytest.mark.parametrize(("of", "there"), [(["m"], True), (["n", "~n"], False)])
def test_only_the_models_that_want_it_get_a_stand_in_for_thinking(of, there):
    quirks = {"replay_field": "reasoning_details", "replay_missing": "", "replay_missing_of": of}
    details = Thinking(
        "Hm", seal({"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]})
    )
    bare, own = messages(turn(Text("a")), turn(details, Text("b")), quirks=quirks)
    assert ("reasoning" in bare) == there
    assert "reasoning" not in own


def test_thinking_without_an_answer_is_still_a_turn():
    (wire,) = messages(turn(Thinking("Hm", seal({"reasoning_content": True}))))
    assert wire == {"role": "assistant", "content": "", "reasoning_content": "Hm"}


def test_the_query_of_an_address_stays_at_its_end():
    target = Target("r", "https://x.test/openai/deployments/d?api-version=2024-10-21")
    http = CHAT.caller().encode(Request("d", (USER,)), plan("openai_chat"), target)
    path = "/openai/deployments/d/chat/completions?api-version=2024-10-21"
    assert http.url == f"https://x.test{path}"


def test_thoughts_in_chunks_are_one_chunk_unless_they_are_signed():
    def turn(*seals):
        thoughts = [Thinking(str(n), seal({"chunk": rest})) for n, rest in enumerate(seals)]
        body = sent(Message("assistant", (*thoughts, Text("yes"))), USER)
        return [len(c["thinking"]) for c in body["messages"][0]["content"] if "thinking" in c]

    assert turn({"closed": True}, {"closed": True}) == [2]
    assert turn({"signature": "a"}, {"signature": "b"}) == [1, 1]


def test_what_keeps_thinking_alive_is_said_where_thinking_goes_back_and_only_there():
    quirks = {"replay_with": {"thinking": {"clear_thinking": False}}}
    planned = plan("openai_chat", {"thinking": {"type": "enabled"}})
    thought = Message("assistant", (Thinking("hm", seal({"reasoning_content": True})), Text("yes")))
    kept = sent(USER, thought, USER, quirks=quirks, planned=planned)
    assert kept["thinking"] == {"type": "enabled", "clear_thinking": False}
    assert sent(USER, quirks=quirks, planned=planned)["thinking"] == {"type": "enabled"}
