"""The lenient road: what a gateway reads of requests that the service itself would refuse."""

import json

import pytest
from tests.dialects.openai_responses.making import MODEL, NAME, asking, posted, refused
from tests.recordings.agents import load_agent_requests

from pondero.canon import (
    Finished,
    HttpRequest,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    Thinking,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.dialects import Rejected
from pondero.dialects.dialect import ReplyContext
from pondero.dialects.openai_responses.service import SERVICE
from pondero.thinking import UNSET, Intent

EXEC = {"type": "custom", "name": "exec", "description": "Run it.", "format": {"type": "text"}}
WAIT = {"type": "function", "name": "wait", "parameters": {"type": "object"}, "strict": False}
GROUPED = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "namespace", "name": "functions", "tools": [EXEC, WAIT]}],
}


def parsed(body):
    return SERVICE.parse(posted(body))


def parts(body):
    return [part for message in parsed(body).request.messages for part in message.parts]


# -- what is not of the wire -----------------------------------------------------------------------


def test_an_unknown_field_at_the_top_is_passed_over_and_listed():
    found = parsed(asking(server_metadata={"a": "b"}, user="me"))

    assert found.unknown == ("server_metadata",)
    assert found.request.extras == {"user": "me"}
    assert refused(asking(server_metadata={}))["code"] == "unknown_parameter"


def test_an_unknown_field_of_an_item_is_passed_over_and_the_message_kept():
    found = parsed({"model": MODEL, "input": [{"role": "user", "content": "Hi", "passthrough": 1}]})

    assert found.unknown == ("input[0].passthrough",)
    assert found.request.messages == (Message("user", (Text("Hi"),)),)


def test_an_unknown_field_of_a_content_is_passed_over_and_its_text_kept():
    content = [{"type": "input_text", "text": "Hi", "tone": "kind"}]
    found = parsed({"model": MODEL, "input": [{"role": "user", "content": content}]})

    assert found.unknown == ("input[0].content[0].tone",)
    assert found.request.messages[0].parts == (Text("Hi"),)


def test_a_function_with_keys_of_tomorrow_stays_callable():
    tool = {**WAIT, "description": "Wait.", "eager": True, "defer_loading": True}
    found = parsed(asking(tools=[tool]))

    assert found.request.tools == (Tool("wait", "Wait.", {"type": "object"}, strict=False),)
    assert found.unknown == ("tools[0].eager",)


def test_an_unknown_kind_of_content_is_kept_as_it_came():
    hologram = {"type": "input_hologram", "data": "x"}
    body = asking({"role": "user", "content": [hologram, {"type": "input_text", "text": "See?"}]})

    assert parts(body)[1:] == [UnknownPart("openai_responses", hologram), Text("See?")]
    assert parsed(body).unknown == ("input[1].content[0]",)


def test_an_unknown_kind_of_item_is_kept_as_it_came():
    item = {"type": "dream", "about": "sheep"}

    assert [part.raw for part in parts(asking(item)) if isinstance(part, UnknownPart)] == [item]
    assert parsed(asking(item)).unknown == ("input[1]",)
    assert refused(asking(item))["param"] == "input[1].type"


def test_an_unknown_kind_of_tool_is_kept_as_it_came():
    tool = {"type": "telepathy", "range": 3}

    kept = Tool("telepathy", raw=tool, dialect=NAME, kind="other")
    assert parsed(asking(tools=[tool])).request.tools == (kept,)


def test_an_unreadable_picture_is_kept_as_it_came():
    picture = {"type": "input_image", "image_url": "data:image/png;base64,not base64"}
    found = parts(asking({"role": "user", "content": [picture]}))

    assert found[1:] == [UnknownPart("openai_responses", picture)]


def test_a_word_of_tomorrow_is_left_out_with_its_field():
    found = parsed(asking(service_tier="warp", text={"verbosity": "chatty"}))

    assert found.unknown == ("service_tier", "text.verbosity")
    assert found.request.extras is None


def test_what_is_not_json_is_refused():
    with pytest.raises(Rejected):
        SERVICE.parse(posted(b"{"))
    with pytest.raises(Rejected):
        parsed({"model": MODEL, "input": [{"role": "user", "content": 5}]})


# -- what the rules would refuse -------------------------------------------------------------------


def test_any_model_parses_and_no_key_is_needed():
    body = json.dumps({"model": "somebody-elses-9", "input": "Hi"}).encode()
    found = SERVICE.parse(HttpRequest("POST", "http://127.0.0.1/v1/responses", {}, body))

    assert found.request.model == "somebody-elses-9"


def test_ranges_are_not_checked():
    found = parsed(asking(max_output_tokens=1, temperature=9.5, reasoning={"effort": "none"}))

    assert (found.request.max_tokens, found.request.temperature) == (1, 9.5)
    assert found.unknown == ()


def test_thinking_needs_neither_a_seal_of_ours_nor_a_follower_with_an_id():
    found = parts(
        asking(
            {"type": "reasoning", "summary": [], "encrypted_content": "envelope"},
            {"role": "assistant", "content": "Hello", "phase": "final_answer"},
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "another"},
        )
    )

    assert [type(part) for part in found] == [Text, Thinking, Text, Thinking]
    assert found[1].signature.value["encrypted_content"] == "envelope"
    assert found[3].signature.value == {"id": "rs_1", "encrypted_content": "another"}


def test_results_need_no_call_and_calls_no_result():
    call = {"type": "function_call", "call_id": "c" * 99, "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "other", "output": "done"}
    found = parts(asking(call, result))

    assert found[1] == ToolCall("c" * 99, "f", {})
    assert found[2] == ToolResult("other", (Text("done"),))


def test_what_the_service_would_have_to_keep_is_kept_in_the_request():
    reference = {"type": "item_reference", "id": "msg_1"}
    found = parsed({"model": MODEL, "input": [reference], "previous_response_id": "resp_1"})

    assert found.request.extras == {"previous_response_id": "resp_1"}
    assert found.request.messages[0].parts[0].raw == reference
    assert parsed({"model": MODEL, "previous_response_id": "resp_1"}).request.messages == ()


def test_a_tool_that_is_chosen_need_not_be_in_the_list():
    found = parsed(asking(GROUPED, tool_choice={"type": "function", "name": "wait"}))

    assert found.request.tool_choice == ToolChoice("tool", "wait")
    assert parsed(asking(tool_choice="required")).request.tool_choice == ToolChoice("required")


# -- tools in groups -------------------------------------------------------------------------------


def test_tools_of_an_item_and_of_its_groups_are_callable():
    developer = {"role": "developer", "content": "Be brief."}
    found = parsed(
        {"model": MODEL, "input": [GROUPED, developer, {"role": "user", "content": "Hi"}]}
    )

    assert found.request.tools == (
        Tool("exec", "Run it.", {"type": "string"}, raw=EXEC, dialect=NAME, kind="text"),
        Tool("wait", "", {"type": "object"}, strict=False),
    )
    assert found.request.system == (Text("Be brief."),)
    assert found.request.messages == (Message("user", (Text("Hi"),)),)
    assert found.context.namespaces == {"exec": "functions", "wait": "functions"}


def test_of_two_tools_with_one_name_the_first_is_offered():
    found = parsed(asking(GROUPED, tools=[WAIT]))

    assert [tool.name for tool in found.request.tools] == ["wait", "exec"]
    assert found.unknown == ("input[1].tools[0].tools[1]",)


# -- the wish --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reasoning", "intent", "show"),
    [
        (None, UNSET, None),
        ({"effort": "none"}, Intent("off"), None),
        ({"effort": "high", "summary": "auto"}, Intent("level", "high"), True),
        ({"effort": "ultra"}, Intent("level", "ultra"), None),
        ({"generate_summary": "concise"}, UNSET, True),
    ],
)
def test_the_wish_is_read(reasoning, intent, show):
    found = parsed(asking(reasoning=reasoning))

    assert (found.intent, found.show) == (intent, show)


def test_an_effort_set_in_the_input_is_the_wish():
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    found = parsed(asking(update, reasoning={"effort": "high"}))

    assert found.intent == Intent("level", "low")


# -- requests of real agents -----------------------------------------------------------------------


def recorded():
    """Return the requests to this wire, kept beside the recordings; none where they are not."""
    return [
        pytest.param(each["body"], id=each["id"])
        for each in load_agent_requests()
        if each["method"] == "POST" and SERVICE.matches_path(each["path"].partition("?")[0])
    ]


@pytest.mark.parametrize("body", recorded())
def test_a_request_of_a_real_agent_is_read_with_its_tools_and_results(body):
    raw = json.loads(body) if isinstance(body, str) else body
    found = parsed(raw).request
    callable_ = {tool.name for tool in found.tools if isinstance(tool.parameters, dict)}
    results = [
        part.call_id
        for message in found.messages
        for part in message.parts
        if isinstance(part, ToolResult)
    ]

    assert {
        tool["name"] for tool in raw.get("tools", ()) if tool["type"] == "function"
    } <= callable_
    assert results == [
        item["call_id"]
        for item in raw["input"]
        if str(item.get("type")).endswith("tool_call_output")
        or item.get("type") == "function_call_output"
    ]


# -- a gateway answers -----------------------------------------------------------------------------


def answering(body, seal, *, shown=True):
    found = parsed(body)
    return ReplyContext(
        request=found.request, context=found.context, sign=seal, seed=b"seed", shown=shown
    )


def envelope(part, shown, before, /):
    return f"{part.text}|{shown}|{len(before)}" if isinstance(part, Thinking) else None


SEALED = {"include": ["reasoning.encrypted_content"]}
ANSWER = Message("assistant", (Thinking("Hm."), ToolCall("call_1", "wait", {"a": 1})))


def test_an_answer_has_the_gateways_seals_and_the_tools_group():
    there = answering(asking(GROUPED, **SEALED), envelope, shown=False)
    output = json.loads(SERVICE.reply(there, Reply(ANSWER, "tool_calls")).body)["output"]

    assert output[0]["encrypted_content"] == "Hm.||0"
    assert output[0]["summary"] == []
    assert (output[1]["name"], output[1]["namespace"]) == ("wait", "functions")


def test_a_slot_that_was_not_asked_for_or_is_left_empty_is_not_written():
    unasked = SERVICE.reply(answering(asking(), envelope), Reply(ANSWER, "tool_calls"))
    empty = SERVICE.reply(answering(asking(**SEALED), lambda *_: None), Reply(ANSWER, "tool_calls"))

    assert b"encrypted_content" not in unasked.body.partition(b'"output":')[2]
    assert b"encrypted_content" not in empty.body.partition(b'"output":')[2]


def test_ids_come_from_the_seed():
    one = answering(asking(**SEALED), envelope)
    other = answering(asking(user="another"), envelope)
    ids = [
        [
            each["id"]
            for each in json.loads(SERVICE.reply(there, Reply(ANSWER, "stop")).body)["output"]
        ]
        for there in (one, other)
    ]

    assert ids[0] == ids[1]


def test_a_stream_has_the_gateways_seal_at_the_end_of_thinking_alone():
    stream = SERVICE.stream(answering(asking(**SEALED), envelope))
    events = [
        Started(),
        PartStart(0, "thinking"),
        ThinkingDelta(0, "Hm."),
        PartEnd(0, Thinking("Hm.")),
        Finished("stop"),
    ]
    said = b"".join(stream.feed(event) for event in events).decode()
    frames = [json.loads(line[6:]) for line in said.splitlines() if line.startswith("data: ")]
    items = {frame["type"]: frame["item"] for frame in frames if "item" in frame}

    assert "encrypted_content" not in items["response.output_item.added"]
    assert items["response.output_item.done"]["encrypted_content"] == "Hm.|Hm.|0"
