"""The values in the spans and metrics of exchanges."""

import asyncio
import contextlib
import json
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.tracing.programs import (
    CAPTURE,
    DEEDS,
    ONCE,
    QUESTION,
    ask_and_fail,
    ask_with,
    chat,
    fall_back,
    get_weather,
    read_stream,
    run,
)

import pondero
from pondero.client.tracing.attributes import request_attributes
from pondero.emulator import Emulator
from pondero.errors import PonderoError
from pondero.exchange import Retry

pytest.importorskip("opentelemetry.sdk")
from opentelemetry import _logs, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from tests.client.tracing.judge import CONVENTIONS, TYPES, is_ours

pytestmark = pytest.mark.judge


def test_an_exchange_is_a_span_with_its_level_and_its_counts(observed):
    reply = pondero.Client(transport=Emulator()).ask("claude-opus-5/low", QUESTION, max_tokens=3000)
    (span,) = observed.spans
    said, usage = span.attributes, reply.usage
    assert said["gen_ai.request.reasoning.level"] == said["pondero.level"] == "low"
    assert said["gen_ai.request.max_tokens"] == 3000
    assert said["gen_ai.usage.reasoning.output_tokens"] == usage.thinking
    assert said["gen_ai.usage.output_tokens"] == usage.output + usage.thinking
    assert said["gen_ai.usage.cache_read.input_tokens"] == usage.cache_read
    assert said["gen_ai.response.id"].startswith("msg_")
    assert said["pondero.request_id"].startswith("req_")
    assert (said["server.address"], said["server.port"]) == ("api.anthropic.com", 443)
    assert said["pondero.verdict"] == "as_planned"


def test_an_answer_that_is_read_as_it_comes_has_a_first_chunk(observed):
    read_stream()()
    (span,) = observed.spans
    first = span.attributes["gen_ai.response.time_to_first_chunk"]
    assert 0 < first < span.end_time - span.start_time


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("gpt-5.1/off", {}, {"reasoning.level": "none"}),
        ("gemini-3-pro-preview/low", {}, {"reasoning.level": "LOW"}),
        ("claude-sonnet-4-5/low", {}, {"reasoning.level": "low"}),  # a budget: our own word
        ("groq:qwen/qwen3-32b", {"stop": ["a", "b"]}, {"stop_sequences": ("a", "b")}),
        ("groq:qwen/qwen3-32b", {"extras": {"n": 1, "stop": "a"}}, {"stop_sequences": ("a",)}),
        ("gemini-2.5-flash", {"extras": {"generationConfig": {"seed": 7}}}, {"seed": 7}),
        ("gemini-2.5-flash", {"max_tokens": 900}, {"max_tokens": 900}),
        ("ollama:qwen3:8b", {"max_tokens": 900}, {"max_tokens": 900}),
        ("mistral:magistral-medium-latest", {"extras": {"random_seed": 7}}, {"seed": 7}),
    ],
)
def test_parameters_are_those_that_are_sent(model, options, expected, observed):
    pondero.Client(transport=Emulator()).ask(model, QUESTION, **options)
    said = observed.spans[-1].attributes
    assert {name: said[f"gen_ai.request.{name}"] for name in expected} == expected
    assert "gen_ai.request.choice.count" not in said


_WORDS = sorted(
    {word for row in CONVENTIONS["spans"]["chat"]["attributes"] for word in row["name"].split(".")}
    | {
        "n",
        "p",
        "k",
        "stop",
        "options",
        "format",
        "generationConfig",
        "inferenceConfig",
        "maxOutputTokens",
        "maxTokens",
        "topP",
        "topK",
        "stopSequences",
        "candidateCount",
        "thinkingConfig",
        "thinkingLevel",
        "effort",
        "reasoning",
        "reasoning_effort",
        "think",
        "text",
        "type",
        "response_format",
        "num_predict",
        "conversation",
        "random_seed",
        "service_tier",
        "additionalModelRequestFields",
        "output_config",
        "responseMimeType",
    }
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.sampled_from(["json", "text", "auto", "json_schema"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("model", ["openai-chat:gpt-4.1", "gemini-2.5-flash", "ollama:qwen3:8b"])
@given(body=st.dictionaries(st.sampled_from(_WORDS), _VALUES, max_size=8))
def test_whatever_is_sent_the_types_are_those_of_the_conventions(model, body):
    exchange = pondero.Client(transport=Emulator()).prepare(model, QUESTION).exchange
    http = msgspec.structs.replace(exchange.http, body=json.dumps(body).encode())
    said = request_attributes(msgspec.structs.replace(exchange, http=http))
    rows = {row["name"]: row for row in CONVENTIONS["spans"]["chat"]["attributes"]}
    for name, value in said.items():
        if not is_ours(name):
            given_ = tuple(value) if isinstance(value, list) else value
            assert TYPES[rows[name]["type"]](given_), (name, value)


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, True, "7", None])
def test_a_value_that_an_exporter_cannot_encode_is_left_out(seed, observed):
    client = pondero.Client(transport=Emulator(), retry=ONCE)
    with contextlib.suppress(PonderoError):
        client.ask("openai-chat:gpt-4.1", QUESTION, extras={"seed": seed})
    assert "gen_ai.request.seed" not in observed.spans[0].attributes


def test_a_number_that_no_float_holds_is_left_out():
    extras = {"presence_penalty": 10**400, "frequency_penalty": 1}
    client = pondero.Client(transport=Emulator())
    said = request_attributes(
        client.prepare("openai-chat:gpt-4.1", QUESTION, extras=extras).exchange
    )
    assert said["gen_ai.request.frequency_penalty"] == 1.0
    assert "gen_ai.request.presence_penalty" not in said


def test_a_conversation_that_the_service_keeps_has_its_id(observed):
    client = pondero.Client(transport=Emulator(), retry=ONCE)
    with pytest.raises(PonderoError):  # the emulator keeps none
        client.ask("gpt-5.1/low", QUESTION, extras={"conversation": {"id": "conv_1"}})
    assert observed.spans[0].attributes["gen_ai.conversation.id"] == "conv_1"


def test_the_address_has_neither_a_user_nor_a_query(observed):
    urls = {"openai": "http://me:secret@127.0.0.1:8080/v1?key=hidden"}
    client = pondero.Client(transport=Emulator(), urls=urls)
    client.ask("gpt-5.1/low", QUESTION)
    said = observed.spans[0].attributes
    assert (said["server.address"], said["server.port"]) == ("127.0.0.1", 8080)
    assert "secret" not in str(dict(said))


def test_a_whole_answer_has_no_chunks(observed):
    DEEDS["whole"]()
    (span,) = observed.spans
    assert {"gen_ai.request.stream", "gen_ai.response.time_to_first_chunk"}.isdisjoint(
        span.attributes
    )
    assert set(observed.metrics) == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
    }


def test_a_failure_ends_its_span_with_the_reason(observed):
    ask_and_fail()
    (span,) = observed.spans
    assert span.attributes["error.type"] == "ServerFailed"
    assert span.attributes["http.response.status_code"] == 500
    assert span.status.description is None  # words of a service may quote the prompt
    assert not span.events
    (point,) = observed.metrics["gen_ai.client.operation.duration"].data.data_points
    assert point.attributes["error.type"] == "ServerFailed"
    assert "gen_ai.client.token.usage" not in observed.metrics


@pytest.mark.parametrize("deed", ["left", "left async"])
def test_a_stream_left_early_is_no_failure(deed, observed):
    DEEDS[deed]()
    (span,) = observed.spans
    assert span.status.status_code is trace.StatusCode.UNSET
    assert "error.type" not in span.attributes
    assert span.attributes["gen_ai.response.finish_reasons"] == ("error",)  # the end is missing
    assert span.attributes["gen_ai.response.id"].startswith("msg_")


def test_a_cancelled_task_ends_its_span(observed):
    async def act():
        client = pondero.AsyncClient(transport=Emulator())
        stream = client.stream("claude-opus-5/low", QUESTION)

        begun = asyncio.Event()

        async def read():
            async for _ in stream:
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await stream.aclose()

    run(act())
    assert len(observed.spans) == 1


def test_retries_are_in_one_span_and_fallbacks_in_their_own(observed):
    waits = Retry(waits=False)
    pondero.Client(transport=Emulator(faults=[529, 529]), retry=waits).ask("gpt-5.1/low", QUESTION)
    assert [span.attributes["pondero.retries"] for span in observed.spans] == [2]
    fall_back()
    _, failed, answered = observed.spans
    assert (failed.name, failed.attributes["error.type"]) == ("chat claude-opus-5", "ServerFailed")
    assert (answered.name, answered.status.status_code) == ("chat gpt-5.1", trace.StatusCode.UNSET)
    assert answered.attributes["pondero.adjustments"] == ("fell_back",)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_request_is_sent_inside_its_span_and_read_outside_it(is_async, observed):
    seen, read = [], []
    tracer = observed.traces.get_tracer("program")
    here = lambda: trace.get_current_span().get_span_context().span_id  # noqa: E731

    class Watched(Emulator):
        def send(self, *args, **options):
            seen.append(here())
            return super().send(*args, **options)

    async def act():
        async with pondero.AsyncClient(transport=Watched()).stream(
            "gpt-5.1/low", QUESTION
        ) as stream:
            read.extend([here() async for _ in stream])

    with tracer.start_as_current_span("program") as program:
        if is_async:
            run(act())
        else:
            with pondero.Client(transport=Watched()).stream("gpt-5.1/low", QUESTION) as stream:
                read.extend(here() for _ in stream)
        assert here() == program.get_span_context().span_id
    (span,) = observed.named("chat gpt-5.1")
    assert set(seen) == {span.context.span_id}
    assert set(read) == {span.parent.span_id}


class OldMeter:
    """A meter of an API that has no advice for buckets yet."""

    def __init__(self, meter):
        self._meter = meter

    def create_histogram(self, name, unit="", description=""):
        return self._meter.create_histogram(name, unit, description)


def test_an_older_api_loses_no_answer(observed, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    make = observed.meters.get_meter
    monkeypatch.setattr(observed.meters, "get_meter", lambda *a, **k: OldMeter(make(*a, **k)))
    monkeypatch.setattr(_logs, "LogRecord", lambda attributes=None, context=None: None)
    ask_with("gpt-5.1/low")()
    assert "gen_ai.client.operation.duration" in observed.metrics
    assert observed.events == []
    assert len(observed.spans) == 1


def test_metrics_count_the_tokens_of_the_reply(observed):
    reply = pondero.Client(transport=Emulator()).ask("claude-opus-5/low", QUESTION)
    points = observed.metrics["gen_ai.client.token.usage"].data.data_points
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in points} == {
        "input": reply.usage.input + reply.usage.cache_read + reply.usage.cache_write,
        "output": reply.usage.output + reply.usage.thinking,
    }


def test_metrics_need_no_traces(observed, monkeypatch):
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    read_stream()()
    assert observed.spans == []
    assert set(observed.metrics) == set(CONVENTIONS["metrics"])


def test_a_sampler_that_wants_nothing_gets_nothing(observed, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    unsampled = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: unsampled)
    chat(get_weather)()
    assert observed.spans == []
    assert observed.events == []
