"""What single models of Bedrock do not take is changed, reported, and then accepted.

The models are the rows of the service's own table, not only those that the catalog lists.
"""

import json

import pytest

import pondero
from pondero.canon import Blob, Image, Message, Text, Tool, ToolCall, ToolResult
from pondero.dialects import Rejected
from pondero.dialects.bedrock.service.models import _families, family
from pondero.emulator import Emulator
from pondero.emulator.routes import find_route
from pondero.errors import Unsupported
from pondero.exchange import Prepared

from .adversary import PNG

CLIENT = pondero.Client(transport=Emulator())
PICTURE = Image("image/png", PNG)
LOOK = Tool("look", "Looks.", {"type": "object", "properties": {}})
LOOP = [
    Message("user", (Text("What is there?"), PICTURE)),
    Message("assistant", (Text("I look."), ToolCall("call_1", "look", {"at": "sky"}))),
    Message("user", (ToolResult("call_1", (Text("stars"), PICTURE)), Text("So?"))),
]
NAMES = sorted(name.replace("*", "x-v1:0") for name in _families())


def prepare(model: str) -> Prepared:
    ready = CLIENT.prepare(f"bedrock:{model}", LOOP, tools=[LOOK], tool_choice="required")
    to = find_route(ready.request.url)
    assert to is not None
    try:
        to.wire.service().accept(ready.request, to.provider)
    except Rejected as no:
        pytest.fail(f"{model}: {no.rule}: {no}")
    return ready


@pytest.mark.parametrize("model", NAMES)
def test_pictures_tools_and_choices_are_sent_where_they_are_taken(model):
    row = family(model)
    assert row is not None
    ready = prepare(model)
    body = json.loads(ready.request.body)
    blocks = [block for message in body["messages"] for block in message["content"]]
    codes = {note.code for note in ready.plan.adjustments}
    assert any("image" in block for block in blocks) == row.images
    assert row.images or "medium_unseen" in codes
    assert any("toolUse" in block for block in blocks) == row.tools
    assert ("toolConfig" in body) == row.tools
    assert ({"calls_retold", "tool_left_out"} <= codes) != row.tools


def test_calls_are_told_in_the_order_of_the_conversation():
    body = json.loads(prepare("deepseek.r1-v1:0").request.body)
    said = [
        (message["role"], [block.get("text") for block in message["content"]])
        for message in body["messages"]
    ]
    unseen = f"[image/png, {len(PNG)} bytes, which this model cannot be shown]"
    assert said == [
        ("user", ["What is there?", unseen]),
        ("assistant", ["I look."]),
        (
            "user",
            [
                '[The answer above called look with {"at":"sky"}]',
                "[The result:]",
                "stars",
                unseen,
                "So?",
            ],
        ),
    ]


def test_a_call_without_words_leaves_no_empty_answer():
    call = Message("assistant", (ToolCall("call_1", "look", {}),))
    ready = CLIENT.prepare("bedrock:deepseek.r1-v1:0", [LOOP[0], call, LOOP[2]])
    roles = [message["role"] for message in json.loads(ready.request.body)["messages"]]
    assert roles == ["user", "user"]


def test_a_strict_policy_raises_instead():
    with pytest.raises(Unsupported, match="tool"):
        CLIENT.prepare("bedrock:deepseek.r1-v1:0", LOOP, policy={"unsupported": "strict"})


def test_documents_are_still_sent_to_models_without_eyes():
    paper = Message("user", (Blob("text/csv", b"a,b", name="a"), Text("Read.")))
    body = json.loads(CLIENT.prepare("bedrock:deepseek.r1-v1:0", [paper]).request.body)
    assert "document" in body["messages"][0]["content"][0]
