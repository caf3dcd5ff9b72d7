"""The vendor's own SDK writes to our service and reads its answers, in process."""

import json

import httpx2
import openai
import pytest
from pydantic import BaseModel

from pondero.canon import (
    Finished,
    HttpRequest,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
)
from pondero.dialects import Rejected, get_dialect

pytestmark = [pytest.mark.judge, pytest.mark.anyio]

CHAT = get_dialect("openai_chat")
USAGE = Usage(10, 2, None, 5, 3, 20)
TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "d",
        "parameters": {"type": "object", "properties": {}},
    },
}
ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def anyio_backend():
    return "asyncio"


class House:
    """Our service behind the SDK's own HTTP client; keeps what it was asked."""

    def __init__(self, *parts, finish="stop", service="openai-chat", fails=None):
        self.reply = Reply(Message("assistant", parts), finish, USAGE)
        self.service, self.fails = service, fails
        self.accepted = None

    def answer(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        http = HttpRequest(request.method, str(request.url), headers, request.content)
        try:
            self.accepted = CHAT.service().accept(http, self.service)
        except Rejected as refused:
            return _http(refused.response)
        if self.fails is not None:
            return _http(self.fails)
        if not self.accepted.request.stream:
            return _http(CHAT.service().reply(self.accepted, self.reply))
        stream = CHAT.service().stream(self.accepted)
        data = b"".join(stream.feed(event) for event in _told(self.reply)) + stream.eof()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    async def answer_later(self, request):
        await request.aread()
        return self.answer(request)

    def client(self):
        transport = httpx2.MockTransport(self.answer)
        return openai.OpenAI(
            api_key="k", http_client=httpx2.Client(transport=transport), max_retries=0
        )

    def aclient(self):
        transport = httpx2.MockTransport(self.answer_later)
        return openai.AsyncOpenAI(
            api_key="k", http_client=httpx2.AsyncClient(transport=transport), max_retries=0
        )


def _http(response):
    return httpx2.Response(response.status, headers=dict(response.headers), content=response.body)


def _told(reply):
    events = [Started(reply.model)]
    for index, part in enumerate(reply.message.parts):
        match part:
            case Text():
                half = len(part.text) // 2
                texts = (part.text[:half], part.text[half:])
                events += [PartStart(index, "text"), *(TextDelta(index, text) for text in texts)]
            case Thinking():
                events += [PartStart(index, "thinking"), ThinkingDelta(index, part.text)]
            case ToolCall():
                events.append(PartStart(index, "tool_call", part.id, part.name))
                events += [ToolDelta(index, piece) for piece in json.dumps(part.arguments)]
        events.append(PartEnd(index, part))
    return [*events, Finished(reply.finish, reply.usage)]


def check_usage(usage):
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (12, 8, 20)
    assert usage.prompt_tokens_details.cached_tokens == 2
    assert usage.completion_tokens_details.reasoning_tokens == 3


def check_message(message):
    assert message.role == "assistant"
    assert message.content == "Hey there"
    assert message.refusal is None
    (call,) = message.tool_calls
    assert (call.id, call.type, call.function.name) == ("a", "function", "f")
    assert json.loads(call.function.arguments) == {"x": 1}


ANSWER = (Text("Hey there"), ToolCall("a", "f", {"x": 1}))


def test_a_whole_answer_is_read_as_it_was_given():
    house = House(*ANSWER, finish="tool_calls")
    completion = house.client().chat.completions.create(**ASKED, tools=[TOOL])
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    check_message(choice.message)
    check_usage(completion.usage)
    assert house.accepted.request.tools[0].name == "f"


async def test_a_whole_answer_is_read_as_it_was_given_async():
    completion = (
        await House(*ANSWER, finish="tool_calls").aclient().chat.completions.create(**ASKED)
    )
    check_message(completion.choices[0].message)
    check_usage(completion.usage)


def test_a_stream_adds_up_to_what_was_given():
    house = House(*ANSWER, finish="tool_calls")
    asked = ASKED | {"tools": [TOOL], "stream_options": {"include_usage": True}}
    with house.client().chat.completions.stream(**asked) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert {"content.delta", "content.done", "tool_calls.function.arguments.done"} <= set(kinds)
    assert final.choices[0].finish_reason == "tool_calls"
    check_message(final.choices[0].message)
    check_usage(final.usage)


async def test_a_stream_adds_up_to_what_was_given_async():
    asked = ASKED | {"tools": [TOOL], "stream_options": {"include_usage": True}}
    async with (
        House(*ANSWER, finish="tool_calls").aclient().chat.completions.stream(**asked) as stream
    ):
        final = await stream.get_final_completion()
    check_message(final.choices[0].message)
    check_usage(final.usage)


def test_raw_chunks_without_counts():
    chunks = list(House(Text("Hey")).client().chat.completions.create(**ASKED, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == "Hey"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(c.usage is None for c in chunks)


async def test_raw_chunks_async():
    stream = await House(Text("Hey")).aclient().chat.completions.create(**ASKED, stream=True)
    chunks = [chunk async for chunk in stream]
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == "Hey"


def test_thinking_of_a_compatible_service_is_beside_the_words():
    house = House(Thinking("Hm"), Text("Hey"), service="compatible")
    asked = ASKED | {"model": "any", "reasoning_effort": "high"}
    message = house.client().chat.completions.create(**asked).choices[0].message
    assert (message.reasoning_content, message.content) == ("Hm", "Hey")
    chunks = list(house.client().chat.completions.create(**asked, stream=True))
    deltas = [c.choices[0].delta for c in chunks if c.choices]
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "Hm"


def test_a_structured_answer_is_parsed():
    class Shape(BaseModel):
        answer: str

    house = House(Text('{"answer":"yes"}'))
    completion = house.client().chat.completions.parse(**ASKED, response_format=Shape)
    assert completion.choices[0].message.parsed == Shape(answer="yes")
    output = house.accepted.request.output
    assert (output.name, output.strict) == ("Shape", True)


def test_all_the_sdk_can_say_is_accepted():
    house = House(Text("Hey"))
    messages = [
        {"role": "developer", "content": "be brief, in JSON"},
        {
            "role": "user",
            "name": "me",
            "content": [
                {"type": "text", "text": "see"},
                {
                    "type": "image_url",
                    "image_url": {"url": "https://x.test/a.png", "detail": "high"},
                },
                {"type": "file", "file": {"file_id": "file-1"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "1"}]},
    ]
    house.client().chat.completions.create(
        model="gpt-4o",
        messages=messages,
        tools=[TOOL],
        tool_choice={"type": "function", "function": {"name": "f"}},
        parallel_tool_calls=False,
        response_format={"type": "json_object"},
        max_completion_tokens=9,
        temperature=0.1,
        top_p=0.9,
        presence_penalty=0.1,
        frequency_penalty=-0.1,
        logit_bias={"1": 5},
        logprobs=True,
        top_logprobs=2,
        seed=1,
        stop=["x"],
        n=1,
        user="u",
        metadata={"k": "v"},
        store=True,
        service_tier="auto",
        safety_identifier="s",
        prompt_cache_key="p",
        verbosity="medium",
        modalities=["text"],
    )
    request = house.accepted.request
    assert request.system == (Text("be brief, in JSON"),)
    assert [part.call_id for part in request.messages[2].parts] == ["a"]
    assert (request.max_tokens, request.temperature, request.stop) == (9, 0.1, ("x",))
    assert request.extras["seed"] == 1


def test_what_the_sdk_read_it_can_send_back():
    house = House(*ANSWER, finish="tool_calls")
    client = house.client()
    first = client.chat.completions.create(**ASKED, tools=[TOOL]).choices[0].message
    follow = {"role": "tool", "tool_call_id": "a", "content": "1"}
    client.chat.completions.create(
        model="gpt-4o", messages=[*ASKED["messages"], first, follow], tools=[TOOL]
    )
    assert house.accepted.request.messages[1].parts == ANSWER


REFUSALS = [
    ({"model": "gpt-nope"}, openai.NotFoundError, "model_not_found", None),
    ({"reasoning_effort": "high"}, openai.BadRequestError, None, None),
    ({"temperature": 9}, openai.BadRequestError, "decimal_above_max_value", "temperature"),
    ({"extra_body": {"foo": 1}}, openai.BadRequestError, None, None),
    (
        {"model": "gpt-5", "max_tokens": 9},
        openai.BadRequestError,
        "unsupported_parameter",
        "max_tokens",
    ),
    ({"model": "gpt-5.5", "tools": [TOOL]}, openai.BadRequestError, None, "reasoning_effort"),
    ({"extra_headers": {"Authorization": ""}}, openai.AuthenticationError, None, None),
]


@pytest.mark.parametrize(("change", "kind", "code", "param"), REFUSALS)
def test_a_refusal_is_the_sdks_own_error(change, kind, code, param):
    for stream in (False, True):
        with pytest.raises(kind) as raised:
            House(Text("x")).client().chat.completions.create(**(ASKED | change), stream=stream)
        assert (raised.value.code, raised.value.param) == (code, param)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_a_failure_is_the_sdks_own_error(status, kind):
    house = House(fails=CHAT.service().error(status, "words", code=None, retry_after=1.0))
    with pytest.raises(kind) as raised:
        house.client().chat.completions.create(**ASKED)
    assert raised.value.body["message"] == "words"
    assert raised.value.request_id == "req_emulated"
    with pytest.raises(kind):
        await house.aclient().chat.completions.create(**ASKED)
