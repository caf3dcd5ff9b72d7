"""Which way a JSON answer is asked for on each model, and what is said of the difference."""

import json

import pytest

import pondero
from pondero.canon import OutputFormat
from pondero.emulator import Emulator
from pondero.errors import Unsupported

CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}
WEATHER = pondero.Tool("get_weather", "Return it.", {"type": "object", "properties": {}})


def prepare(model, output, **options):
    prepared = pondero.Client(transport=Emulator()).prepare(model, "Say.", output=output, **options)
    notes = [each for each in prepared.plan.adjustments if each.what == "output"]
    return json.loads(prepared.request.body), notes


@pytest.mark.parametrize(
    ("model", "at"),
    [
        ("gpt-5.1", ("text", "format")),
        ("azure:gpt-5.1", ("text", "format")),
        ("openai-chat:gpt-5.1", ("response_format", "json_schema")),
        ("xai:grok-4.3", ("response_format", "json_schema")),
        ("mistral:mistral-large-latest", ("response_format", "json_schema")),
        ("cerebras:gpt-oss-120b", ("response_format", "json_schema")),
        ("groq:openai/gpt-oss-120b", ("response_format", "json_schema")),
    ],
)
def test_openais_way_is_strict_where_it_is_taken(model, at, monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com")
    body, notes = prepare(model, CITY)
    found = body[at[0]][at[1]]
    assert found["strict"] is True
    assert found["schema"]["required"] == ["name", "people"]
    assert notes == []


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("openrouter:qwen/qwen3-235b-a22b", {"type": "json_schema"}),
        ("groq:moonshotai/kimi-k2-instruct", {"type": "json_schema"}),
        ("groq:llama-3.3-70b-versatile", {"type": "json_object"}),
        ("deepseek:deepseek-v4-flash", {"type": "json_object"}),
        ("zai:glm-5", {"type": "json_object"}),
        ("moonshot:kimi-k2.5", {"type": "json_object"}),
        ("openai-chat:gpt-4-turbo", {"type": "json_object"}),
    ],
)
def test_chat_hosts_get_what_each_of_their_models_takes(model, field):
    body, notes = prepare(model, CITY)
    found = body["response_format"]
    assert found["type"] == field["type"]
    if field["type"] == "json_schema":
        assert "strict" not in found["json_schema"]
        assert notes == []
    else:
        assert [each.code for each in notes] == ["output_prompted"]
        assert '"people"' in json.dumps(body["messages"][0]).replace("\\", "")


def test_other_dialects_write_their_own_fields():
    assert prepare("claude-opus-5", CITY)[0]["output_config"]["format"]["schema"] == CITY
    config = prepare("gemini-2.5-flash", CITY)[0]["generationConfig"]
    assert config["responseJsonSchema"] == CITY
    assert config["responseMimeType"] == "application/json"
    assert prepare("ollama:qwen3", CITY)[0]["format"] == CITY
    cohere = prepare("cohere:command-a-03-2025", CITY)[0]["response_format"]
    assert cohere == {"type": "json_object", "json_schema": CITY}
    bedrock = prepare("bedrock:anthropic.claude-opus-5", CITY)[0]["outputConfig"]["textFormat"]
    assert json.loads(bedrock["structure"]["jsonSchema"]["schema"]) == CITY


@pytest.mark.parametrize(
    "model",
    [
        "claude-3-5-haiku-latest",
        "claude-sonnet-4-20250514",
        "claude-opus-4-0",
        "bedrock:us.anthropic.claude-opus-4-1-20250805-v1:0",
        "bedrock:amazon.nova-pro-v1:0",
        "openai-chat:gpt-4",
        "openai-chat:o1-mini",
    ],
)
@pytest.mark.parametrize("output", [CITY, True])
def test_a_model_without_any_field_is_asked_in_words(model, output):
    body, notes = prepare(model, output)
    text = json.dumps(body)
    assert "JSON" in text
    assert not {"output_config", "outputConfig", "response_format"} & body.keys()
    assert [each.code for each in notes] == ["output_prompted"]


@pytest.mark.parametrize("model", ["claude-opus-5", "bedrock:anthropic.claude-opus-5"])
def test_any_json_is_asked_for_in_words_where_there_is_no_mode(model):
    body, notes = prepare(model, True)
    assert "output_config" not in body
    assert "outputConfig" not in body
    assert "JSON object" in json.dumps(body["system"])
    assert [each.code for each in notes] == ["output_prompted"]


@pytest.mark.parametrize(
    ("model", "place"),
    [
        ("gpt-5.1", "input"),
        ("openai-chat:gpt-5.1", "messages"),
        ("cohere:command-a-03-2025", "messages"),
    ],
)
def test_json_mode_names_json_in_the_prompt(model, place):
    body, notes = prepare(model, True)
    assert "json" in json.dumps(body[place]).lower()
    assert [each.code for each in notes] == ["output_adjusted"]
    client = pondero.Client(transport=Emulator())
    said = client.prepare(model, "Answer as json.", output=True)
    assert [each for each in said.plan.adjustments if each.what == "output"] == []


@pytest.mark.parametrize(
    ("model", "alone"),
    [
        ("cohere:command-a-03-2025", True),
        ("groq:openai/gpt-oss-120b", True),
        ("gemini-2.5-flash", True),
        ("gemini-3-flash-preview", False),
        ("gpt-5.1", False),
        ("claude-opus-5", False),
    ],
)
def test_beside_tools_the_schema_is_said_in_words_where_the_field_is_rejected(model, alone):
    _, notes = prepare(model, CITY, tools=[WEATHER])
    assert [each.code for each in notes] == (["output_prompted"] if alone else [])


@pytest.mark.parametrize("strict", [None, True, False])
def test_a_schema_that_cannot_be_strict_is_sent_without_and_that_is_said(strict):
    free = {"type": "object", "additionalProperties": {"type": "number"}}
    body, notes = prepare("gpt-5.1", OutputFormat(free, "prices", strict))
    assert body["text"]["format"] == {
        "type": "json_schema",
        "name": "prices",
        "schema": free,
        "strict": False,
    }
    assert bool(notes) is (strict is not False)
    assert all("not enforced" in each.why for each in notes)


def test_a_name_has_the_letters_that_are_taken():
    body, _ = prepare("gpt-5.1", OutputFormat(CITY, "Stadt Köln <" + "x" * 80))
    assert body["text"]["format"]["name"] == ("Stadt_K_ln_" + "x" * 80)[:64]


def test_a_strict_policy_lets_a_fitted_schema_pass_and_no_prompt():
    bounded = {"type": "integer", "minimum": 3}
    prepare("claude-opus-5", bounded, policy={"unsupported": "strict"})
    with pytest.raises(Unsupported, match="any keys"):
        prepare("claude-opus-5", {"type": "object"}, policy={"unsupported": "strict"})


@pytest.mark.parametrize("strict", [None, True, False])
def test_a_flag_that_was_given_is_kept_where_we_know_no_better(strict):
    body, notes = prepare("openrouter:qwen/qwen3-235b-a22b", OutputFormat(CITY, "city", strict))
    assert body["response_format"]["json_schema"].get("strict") is strict
    assert notes == []


@pytest.mark.parametrize("output", [CITY, True])
def test_an_answer_begun_for_claude_has_no_format(output):
    said = {"user": "Name a city.", "assistant": "{"}
    begun = [pondero.Message(role, (pondero.Text(text),)) for role, text in said.items()]
    client = pondero.Client(transport=Emulator())
    prepared = client.prepare("claude-sonnet-4-5/off", begun, output=output)
    assert "output_config" not in json.loads(prepared.request.body)
    (note,) = [each for each in prepared.plan.adjustments if each.what == "output"]
    assert note.code == "output_prompted"
    assert "begun for the model" in note.why
