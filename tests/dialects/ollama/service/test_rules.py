"""Requests as the server reads and refuses them."""

import base64

import pytest

from pondero.canon import (
    HttpRequest,
    Image,
    Message,
    OutputFormat,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.dialects import Rejected
from pondero.dialects.ollama.service import SERVICE

from ..making import ALWAYS, NAME, PLAIN, PNG, THINKER, asked, refused

PICTURE = base64.b64encode(PNG).decode()


def wish(accepted):
    assert accepted.shown
    return accepted.intent.kind, accepted.intent.level, accepted.thinks


@pytest.mark.parametrize(
    ("model", "think", "meant"),
    [
        (THINKER, None, ("unset", None, True)),
        (THINKER, True, ("on", None, True)),
        (THINKER, False, ("off", None, False)),
        (THINKER, "high", ("level", "high", True)),
        (ALWAYS, False, ("off", None, True)),
        (ALWAYS, "low", ("level", "low", True)),
        (PLAIN, None, ("unset", None, False)),
        (PLAIN, False, ("off", None, False)),
        ("me/qwen3:4b", None, ("unset", None, True)),
        ("qwen3:4b-instruct", None, ("unset", None, False)),
        ("qwen3:4b-thinking", False, ("off", None, True)),
        ("qwen3-coder:30b", None, ("unset", None, False)),
        ("something-new", None, ("unset", None, True)),
    ],
)
def test_what_a_model_makes_of_the_wish(model, think, meant):
    assert wish(asked(model=model, think=think)) == meant


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"model": PLAIN, "think": True}, 400, '"llama3.2" does not support thinking'),
        ({"model": PLAIN, "think": "low"}, 400, '"llama3.2" does not support thinking'),
        (
            {"think": "xhigh"},
            400,
            'invalid think value: "xhigh" (must be "high", "medium", "low", "max", true, or false)',
        ),
        ({"think": 1}, 400, "think must be a boolean or string"),
        ({"model": ""}, 400, "model is required"),
        ({"model": "bad_model"}, 404, "model 'bad_model' not found"),
        ({"model": "bad_model:latest"}, 404, "model 'bad_model:latest' not found"),
        (
            {"stream": "yes"},
            400,
            "json: cannot unmarshal string into Go struct field ChatRequest.stream of type bool",
        ),
        ({"format": "yaml"}, 400, "invalid format"),
        ({"options": {"num_predict": "many"}}, 400, 'option "num_predict" must be of type integer'),
        ({"options": {"top_p": True}}, 400, 'option "top_p" must be of type float32'),
        ({"options": {"stop": "x"}}, 400, 'option "stop" must be of type array'),
        ({"messages": [{"role": "user", "images": ["%"]}]}, 400, "illegal base64 data"),
        ({"messages": [{"role": "user", "images": ["R0lGODlh"]}]}, 500, "image: unknown format"),
    ],
)
def test_what_is_refused_and_how(more, status, words):
    assert refused(**more)[0] == status
    assert words in refused(**more)[1]


def test_a_field_nobody_knows_is_passed_over_and_kept():
    accepted = asked(keep_alive="5m", unheard=1, options={"seed": 7, "think": True})
    assert accepted.request.extras == {
        "keep_alive": "5m",
        "unheard": 1,
        "options": {"seed": 7, "think": True},
    }


def test_left_out_it_streams():
    assert asked().request.stream
    assert not asked(stream=False).request.stream


def test_a_cap_below_one_is_none():
    accepted = asked(options={"num_predict": -1})
    assert accepted.request.max_tokens is None
    assert accepted.request.extras == {"options": {"num_predict": -1}}


def test_tools_and_shapes_are_read():
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    accepted = asked(tools=[{"type": "function", "function": function}], format="json")
    assert accepted.request.tools == (Tool("f", "d", {"type": "object"}),)
    assert accepted.request.output == OutputFormat()


def test_a_conversation_is_read_with_its_results_where_their_calls_are():
    calls = [
        {"function": {"name": "f", "arguments": {"n": 1}}},
        {"function": {"name": "g", "arguments": {}}},
        {"id": "call_1", "function": {"name": "f", "arguments": {"n": 2}}},
    ]
    accepted = asked(
        model="gemma4",
        messages=[
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "look", "images": [PICTURE]},
            {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": calls},
            {"role": "tool", "content": "two", "tool_call_id": "call_1"},
            {"role": "tool", "content": "gee", "tool_name": "g"},
            {"role": "tool", "content": "one"},
            {"role": "user", "content": "well?"},
        ],
    )
    question, turn, results = accepted.request.messages
    assert accepted.request.system == (Text("be brief"),)
    assert question.parts == (Text("look"), Image("image/png", PNG))
    thought, first, second, third = turn.parts
    assert thought == Thinking("hm")
    assert (first.minted, second.minted, third) == (True, True, ToolCall("call_1", "f", {"n": 2}))
    assert results.parts == (
        ToolResult("call_1", (Text("two"),)),
        ToolResult(second.id, (Text("gee"),)),
        ToolResult(first.id, (Text("one"),)),
        Text("well?"),
    )


def test_a_result_nobody_called_for_is_taken_all_the_same():
    messages = [{"role": "tool", "content": "x", "tool_name": "f"}]
    (message,) = asked(messages=messages).request.messages
    assert message == Message("user", (ToolResult("f", (Text("x"),), name="f"),))


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Basic x"}, {"authorization": "Bearer "}]
)
def test_only_the_cloud_asks_for_a_key(headers):
    assert asked(headers=headers).request.model == THINKER
    assert refused(headers=headers, service="ollama-cloud") == (401, "unauthorized")


@pytest.mark.parametrize("body", [b"", b"{", b"[]"])
def test_a_body_that_is_none_is_refused(body):
    with pytest.raises(Rejected) as no:
        SERVICE.accept(HttpRequest("POST", "http://x/api/chat", {}, body), NAME)
    assert no.value.response.status == 400


@pytest.mark.parametrize(("method", "status"), [("GET", 405), ("POST", 404)])
def test_another_address_or_verb_is_not_served(method, status):
    url = "http://x/api/chat" if method == "GET" else "http://x/api/show"
    with pytest.raises(Rejected) as no:
        SERVICE.accept(HttpRequest(method, url, {}), NAME)
    assert no.value.response.status == status
