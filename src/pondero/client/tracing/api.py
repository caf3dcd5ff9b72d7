"""OpenTelemetry's API, where the application has imported it: tracers, histograms and events."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

_SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4**power for power in range(14))  # 1 to 67,108,864

Attributes = dict[str, Any]


class Metric(Struct, frozen=True):
    """A histogram of the conventions, with the bucket boundaries that they recommend."""

    unit: str
    description: str
    boundaries: Sequence[float]


METRICS: Mapping[str, Metric] = {
    "gen_ai.client.operation.duration": Metric("s", "GenAI operation duration.", _SECONDS),
    "gen_ai.client.token.usage": Metric(
        "{token}", "Number of input and output tokens used.", _TOKENS
    ),
    "gen_ai.client.operation.time_to_first_chunk": Metric(
        "s", "Time from the request of a stream to its first chunk.", _SECONDS
    ),
    "gen_ai.client.operation.time_per_output_chunk": Metric(
        "s", "Time from one chunk of a stream to the next.", _SECONDS
    ),
}


def find_tracing() -> Any:
    """Return OpenTelemetry's API of traces; None if the application does not trace."""
    return sys.modules.get("opentelemetry.trace")


def find_metrics() -> Any:
    """Return OpenTelemetry's API of metrics; None if the application does not measure."""
    return sys.modules.get("opentelemetry.metrics")


def get_tracer(api: Any) -> Any:
    """Return our tracer of the application's provider."""
    return api.get_tracer("pondero", _version(), schema_url=_SCHEMA)


def record(name: str, value: float, attributes: Attributes) -> None:
    """Record a value in a histogram of the application's provider, if there is one."""
    api = find_metrics()
    if api is not None:
        _histogram(api, name).record(value, attributes)


def emit_event(name: str, attributes: Attributes, context: Any) -> None:
    """Emit an event to the application's provider of logs, if there is one."""
    api = sys.modules.get("opentelemetry._logs")
    if api is None:
        return
    try:
        record = api.LogRecord(event_name=name, attributes=attributes, context=context)
    except TypeError:  # before version 1.35 of the API a record has no name
        return
    api.get_logger("pondero", _version(), schema_url=_SCHEMA).emit(record)


class _Histograms:
    """The last provider of metrics and its histograms, in one value: threads may replace it."""

    value: tuple[Any, dict[str, Any]] = (None, {})


def _histogram(api: Any, name: str) -> Any:
    provider = api.get_meter_provider()
    held, made = _Histograms.value
    if held is not provider:
        _Histograms.value = _, made = provider, {}
    found = made.get(name)
    if found is None:
        meter = provider.get_meter("pondero", _version(), schema_url=_SCHEMA)
        found = made[name] = _make_histogram(meter, name, METRICS[name])
    return found


def _make_histogram(meter: Any, name: str, metric: Metric) -> Any:
    about = {"unit": metric.unit, "description": metric.description}
    try:
        boundaries = metric.boundaries
        return meter.create_histogram(name, explicit_bucket_boundaries_advisory=boundaries, **about)
    except TypeError:  # before version 1.30 of the API there is no advice
        return meter.create_histogram(name, **about)


def _version() -> str:
    version: str = sys.modules["pondero"].__version__  # the package imports this room
    return version
