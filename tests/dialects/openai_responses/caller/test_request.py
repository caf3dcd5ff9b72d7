"""Requests to bodies: golden, small and complete."""

import json

import pytest
from tests.dialects.openai_responses.making import (
    HELLO,
    MODEL,
    NAME,
    TARGET,
    encoded,
    items_of,
    plan,
)

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    OutputFormat,
    Request,
    Target,
    Text,
    Tool,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects.openai_responses.caller import CALLER

QUESTION = {"type": "message", "role": "user", "content": "Hello"}
WEATHER = Tool("weather", "Tell the weather.", {"type": "object"}, strict=True)


def said(*parts, role="user"):
    return Message(role, parts)


def test_the_smallest_request_stores_nothing_and_asks_for_sealed_thinking():
    assert encoded(Request(MODEL, HELLO)) == {
        "model": MODEL,
        "input": [QUESTION],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": True,
    }


def test_a_full_request():
    request = Request(
        MODEL,
        HELLO,
        system=(Text("Be brief."),),
        tools=(WEATHER,),
        tool_choice=ToolChoice("tool", "weather", parallel=False),
        output=OutputFormat({"type": "object"}, "thing", strict=True),
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stream=False,
    )
    fields = {"reasoning": {"effort": "low", "summary": "auto"}, "max_output_tokens": 90}

    assert encoded(request, plan(fields=fields, dropped=("temperature", "top_p"))) == {
        "model": MODEL,
        "instructions": "Be brief.",
        "input": [QUESTION],
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "Tell the weather.",
                "parameters": {"type": "object"},
                "strict": True,
            }
        ],
        "tool_choice": {"type": "function", "name": "weather"},
        "parallel_tool_calls": False,
        "text": {
            "format": {
                "type": "json_schema",
                "name": "thing",
                "schema": {"type": "object"},
                "strict": True,
            }
        },
        "max_output_tokens": 90,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
    }


def test_the_body_is_compact_and_goes_to_the_right_door():
    http = CALLER.encode(Request(MODEL, HELLO), plan(), TARGET)

    assert http.method == "POST"
    assert http.url == "https://api.openai.com/v1/responses"
    assert http.headers == {"content-type": "application/json", "authorization": "Bearer k"}
    assert http.body == json.dumps(json.loads(http.body), separators=(",", ":")).encode()


def test_a_query_stays_behind_the_path():
    target = Target("azure", "https://x.example/openai/?api-version=1", {})

    url = CALLER.encode(Request(MODEL, HELLO), plan(), target).url

    assert url == "https://x.example/openai/responses?api-version=1"


def test_headers_of_the_plan_join_those_of_the_target():
    target = Target("openai", TARGET.url, {"openai-beta": "a"})
    headers = CALLER.encode(
        Request(MODEL, HELLO), plan(headers={"OpenAI-Beta": "b", "x-other": "c"}), target
    ).headers

    assert headers["openai-beta"] == "a,b"
    assert headers["x-other"] == "c"


@pytest.mark.parametrize(
    ("will_think", "fields", "included"),
    [
        (True, {}, True),
        (False, {}, False),
        (False, {"reasoning": {"effort": "none"}}, False),
        (None, {}, False),
        (None, {"reasoning": {"summary": "auto"}}, True),
        (None, {"reasoning": {"effort": "high"}}, True),
    ],
)
def test_sealed_thinking_is_asked_for_only_where_there_will_be_some(will_think, fields, included):
    """A model that never thinks refuses to be asked for it; one that does gives nothing unasked."""
    body = encoded(Request(MODEL, HELLO), plan(will_think=will_think, fields=fields))

    assert ("include" in body) is included


def test_extras_are_laid_under_the_plan_and_ask_for_more():
    extras = {
        "include": ["web_search_call.action.sources"],
        "store": True,
        "reasoning": {"context": "all_turns", "effort": "low"},
        "metadata": {"a": "b"},
    }
    body = encoded(
        Request(MODEL, HELLO, extras=extras), plan(fields={"reasoning": {"effort": "high"}})
    )

    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert body["store"] is True
    assert body["metadata"] == {"a": "b"}
    assert body["reasoning"] == {"context": "all_turns", "effort": "high"}
    assert extras["reasoning"] == {"context": "all_turns", "effort": "low"}


def test_the_plans_own_fields_are_never_changed():
    fields = {"reasoning": {"effort": "low"}}
    encoded(Request(MODEL, HELLO, extras={"reasoning": {"mode": "pro"}}), plan(fields=fields))

    assert fields == {"reasoning": {"effort": "low"}}


def test_what_the_plan_dropped_is_not_sent():
    request = Request(MODEL, HELLO, tools=(WEATHER,), tool_choice=ToolChoice("required"))

    assert "tool_choice" not in encoded(request, plan(dropped=("tool_choice",)))


def test_what_this_wire_cannot_say_is_not_sent():
    body = encoded(Request(MODEL, HELLO, stop=("END",), top_k=5))

    assert {"stop", "top_k"} == CALLER.unsupported_parameters
    assert not {"stop", "top_k"} & set(body)


@pytest.mark.parametrize(
    ("choice", "tools", "wire"),
    [
        (ToolChoice(), (WEATHER,), "auto"),
        (ToolChoice("none"), (WEATHER,), "none"),
        (ToolChoice("required"), (WEATHER,), "required"),
        (
            ToolChoice("tool", "sh"),
            (Tool("sh", raw={"type": "custom", "name": "sh"}),),
            {"type": "custom", "name": "sh"},
        ),
        (
            ToolChoice("tool", "web_search"),
            (Tool("web_search", raw={"type": "web_search"}),),
            {"type": "web_search"},
        ),
    ],
)
def test_tool_choices(choice, tools, wire):
    assert encoded(Request(MODEL, HELLO, tools=tools, tool_choice=choice))["tool_choice"] == wire


def test_a_services_own_tool_is_sent_as_it_is_written():
    raw = {"type": "mcp", "server_label": "x", "server_url": "https://x.example"}

    assert encoded(Request(MODEL, HELLO, tools=(Tool("mcp", raw=raw),)))["tools"] == [raw]


def test_json_without_a_schema():
    body = encoded(Request(MODEL, HELLO, output=OutputFormat()))

    assert body["text"] == {"format": {"type": "json_object"}}


def test_a_system_prompt_of_several_texts_is_a_developers_message():
    body = encoded(
        Request(MODEL, HELLO, system=(Text("One."), Text("Two.", cache=CacheBreakpoint("30m"))))
    )

    assert "instructions" not in body
    assert body["input"][0] == {
        "type": "message",
        "role": "developer",
        "content": [
            {"type": "input_text", "text": "One."},
            {
                "type": "input_text",
                "text": "Two.",
                "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"},
            },
        ],
    }


def test_a_deployment_without_instructions_gets_the_system_prompt_as_a_message():
    target = Target("x", TARGET.url, {}, quirks={"system": "message"})
    body = encoded(Request(MODEL, HELLO, system=(Text("Be brief."),)), target=target)

    assert "instructions" not in body
    assert body["input"][0]["role"] == "developer"


def test_media():
    items = items_of(
        said(
            Text("Look:"),
            Image("image/png", data=b"\x01", detail="low"),
            Image(url="https://x.example/a.png"),
            Blob("application/pdf", data=b"\x02", name="a.pdf"),
            Blob("application/pdf", data=b"\x02"),
            Blob("application/pdf", url="https://x.example/a.pdf"),
            Blob("audio/wav", data=b"\x03"),
        )
    )

    assert items[0]["content"] == [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_image", "image_url": "data:image/png;base64,AQ==", "detail": "low"},
        {"type": "input_image", "image_url": "https://x.example/a.png"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,Ag==",
        },
        {
            "type": "input_file",
            "filename": "file.pdf",
            "file_data": "data:application/pdf;base64,Ag==",
        },
        {"type": "input_file", "file_url": "https://x.example/a.pdf"},
        {"type": "input_audio", "input_audio": {"data": "Aw==", "format": "wav"}},
    ]


def test_cache_marks_are_breakpoints_with_a_lifetime_this_service_knows():
    items = items_of(
        said(Text("a", cache=CacheBreakpoint("12h")), Text("b", cache=CacheBreakpoint("5m")))
    )

    marks = [part["prompt_cache_breakpoint"] for part in items[0]["content"]]

    assert marks == [{"mode": "explicit", "ttl": "12h"}, {"mode": "explicit"}]


def test_cache_marks_can_be_left_out():
    message = said(Text("a", cache=CacheBreakpoint()))
    target = Target("x", TARGET.url, {}, quirks={"cache_marks": False})

    for body in (
        encoded(Request(MODEL, (message,)), target=target),
        encoded(Request(MODEL, (message,)), plan(dropped=("cache",))),
    ):
        assert "breakpoint" not in json.dumps(body)


def test_results_of_tools():
    items = items_of(
        said(
            ToolResult("c1", (Text("sunny"),)),
            ToolResult("c2", (Text("a"), Image("image/png", data=b"\x01"))),
            ToolResult("c3", ()),
            ToolResult("c4", (Text("x"),), cache=CacheBreakpoint()),
            Text("Thanks."),
        )
    )

    assert [item.get("output") for item in items] == [
        "sunny",
        [
            {"type": "input_text", "text": "a"},
            {"type": "input_image", "image_url": "data:image/png;base64,AQ=="},
        ],
        "",
        [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        None,
    ]
    assert [item["type"] for item in items] == ["function_call_output"] * 4 + ["message"]


def test_items_of_the_callers_own_stand_where_they_were_put():
    approval = {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}
    odd = {"type": "input_hologram", "data": "x"}

    items = items_of(
        said(
            UnknownPart(NAME, approval),
            Text("a"),
            UnknownPart(NAME, odd),
            UnknownPart("another", {}),
        )
    )

    assert items == [
        approval,
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}, odd]},
    ]


def test_a_system_message_amid_the_others():
    items = items_of(*HELLO, said(Text("Now in French."), role="system"))

    assert items[1] == {"type": "message", "role": "system", "content": "Now in French."}


def test_half_a_surrogate_pair_and_an_endless_number_are_sent_as_good_json():
    request = Request(MODEL, (said(Text("a\ud83d")),), extras={"metadata": {"n": 2**80}})

    body = encoded(request)

    assert body["input"][0]["content"] == "a\ufffd"
    assert body["metadata"]["n"] == 2**80
