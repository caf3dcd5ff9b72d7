"""Contents that one service takes and another rejects, judged by the bytes that are sent."""

import json
from base64 import b64encode

import pytest
from tests.gateway.test_client_tools import BACKS, post

from pondero.emulator import Emulator, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MODELS = {
    **BACKS,
    "mistral": "mistral:mistral-medium-latest",
    "groq": "groq:openai/gpt-oss-120b",
    "scout": "groq:meta-llama/llama-4-scout-17b-16e-instruct",
    "cerebras": "cerebras:gpt-oss-120b",
    "openai-chat": "openai-chat:gpt-4.1",
    "search": "openai-chat:gpt-4o-search-preview",
}
CLAUDES = ["claude", "converse"]


def make_app(back: str, *turns: ScriptedTurn) -> tuple[App, Emulator]:
    emulator = Emulator(script=list(turns))
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(MODELS[back],), retries=0),))
    return App(GatewayContext(config, emulator)), emulator


def ask_chat(back: str, messages: list[dict], **fields: object) -> tuple[dict, str]:
    """Return what a Chat client's request becomes, and the adjustments that the client is told."""
    app, emulator = make_app(back)
    answer = post(app, "/v1/chat/completions", {"model": "m", "messages": messages, **fields})
    assert answer.status == 200, answer.body
    return last_body(emulator), answer.headers.get("x-pondero-adjustments", "")


def last_body(emulator: Emulator) -> dict:
    return emulator.log.entries[-1].body


def texts_in(value: object) -> list[str]:
    """Return the texts of all text blocks, wherever they are."""
    if isinstance(value, list):
        return [text for each in value for text in texts_in(each)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if isinstance(value.get("text"), str) else []
    return own + [text for key, each in value.items() if key != "text" for text in texts_in(each)]


# -- blanks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("back", CLAUDES)
@pytest.mark.parametrize("stop", [["\n"], [" "], [""], ["\n\n", "END"]], ids=repr)
def test_claude_gets_no_stop_sequence_of_blanks(back, stop):
    sent, told = ask_chat(back, [{"role": "user", "content": "Hello?"}], stop=stop)
    stops = sent.get("stop_sequences") or sent.get("inferenceConfig", {}).get("stopSequences") or []
    assert stops == [each for each in stop if each.strip()]
    assert "dropped_parameter" in told


def test_other_models_keep_a_line_feed_as_stop_sequence():
    sent, told = ask_chat("deepseek", [{"role": "user", "content": "Hello?"}], stop=["\n"])
    assert sent["stop"] == ["\n"]
    assert "stop" not in told


@pytest.mark.parametrize("back", CLAUDES)
@pytest.mark.parametrize("blank", [" ", "\n", "\t \n"], ids=repr)
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_claude_gets_no_text_of_blanks(back, role, blank):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": "Hello."},
        {"role": role, "content": blank},
        {"role": "user", "content": "And now?"},
    ]
    sent, _ = ask_chat(back, messages)
    texts = texts_in([sent.get("system"), sent["messages"]])
    assert {"Hello?", "Hello.", "And now?"} <= set(texts)
    assert all(text.strip() for text in texts)


def test_claude_gets_blanks_beside_other_parts_back():
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": " ", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "dark"},
    ]
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    sent, _ = ask_chat("claude", messages, tools=[tool])
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["text", "tool_use"]


@pytest.mark.parametrize("back", CLAUDES)
def test_a_blank_question_keeps_its_place(back):
    messages = [
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": " "},
    ]
    sent, _ = ask_chat(back, messages)
    assert [each["role"] for each in sent["messages"]] == ["user", "assistant", "user"]
    assert all(text.strip() for text in texts_in(sent["messages"]))


# -- media types -------------------------------------------------------------------------------------

JPEG = b64encode(b"\xff\xd8\xff\xe0 jpeg").decode()
STRICT_ABOUT_IMAGES = ["claude", "converse", "gpt", "mistral"]


def ask_image(back: str, media_type: str) -> tuple[str, str]:
    image = {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{JPEG}"}}
    content = [image, {"type": "text", "text": "What is it?"}]
    sent, told = ask_chat(back, [{"role": "user", "content": content}])
    return json.dumps(sent), told


@pytest.mark.parametrize("spelling", ["image/jpg", "image/JPEG", "image/pjpeg"])
@pytest.mark.parametrize("back", [*STRICT_ABOUT_IMAGES, "gemini"])
def test_a_jpeg_is_sent_by_its_registered_name(back, spelling):
    sent, told = ask_image(back, spelling)
    assert JPEG in sent
    assert spelling not in sent
    assert "jpeg" in sent
    assert "medium_unseen" not in told


@pytest.mark.parametrize(
    "media_type", ["image/heic", "image/bmp", "image/tiff", "image/avif", "image/svg+xml"]
)
@pytest.mark.parametrize("back", STRICT_ABOUT_IMAGES)
def test_an_image_of_a_type_that_a_service_rejects_is_described(back, media_type):
    sent, told = ask_image(back, media_type)
    assert JPEG not in sent
    assert f"[{media_type}, " in sent
    assert "medium_unseen" in told


# -- documents that are given as blocks ------------------------------------------------------------

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": JPEG}}
DOCUMENT = {
    "type": "document",
    "title": "Report",
    "context": "From the archive.",
    "source": {
        "type": "content",
        "content": [
            {"type": "text", "text": "Before."},
            PICTURE,
            {"type": "text", "text": "After."},
        ],
    },
}


@pytest.mark.parametrize("inside", [False, True], ids=["in the turn", "in a result"])
@pytest.mark.parametrize("back", ["converse", "gpt", "gemini", "mistral"])
def test_a_document_of_blocks_arrives_with_its_images(back, inside):
    app, emulator = make_app(back)
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [DOCUMENT]}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    asked = [DOCUMENT, {"type": "text", "text": "What is it?"}]
    body = {
        "model": "m",
        "max_tokens": 2_000,
        "messages": messages if inside else [{"role": "user", "content": asked}],
        "tools": [{"name": "look", "input_schema": {"type": "object", "properties": {}}}],
    }
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    sent = json.dumps(last_body(emulator))
    assert JPEG in sent
    places = [sent.index(each) for each in ("Report", "From the archive.", "Before.", "After.")]
    assert places == sorted(places)
    assert "context" not in answer.headers.get("x-pondero-adjustments", "")


# -- small things that only one API has ------------------------------------------------------------


@pytest.mark.parametrize("back", ["groq", "mistral", "deepseek", "claude"])
def test_a_refusal_is_sent_as_what_was_said(back):
    messages = [
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "user", "content": "Why?"},
    ]
    sent, _ = ask_chat(back, messages)
    (answer,) = [each for each in sent["messages"] if each["role"] == "assistant"]
    assert "I will not." in json.dumps(answer["content"])
    assert "refusal" not in answer


@pytest.mark.parametrize("back", ["claude", "converse", "gemini", "gpt", "mistral"])
def test_a_model_is_told_that_a_tool_failed(back):
    app, emulator = make_app(back)
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "dark"}
    body = {
        "model": "m",
        "max_tokens": 2_000,
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
        "tools": [{"name": "look", "input_schema": {"type": "object", "properties": {}}}],
    }
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    sent = json.dumps(last_body(emulator))
    assert "dark" in sent
    assert any(sign in sent for sign in ('"is_error"', '"error"', "reports an error"))


def test_mistral_gets_a_schema_for_a_function_without_parameters():
    tool = {"type": "function", "function": {"name": "look"}}
    sent, _ = ask_chat("mistral", [{"role": "user", "content": "Hello?"}], tools=[tool])
    assert sent["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_bedrock_is_not_asked_for_zero_tokens():
    app, emulator = make_app("converse")
    body = {"model": "m", "max_tokens": 0, "messages": [{"role": "user", "content": "Hello?"}]}
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    assert last_body(emulator)["inferenceConfig"]["maxTokens"] >= 1
    assert "max_tokens_clamped" in answer.headers["x-pondero-adjustments"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/chat", {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}),
        (
            "/v1beta/models/m:generateContent",
            {
                "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
                "generationConfig": {"seed": 7},
            },
        ),
    ],
    ids=["cohere", "gemini"],
)
def test_groq_gets_the_seed_of_clients_of_other_apis(path, body):
    app, emulator = make_app("groq")
    assert post(app, path, body).status == 200
    assert last_body(emulator)["seed"] == 7


def test_a_text_file_is_read_out_to_a_model_that_takes_no_files():
    app, emulator = make_app("deepseek")
    source = {"type": "text", "media_type": "text/plain", "data": "The code is 7."}
    document = {"type": "document", "source": source, "title": "notes.txt"}
    content = [document, {"type": "text", "text": "What is the code?"}]
    body = {"model": "m", "max_tokens": 2_000, "messages": [{"role": "user", "content": content}]}
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    sent = json.dumps(last_body(emulator))
    assert "The code is 7." in sent
    assert "notes.txt" in sent
    assert "medium_unseen" not in answer.headers.get("x-pondero-adjustments", "")


@pytest.mark.parametrize("back", ["claude", "gpt", "gemini", "groq"])
def test_a_client_is_told_that_the_name_of_a_speaker_is_left_out(back):
    _, told = ask_chat(back, [{"role": "user", "name": "Ada", "content": "Hello?"}])
    assert "dropped_parameter" in told


# -- limits and media of hosts of the Chat API -----------------------------------------------------


@pytest.mark.parametrize("back", ["groq", "scout", "cerebras"])
def test_no_more_stop_sequences_are_sent_than_a_service_takes(back):
    app, emulator = make_app(back)
    body = {"max_tokens": 999, "messages": [{"role": "user", "content": "Hi"}], "model": "m",
            "stop_sequences": list("abcdefghijkl")}  # fmt: skip
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    assert last_body(emulator)["stop"] == list("abcd")
    assert "parameter_clamped:stop" in answer.headers["x-pondero-adjustments"]


def test_mistral_gets_no_temperature_above_its_range():
    sent, told = ask_chat("mistral", [{"role": "user", "content": "Hi"}], temperature=2.0)
    assert sent["temperature"] == 1.5
    assert "parameter_clamped:temperature" in told


def test_a_search_model_gets_no_temperature():
    app, emulator = make_app("search")
    body = {"max_tokens": 999, "messages": [{"role": "user", "content": "Hi"}], "model": "m",
            "temperature": 0.5}  # fmt: skip
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    assert "temperature" not in last_body(emulator)
    assert "dropped_parameter:temperature" in answer.headers["x-pondero-adjustments"]


_DATA = "data:application/pdf;base64,JVBERg=="
_PDF = {"type": "file", "file": {"filename": "a.pdf", "file_data": _DATA}}
_WAV = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}


@pytest.mark.parametrize("back", ["scout", "cerebras"])
@pytest.mark.parametrize("part", [_PDF, _WAV], ids=["pdf", "wav"])
def test_a_file_or_sound_is_described_to_a_host_that_takes_none(back, part):
    content = [part, {"type": "text", "text": "What is it?"}]
    sent, told = ask_chat(back, [{"role": "user", "content": content}])
    kinds = {each["type"] for each in sent["messages"][-1]["content"]}
    assert kinds == {"text"}
    assert "medium_unseen" in told


@pytest.mark.parametrize("back", ["scout", "cerebras", "openai-chat"])
def test_a_text_file_is_read_out_to_a_host_of_the_chat_api(back):
    app, emulator = make_app(back)
    source = {"type": "text", "media_type": "text/plain", "data": "kiwi"}
    content = [{"type": "document", "source": source}, {"type": "text", "text": "What is it?"}]
    body = {"max_tokens": 999, "messages": [{"role": "user", "content": content}], "model": "m"}
    assert post(app, "/v1/messages", body).status == 200
    sent = last_body(emulator)["messages"][-1]["content"]
    assert "kiwi" in json.dumps(sent)
    assert '"file"' not in json.dumps(sent)
