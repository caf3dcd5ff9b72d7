"""Cohere's own client, pointed at the emulator over real HTTP, with its normal code."""

import json

import cohere
import pytest
from cohere.core.api_error import ApiError

from pondero.canon import Text
from pondero.emulator import Emulator, Fault, ScriptedTurn, run_emulator_in_thread

pytestmark = [pytest.mark.judge, pytest.mark.anyio]

THINKER, PLAIN = "command-a-reasoning-08-2025", "command-a-03-2025"
SUM = [{"role": "user", "content": "What is 17 * 23?"}]
CITIES = {"role": "user", "content": "What is the weather in Paris and London?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


@pytest.fixture
def anyio_backend():
    return "asyncio"


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


@pytest.fixture(scope="module")
def client(url):
    with cohere.ClientV2("test", base_url=url, max_retries=0) as made:
        yield made


def said(message):
    """Return thinking and words of a whole answer."""
    parts = message.content or []
    thinking = "".join(part.thinking for part in parts if part.type == "thinking")
    return thinking, "".join(part.text for part in parts if part.type == "text")


def heard(events):
    """Return thinking, words and calls of a streamed answer, and its last event."""
    thinking = text = ""
    calls = []
    for event in events:
        if event.type == "content-delta":
            thinking += event.delta.message.content.thinking or ""
            text += event.delta.message.content.text or ""
        elif event.type == "tool-call-start":
            call = event.delta.message.tool_calls
            calls.append([call.id, call.function.name, call.function.arguments])
        elif event.type == "tool-call-delta":
            calls[-1][2] += event.delta.message.tool_calls.function.arguments
    return thinking, text, calls, event


def test_it_answers_and_thinks(client):
    answer = client.chat(model=THINKER, messages=SUM)
    thinking, text = said(answer.message)
    assert text == "17 * 23 = 391"
    assert "391" in thinking
    assert answer.finish_reason == "COMPLETE"
    assert 0 < answer.usage.tokens.reasoning_tokens < answer.usage.tokens.output_tokens
    assert answer.usage.billed_units.input_tokens > 0


def test_it_streams_what_it_would_have_said_at_once(client):
    whole = client.chat(model=THINKER, messages=SUM)
    events = list(client.chat_stream(model=THINKER, messages=SUM))
    assert (events[0].type, events[0].id) == ("message-start", whole.id)
    thinking, text, _, last = heard(events)
    assert (thinking, text) == said(whole.message)
    assert (last.type, last.delta.finish_reason) == ("message-end", "COMPLETE")
    assert last.delta.usage == whole.usage


async def test_it_answers_and_streams_async(url):
    async with cohere.AsyncClientV2("test", base_url=url, max_retries=0) as client:
        whole = await client.chat(model=THINKER, messages=SUM)
        events = [each async for each in client.chat_stream(model=THINKER, messages=SUM)]
    assert heard(events)[:2] == said(whole.message)


@pytest.mark.parametrize("model", [THINKER, PLAIN])
def test_tools_work_on_turn_two(client, model):
    thread = [CITIES]
    first = client.chat(model=model, messages=thread, tools=[TOOL])
    calls = first.message.tool_calls
    assert first.finish_reason == "TOOL_CALL"
    assert [json.loads(call.function.arguments)["city"] for call in calls] == ["Paris", "London"]
    thread.append(first.message)
    thread += [{"role": "tool", "tool_call_id": call.id, "content": "18 degrees"} for call in calls]
    second = client.chat(model=model, messages=thread, tools=[TOOL])
    assert said(second.message)[1].count("18 degrees") == 2


def test_a_streamed_call_comes_in_pieces(client):
    whole = client.chat(model=THINKER, messages=[CITIES], tools=[TOOL])
    events = client.chat_stream(model=THINKER, messages=[CITIES], tools=[TOOL])
    _, _, calls, last = heard(events)
    assert last.delta.finish_reason == "TOOL_CALL"
    assert calls == [
        [call.id, call.function.name, call.function.arguments] for call in whole.message.tool_calls
    ]


def test_more_is_thought_with_a_larger_budget_and_none_when_it_is_off(client):
    counts = []
    for tokens in (512, 8192, 31_000):
        budget = {"type": "enabled", "token_budget": tokens}
        answer = client.chat(model=THINKER, messages=SUM, thinking=budget)
        counts.append(answer.usage.tokens.reasoning_tokens)
    assert counts == sorted(set(counts))
    off = client.chat(model=THINKER, messages=SUM, thinking={"type": "disabled"})
    assert [part.type for part in off.message.content] == ["text"]


def test_an_answer_of_a_shape_and_where_its_words_are_from(client, emulator):
    shape = {"type": "json_object", "json_schema": SCHEMA}
    answer = client.chat(model=PLAIN, messages=SUM, response_format=shape)
    assert json.loads(said(answer.message)[1]) == {"answer": "17 * 23 = 391"}
    cited = {"start": 0, "end": 5, "text": "Quack", "sources": [], "type": "TEXT_CONTENT"}
    emulator.expect(*[ScriptedTurn(parts=(Text("Quack", citations=(cited,)),))] * 2)
    whole = client.chat(model=PLAIN, messages=SUM)
    assert [each.text for each in whole.message.citations] == ["Quack"]
    events = list(client.chat_stream(model=PLAIN, messages=SUM))
    found = [each for each in events if each.type == "citation-start"]
    assert [each.delta.message.citations.text for each in found] == ["Quack"]


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"model": "nobody-1"}, cohere.NotFoundError, "model 'nobody-1' not found"),
        (
            {"thinking": {"type": "enabled", "token_budget": 0}},
            cohere.BadRequestError,
            "token_budget",
        ),
        (
            {"model": PLAIN, "thinking": {"type": "enabled"}},
            cohere.BadRequestError,
            "thinking is not supported for this model",
        ),
        (
            {"tools": [TOOL], "response_format": {"type": "json_object"}},
            cohere.BadRequestError,
            "response_format is not supported with tools",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
                    }
                ]
            },
            cohere.BadRequestError,
            "image content is not supported for this model",
        ),
        ({"p": 1.0}, cohere.BadRequestError, "$.p"),
    ],
)
def test_a_refusal_is_read_as_what_it_is(client, more, error, words):
    for ask in (client.chat, lambda **asked: list(client.chat_stream(**asked))):
        with pytest.raises(error) as refused:
            ask(**{"model": THINKER, "messages": SUM, **more})
        assert words in str(refused.value.body)


def test_a_key_is_wanted(url):
    with (
        cohere.ClientV2("invalid", base_url=url, max_retries=0) as client,
        pytest.raises(cohere.UnauthorizedError, match="invalid api token"),
    ):
        client.chat(model=PLAIN, messages=SUM)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_goes_wrong_has_its_status(client, emulator, status):
    emulator.expect(ScriptedTurn(fault=Fault.parse(status)))
    with pytest.raises(ApiError) as failed:
        client.chat(model=PLAIN, messages=SUM)
    assert failed.value.status_code == status


def test_a_stream_that_fails_says_so_at_its_end(client, emulator):
    emulator.expect(ScriptedTurn(text="one two three", fault=Fault.parse("error_event 500")))
    *_, last = client.chat_stream(model=PLAIN, messages=SUM)
    assert (last.type, last.delta.finish_reason) == ("message-end", "ERROR")
    assert last.delta.error
