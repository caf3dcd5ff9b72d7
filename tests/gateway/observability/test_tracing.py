"""Spans of requests, as OpenTelemetry's own SDK receives them."""

import json
import subprocess
import sys
from decimal import Decimal

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from pondero.canon import Usage
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.tracing import Tracing, is_traced

RECEIPT = Receipt(
    id="a",
    at=1763164800.25,
    key="ci",
    front="chat",
    said="opus",
    provider="north",
    model="m1",
    road="translated",
    asked="high",
    sent="medium",
    why="cap",
    adjustments=("level",),
    finish="stop",
    verdict="as planned",
    usage=Usage(100, 5, None, 20, 80),
    first=0.2,
    seconds=3.0,
    cost=Decimal("0.5"),
    trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)

pytestmark = pytest.mark.judge


@pytest.fixture
def spans():
    """Return what is exported for a receipt."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)

    def exported(receipt: Receipt):
        exporter.clear()
        tracing.note(receipt)
        (span,) = exporter.get_finished_spans()
        return span

    yield exported
    provider.shutdown()


def test_a_request_is_a_span_in_the_clients_own_trace(spans):
    span = spans(RECEIPT)
    assert (span.name, span.kind) == ("chat m1", SpanKind.CLIENT)
    assert span.context.trace_id == 0x0AF7651916CD43DD8448EB211C80319C
    assert span.parent.span_id == 0xB7AD6B7169203331
    assert span.start_time == 1763164800_250_000_000
    assert span.end_time - span.start_time == 3_000_000_000
    assert span.status.status_code is StatusCode.UNSET
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "north",
        "gen_ai.request.model": "m1",
        "gen_ai.request.reasoning.level": "medium",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 105,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.output_tokens": 100,
        "gen_ai.usage.reasoning.output_tokens": 80,
        "http.response.status_code": 200,
        "pondero.asked": "high",
        "pondero.level": "medium",
        "pondero.why": "cap",
        "pondero.adjustments": ("level",),
        "pondero.verdict": "as planned",
        "pondero.id": "a",
        "pondero.key": "ci",
        "pondero.front": "chat",
        "pondero.road": "translated",
        "pondero.end": "done",
        "pondero.first_event_seconds": 0.2,
        "pondero.cost": 0.5,
    }


def test_the_words_are_those_of_the_conventions(spans):
    known = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    said = {name for name in spans(RECEIPT).attributes if name.startswith("gen_ai.")}
    assert said - known <= {"gen_ai.request.reasoning.level"}  # younger than this package


def test_a_provider_has_the_name_of_the_conventions(spans):
    span = spans(replace(RECEIPT, provider="google"))
    assert span.attributes["gen_ai.provider.name"] == "gcp.gemini"


@pytest.mark.parametrize("trace", [None, "", "nonsense", "00-0-0-01"])
def test_without_a_trace_of_the_client_a_span_is_its_own(spans, trace):
    assert spans(replace(RECEIPT, trace=trace)).parent is None


def test_a_failure_is_an_error(spans):
    span = spans(replace(RECEIPT, end="failed", status=503))
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "503"
    span = spans(Receipt(id="b", at=0.0, key="ci", front="chat", end="refused", status=404))
    assert (span.name, span.kind) == ("chat chat", SpanKind.SERVER)


def test_a_client_that_left_is_no_error(spans):
    assert spans(replace(RECEIPT, end="left")).status.status_code is StatusCode.UNSET


def test_nobody_traces_unless_somebody_set_it_up():
    assert not is_traced()


_TRACED = """
import json, urllib.request
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.observability.observers import open_observers
from pondero.gateway.server.run import run_gateway_in_thread

server = ServerConfig(port=0, ledger="off", log="off")
config = GatewayConfig(server, (GatewayRoute(match="opus", to=("anthropic:claude-opus-5",)),))
body = {"model": "opus/low", "messages": [{"role": "user", "content": "Hi"}]}
with open_observers(server) as seen:
    with run_gateway_in_thread(config, transport=Emulator(), observers=seen.told) as url:
        headers = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        address = f"{url}/v1/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        urllib.request.urlopen(request).read()
(span,) = exporter.get_finished_spans()
print(json.dumps([f"{span.context.trace_id:032x}", dict(span.attributes)]))
"""


def test_a_gateway_that_is_traced_from_outside_sends_all_its_spans():
    ended = subprocess.run(
        [sys.executable, "-c", _TRACED], capture_output=True, text=True, check=True, timeout=60
    )
    trace, said = json.loads(ended.stdout)
    assert trace == "0af7651916cd43dd8448eb211c80319c"
    assert said["gen_ai.request.model"] == "claude-opus-5"
    assert (said["pondero.asked"], said["gen_ai.request.reasoning.level"]) == ("low", "low")
    assert said["gen_ai.usage.reasoning.output_tokens"] > 0
