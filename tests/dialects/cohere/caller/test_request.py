"""Requests as our own side writes them."""

import pytest
from tests.dialects.cohere.making import NAME, encoded, said, sent, user
from tests.repairs import repair

from pondero.canon import (
    Blob,
    Image,
    Message,
    OutputFormat,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.errors import BadParameter, BadRequest

PLAN = Signature(NAME, {"tool_plan": True})
TOOLS = (Tool("f", "d", {"type": "object"}), Tool("g"))


def test_parameters_have_the_names_of_this_wire_and_the_plan_has_the_last_word():
    body = sent(
        max_tokens=9,
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        stop=("x",),
        extras={"seed": 1},
        fields={"thinking": {"type": "enabled", "token_budget": 512}, "max_tokens": 8},
    )
    assert (body["max_tokens"], body["p"], body["k"]) == (8, 0.9, 3)
    assert (body["temperature"], body["stop_sequences"], body["seed"]) == (0.5, ["x"], 1)
    assert body["thinking"] == {"type": "enabled", "token_budget": 512}


def test_nothing_is_said_of_thinking_where_the_plan_says_nothing():
    assert sent().keys() == {"model", "messages", "stream"}
    assert encoded().url == "https://api.cohere.com/v2/chat"


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        (None, None),
        (ToolChoice(), None),
        (ToolChoice("none"), "NONE"),
        (ToolChoice("required"), "REQUIRED"),
    ],
)
def test_a_choice_of_tools_is_one_of_two_words(choice, word):
    assert sent(tools=TOOLS, tool_choice=choice).get("tool_choice") == word


def test_a_tool_forced_by_its_name_is_the_only_one_on_offer():
    body = sent(tools=TOOLS, tool_choice=ToolChoice("tool", "g"))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["g"]
    assert body["tool_choice"] == "REQUIRED"


def test_strictness_is_said_of_all_tools_at_once():
    strict = tuple(Tool(name, strict=True) for name in "ab")
    assert sent(tools=strict)["strict_tools"] is True
    assert "strict_tools" not in sent(tools=(*strict, Tool("c")))


def test_the_shape_of_an_answer_is_written():
    shape = {"type": "json_object", "json_schema": {"type": "object"}}
    assert sent(output=OutputFormat({"type": "object"}))["response_format"] == shape
    assert sent(output=OutputFormat())["response_format"] == {"type": "json_object"}


def test_thinking_goes_back_as_a_part_in_its_place_and_a_sealed_one_stays_here():
    foreign = Thinking("other", Signature("another", "s"))
    (message,) = sent(said(Thinking("a"), foreign, Text("b"), Thinking("c")))["messages"]
    assert message["content"] == [
        {"type": "thinking", "thinking": "a"},
        {"type": "text", "text": "b"},
        {"type": "thinking", "thinking": "c"},
    ]


def test_a_plan_goes_back_as_a_plan_and_without_its_call_as_words():
    call = ToolCall("f_1", "f", {"a": 1})
    (turn,) = sent(said(Text("I look", PLAN), call))["messages"]
    function = {"name": "f", "arguments": '{"a":1}'}
    assert turn == {
        "role": "assistant",
        "tool_plan": "I look",
        "tool_calls": [{"id": "f_1", "type": "function", "function": function}],
    }
    (bare,) = sent(said(Text("I look", PLAN)))["messages"]
    assert bare["content"] == [{"type": "text", "text": "I look"}]
    (foreign,) = sent(said(Text("words", Signature("another", {"tool_plan": True})), call))[
        "messages"
    ]
    assert foreign["content"] == [{"type": "text", "text": "words"}]


def test_a_turn_that_says_nothing_is_left_out():
    assert sent(said(Text("")), user(Text("a")))["messages"] == [{"role": "user", "content": "a"}]


def test_results_are_messages_of_their_own_and_words_after_them_the_users():
    results = user(ToolResult("f_1", (Text("x"), Text("y"))), ToolResult("f_2", ()), Text("and?"))
    assert sent(results)["messages"] == [
        {
            "role": "tool",
            "tool_call_id": "f_1",
            "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
        },
        {"role": "tool", "tool_call_id": "f_2", "content": ""},
        {"role": "user", "content": "and?"},
    ]


def test_pictures_and_system_prompts_have_their_forms():
    shown = (Image("image/png", b"x"), Image(url="https://x/y.png", detail="low"))
    talk = (user(*shown), Message("system", (Text("amid"),)))
    system, user_, amid = sent(*talk, system=(Text("a"), Text("b")))["messages"]
    assert [part["text"] for part in system["content"]] == ["a", "b"]
    assert [part["image_url"] for part in user_["content"]] == [
        {"url": "data:image/png;base64,eA=="},
        {"url": "https://x/y.png", "detail": "low"},
    ]
    assert amid == {"role": "system", "content": "amid"}


def test_what_is_unknown_goes_back_to_its_maker_only():
    (message,) = sent(
        said(UnknownPart(NAME, {"type": "map"}), UnknownPart("another", {"type": "x"}))
    )["messages"]
    assert message["content"] == [{"type": "map"}]


def test_what_cannot_be_shown_here_is_an_error_and_no_silence():
    with pytest.raises(BadParameter, match="application/pdf"):
        sent(user(Blob("application/pdf", b"%PDF")))


def test_no_refusal_names_a_cure():
    assert repair(NAME, encoded(), BadRequest("invalid request")) is None
