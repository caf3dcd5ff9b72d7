"""What OpenTelemetry's own SDK receives, in memory."""

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Observed:
    """What the application's providers received."""

    def __init__(self):
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self._logs = InMemoryLogRecordExporter()
        self.traces = TracerProvider(shutdown_on_exit=False)
        self.traces.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))

    @property
    def spans(self):
        return list(self._spans.get_finished_spans())

    @property
    def events(self):
        return [each.log_record for each in self._logs.get_finished_logs()]

    @property
    def metrics(self):
        data = self._reader.get_metrics_data()
        scopes = [] if data is None else data.resource_metrics[0].scope_metrics
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def named(self, name):
        return [span for span in self.spans if span.name == name]
