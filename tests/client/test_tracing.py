"""Spans, where somebody traces; lines of log; nothing otherwise."""

import subprocess
import sys

import pytest

import pondero
from pondero.emulator import Emulator
from pondero.errors import ServerFailed
from pondero.exchange import Retry

trace = pytest.importorskip("opentelemetry.trace")
QUESTION = "What is 17 * 23?"


class Spans:
    """A tracer provider that keeps what it is told."""

    def __init__(self):
        self.spans = []

    def get_tracer(self, *_, **__):
        return self

    def start_span(self, name, kind=None, attributes=None):
        span = Span(name, kind, attributes)
        self.spans.append(span)
        return span


class Span:
    def __init__(self, name, kind, attributes):
        self.name, self.kind, self.attributes = name, kind, dict(attributes)
        self.status, self.ended = None, 0

    def set_attributes(self, attributes):
        self.attributes |= attributes

    def set_attribute(self, name, value):
        self.attributes[name] = value

    def set_status(self, status):
        self.status = status

    def end(self):
        self.ended += 1


@pytest.fixture
def spans(monkeypatch):
    found = Spans()
    monkeypatch.setattr(trace, "get_tracer", found.get_tracer)
    return found.spans


def test_an_exchange_is_a_span_with_its_level_and_its_counts(spans):
    reply = pondero.Client(transport=Emulator()).ask("claude-opus-5/low", "What is 17 * 23?")
    (span,) = spans
    assert span.name == "chat claude-opus-5"
    assert span.ended == 1
    assert span.attributes["gen_ai.request.reasoning.level"] == "low"
    assert span.attributes["gen_ai.usage.reasoning.output_tokens"] == reply.usage.thinking
    written = reply.usage.output + reply.usage.thinking
    assert span.attributes["gen_ai.usage.output_tokens"] == written
    assert span.attributes["pondero.verdict"] == "as_planned"
    assert span.status is None


def test_a_failure_ends_its_span_with_the_reason(spans):
    client = pondero.Client(transport=Emulator(faults=[500]), retry=Retry(attempts=1))
    with pytest.raises(ServerFailed):
        client.ask("claude-opus-5/low", "What is 17 * 23?")
    (span,) = spans
    assert span.attributes["error.type"] == "ServerFailed"
    assert span.attributes["http.response.status_code"] == 500
    assert (span.status, span.ended) == (trace.StatusCode.ERROR, 1)


def test_a_stream_left_early_is_no_failure(spans):
    with pondero.Client(transport=Emulator()).stream("claude-opus-5/low", "Hello") as stream:
        next(iter(stream))
    (span,) = spans
    assert (span.status, span.ended, "error.type" in span.attributes) == (None, 1, False)


def test_nobody_who_does_not_trace_imports_the_tracing():
    code = (
        "import sys, pondero; from pondero.emulator import Emulator;"
        "pondero.Client(transport=Emulator()).ask('gpt-5.1', 'What is 17 * 23?');"
        "print('opentelemetry' in sys.modules, 'httpx2' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("fault", [529, "429 2.5", "refused", "cut 1"])
def test_every_retry_is_a_line_of_the_log(caplog, fault):
    key = "sk-test-0123456789-secret"
    client = pondero.Client(
        transport=Emulator(faults=[fault, fault]), keys={"anthropic": key}, retry=Retry(waits=False)
    )
    with caplog.at_level("INFO", logger="pondero"):
        client.ask("claude-opus-5/low", QUESTION)
    lines = [record.getMessage() for record in caplog.records if record.name == "pondero"]
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("anthropic claude-opus-5: ")
        assert line.endswith(", tried again after 0.0 s")
        assert not isinstance(fault, int) or "Overloaded (HTTP 529)" in line
        assert key not in line
        assert QUESTION not in line
