"""The vendors' own SDKs, pointed at the emulator over real HTTP, with their normal code."""

import asyncio
import json

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import types

from pondero.emulator import Emulator, Fault, run_emulator_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using Claude with:UserWarning"),
]
SUM = "What is 17 * 23?"
CITIES = "What is the weather in Paris and London?"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ANSWER = "get_weather (Paris) says: 18 degrees\nget_weather (London) says: 18 degrees"


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


# -- anthropic ---------------------------------------------------------------------------------

ADAPTIVE = {"type": "adaptive", "display": "summarized"}
TOOL = {"name": "get_weather", "description": "Weather of a city.", "input_schema": SCHEMA}


@pytest.fixture
def claude(url):
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        yield client


def asked(text=SUM, **more):
    messages = [{"role": "user", "content": text}]
    return {"model": "claude-opus-5", "max_tokens": 2000, "messages": messages, **more}


def said(message):
    thinking, text = message.content
    return thinking.thinking, len(thinking.signature), text.text


def test_anthropic_answers_and_thinks(claude):
    message = claude.messages.create(**asked(thinking=ADAPTIVE))
    thinking, text = message.content
    assert "391" in thinking.thinking
    assert len(thinking.signature) > 200
    assert text.text == "17 * 23 = 391"
    assert message.stop_reason == "end_turn"
    assert 0 < message.usage.output_tokens_details.thinking_tokens < message.usage.output_tokens


def test_anthropic_streams_what_it_would_have_said_at_once(claude):
    whole = claude.messages.create(**asked(thinking=ADAPTIVE))
    with claude.messages.stream(**asked(thinking=ADAPTIVE)) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert said(final) == said(whole)
    assert final.usage.output_tokens == whole.usage.output_tokens
    assert {"thinking", "signature", "text"} <= set(kinds)


def test_anthropic_tools_work_on_turn_two(claude):
    thread = [{"role": "user", "content": CITIES}]
    first = claude.messages.create(
        **asked() | {"messages": thread}, tools=[TOOL], thinking=ADAPTIVE
    )
    calls = [block for block in first.content if block.type == "tool_use"]
    assert first.stop_reason == "tool_use"
    assert [call.input for call in calls] == [{"city": "Paris"}, {"city": "London"}]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": "18 degrees"} for call in calls
    ]
    thread += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": results},
    ]
    second = claude.messages.create(
        **asked() | {"messages": thread}, tools=[TOOL], thinking=ADAPTIVE
    )
    assert second.content[-1].text == ANSWER


def test_anthropic_answers_without_thinking_where_a_tool_is_forced(claude):
    forced = {"tools": [TOOL], "tool_choice": {"type": "any"}, "thinking": ADAPTIVE}
    message = claude.messages.create(**asked(CITIES) | {"model": "claude-opus-4-6"} | forced)
    assert {block.type for block in message.content} == {"tool_use"}
    assert message.usage.output_tokens_details.thinking_tokens == 0


def test_anthropic_redacts_when_its_magic_word_is_said(claude):
    word = "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECC"
    budget = {"type": "enabled", "budget_tokens": 1024}
    asked_ = asked(f"{word} {SUM}", thinking=budget) | {"model": "claude-sonnet-4-5"}
    message = claude.messages.create(**asked_)
    assert [block.type for block in message.content] == ["redacted_thinking", "text"]


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"model": "claude-nobody"}, 404, "model: claude-nobody"),
        (
            {"model": "claude-sonnet-4-5", "thinking": {"type": "enabled", "budget_tokens": 1000}},
            400,
            "greater than or equal to 1024",
        ),
        (
            {"model": "claude-sonnet-4-5", "thinking": {"type": "enabled", "budget_tokens": 2000}},
            400,
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            400,
            '"thinking.type.enabled" is not supported for this model',
        ),
        (
            {
                "model": "claude-sonnet-4-5",
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "tools": [TOOL],
                "tool_choice": {"type": "any"},
            },
            400,
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            {"model": "claude-opus-4-6", "output_config": {"effort": "xhigh"}},
            400,
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        ),
        ({"extra_body": {"temperature": 0.2}}, 400, "`temperature` is deprecated for this model."),
        ({"extra_body": {"nonsense": 1}}, 400, "nonsense: Extra inputs are not permitted"),
    ],
)
def test_anthropic_gets_the_services_own_refusals(claude, more, status, words):
    with pytest.raises(anthropic.APIStatusError) as caught:
        claude.messages.create(**asked() | more)
    kinds = {400: anthropic.BadRequestError, 404: anthropic.NotFoundError}
    assert type(caught.value) is kinds[status]
    assert words in caught.value.message
    assert caught.value.request_id.startswith("req_")


def test_anthropic_notices_thinking_that_was_changed(claude):
    first = claude.messages.create(**asked(thinking=ADAPTIVE))
    changed = [first.content[0].model_copy(update={"thinking": "No."}), first.content[1]]
    thread = [
        {"role": "user", "content": SUM},
        {"role": "assistant", "content": changed},
        {"role": "user", "content": "And 2 + 2?"},
    ]
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
        claude.messages.create(**asked() | {"messages": thread}, thinking=ADAPTIVE)


def test_anthropic_errors_have_its_classes(claude, emulator):
    expected = {
        401: anthropic.AuthenticationError,
        403: anthropic.PermissionDeniedError,
        429: anthropic.RateLimitError,
        500: anthropic.InternalServerError,
        529: anthropic.APIStatusError,
    }
    for status, kind in expected.items():
        emulator.faults.append(Fault(kind="status", status=status, retry_after=2))
        with pytest.raises(kind) as caught:
            claude.messages.create(**asked())
        assert caught.value.status_code == status


def test_anthropic_raises_an_error_that_comes_after_all_was_well(claude, emulator):
    emulator.faults.append(Fault(kind="error_event", status=529))
    with (
        pytest.raises(anthropic.APIStatusError, match="Overloaded"),
        claude.messages.stream(**asked()) as stream,
    ):
        list(stream)


def test_anthropic_retries_by_itself_and_is_answered(url, emulator):
    emulator.faults.extend([Fault(kind="status", status=529, retry_after=0.01)])
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=1) as client:
        assert client.messages.create(**asked()).content[-1].text == "17 * 23 = 391"
    assert [entry.status for entry in emulator.log.entries] == [529, 200]


def test_anthropic_for_asyncio(url):
    async def main():
        async with anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client:
            message = await client.messages.create(**asked(thinking=ADAPTIVE))
            async with client.messages.stream(**asked(thinking=ADAPTIVE)) as stream:
                final = await stream.get_final_message()
        return message, final

    message, final = asyncio.run(main())
    assert said(message) == said(final)


def test_without_a_key_every_service_says_so(url):
    for path in ("/v1/messages", "/v1/responses", "/v1/chat/completions"):
        assert httpx2.post(url + path, json={}).status_code == 401
    path = "/v1beta/models/gemini-3-flash-preview:generateContent"
    answer = httpx2.post(url + path, json={})
    assert answer.status_code == 403
    assert answer.json()["error"]["status"] == "PERMISSION_DENIED"


# -- openai, responses -------------------------------------------------------------------------

FUNCTION = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": SCHEMA,
    "strict": True,
}
DETAILED = {"effort": "high", "summary": "auto"}


@pytest.fixture
def gpt(url):
    with openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
        yield client


def test_responses_answer_and_think(gpt):
    response = gpt.responses.create(model="gpt-6-sol", input=SUM, reasoning=DETAILED)
    thinking, message = response.output
    assert "391" in thinking.summary[0].text
    assert thinking.encrypted_content.startswith("gAAAA")
    assert message.content[0].text == response.output_text == "17 * 23 = 391"
    assert response.status == "completed"
    assert response.reasoning.effort == "high"
    usage = response.usage
    assert 0 < usage.output_tokens_details.reasoning_tokens < usage.output_tokens
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens


def test_responses_stream_what_they_would_have_said_at_once(gpt):
    whole = gpt.responses.create(model="gpt-6-sol", input=SUM, reasoning=DETAILED)
    with gpt.responses.stream(model="gpt-6-sol", input=SUM, reasoning=DETAILED) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_response()
    assert final.output_text == whole.output_text
    assert final.output[0].summary == whole.output[0].summary
    assert {"response.reasoning_summary_text.delta", "response.output_text.delta"} <= kinds


def test_responses_work_on_turn_two_without_anything_stored(gpt):
    options = {
        "model": "gpt-5.4",
        "reasoning": {"effort": "low"},
        "tools": [FUNCTION],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    thread = [{"role": "user", "content": CITIES}]
    first = gpt.responses.create(input=thread, **options)
    calls = [item for item in first.output if item.type == "function_call"]
    assert [json.loads(call.arguments) for call in calls] == [{"city": "Paris"}, {"city": "London"}]
    thread += first.output
    thread += [
        {"type": "function_call_output", "call_id": call.call_id, "output": "18 degrees"}
        for call in calls
    ]
    assert gpt.responses.create(input=thread, **options).output_text == ANSWER


def test_responses_give_the_shape_that_was_asked_for(gpt):
    schema = {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
        "additionalProperties": False,
    }
    shape = {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}
    response = gpt.responses.create(model="gpt-6-sol", input=SUM, text=shape)
    assert json.loads(response.output_text) == {"result": 391}


def test_responses_are_incomplete_where_thinking_took_all(gpt):
    response = gpt.responses.create(
        model="gpt-6-sol", input=SUM, reasoning=DETAILED, max_output_tokens=64
    )
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.output_text == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"model": "gpt-nobody"}, "The requested model 'gpt-nobody' does not exist."),
        (
            {"model": "gpt-5.1", "reasoning": {"effort": "minimal"}},
            "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
        ),
        (
            {"model": "gpt-4.1", "reasoning": {"effort": "low"}},
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        ),
        ({"temperature": 0.2}, "Unsupported parameter: 'temperature'"),
        ({"extra_body": {"nonsense": 1}}, "Unknown parameter: 'nonsense'."),
    ],
)
def test_responses_get_the_services_own_refusals(gpt, more, words):
    with pytest.raises(openai.BadRequestError) as caught:
        gpt.responses.create(**{"model": "gpt-6-sol", "input": SUM} | more)
    assert words in caught.value.message
    assert caught.value.code or caught.value.param


def test_responses_notice_thinking_without_what_it_led_to(gpt):
    first = gpt.responses.create(model="gpt-6-sol", input=SUM, reasoning=DETAILED)
    thread = [{"role": "user", "content": SUM}, first.output[0], {"role": "user", "content": "Hm?"}]
    with pytest.raises(openai.BadRequestError, match="without its required following item"):
        gpt.responses.create(model="gpt-6-sol", input=thread)


# -- openai, chat ------------------------------------------------------------------------------

CHAT_TOOL = {"type": "function", "function": {k: v for k, v in FUNCTION.items() if k != "type"}}


def chatted(text=SUM, **more):
    return {"model": "gpt-5", "messages": [{"role": "user", "content": text}], **more}


def test_chat_answers_and_counts_its_thinking(gpt):
    answer = gpt.chat.completions.create(**chatted(reasoning_effort="high"))
    assert answer.choices[0].message.content == "17 * 23 = 391"
    assert answer.choices[0].finish_reason == "stop"
    usage = answer.usage
    assert 0 < usage.completion_tokens_details.reasoning_tokens < usage.completion_tokens


def test_chat_streams_what_it_would_have_said_at_once(gpt):
    with gpt.chat.completions.stream(**chatted(), stream_options={"include_usage": True}) as stream:
        final = [*stream] and stream.get_final_completion()
    assert final.choices[0].message.content == "17 * 23 = 391"
    assert final.usage.total_tokens > 0


def test_chat_tools_work_on_turn_two(gpt):
    thread = [{"role": "user", "content": CITIES}]
    first = gpt.chat.completions.create(model="gpt-5", messages=thread, tools=[CHAT_TOOL])
    message = first.choices[0].message
    assert first.choices[0].finish_reason == "tool_calls"
    thread.append(message)
    thread += [
        {"role": "tool", "tool_call_id": call.id, "content": "18 degrees"}
        for call in message.tool_calls
    ]
    second = gpt.chat.completions.create(model="gpt-5", messages=thread, tools=[CHAT_TOOL])
    assert second.choices[0].message.content == ANSWER


@pytest.mark.parametrize(
    ("more", "kind", "words"),
    [
        ({"model": "gpt-nobody"}, openai.NotFoundError, "`gpt-nobody` does not exist"),
        (
            {"reasoning_effort": "none"},
            openai.BadRequestError,
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model.",
        ),
        (
            {"model": "gpt-4o", "reasoning_effort": "low"},
            openai.BadRequestError,
            "Unrecognized request argument supplied: reasoning_effort",
        ),
        (
            {"max_tokens": 100},
            openai.BadRequestError,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
        (
            {"model": "gpt-5.6-terra", "tools": [CHAT_TOOL]},
            openai.BadRequestError,
            "Function tools with reasoning_effort are not supported for gpt-5.6-terra",
        ),
    ],
)
def test_chat_gets_the_services_own_refusals(gpt, more, kind, words):
    with pytest.raises(kind) as caught:
        gpt.chat.completions.create(**chatted() | more)
    assert words in caught.value.message


def test_openai_errors_have_its_classes(gpt, emulator):
    expected = {
        401: openai.AuthenticationError,
        403: openai.PermissionDeniedError,
        429: openai.RateLimitError,
        503: openai.InternalServerError,
    }
    for status, kind in expected.items():
        emulator.faults.extend([Fault(kind="status", status=status)] * 2)
        with pytest.raises(kind):
            gpt.responses.create(model="gpt-6-sol", input=SUM)
        with pytest.raises(kind):
            gpt.chat.completions.create(**chatted())


def test_openai_raises_an_error_that_comes_after_all_was_well(gpt, emulator):
    emulator.faults.extend([Fault(kind="error_event", status=503, message="Busy.")] * 2)
    *_, error, last = gpt.responses.create(model="gpt-6-sol", input=SUM, stream=True)
    assert (error.type, error.message) == ("error", "Busy.")  # this SDK hands it on
    assert last.type == "response.failed"
    with pytest.raises(openai.APIError, match="Busy"):
        list(gpt.chat.completions.create(**chatted(stream=True)))


def test_openai_for_asyncio(url):
    async def main():
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
            response = await client.responses.create(model="gpt-6-sol", input=SUM)
            events = await client.responses.create(model="gpt-6-sol", input=SUM, stream=True)
            last = [event async for event in events][-1]
            chat = await client.chat.completions.create(**chatted())
            chunks = await client.chat.completions.create(**chatted(stream=True))
            parts = [chunk async for chunk in chunks]
        return response, last, chat, parts

    response, last, chat, parts = asyncio.run(main())
    assert response.output_text == last.response.output_text == "17 * 23 = 391"
    told = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert told == chat.choices[0].message.content


# -- google ------------------------------------------------------------------------------------

FLASH = "gemini-3-flash-preview"
DECLARED = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather", description="Weather of a city.", parameters_json_schema=SCHEMA
        )
    ]
)


@pytest.fixture
def gemini(url):
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url)) as client:
        yield client


def config(**more):
    return types.GenerateContentConfig(**more)


def thinking(**more):
    return config(thinking_config=types.ThinkingConfig(include_thoughts=True, **more))


def test_gemini_answers_and_thinks(gemini):
    answer = gemini.models.generate_content(
        model=FLASH, contents=SUM, config=thinking(thinking_level="HIGH")
    )
    thought, text, *_ = answer.candidates[0].content.parts
    assert thought.thought
    assert "391" in thought.text
    assert text.text == answer.text == "17 * 23 = 391"
    usage = answer.usage_metadata
    assert usage.thoughts_token_count > 0
    total = usage.prompt_token_count + usage.candidates_token_count + usage.thoughts_token_count
    assert usage.total_token_count == total


def test_gemini_streams_what_it_would_have_said_at_once(gemini):
    whole = gemini.models.generate_content(model=FLASH, contents=SUM, config=thinking())
    chunks = list(
        gemini.models.generate_content_stream(model=FLASH, contents=SUM, config=thinking())
    )
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    assert "".join(part.text for part in parts if not part.thought) == whole.text
    thought = "".join(part.text for part in parts if part.thought)
    assert thought == whole.candidates[0].content.parts[0].text
    assert chunks[-1].candidates[0].finish_reason == "STOP"


def test_gemini_tools_work_on_turn_two(gemini):
    options = config(tools=[DECLARED])
    thread = [types.Content(role="user", parts=[types.Part(text=CITIES)])]
    first = gemini.models.generate_content(model=FLASH, contents=thread, config=options)
    assert [call.args for call in first.function_calls] == [{"city": "Paris"}, {"city": "London"}]
    signed = [bool(p.thought_signature) for p in first.candidates[0].content.parts]
    assert signed == [True, False]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"output": "18 degrees"}
            )
        )
        for call in first.function_calls
    ]
    thread += [first.candidates[0].content, types.Content(role="user", parts=results)]
    second = gemini.models.generate_content(model=FLASH, contents=thread, config=options)
    assert "18 degrees" in second.text


def test_gemini_calls_python_functions_by_itself(gemini):
    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        return f"fine in {city}"

    answer = gemini.models.generate_content(
        model=FLASH, contents=CITIES, config=config(tools=[get_weather])
    )
    assert "fine in Paris" in answer.text
    assert "fine in London" in answer.text


def test_gemini_chats(gemini):
    chat = gemini.chats.create(model=FLASH)
    chat.send_message("My name is Ada.")
    assert "Ada" in chat.send_message("What is my name?").text


@pytest.mark.parametrize(
    ("model", "options", "status", "words"),
    [
        (
            "gemini-nobody",
            config(),
            404,
            "models/gemini-nobody is not found for API version",
        ),
        (
            "gemini-2.5-pro",
            thinking(thinking_level="HIGH"),
            400,
            "Thinking level is not supported for this model.",
        ),
        (
            "gemini-2.5-pro",
            config(thinking_config=types.ThinkingConfig(thinking_budget=0)),
            400,
            "Budget 0 is invalid. This model only works in thinking mode.",
        ),
        (
            "gemini-2.5-flash",
            thinking(thinking_budget=52_428),
            400,
            "The thinking budget (52428) is invalid.",
        ),
        (
            "gemini-3.7-flash",
            thinking(thinking_level="MINIMAL"),
            400,
            "Thinking level MINIMAL is not supported for this model.",
        ),
    ],
)
def test_gemini_gets_the_services_own_refusals(gemini, model, options, status, words):
    with pytest.raises(genai.errors.ClientError) as caught:
        gemini.models.generate_content(model=model, contents=SUM, config=options)
    assert caught.value.code == status
    assert words in caught.value.message


def test_gemini_refuses_a_call_that_lost_its_signature(gemini):
    options = config(tools=[DECLARED])
    thread = [types.Content(role="user", parts=[types.Part(text="The weather in Paris?")])]
    first = gemini.models.generate_content(model=FLASH, contents=thread, config=options)
    call = first.function_calls[0]
    result = types.FunctionResponse(id=call.id, name=call.name, response={"output": "18"})
    thread += [
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]
    with pytest.raises(genai.errors.ClientError, match="missing a thought_signature"):
        gemini.models.generate_content(model=FLASH, contents=thread, config=options)


def test_gemini_errors_have_its_classes(gemini, emulator):
    emulator.faults.extend([Fault(kind="status", status=429), Fault(kind="status", status=503)])
    with pytest.raises(genai.errors.ClientError, match="RESOURCE_EXHAUSTED"):
        gemini.models.generate_content(model=FLASH, contents=SUM)
    with pytest.raises(genai.errors.ServerError, match="UNAVAILABLE"):
        gemini.models.generate_content(model=FLASH, contents=SUM)


def test_gemini_for_asyncio(url):
    async def main():
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url)).aio
        answer = await client.models.generate_content(model=FLASH, contents=SUM)
        stream = await client.models.generate_content_stream(model=FLASH, contents=SUM)
        texts = [chunk.text or "" async for chunk in stream]
        await client.aclose()
        return answer.text, "".join(texts)

    assert asyncio.run(main()) == ("17 * 23 = 391", "17 * 23 = 391")


# -- beside conversations ------------------------------------------------------------------------


def test_anthropic_lists_models_page_by_page_and_counts_tokens(claude):
    names = [model.id for model in claude.models.list(limit=5)]
    assert len(names) == len(set(names)) > 20
    one = claude.models.retrieve("claude-opus-5")
    assert one.capabilities.thinking.types.adaptive.supported
    assert not one.capabilities.thinking.types.enabled.supported
    assert one.max_tokens == 128_000
    with pytest.raises(anthropic.NotFoundError, match="claude-nope"):
        claude.models.retrieve("claude-nope")
    messages = [{"role": "user", "content": SUM}]
    counted = claude.messages.count_tokens(
        model="claude-opus-5", messages=messages, thinking=ADAPTIVE
    )
    answered = claude.messages.create(**asked(thinking=ADAPTIVE))
    assert counted.input_tokens == answered.usage.input_tokens


def test_anthropic_reads_from_its_cache_what_was_marked(claude):
    system = [{"type": "text", "text": "Long. " * 2_000, "cache_control": {"type": "ephemeral"}}]
    first = claude.messages.create(**asked(system=system)).usage
    again = claude.messages.create(**asked(system=system)).usage
    assert first.cache_creation_input_tokens == again.cache_read_input_tokens > 1_024
    assert first.cache_creation.ephemeral_5m_input_tokens == first.cache_creation_input_tokens
    assert (first.cache_read_input_tokens, again.cache_creation_input_tokens) == (0, 0)
    assert first.input_tokens == again.input_tokens


def test_openai_lists_models_and_reads_from_its_cache(gpt):
    assert "gpt-5.1" in [model.id for model in gpt.models.list()]
    assert gpt.models.retrieve("gpt-5.1").object == "model"
    with pytest.raises(openai.NotFoundError, match="gpt-nope"):
        gpt.models.retrieve("gpt-nope")
    for _ in range(2):
        usage = gpt.responses.create(
            model="gpt-5.1", instructions="Long. " * 2_000, input=SUM
        ).usage
    assert usage.input_tokens > usage.input_tokens_details.cached_tokens > 1_024
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens


def test_gemini_lists_models_page_by_page_and_counts_tokens(gemini):
    names = [model.name for model in gemini.models.list(config={"page_size": 7})]
    assert len(names) == len(set(names)) > 14
    assert gemini.models.get(model="gemini-2.5-pro").thinking
    with pytest.raises(genai.errors.ClientError, match="nope is not found"):
        gemini.models.get(model="nope")
    counted = gemini.models.count_tokens(model="gemini-2.5-pro", contents=SUM)
    answered = gemini.models.generate_content(model="gemini-2.5-pro", contents=SUM)
    assert counted.total_tokens == answered.usage_metadata.prompt_token_count
    for _ in range(2):
        usage = gemini.models.generate_content(
            model="gemini-2.5-pro", contents="Long. " * 2_000 + SUM
        ).usage_metadata
    assert usage.prompt_token_count >= usage.cached_content_token_count > 1_024
