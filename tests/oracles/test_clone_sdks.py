"""SDKs of those who speak like OpenAI, pointed at the emulator of their service over real HTTP."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as own
from typing import Any

import cerebras.cloud.sdk as cerebras
import groq
import mistralai.client as mistralai
import openai
import pytest
from mistralai.client import errors as mistral_errors

from pondero.emulator import Emulator, run_emulator_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]
SUM = [{"role": "user", "content": "What is 17 * 23?"}]
ANSWER = "17 * 23 = 391"
CITIES = [{"role": "user", "content": "What is the weather in Paris and London?"}]
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
BOTH = "get_weather (Paris) says: 18 degrees\nget_weather (London) says: 18 degrees"


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


def with_openai(path: str) -> Callable[[str], Any]:
    return lambda url: openai.OpenAI(api_key="k", base_url=f"{url}/{path}", max_retries=0)


@dataclass(frozen=True)
class House:
    """A service, its SDK, a model that thinks, and one rule of its own that is easily broken."""

    service: str
    client: Callable[[str], Any]
    sdk: Any
    model: str
    field: str
    """Where the SDK finds thinking in a message and in a delta."""
    broken: dict[str, Any]
    words: str
    on: dict[str, Any] = own(default_factory=dict)
    outside: bool = False

    def __str__(self) -> str:
        return self.service


HOUSES = [
    House(
        "groq",
        lambda url: groq.Groq(api_key="k", base_url=f"{url}/groq", max_retries=0),
        groq,
        "qwen/qwen3.8-27b",
        "reasoning",
        {"reasoning_effort": "xhigh"},
        "`reasoning_effort` must be one of `none` or `default`",
        on={"reasoning_effort": "high", "reasoning_format": "parsed"},
    ),
    House(
        "cerebras",
        lambda url: cerebras.Cerebras(
            api_key="k", base_url=f"{url}/cerebras", max_retries=0, warm_tcp_connection=False
        ),
        cerebras,
        "gpt-oss-120b",
        "reasoning",
        {"reasoning_effort": "none"},
        "reasoning cannot be disabled for model gpt-oss-120b",
        on={"reasoning_effort": "high"},
    ),
    House(
        "openrouter",
        with_openai("openrouter/api/v1"),
        openai,
        "anthropic/claude-opus-5",
        "reasoning",
        {"extra_body": {"reasoning": {"effort": "minimal"}}},
        'Reasoning effort "minimal" is not supported',
        on={"extra_body": {"reasoning": {"effort": "high", "enabled": True}}},
    ),
    House(
        "xai",
        with_openai("xai/v1"),
        openai,
        "grok-4.6",
        "reasoning_content",
        {"reasoning_effort": "none"},
        "Model grok-4.6 supports low, medium, high, xhigh",
        on={"reasoning_effort": "high"},
        outside=True,
    ),
    House(
        "deepseek",
        with_openai("deepseek"),
        openai,
        "deepseek-v4-flash",
        "reasoning_content",
        {"tools": [WEATHER], "tool_choice": "required"},
        "Thinking mode does not support this tool_choice",
        on={"extra_body": {"thinking": {"type": "enabled"}}, "reasoning_effort": "high"},
    ),
    House(
        "zai",
        with_openai("zai/api/paas/v4"),
        openai,
        "glm-5.3",
        "reasoning_content",
        {"extra_body": {"thinking": {"type": "disabled"}}},
        "This model always engages in thinking and cannot be disabled",
        on={"reasoning_effort": "high"},
    ),
    House(
        "vllm",
        with_openai("vllm/v1"),
        openai,
        "Qwen/Qwen3-8B",
        "reasoning",
        {"extra_body": {"thinking_token_budget": -2}},
        "thinking_token_budget must be a non-negative integer or -1",
        on={"reasoning_effort": "high"},
    ),
    House(
        "sglang",
        with_openai("sglang/v1"),
        openai,
        "openai/gpt-oss-20b",
        "reasoning_content",
        {"reasoning_effort": "none"},
        "Harmony does not support reasoning effort none",
        on={"reasoning_effort": "high"},
    ),
    House(
        "llamacpp",
        with_openai("llamacpp/v1"),
        openai,
        "qwen3-8b",
        "reasoning_content",
        {"extra_body": {"chat_template_kwargs": {"enable_thinking": "yes"}}},
        "enable_thinking",
        on={"reasoning_effort": "high"},
    ),
    House(
        "lmstudio",
        with_openai("lmstudio/v1"),
        openai,
        "qwen3-8b",
        "reasoning_content",
        {"reasoning_effort": "max"},
        "reasoning_effort",
        on={"reasoning_effort": "high"},
    ),
    House(
        "together",
        with_openai("together/v1"),
        openai,
        "openai/gpt-oss-120b",
        "reasoning",
        {"reasoning_effort": "none"},
        "reasoning_effort",
        on={"reasoning_effort": "high"},
    ),
    House(
        "fireworks",
        with_openai("fireworks/inference/v1"),
        openai,
        "accounts/fireworks/models/gpt-oss-120b",
        "reasoning_content",
        {"reasoning_effort": "none"},
        "Invalid reasoning effort: none",
        on={"reasoning_effort": "high"},
    ),
    House(
        "moonshot",
        with_openai("moonshot/v1"),
        openai,
        "kimi-k3",
        "reasoning_content",
        {"tools": [WEATHER], "tool_choice": "required"},
        "tool_choice 'required' is not supported",
        on={"reasoning_effort": "high"},
    ),
    House(
        "dashscope",
        with_openai("dashscope/compatible-mode/v1"),
        openai,
        "qwen-plus",
        "reasoning_content",
        {"reasoning_effort": "high", "extra_body": {"thinking_budget": 100}},
        "cannot be set simultaneously",
        on={"extra_body": {"enable_thinking": True, "thinking_budget": 4000}},
    ),
    House(
        "huggingface",
        with_openai("huggingface/v1"),
        openai,
        "openai/gpt-oss-120b:together",
        "reasoning_content",
        {"extra_body": {"thinking": {"type": "sometimes"}}},
        "Invalid value for 'thinking.type': 'sometimes'",
        on={"reasoning_effort": "high"},
    ),
    House(
        "compatible",
        with_openai("compatible/v1"),
        openai,
        "anything",
        "reasoning_content",
        {"extra_body": {"thinking": {"type": "sometimes"}}},
        "Invalid value for 'thinking.type': 'sometimes'",
        on={"reasoning_effort": "high"},
    ),
]
IDS = [house.service for house in HOUSES]


@pytest.fixture(params=HOUSES, ids=IDS)
def house(request):
    return request.param


@pytest.fixture
def client(house, url):
    with house.client(url) as made:
        yield made


def thinking_of(said, house):
    return getattr(said, house.field, None) or ""


def test_it_answers_thinks_and_counts(house, client, emulator):
    answer = client.chat.completions.create(model=house.model, messages=SUM, **house.on)
    message, usage = answer.choices[0].message, answer.usage
    assert (message.content, answer.choices[0].finish_reason) == (ANSWER, "stop")
    assert "391" in thinking_of(message, house)
    thought = usage.completion_tokens_details.reasoning_tokens
    counted = usage.prompt_tokens + usage.completion_tokens
    assert usage.total_tokens == counted + (thought if house.outside else 0)
    assert thought > 0
    assert house.outside or thought < usage.completion_tokens
    assert [entry.service for entry in emulator.log.entries] == [house.service]


def test_it_streams_what_it_would_have_said_at_once(house, client):
    asked = {"model": house.model, "messages": SUM, **house.on}
    whole = client.chat.completions.create(**asked)
    chunks = list(client.chat.completions.create(**asked, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == ANSWER
    thought = "".join(thinking_of(delta, house) for delta in deltas)
    assert thought == thinking_of(whole.choices[0].message, house)


def test_tools_work_on_turn_two_with_the_thinking_that_led_to_them(house, client, emulator):
    asked = {"model": house.model, "tools": [WEATHER], **house.on}
    first = client.chat.completions.create(messages=CITIES, **asked).choices[0]
    assert first.finish_reason == "tool_calls"
    calls = first.message.tool_calls
    assert [json.loads(call.function.arguments)["city"] for call in calls] == ["Paris", "London"]
    turn = first.message.model_dump(exclude_none=True)
    if house.service == "xai":
        turn.pop("reasoning_content")  # it has no field to take it back in
    results = [{"role": "tool", "tool_call_id": call.id, "content": "18 degrees"} for call in calls]
    second = client.chat.completions.create(messages=[*CITIES, turn, *results], **asked)
    assert second.choices[0].message.content == BOTH
    assert [entry.status for entry in emulator.log.entries] == [200, 200]


def test_a_rule_that_is_broken_is_the_sdks_own_error(house, client):
    asked = {"model": house.model, "messages": SUM, **house.broken}
    with pytest.raises(house.sdk.BadRequestError) as caught:
        client.chat.completions.create(**asked)
    assert house.words in str(caught.value.response.json())


@pytest.mark.parametrize("house", HOUSES[:6], ids=IDS[:6])
def test_without_a_key_it_is_refused(house, url, emulator):
    with house.client(url) as client, pytest.raises(house.sdk.AuthenticationError):
        client.chat.completions.create(
            model=house.model, messages=SUM, extra_headers={"Authorization": ""}
        )
    assert emulator.log.entries[0].status == 401


# -- what only some of them do -------------------------------------------------------------------


@pytest.mark.parametrize("house", HOUSES[:2], ids=IDS[:2])
@pytest.mark.parametrize("foreign", ["reasoning_content", "reasoning_details", "thinking_blocks"])
def test_a_field_of_anothers_thinking_is_refused(house, url, foreign):
    turn = {"role": "assistant", "content": "4", foreign: "hm"}
    with house.client(url) as client, pytest.raises(house.sdk.BadRequestError, match=foreign):
        client.chat.completions.create(model=house.model, messages=[*SUM, turn, *SUM])


def test_groq_shows_raw_thinking_in_tags_and_not_beside_tools(url):
    with groq.Groq(api_key="k", base_url=f"{url}/groq", max_retries=0) as client:
        asked = {"model": "qwen/qwen3.8-27b", "messages": SUM, "reasoning_format": "raw"}
        message = client.chat.completions.create(**asked).choices[0].message
        assert message.content.startswith("<think>")
        with pytest.raises(groq.BadRequestError, match="reasoning_format"):
            client.chat.completions.create(**asked, tools=[WEATHER])


def test_deepseek_refuses_a_call_whose_thinking_did_not_come_back(url):
    with with_openai("deepseek")(url) as client:
        asked = {"model": "deepseek-v4-flash", "tools": [WEATHER]}
        first = client.chat.completions.create(messages=CITIES, **asked).choices[0].message
        turn = first.model_dump(exclude_none=True)
        del turn["reasoning_content"]
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": "18"} for call in first.tool_calls
        ]
        with pytest.raises(openai.BadRequestError, match="must be passed back to the API"):
            client.chat.completions.create(messages=[*CITIES, turn, *results], **asked)


def test_openrouter_gives_details_by_index_and_takes_back_only_what_it_gave(url):
    with with_openai("openrouter/api/v1")(url) as client:
        for model, kinds in (
            ("anthropic/claude-opus-5", ["reasoning.text"]),
            ("openai/gpt-6-sol", ["reasoning.summary", "reasoning.encrypted"]),
            ("google/gemini-3.5-flash", ["reasoning.text", "reasoning.encrypted"]),
        ):
            asked = {"model": model, "extra_body": {"reasoning": {"effort": "high"}}}
            message = client.chat.completions.create(messages=SUM, **asked).choices[0].message
            details = message.reasoning_details
            assert [detail["type"] for detail in details] == kinds
            turn = message.model_dump(exclude_none=True)
            more = [{"role": "user", "content": "And 2 + 2?"}]
            again = client.chat.completions.create(messages=[*SUM, turn, *more], **asked)
            assert "4" in again.choices[0].message.content
            sealed = details[-1]
            sealed["data" if "data" in sealed else "signature"] = "c29tZW9uZSBlbHNl"
            turn["reasoning_details"] = details
            with pytest.raises(openai.BadRequestError, match="signature"):
                client.chat.completions.create(messages=[*SUM, turn, *more], **asked)


def test_openrouter_says_its_upstream_and_an_error_within_a_stream(url):
    with with_openai("openrouter/api/v1")(url) as client:
        asked = {"model": "anthropic/claude-opus-5", "messages": SUM}
        assert client.chat.completions.create(**asked).provider == "Emulated"
        raw = client.chat.completions.with_raw_response.create(**asked, stream=True)
        assert raw.http_response.read().startswith(b": OPENROUTER PROCESSING\n\n")
        stream = client.chat.completions.create(
            model="anthropic/claude-opus-5",
            messages=[{"role": "user", "content": "Hello [emulator: fault error_event 3]"}],
            stream=True,
        )
        with pytest.raises(openai.APIError):
            list(stream)


def test_minimax_thinks_in_its_answer_or_apart_and_takes_either_back(url, emulator):
    with with_openai("minimax/v1")(url) as client:
        for split in (False, True):
            asked = {
                "model": "MiniMax-M3",
                "tools": [WEATHER],
                "extra_body": {"thinking": {"type": "adaptive"}, "reasoning_split": split},
            }
            first = client.chat.completions.create(messages=CITIES, **asked).choices[0].message
            turn = first.model_dump(exclude_none=True)
            assert ("reasoning_details" in turn) == split
            assert (turn.get("content") or "").startswith("<think>") != split
            results = [
                {"role": "tool", "tool_call_id": call.id, "content": "18 degrees"}
                for call in first.tool_calls
            ]
            second = client.chat.completions.create(messages=[*CITIES, turn, *results], **asked)
            assert second.choices[0].message.content.endswith(BOTH)
    assert {(entry.service, entry.status) for entry in emulator.log.entries} == {("minimax", 200)}


# -- mistral -------------------------------------------------------------------------------------


@pytest.fixture
def mistral(url):
    with mistralai.Mistral(api_key="k", server_url=f"{url}/mistral") as client:
        yield client


MEDIUM = "mistral-medium-latest"


def test_mistral_thinks_in_chunks_of_its_content_and_counts_nothing(mistral):
    answer = mistral.chat.complete(model=MEDIUM, messages=SUM, reasoning_effort="high")
    thinking, text = answer.choices[0].message.content
    assert (thinking.type, text.text) == ("thinking", ANSWER)
    assert "391" in thinking.thinking[0].text
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert not getattr(usage, "completion_tokens_details", None)


def test_mistral_answers_with_a_string_where_it_does_not_think(mistral):
    answer = mistral.chat.complete(model=MEDIUM, messages=SUM)
    assert answer.choices[0].message.content == ANSWER


def test_mistral_streams_lists_and_strings(mistral):
    thought, words = "", ""
    with mistral.chat.stream(model=MEDIUM, messages=SUM, reasoning_effort="high") as events:
        for event in events:
            content = event.data.choices[0].delta.content
            if isinstance(content, str):
                words += content
            for chunk in content if isinstance(content, list) else ():
                thought += "".join(piece.text for piece in chunk.thinking)
    assert words == ANSWER
    assert "391" in thought


def test_mistral_takes_its_thinking_back_after_a_tool(mistral):
    asked = {"model": MEDIUM, "tools": [WEATHER], "reasoning_effort": "high"}
    first = mistral.chat.complete(messages=CITIES, **asked).choices[0].message
    results = [
        {"role": "tool", "tool_call_id": call.id, "name": "get_weather", "content": "18 degrees"}
        for call in first.tool_calls
    ]
    assert all(len(call.id) == 9 and call.id.isalnum() for call in first.tool_calls)
    second = mistral.chat.complete(messages=[*CITIES, first, *results], **asked)
    assert second.choices[0].message.content[-1].text == BOTH


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"reasoning_effort": "medium"}, 400, "reasoning_effort='medium' is not supported"),
        ({"model": "codestral-latest", "reasoning_effort": "high"}, 400, "is not supported"),
        ({"model": "mistral-nobody-1"}, 400, "Invalid model: mistral-nobody-1"),
    ],
)
def test_mistral_refuses_in_its_own_shapes(mistral, asked, status, words):
    with pytest.raises(mistral_errors.MistralError) as caught:
        mistral.chat.complete(**{"model": MEDIUM, "messages": SUM, **asked})
    assert caught.value.status_code == status
    assert words in caught.value.body


# -- xai over responses --------------------------------------------------------------------------

FUNCTION = {"type": "function", "strict": False, **WEATHER["function"]}
SEALED = {"store": False, "include": ["reasoning.encrypted_content"]}


@pytest.fixture
def grok(url):
    with with_openai("xai-responses/v1")(url) as client:
        yield client


def test_xai_over_responses_seals_its_thinking_and_counts_it_inside(grok, emulator):
    asked = {"model": "grok-4.6", "input": SUM[0]["content"], "reasoning": {"effort": "high"}}
    answer = grok.responses.create(**asked, **SEALED)
    thinking = answer.output[0]
    assert (answer.output_text, thinking.type) == (ANSWER, "reasoning")
    assert thinking.encrypted_content
    usage = answer.usage
    assert 0 < usage.output_tokens_details.reasoning_tokens < usage.output_tokens
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    with grok.responses.stream(**asked, **SEALED) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == ANSWER
    assert {entry.service for entry in emulator.log.entries} == {"xai-responses"}


def test_xai_over_responses_takes_its_items_back_after_a_tool(grok):
    asked = {"model": "grok-4.6", "tools": [FUNCTION], "reasoning": {"effort": "high"}, **SEALED}
    thread: list[Any] = [{"role": "user", "content": CITIES[0]["content"]}]
    first = grok.responses.create(input=thread, **asked)
    thread += [item.model_dump(exclude_none=True) for item in first.output]
    thread += [
        {"type": "function_call_output", "call_id": item.call_id, "output": "18 degrees"}
        for item in first.output
        if item.type == "function_call"
    ]
    assert grok.responses.create(input=thread, **asked).output_text == BOTH


def test_xai_over_responses_refuses_in_two_strings(grok):
    asked = {"model": "grok-4.6", "input": "hello", "reasoning": {"effort": "none"}}
    with pytest.raises(openai.BadRequestError) as caught:
        grok.responses.create(**asked)
    said = caught.value.response.json()
    assert set(said) == {"code", "error"}
    assert isinstance(said["error"], str)
