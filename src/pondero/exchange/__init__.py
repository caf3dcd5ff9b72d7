"""One request and its answer: plan, prepare, send, read, retry. No socket, no clock."""

from ..lazy import Loader, make_lazy_getattr
from .planner import insist, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .calibration import (
        OLDEST,
        Calibration,
        Calibrations,
        LevelEvidence,
        apply_calibration,
        describe_evidence,
        fields_hash,
        fingerprint,
    )
    from .decoder import Decoded, decode
    from .exchange_flow import Emit, Flow, ReadBytes, Send, Sleep, Step, flow, read_reply, verdict
    from .fallback import (
        PATIENCE,
        gave_last_answer,
        is_deployment_fault,
        is_fallback_error,
        shorten_retries,
    )
    from .patch import apply_plan, matches_plan, thinking_paths, with_fields, with_list_headers
    from .prepare_steps.cache_breakpoints import add_cache_breakpoints
    from .prepare_steps.foreign_tools import TextCalls
    from .prepare_steps.history import make_destination
    from .prepare_steps.rejections import make_rejection, rejected_signatures, rejections_for
    from .rate_limits import RateLimit, parse_rate_limits
    from .request import (
        Exchange,
        Prepared,
        Signing,
        add_headers,
        auth_header,
        compose,
        prepare,
        redact_key,
    )
    from .retry import Retry
    from .transport import AsyncResponse, AsyncTransport, Response, Timeouts, Transport

_HOMES = {
    "RateLimit": "rate_limits",
    "parse_rate_limits": "rate_limits",
    "PATIENCE": "fallback",
    "shorten_retries": "fallback",
    "is_deployment_fault": "fallback",
    "gave_last_answer": "fallback",
    "is_fallback_error": "fallback",
    "auth_header": "request",
    "Response": "transport",
    "AsyncResponse": "transport",
    "AsyncTransport": "transport",
    "Calibration": "calibration",
    "Calibrations": "calibration",
    "Decoded": "decoder",
    "Emit": "exchange_flow",
    "Exchange": "request",
    "LevelEvidence": "calibration",
    "Flow": "exchange_flow",
    "OLDEST": "calibration",
    "Prepared": "request",
    "ReadBytes": "exchange_flow",
    "Retry": "retry",
    "Send": "exchange_flow",
    "Signing": "request",
    "Sleep": "exchange_flow",
    "Step": "exchange_flow",
    "TextCalls": "prepare_steps.foreign_tools",
    "Timeouts": "transport",
    "Transport": "transport",
    "compose": "request",
    "decode": "decoder",
    "make_destination": "prepare_steps.history",
    "describe_evidence": "calibration",
    "fingerprint": "calibration",
    "flow": "exchange_flow",
    "redact_key": "request",
    "add_cache_breakpoints": "prepare_steps.cache_breakpoints",
    "apply_plan": "patch",
    "make_rejection": "prepare_steps.rejections",
    "prepare": "request",
    "rejections_for": "prepare_steps.rejections",
    "read_reply": "exchange_flow",
    "matches_plan": "patch",
    "rejected_signatures": "prepare_steps.rejections",
    "fields_hash": "calibration",
    "apply_calibration": "calibration",
    "thinking_paths": "patch",
    "verdict": "exchange_flow",
    "with_fields": "patch",
    "add_headers": "request",
    "with_list_headers": "patch",
}

__all__ = [
    "OLDEST",
    "PATIENCE",
    "AsyncResponse",
    "AsyncTransport",
    "Calibration",
    "Calibrations",
    "Decoded",
    "Emit",
    "Exchange",
    "Flow",
    "LevelEvidence",
    "Prepared",
    "RateLimit",
    "ReadBytes",
    "Response",
    "Retry",
    "Send",
    "Signing",
    "Sleep",
    "Step",
    "TextCalls",
    "Timeouts",
    "Transport",
    "add_cache_breakpoints",
    "add_headers",
    "apply_calibration",
    "apply_plan",
    "auth_header",
    "compose",
    "decode",
    "describe_evidence",
    "fields_hash",
    "fingerprint",
    "flow",
    "gave_last_answer",
    "insist",
    "is_deployment_fault",
    "is_fallback_error",
    "make_destination",
    "make_rejection",
    "matches_plan",
    "parse_rate_limits",
    "plan",
    "prepare",
    "read_reply",
    "redact_key",
    "rejected_signatures",
    "rejections_for",
    "shorten_retries",
    "thinking_paths",
    "verdict",
    "with_fields",
    "with_list_headers",
]

# Load modules that need the dialects on first use: a plan needs none of them.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
