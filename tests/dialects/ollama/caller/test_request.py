"""Requests as our own side writes them."""

import base64

import pytest

from pondero.canon import (
    Blob,
    Image,
    OutputFormat,
    Signature,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from pondero.dialects.ollama.caller import CALLER
from pondero.errors import BadParameter

from ..making import NAME, PNG, encoded, said, sent, user

WEATHER = Tool("weather", "Tells it.", {"type": "object", "properties": {}})


def test_whether_it_streams_is_always_said_because_left_out_it_means_yes():
    assert sent(stream=False)["stream"] is False
    assert sent(stream=True)["stream"] is True


@pytest.mark.parametrize("url", ["http://box:11434", "http://box:11434/"])
def test_the_address_has_the_path_of_this_wire(url):
    assert encoded(target=Target(NAME, url)).url == "http://box:11434/api/chat"


def test_caps_and_sampling_stand_under_options_and_the_plan_has_the_last_word():
    body = sent(
        max_tokens=9,
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        stop=("x",),
        extras={"keep_alive": "5m", "options": {"seed": 1}},
        fields={"think": "low", "options": {"num_predict": 5}},
    )
    options = {"num_predict": 5, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "stop": ["x"]}
    assert body["options"] == options | {"seed": 1}
    assert (body["think"], body["keep_alive"]) == ("low", "5m")


def test_nothing_is_said_of_thinking_where_the_plan_says_nothing():
    assert sent().keys() == {"model", "messages", "stream"}


def test_the_shape_of_an_answer_is_its_schema_or_the_word_json():
    assert sent(output=OutputFormat({"type": "object"}))["format"] == {"type": "object"}
    assert sent(output=OutputFormat())["format"] == "json"


def test_tools_are_functions_and_none_are_offered_where_none_may_be_called():
    tools = sent(tools=(WEATHER,))["tools"]
    function = {"name": "weather", "description": "Tells it.", "parameters": WEATHER.parameters}
    assert tools == [{"type": "function", "function": function}]
    assert "tools" not in sent(tools=(WEATHER,), tool_choice=ToolChoice("none"))


def test_a_forced_call_has_no_words_here():
    assert "tool_choice" in CALLER.unsupported_parameters


def test_the_system_prompt_is_one_message_and_comes_first():
    body = sent(user(Text("a")), system=(Text("x"), Text("y")))
    assert [(each["role"], each["content"]) for each in body["messages"]] == [
        *(("system", "x\n\ny"), ("user", "a")),
    ]


def test_thinking_goes_back_in_its_own_field_and_a_sealed_one_stays_here():
    foreign = Thinking("other", Signature("another", "s"))
    (message,) = sent(said(Thinking("a"), foreign, Text("b"), Thinking("c")))["messages"]
    assert message == {"role": "assistant", "content": "b", "thinking": "ac"}


def test_a_turn_that_says_nothing_is_left_out():
    assert sent(said(Thinking("", Signature("another", "s"))), user(Text("a")))["messages"] == [
        {"role": "user", "content": "a"}
    ]


def test_an_id_that_a_server_gave_goes_back_and_one_of_ours_does_not():
    calls = said(ToolCall("call_1", "f", {"a": 1}), ToolCall("ours", "g", {}, minted=True))
    answers = user(ToolResult("call_1", (Text("x"),)), ToolResult("ours", (Text("y"),)))
    turn, first, second = sent(calls, answers)["messages"]
    assert turn["tool_calls"] == [
        {"id": "call_1", "function": {"name": "f", "arguments": {"a": 1}}},
        {"function": {"name": "g", "arguments": {}}},
    ]
    assert first == {"role": "tool", "content": "x", "tool_name": "f", "tool_call_id": "call_1"}
    assert second == {"role": "tool", "content": "y", "tool_name": "g"}


@pytest.mark.parametrize(
    ("arguments", "wire"), [(None, {}), ("broken", {"arguments": "broken"}), ({"a": 1}, {"a": 1})]
)
def test_arguments_are_always_an_object(arguments, wire):
    (message,) = sent(said(ToolCall("c", "f", arguments)))["messages"]
    assert message["tool_calls"][0]["function"]["arguments"] == wire


def test_words_after_results_are_the_users():
    body = sent(said(ToolCall("c", "f", {})), user(ToolResult("c", (Text("x"),)), Text("and?")))
    assert [each["role"] for each in body["messages"]] == ["assistant", "tool", "user"]


def test_pictures_stand_beside_the_words_and_words_they_parted_begin_a_new_line():
    shown = Image("image/png", PNG)
    linked = Image(url=f"data:image/png;base64,{base64.b64encode(PNG).decode()}")
    (message,) = sent(user(Text("a"), Text("b"), shown, Text("c"), linked))["messages"]
    assert message["content"] == "ab\nc"
    assert message["images"] == [base64.b64encode(PNG).decode()] * 2


@pytest.mark.parametrize("part", [Image(url="https://x/y.png"), Blob("application/pdf", b"%PDF")])
def test_what_cannot_be_shown_here_is_an_error_and_no_silence(part):
    with pytest.raises(BadParameter, match="Ollama takes no"):
        sent(user(part))
