"""Those who speak like OpenAI, and where they do not: reports about them, each as a test."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hazards.talking import calling, chat_with, last_body, refusals

import pondero
from pondero.canon import Assembler, ResponseHead, Text, Thinking
from pondero.client import load_catalog
from pondero.dialects import AnswerContext, get_dialect
from pondero.emulator import Emulator, Fault
from pondero.errors import BadRequest, ServerFailed
from pondero.exchange import Retry

MISTRAL = "mistral:mistral-medium-latest"


def decoded(*deltas):
    """Return the message of a stream of these contents, read as the client reads this service."""
    quirks = load_catalog().catalog.providers["mistral"].quirks
    reader = (
        get_dialect("openai_chat")
        .caller()
        .stream(ResponseHead(200), AnswerContext("m", "r", quirks))
    )
    chunks = [{"choices": [{"index": 0, "delta": {"content": each}}]} for each in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]})
    assembler = Assembler()
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    for event in reader.feed(data.encode()) + reader.eof():
        assembler.feed(event)
    return assembler.message()


words = st.text("abc <>\n", max_size=4)
strings = words.map(lambda text: (text, "", text))
texts = words.map(lambda text: ([{"type": "text", "text": text}], "", text))
thoughts = st.lists(words, max_size=3).map(
    lambda pieces: (
        [{"type": "thinking", "thinking": [{"type": "text", "text": each} for each in pieces]}],
        "".join(pieces),
        "",
    )
)
mixed = st.tuples(thoughts, texts).map(lambda two: (two[0][0] + two[1][0], two[0][1], two[1][2]))


@given(st.lists(strings | texts | thoughts | mixed, max_size=8))
def test_hazard_20_a_string_or_a_list_in_any_delta_loses_and_doubles_nothing(pieces):
    message = decoded(*(piece for piece, _, _ in pieces))
    thought = "".join(part.text for part in message.parts if isinstance(part, Thinking))
    said = "".join(part.text for part in message.parts if isinstance(part, Text))
    assert thought == "".join(thinking for _, thinking, _ in pieces)
    assert said == "".join(text for _, _, text in pieces)


def test_hazard_20_thinking_goes_back_as_chunks_before_the_words():
    emulator = Emulator(script=calling(2, "let me look"))
    chat_with(emulator, f"{MISTRAL}/high").send("Where is it fine?")
    turns = [m for m in last_body(emulator)["messages"] if m["role"] == "assistant"]
    assert [turn["content"][0]["type"] for turn in turns] == ["thinking", "thinking"]
    assert turns[0]["content"][0]["thinking"] == [{"type": "text", "text": "let me look (0)"}]
    assert refusals(emulator) == []


ALWAYS_ON = "dashscope:qwen3-235b-a22b-thinking-2507"


def test_hazard_32_a_model_that_cannot_be_off_is_named_before_anything_is_sent():
    plan = pondero.plan(ALWAYS_ON, "off")
    assert "cannot_disable" in [note.code for note in plan.adjustments]
    client = pondero.Client(transport=Emulator(), retry=Retry(attempts=1))
    assert client.ask(ALWAYS_ON, "What is 2 + 2?", "off").text
    with pytest.raises(BadRequest, match="enable_thinking must be set to true"):
        client.ask(ALWAYS_ON, "What is 2 + 2?", {"enable_thinking": False})


@pytest.mark.parametrize("model", [ALWAYS_ON, "zai:glm-5.3", "openrouter:z-ai/glm-5.3", MISTRAL])
def test_hazard_32_a_page_where_json_should_be_is_a_readable_error(model):
    emulator = Emulator(faults=[Fault(kind="html", status=502)])
    client = pondero.Client(transport=emulator, retry=Retry(attempts=1))
    with pytest.raises(ServerFailed) as caught:
        client.ask(model, "hello")
    assert caught.value.status == 502
    assert "<" not in caught.value.message


@pytest.mark.parametrize(
    "maker", ["google:gemini-3-flash-preview", "vertex:gemini-3-flash-preview"]
)
def test_hazard_12_seals_of_vertex_stay_there_and_those_of_the_gemini_api_here(maker):
    other = maker.replace("google:", "x:").replace("vertex:", "google:").replace("x:", "vertex:")
    emulator = Emulator()
    chat = chat_with(emulator, f"{maker}/high")
    chat.send("What is the weather in Paris?")
    sealed = signatures(emulator.log.entries[-1].body)
    assert sealed
    chat.model = f"{other}/high"
    chat.send("And in London?")
    assert not sealed & signatures(last_body(emulator))
    chat.model = f"{maker}/high"
    chat.send("And in Rome?")
    assert sealed <= signatures(last_body(emulator))
    assert refusals(emulator) == []


def signatures(body):
    parts = [part for turn in body["contents"] for part in turn["parts"]]
    dummies = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
    return {part["thoughtSignature"] for part in parts if "thoughtSignature" in part} - dummies
