"""What a prompt may be: our parts and messages, and the dicts that chat programs have."""

from base64 import b64encode

import pytest

import pondero
from pondero.canon import Blob, Image, Message, Text, ToolCall, ToolResult
from pondero.client.prompts.messages import parse_prompt
from pondero.emulator import Emulator
from pondero.errors import BadParameter

PIXEL = b"\x89PNG\r\n\x1a\n"
CODED = b64encode(PIXEL).decode()
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "look", "arguments": '{"at": "it"}'},
}


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"type": "text", "text": "hi"}, Text("hi")),
        ({"type": "input_text", "text": "hi"}, Text("hi")),
        ({"type": "output_text", "text": "hi"}, Text("hi")),
        (
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
            Image(url="https://x.test/a.png", detail="low"),
        ),
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{CODED}"}}, Image("image/png", PIXEL)),
        ({"type": "input_image", "image_url": f"data:image/png;base64,{CODED}"}, Image("image/png", PIXEL)),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{CODED}"}},
            Blob("application/pdf", PIXEL, name="a.pdf"),
        ),
        ({"type": "input_audio", "input_audio": {"data": CODED, "format": "wav"}}, Blob("audio/wav", PIXEL)),
    ],
    ids=lambda given: given.get("type") if isinstance(given, dict) else "",
)  # fmt: skip
def test_a_part_may_be_a_dict(given, part):
    for prompt in (
        [given],
        {"role": "user", "content": [given]},
        [{"role": "user", "content": [given]}],
    ):
        assert parse_prompt(prompt) == (Message("user", (part,)),)  # fmt: skip


def test_words_parts_and_dicts_may_stand_together():
    given = ["look", {"type": "text", "text": "here"}, Text("now")]
    assert parse_prompt(given) == (Message("user", (Text("look"), Text("here"), Text("now"))),)


def test_a_conversation_with_tools_may_be_dicts():
    other = {**CALL, "id": "call_2"}
    given = [
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": "Look twice."},
        {"role": "assistant", "content": None, "tool_calls": [CALL, other]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a cat"},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "a dog"}]},
        {"role": "user", "content": "So?"},
    ]
    calls = tuple(ToolCall(id, "look", {"at": "it"}) for id in ("call_1", "call_2"))
    results = (
        ToolResult("call_1", (Text("a cat"),), name="look"),
        ToolResult("call_2", (Text("a dog"),), name="look"),
    )
    assert parse_prompt(given) == (
        Message("system", (Text("Be short."),)),
        Message("user", (Text("Look twice."),)),
        Message("assistant", calls),
        Message("user", results),
        Message("user", (Text("So?"),)),
    )


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5.1", "gemini-3-flash-preview", "groq:qwen/qwen3-32b"])  # fmt: skip
def test_such_a_conversation_is_taken_by_every_wire(model):
    given = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a cat"},
    ]
    tool = pondero.Tool(
        "look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}}
    )
    reply = pondero.Client(transport=Emulator()).ask(model, given, tools=[tool])
    assert reply.text


@pytest.mark.parametrize(
    "given",
    [
        {"role": "robot", "content": "hi"},
        {"role": "user"},
        {"role": "user", "content": 7},
        {"role": "user", "content": [{"type": "hologram"}]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"type": "text", "text": 7}]},
        {"role": "user", "content": [{"type": ["text"], "text": "hi"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,%%%"}]},
        {"role": "tool", "content": "hi"},
        {"role": "tool", "tool_call_id": "1", "content": None},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "content": None, "tool_calls": 7},
        {"role": "assistant", "content": "hi", "tool_calls": 7},
        {"role": "assistant", "content": None, "tool_calls": [7]},
        {"type": "hologram"},
    ],
)  # fmt: skip
def test_what_is_none_of_this_is_an_error_of_ours(given):
    with pytest.raises(BadParameter):
        parse_prompt([given])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"role": "robot", "content": "hi"}, "messages[1].role must be one of"),
        ({"role": "user"}, "messages[1].content must be text or a list of parts, and is missing"),
        ({"role": "user", "content": [{"type": "hologram"}]}, "messages[1].content[0].type must be"),
        ({"role": "user", "content": ["a", {"type": "text"}]}, "messages[1].content[1] is not a valid text: it lacks 'text'"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,%%"}]}, "messages[1].content[0] is not a valid image_url: "),
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}, "a file_id is known to one service only"),
        ({"role": "user", "content": "x", "tool_calls": [CALL]}, "messages[1].tool_calls must be only in an assistant's message"),
        ({"role": "tool", "content": "hi"}, "messages[1].tool_call_id must be the id of a call, and is missing"),
        ({"role": "tool", "tool_call_id": "1", "content": 3}, "messages[1].content must be text"),
        ({"role": "assistant", "tool_calls": [CALL, {"id": "1"}]}, "messages[1].tool_calls[1] must be a call"),
        ({"role": "assistant", "tool_calls": [{"id": 1, "function": {"name": "a", "arguments": ""}}]}, "messages[1].tool_calls[0].id must be text, and is int"),
        ({"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "a", "arguments": 1}}]}, "messages[1].tool_calls[0].function.arguments"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_its_path(given, said):
    with pytest.raises(BadParameter) as raised:
        parse_prompt([{"role": "user", "content": "first"}, given])
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "the prompt is None; pass text, parts or messages"),
        (7, "prompt must be a text, a part or a message, and is int"),
        (["hi", None], "prompt[1] must be a text, a part or a message, and is missing"),
    ],
)
def test_a_prompt_that_is_none_is_called_by_its_name(given, said):
    with pytest.raises(BadParameter) as raised:
        parse_prompt(given)
    assert str(raised.value) == said


def test_an_error_does_not_repeat_what_was_said():
    long = "the planted words " * 20
    with pytest.raises(BadParameter) as raised:
        parse_prompt([{"role": "user", "content": {"text": long}}])
    assert "planted" not in str(raised.value)


def test_a_file_may_have_an_address_and_arguments_may_be_an_object():
    file = {"type": "input_file", "file_url": "https://x.test/a.pdf"}
    call = {"id": "1", "function": {"name": "look", "arguments": {"at": "it"}}}
    said = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert parse_prompt([{"role": "user", "content": [file]}, said]) == (
        Message("user", (Blob("application/pdf", url="https://x.test/a.pdf", name="a.pdf"),)),
        Message("assistant", (Text("No."),)),
    )
    (message,) = parse_prompt({"role": "assistant", "tool_calls": [call]})
    assert message.tool_calls == (ToolCall("1", "look", {"at": "it"}),)


def test_a_message_of_the_openai_sdk_may_stand_in_the_list_as_it_came():
    """``messages.append(response.choices[0].message)`` is how programs go on there."""
    from openai.types.chat import ChatCompletionMessage

    raw = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    calling = ChatCompletionMessage.model_validate(raw)
    result = {"role": "tool", "tool_call_id": CALL["id"], "content": "a cat"}
    question = {"role": "user", "content": "Look."}
    assert parse_prompt([question, calling, result]) == parse_prompt([question, raw, result])
    assert parse_prompt([question, calling.model_dump(), result])[1].tool_calls


def test_an_answer_that_was_a_refusal_is_its_words():
    from openai.types.chat import ChatCompletionMessage

    refused = ChatCompletionMessage(role="assistant", refusal="I cannot.")
    question = {"role": "user", "content": "Why?"}
    for given in (refused, refused.model_dump()):
        assert parse_prompt([question, given, question])[1].text == "I cannot."
