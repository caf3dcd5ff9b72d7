"""Bodies of ours held against the service's own description of itself, as botocore ships it."""

import json
from base64 import b64decode

import pytest
from botocore.session import Session
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.strategies import requests
from tests.laws.wire import wire

from pondero.canon import Message, Signature, Text, Thinking, Tool, ToolCall, ToolResult

from ..making import ask, encoded

pytestmark = pytest.mark.judge

MODEL = Session().get_service_model("bedrock-runtime")
SHAPES = {name: MODEL.operation_model(name).input_shape for name in ("Converse", "ConverseStream")}


def wrong(http):
    """Return what the service's description has against a request."""
    verb = "ConverseStream" if http.url.endswith("-stream") else "Converse"
    given = {"modelId": "m", **_with_bytes(json.loads(http.body))}
    return ParamValidator().validate(given, SHAPES[verb]).generate_report()


def _with_bytes(value):
    """Return the JSON as boto3 takes it: what is base64 on the wire is bytes."""
    if isinstance(value, list):
        return [_with_bytes(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: b64decode(inner, validate=True)
        if key in ("bytes", "redactedContent") and isinstance(inner, str)
        else _with_bytes(inner)
        for key, inner in value.items()
    }


@given(st.data())
def test_every_first_question_is_as_described(data):
    assert wrong(encoded(data.draw(requests(wire("bedrock"))))) == ""


def test_a_tool_loop_with_thinking_is_as_described():
    thoughts = (
        Thinking("hm", Signature("bedrock", "EpMC")),
        Thinking("", Signature("bedrock", "cmVk"), redacted=True),
    )
    thread = (
        Message("user", (Text("hi"),)),
        Message("assistant", (*thoughts, ToolCall("t1", "look", {"a": 1}))),
        Message("user", (ToolResult("t1", (Text("x"),), error=True),)),
    )
    http = encoded(ask(messages=thread, tools=(Tool("look"),)))
    assert wrong(http) == ""


def test_the_judge_notices_what_is_wrong():
    http = encoded(ask(extras={"inferenceConfig": {"max_tokens": 1}}))
    assert 'Unknown parameter in inferenceConfig: "max_tokens"' in wrong(http)
