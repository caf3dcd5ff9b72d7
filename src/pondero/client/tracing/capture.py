"""Whether texts of a conversation are recorded: the switches of OpenTelemetry's instrumentations.

They are those of opentelemetry-util-genai. It also wants ``gen_ai_latest_experimental`` in
OTEL_SEMCONV_STABILITY_OPT_IN, for libraries that used to emit older conventions; ours never did.
"""

import os

from msgspec import Struct

from .log import log_bad_switch

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EVENTS = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"


class Capture(Struct, frozen=True):
    """Whether spans and events have the texts, and whether there are events at all."""

    in_spans: bool = False
    in_events: bool = False
    emits: bool = False


_NOTHING = Capture()
_MODES = {
    "": _NOTHING,
    "false": _NOTHING,
    "no_content": _NOTHING,
    "span_only": Capture(in_spans=True),
    "event_only": Capture(in_events=True, emits=True),
    "span_and_event": Capture(in_spans=True, in_events=True, emits=True),
    "true": Capture(in_spans=True, in_events=True, emits=True),  # older instrumentations
}


def read_capture() -> Capture:
    """Return what the environment asks for; an unknown value records nothing."""
    asked = os.environ.get(CONTENT, "").strip().lower()
    capture = _MODES.get(asked)
    if capture is None:
        log_bad_switch(CONTENT, "NO_CONTENT, SPAN_ONLY, EVENT_ONLY or SPAN_AND_EVENT")
        capture = _NOTHING
    emits = os.environ.get(EVENTS, "").strip().lower()
    if emits in ("true", "false"):
        return Capture(capture.in_spans, capture.in_events, emits == "true")
    if emits:
        log_bad_switch(EVENTS, "true or false")
    return capture
