"""The vendor's own SDK writes to our service and reads its answers, in process."""

import httpx2
import openai
import pytest
from msgspec.structs import replace
from pydantic import BaseModel
from tests.laws.strategies import told

from pondero.canon import (
    Blob,
    HttpRequest,
    Image,
    Message,
    OutputFormat,
    Reply,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.dialects import Rejected, get_dialect

pytestmark = [pytest.mark.judge, pytest.mark.anyio]

RESPONSES = get_dialect("openai_responses")
MODEL = "gpt-5.6-sol"
USAGE = Usage(10, 2, 1, 5, 3, 21)
TOOL = {
    "type": "function",
    "name": "f",
    "description": "d",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
CITED = {
    "type": "url_citation",
    "url": "https://x.example",
    "title": "X",
    "start_index": 0,
    "end_index": 2,
}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
PARTS = (
    Thinking("First this, then that."),
    Text("Let me look.", citations=(CITED,)),
    UnknownPart("openai_responses", SEARCH),
    ToolCall("call_1", "f", {"city": "Paris"}),
    ToolCall("call_2", "f", {}),
)
ASKED = {
    "model": MODEL,
    "input": "hi",
    "tools": [TOOL],
    "reasoning": {"effort": "low", "summary": "auto"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
}


@pytest.fixture
def anyio_backend():
    return "asyncio"


class House:
    """Our service behind the SDK's own HTTP client; keeps what it was asked."""

    def __init__(self, *parts, finish="stop", fails=None):
        self.reply = Reply(Message("assistant", parts), finish, USAGE)
        self.fails = fails
        self.accepted = None

    def answer(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        http = HttpRequest(request.method, str(request.url), headers, request.content)
        try:
            accepted = RESPONSES.service().accept(http, "openai")
            self.accepted = replace(accepted, refuses=self.reply.finish == "refusal")
        except Rejected as refused:
            return _http(refused.response)
        if self.fails is not None:
            return _http(self.fails)
        if not self.accepted.request.stream:
            return _http(RESPONSES.service().reply(self.accepted, self.reply))
        stream = RESPONSES.service().stream(self.accepted)
        data = b"".join(stream.feed(event) for event in told(self.reply)) + stream.eof()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    async def answer_later(self, request):
        await request.aread()
        return self.answer(request)

    def client(self, **options):
        transport = httpx2.MockTransport(self.answer)
        return openai.OpenAI(
            api_key="k",
            http_client=httpx2.Client(transport=transport),
            max_retries=0,
            **{"_strict_response_validation": True} | options,
        )

    def aclient(self):
        transport = httpx2.MockTransport(self.answer_later)
        return openai.AsyncOpenAI(
            api_key="k",
            http_client=httpx2.AsyncClient(transport=transport),
            max_retries=0,
            _strict_response_validation=True,
        )


def _http(response):
    return httpx2.Response(response.status, headers=dict(response.headers), content=response.body)


def check(response):
    """The SDK, its answers validated, has read what our mind said."""
    thought, said, search, first, second = response.output
    assert (response.status, response.model, response.object) == ("completed", MODEL, "response")
    assert response.reasoning.effort == "low"
    assert [part.text for part in thought.summary] == ["First this, then that."]
    assert thought.encrypted_content
    assert response.output_text == "Let me look."
    assert said.content[0].annotations[0].url == "https://x.example"
    assert said.phase == "final_answer"
    assert search.to_dict() == SEARCH
    assert (first.call_id, first.name, first.arguments) == ("call_1", "f", '{"city":"Paris"}')
    assert second.arguments == "{}"
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (13, 8, 21)
    assert usage.input_tokens_details.cached_tokens == 2
    assert usage.input_tokens_details.cache_write_tokens == 1
    assert usage.output_tokens_details.reasoning_tokens == 3


def check_events(events):
    def joined(kind):
        return "".join(event.delta for event in events if event.type == f"response.{kind}.delta")

    assert joined("reasoning_summary_text") == "First this, then that."
    assert joined("output_text") == "Let me look."
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    check(events[-1].response)


def test_a_whole_answer_is_read_as_it_was_said():
    check(House(*PARTS, finish="tool_calls").client().responses.create(**ASKED))


async def test_a_whole_answer_is_read_as_it_was_said_later():
    check(await House(*PARTS, finish="tool_calls").aclient().responses.create(**ASKED))


def test_a_stream_is_read_as_it_was_said():
    house = House(*PARTS, finish="tool_calls")

    check_events(list(house.client().responses.create(**ASKED, stream=True)))


async def test_a_stream_is_read_as_it_was_said_later():
    stream = (
        await House(*PARTS, finish="tool_calls").aclient().responses.create(**ASKED, stream=True)
    )

    check_events([event async for event in stream])


def test_the_sdks_own_assembly_of_a_stream_is_the_answer():
    with House(*PARTS, finish="tool_calls").client().responses.stream(**ASKED) as stream:
        for _ in stream:
            pass
        check(stream.get_final_response())


async def test_the_sdks_own_assembly_of_a_stream_is_the_answer_later():
    house = House(*PARTS, finish="tool_calls")
    async with house.aclient().responses.stream(**ASKED) as stream:
        async for _ in stream:
            pass
        check(await stream.get_final_response())


class Thing(BaseModel):
    name: str
    size: int


def test_structured_output_is_asked_for_and_parsed():
    house = House(Text('{"name":"x","size":3}'))

    response = house.client().responses.parse(model=MODEL, input="hi", text_format=Thing)

    assert response.output_parsed == Thing(name="x", size=3)
    output = house.accepted.request.output
    assert isinstance(output, OutputFormat)
    assert (output.name, output.strict) == ("Thing", True)
    assert set(output.schema["properties"]) == {"name", "size"}


def test_what_the_sdk_writes_is_understood():
    house = House(Text("ok"))
    house.client().responses.create(
        model="gpt-4.1",
        instructions="Be brief.",
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look"},
                    {
                        "type": "input_image",
                        "detail": "low",
                        "image_url": "data:image/png;base64,AQ==",
                    },
                    {
                        "type": "input_file",
                        "filename": "a.pdf",
                        "file_data": "data:application/pdf;base64,Ag==",
                    },
                ],
            }
        ],
        tools=[TOOL, {"type": "web_search"}],
        tool_choice={"type": "function", "name": "f"},
        parallel_tool_calls=False,
        max_output_tokens=100,
        temperature=0.5,
        top_p=0.9,
        metadata={"a": "b"},
    )
    request = house.accepted.request

    assert request.system == (Text("Be brief."),)
    assert request.messages[0].parts == (
        Text("Look"),
        Image("image/png", data=b"\x01", detail="low"),
        Blob("application/pdf", data=b"\x02", name="a.pdf"),
    )
    assert request.tools == (
        Tool("f", "d", TOOL["parameters"], strict=False),
        Tool("web_search", raw={"type": "web_search"}, dialect=RESPONSES.name, kind="web_search"),
    )
    assert request.tool_choice == ToolChoice("tool", "f", parallel=False)
    assert (request.max_tokens, request.temperature, request.top_p) == (100, 0.5, 0.9)
    assert request.extras == {"metadata": {"a": "b"}}


def test_the_sdk_sends_an_answer_back_and_it_is_taken():
    first = House(*PARTS, finish="tool_calls").client().responses.create(**ASKED)
    house = House(Text("Sunny."))
    results = [
        {"type": "function_call_output", "call_id": call_id, "output": "ok"}
        for call_id in ("call_1", "call_2")
    ]
    question = {"role": "user", "content": "hi"}

    house.client().responses.create(**ASKED | {"input": [question, *first.output, *results]})
    _, answer, results_back = house.accepted.request.messages

    assert [type(part) for part in answer.parts] == [type(part) for part in PARTS]
    assert answer.parts[0].signature.value["encrypted_content"] == first.output[0].encrypted_content
    assert results_back.parts == (
        ToolResult("call_1", (Text("ok"),)),
        ToolResult("call_2", (Text("ok"),)),
    )


@pytest.mark.parametrize(
    ("change", "options", "kind", "code"),
    [
        ({"model": "gpt-9"}, {}, openai.BadRequestError, "model_not_found"),
        ({"reasoning": {"effort": "minimal"}}, {}, openai.BadRequestError, "unsupported_value"),
        ({"temperature": 0.5}, {}, openai.BadRequestError, "unsupported_parameter"),
        ({"extra_body": {"stop": ["x"]}}, {}, openai.BadRequestError, "unknown_parameter"),
        (
            {"extra_headers": {"Authorization": ""}},
            {},
            openai.AuthenticationError,
            None,
        ),
        (
            {"input": [{"type": "item_reference", "id": "msg_1"}]},
            {},
            openai.NotFoundError,
            None,
        ),
    ],
)
def test_refusals_are_the_sdks_own_errors(change, options, kind, code):
    with pytest.raises(kind) as caught:
        House(Text("x")).client(**options).responses.create(**ASKED | change)

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
def test_failures_are_the_sdks_own_errors(status, kind):
    failing = RESPONSES.service().error(status, "some words", code=None, retry_after=2.0)

    with pytest.raises(kind, match="some words") as caught:
        House(Text("x"), fails=failing).client().responses.create(**ASKED)

    assert caught.value.request_id == failing.headers["x-request-id"]


def test_an_answer_that_fails_under_way_says_so():
    events = list(House(Text("x"), finish="error").client().responses.create(**ASKED, stream=True))

    assert events[-1].type == "response.failed"
    assert events[-1].response.error.code == "server_error"


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [
        ("length", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"),
    ],
)
def test_ends_are_read(finish, status, reason):
    response = House(Text("x"), finish=finish).client().responses.create(**ASKED)

    assert (response.status, response.incomplete_details.reason) == (status, reason)


def test_a_refusal_is_read():
    response = House(Text("No."), finish="refusal").client().responses.create(**ASKED)

    assert response.output[0].content[0].refusal == "No."
    with House(Text("No."), finish="refusal").client().responses.stream(**ASKED) as stream:
        assert stream.get_final_response().output[0].content[0].refusal == "No."
