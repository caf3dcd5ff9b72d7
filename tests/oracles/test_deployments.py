"""The vendors' own clients for deployments elsewhere, pointed at the emulator over real HTTP."""

import anthropic
import google.auth.credentials
import openai
import pytest
from google import genai
from google.genai import types

from pondero.emulator import Emulator, run_emulator_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using Claude with:UserWarning"),
]
SUM = "What is 17 * 23?"
ANSWER = "17 * 23 = 391"
ASKED = {"max_tokens": 2000, "messages": [{"role": "user", "content": SUM}]}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


@pytest.fixture(scope="module")
def emulator():
    return Emulator()


@pytest.fixture(scope="module")
def url(emulator):
    with run_emulator_in_thread(emulator) as where:
        yield where


@pytest.fixture(autouse=True)
def _fresh(emulator):
    emulator.reset()


def asked_of(emulator):
    return [(entry.dialect, entry.service) for entry in emulator.log.entries]


# -- Claude elsewhere ----------------------------------------------------------------------------


@pytest.fixture(params=["vertex-anthropic", "azure-anthropic"])
def claude(request, url):
    if request.param == "vertex-anthropic":
        client = anthropic.AnthropicVertex(
            base_url=f"{url}/v1", project_id="p", region="global", access_token="t", max_retries=0
        )
    else:
        client = anthropic.AnthropicFoundry(
            base_url=f"{url}/azure-anthropic/anthropic/", api_key="k", max_retries=0
        )
    with client:
        yield request.param, client


def test_claude_answers_and_thinks_wherever_it_lives(claude, emulator):
    service, client = claude
    whole = client.messages.create(model="claude-opus-5", thinking=ADAPTIVE, **ASKED)
    with client.messages.stream(model="claude-opus-5", thinking=ADAPTIVE, **ASKED) as stream:
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text"]
    assert final.content[-1].text == whole.content[-1].text == ANSWER
    assert asked_of(emulator) == [("anthropic", service)] * 2


def test_claude_takes_its_thinking_back_after_a_tool_wherever_it_lives(claude):
    client = claude[1]
    thread = [{"role": "user", "content": "What is the weather in Paris?"}]
    asked = {"model": "claude-opus-5", "max_tokens": 2000, "tools": [WEATHER], "thinking": ADAPTIVE}
    first = client.messages.create(messages=thread, **asked)
    call = first.content[-1]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "18 degrees"}
    thread += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    second = client.messages.create(messages=thread, **asked)
    assert second.content[-1].text == "get_weather (Paris) says: 18 degrees"


def test_claude_refuses_wherever_it_lives(claude):
    client = claude[1]
    budget = {"type": "enabled", "budget_tokens": 1024}
    with pytest.raises(anthropic.BadRequestError, match=r"thinking\.type\.enabled"):
        client.messages.create(model="claude-opus-5", thinking=budget, **ASKED)


# -- Azure OpenAI --------------------------------------------------------------------------------


@pytest.fixture(params=["older", "v1"])
def azure(request, url):
    if request.param == "older":  # /openai/deployments/NAME/chat/completions?api-version=...
        client = openai.AzureOpenAI(
            azure_endpoint=f"{url}/azure-chat",
            api_version="2024-10-21",
            api_key="k",
            max_retries=0,
        )
    else:
        client = openai.OpenAI(base_url=f"{url}/azure-chat/openai/v1", api_key="k", max_retries=0)
    with client:
        yield client


def test_a_deployment_of_any_name_answers_on_azure(azure, emulator):
    messages = ASKED["messages"]
    for model in ("gpt-5", "my-own-deployment"):
        whole = azure.chat.completions.create(model=model, messages=messages)
        chunks = list(azure.chat.completions.create(model=model, messages=messages, stream=True))
        assert whole.choices[0].message.content == ANSWER
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert text == ANSWER
    assert asked_of(emulator) == [("openai_chat", "azure-chat")] * 4


def test_azure_refuses_an_effort_the_model_does_not_take(azure):
    with pytest.raises(openai.BadRequestError, match="Supported values are: 'minimal', 'low'"):
        azure.chat.completions.create(
            model="gpt-5", messages=ASKED["messages"], reasoning_effort="none"
        )


def test_azure_over_responses_thinks_and_seals(url, emulator):
    with openai.OpenAI(base_url=f"{url}/azure/openai/v1", api_key="k", max_retries=0) as client:
        answer = client.responses.create(
            model="gpt-5.1",
            input=SUM,
            reasoning={"effort": "high", "summary": "auto"},
            include=["reasoning.encrypted_content"],
            store=False,
        )
    assert answer.output_text == ANSWER
    assert answer.output[0].encrypted_content
    assert asked_of(emulator) == [("openai_responses", "azure")]


# -- Gemini on Vertex ----------------------------------------------------------------------------


@pytest.fixture
def gemini(url):
    class Token(google.auth.credentials.Credentials):
        def refresh(self, request):
            self.token = "t"

    options = types.HttpOptions(base_url=url)
    with genai.Client(
        vertexai=True, project="p", location="global", credentials=Token(), http_options=options
    ) as client:
        yield client


def test_gemini_on_vertex_thinks_and_signs(gemini, emulator):
    config = {"thinking_config": {"thinking_level": "HIGH", "include_thoughts": True}}
    model = "gemini-3-flash-preview"
    whole = gemini.models.generate_content(model=model, contents=SUM, config=config)
    parts = [
        part
        for chunk in gemini.models.generate_content_stream(model=model, contents=SUM, config=config)
        for part in chunk.candidates[0].content.parts or ()
    ]
    assert whole.text == ANSWER
    assert "".join(part.text or "" for part in parts if not part.thought) == ANSWER
    assert any(part.thought for part in parts)
    assert asked_of(emulator) == [("gemini", "vertex")] * 2


def test_a_signature_of_the_gemini_api_is_refused_on_vertex(gemini, url):
    tool = types.Tool(
        function_declarations=[
            types.FunctionDeclaration(
                name="get_weather", parameters_json_schema=WEATHER["input_schema"]
            )
        ]
    )
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url)) as other:
        question = types.Content(
            role="user", parts=[types.Part(text="What is the weather in Paris?")]
        )
        config = types.GenerateContentConfig(tools=[tool])
        model = "gemini-3-flash-preview"
        first = other.models.generate_content(model=model, contents=[question], config=config)
    call = first.candidates[0].content
    result = types.Part.from_function_response(name="get_weather", response={"result": "18"})
    thread = [question, call, types.Content(role="user", parts=[result])]
    with pytest.raises(genai.errors.ClientError, match="Thought signature is not valid"):
        gemini.models.generate_content(model=model, contents=thread, config=config)
