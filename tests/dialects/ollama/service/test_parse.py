"""The lenient road: what a request means, whatever the rules would say about it."""

import base64
import json

import pytest
from tests.laws.strategies import told

from pondero.canon import (
    HttpRequest,
    Image,
    Message,
    Reply,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)
from pondero.dialects import Rejected
from pondero.dialects.dialect import ReplyContext
from pondero.dialects.ollama.service import SERVICE
from pondero.thinking import Intent

USUAL = {"model": "of-tomorrow", "messages": [{"role": "user", "content": "Hello"}]}
ANSWER = Reply(
    Message("assistant", (Thinking("hm"), Text("yes"))), "stop", Usage(input=1, output=2, total=3)
)


def parsed(body=None, **more):
    data = json.dumps(USUAL | more if body is None else body).encode()
    return SERVICE.parse(HttpRequest("POST", "http://x/api/chat", {}, data))


def test_no_key_and_no_pulled_model_are_needed():
    found = parsed(model="missing")
    assert found.request.model == "missing"
    assert found.request.messages == (Message("user", (Text("Hello"),)),)
    assert (found.intent, found.show, found.unknown) == (Intent("unset"), None, ())


def test_fields_nobody_knows_are_listed_and_the_rest_is_read():
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}, "defer": True}
    call = {"id": "c", "function": {"name": "f", "arguments": {"a": 1}}, "type": "function"}
    found = parsed(
        messages=[
            {"role": "assistant", "tool_calls": [call], "mood": 1},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
        ],
        tools=[{"type": "function", "function": function, "eager": True}],
        future=1,
    )
    assert set(found.unknown) == {
        "future",
        "messages.0.mood",
        "messages.0.tool_calls.0.type",
        "tools.0.eager",
        "tools.0.function.defer",
    }
    assert found.request.tools == (Tool("f", "d", {"type": "object"}),)
    assert found.request.messages == (
        Message("assistant", (ToolCall("c", "f", {"a": 1}),)),
        Message("user", (ToolResult("c", (Text("ok"),)),)),
    )


def test_tools_that_are_no_functions_are_kept():
    found = parsed(tools=[{"type": "web_search"}, {"type": "function", "function": {"name": "f"}}])
    search = Tool("web_search", raw={"type": "web_search"}, dialect="ollama", kind="other")
    assert found.request.tools == (search, Tool("f"))


@pytest.mark.parametrize(
    ("think", "intent", "unknown"),
    [
        (None, Intent("unset"), ()),
        (True, Intent("on"), ()),
        (False, Intent("off"), ()),
        ("high", Intent("level", "high"), ()),
        ("xhigh", Intent("level", "xhigh"), ()),
        (3, Intent("unset"), ("think",)),
    ],
)
def test_the_wish_is_read_whatever_the_model_can(think, intent, unknown):
    found = parsed(model="llama3.2", think=think)
    assert (found.intent, found.unknown) == (intent, unknown)


def test_values_the_server_refuses_are_passed_over_and_listed():
    found = parsed(options={"temperature": "hot", "stop": "x", "top_k": 3}, format=7)
    assert found.unknown == ("options.temperature", "options.stop", "format")
    assert (found.request.temperature, found.request.stop, found.request.top_k) == (None, (), 3)
    assert found.request.extras == {"options": {"temperature": "hot", "stop": "x"}}


def test_a_picture_of_any_kind_is_taken():
    data = base64.b64encode(b"BM..").decode()
    found = parsed(messages=[{"role": "user", "images": [data]}])
    assert found.request.messages[0].parts == (Image(None, b"BM.."),)


@pytest.mark.parametrize("body", [[], {"messages": 3}, {"messages": [{"role": 3}]}])
def test_what_is_no_conversation_is_refused(body):
    with pytest.raises(Rejected):
        parsed(body)


@pytest.mark.parametrize("shown", [True, False])
def test_a_gateway_says_whether_thinking_is_shown(shown):
    found = parsed()
    answering = ReplyContext(request=found.request, context=found.context, seed=b"7", shown=shown)
    body = json.loads(SERVICE.reply(answering, ANSWER).body)
    assert ("thinking" in body["message"]) is shown
    stream = SERVICE.stream(answering)
    data = b"".join(stream.feed(event) for event in told(ANSWER)) + stream.eof()
    assert (b'"thinking"' in data) is shown
