"""A conversation in Anthropic's form is read as it is, with its signatures."""

import pytest

import pondero
from pondero.canon import Blob, Image, Text, Thinking, ToolCall, ToolResult
from pondero.client.prompts.messages import parse_prompt
from pondero.emulator import Emulator
from pondero.errors import BadParameter

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
LOOP = [
    {"role": "user", "content": "What is f(1)?"},
    {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "I ask f."}, USE]},
    {"role": "user", "content": [RESULT]},
]


def test_calls_results_and_thinking_are_read():
    asked, called, result = parse_prompt(LOOP)
    assert asked.text == "What is f(1)?"
    thought, said, call = called.parts
    assert (thought.text, thought.signature.value, said) == ("Hm.", "abc", Text("I ask f."))
    assert (call.id, call.name, call.arguments) == ("toolu_1", "f", {"a": 1})
    (only,) = result.parts
    assert isinstance(only, ToolResult)
    assert (only.call_id, only.content) == ("toolu_1", (Text("3"),))


def test_pictures_and_documents_are_read():
    page = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}
    blocks = [{"type": "image", "source": PIXEL}, page, {"type": "text", "text": "What is it?"}]
    (message,) = parse_prompt([{"role": "user", "content": blocks}])
    picture, file, text = message.parts
    assert isinstance(picture, Image)
    assert isinstance(file, Blob)
    assert (picture.data, file.url, text.text) == (
        b"\x89PNG\r\n\x1a\n",
        "https://example.com/a.pdf",
        "What is it?",
    )


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"role": "user", "content": [{"type": "tex", "text": "a"}]}, r"content\[0\].type"),
        ({"role": "user", "content": [{"type": "image"}]}, r"content\[0\].type"),
        ({"role": "user", "content": [object()]}, r"content\[0\] must be"),
        ({"role": "user", "parts": [{"text": "a"}]}, r"\.content must be"),
        ({"role": "user", "content": [{**RESULT, "content": [{"type": "?"}]}]}, r"content\[0\]"),
    ],
)
def test_what_no_dialect_knows_is_an_error_that_names_its_place(message, path):
    with pytest.raises(BadParameter, match=rf"messages\[0\].*{path}|messages\[0\]{path}"):
        parse_prompt([message])


def test_our_messages_beside_wrong_ones_do_not_hide_the_error():
    ours = pondero.Message("user", (Text("a"),))
    with pytest.raises(BadParameter, match=r"messages\[1\].content\[0\].type"):
        parse_prompt([ours, {"role": "user", "content": [RESULT]}])


@pytest.mark.parametrize("model", ["claude-opus-5/low", "gpt-5.5/low"])
def test_blocks_of_the_vendors_sdk_go_back_as_they_came(model):
    """A conversation that began in the SDK continues here, with the signature if it may."""
    anthropic = pytest.importorskip("anthropic")
    emulator = Emulator()
    sdk = anthropic.Anthropic(
        api_key="k", http_client=pondero.sdk.client("high", transport=emulator), max_retries=0
    )
    tool = {
        "name": "f",
        "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
    }
    history = [{"role": "user", "content": "Call f with a=1"}]
    first = sdk.messages.create(
        model="claude-opus-5",
        max_tokens=4000,
        messages=history,
        tools=[tool],
        tool_choice={"type": "auto"},
    )
    history += [{"role": "assistant", "content": first.content}]
    calls = [each for each in first.content if each.type == "tool_use"]
    history += [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": each.id, "content": "3"} for each in calls
            ]
            or "And now?",
        }
    ]
    read = parse_prompt(history)
    assert any(isinstance(part, Thinking) for part in read[1].parts)
    assert [part.id for part in read[1].parts if isinstance(part, ToolCall)] == [
        each.id for each in calls
    ]
    with pondero.Client(transport=emulator) as client:
        assert client.ask(model, history, tools=[tool]).finish == "stop"
    assert emulator.log.entries[-1].status == 200
