"""The application's providers: those of OpenTelemetry's SDK, in memory."""

import pytest
from tests.client.tracing.programs import CAPTURE, EMIT


@pytest.fixture
def observed(monkeypatch):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import _logs, metrics, trace
    from tests.client.tracing.observed import Observed

    found = Observed()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.traces)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: found.meters)
    monkeypatch.setattr(_logs, "get_logger", found.loggers.get_logger)
    monkeypatch.delenv(CAPTURE, raising=False)
    monkeypatch.delenv(EMIT, raising=False)
    yield found
    for provider in (found.traces, found.meters, found.loggers):
        provider.shutdown()
