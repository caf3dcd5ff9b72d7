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
    from .patch import (
        apply_plan,
        depth_paths_of,
        fold_path,
        matches_plan,
        states_only,
        thinking_paths,
        with_fields,
        with_list_headers,
    )
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
        list_keys,
        prepare,
        redact_key,
    )
    from .retry import Retry
    from .transport import AsyncResponse, AsyncTransport, Response, Timeouts, Transport

_NAMES = {
    "calibration": (
        "OLDEST Calibration Calibrations LevelEvidence apply_calibration describe_evidence "
        "fields_hash fingerprint"
    ),
    "decoder": "Decoded decode",
    "exchange_flow": "Emit Flow ReadBytes Send Sleep Step flow read_reply verdict",
    "fallback": "PATIENCE gave_last_answer is_deployment_fault is_fallback_error shorten_retries",
    "patch": (
        "apply_plan depth_paths_of fold_path matches_plan states_only thinking_paths with_fields "
        "with_list_headers"
    ),
    "prepare_steps.cache_breakpoints": "add_cache_breakpoints",
    "prepare_steps.foreign_tools": "TextCalls",
    "prepare_steps.history": "make_destination",
    "prepare_steps.rejections": "make_rejection rejected_signatures rejections_for",
    "rate_limits": "RateLimit parse_rate_limits",
    "request": (
        "Exchange Prepared Signing add_headers auth_header compose list_keys prepare redact_key"
    ),
    "retry": "Retry",
    "transport": "AsyncResponse AsyncTransport Response Timeouts Transport",
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
    "depth_paths_of",
    "describe_evidence",
    "fields_hash",
    "fingerprint",
    "flow",
    "fold_path",
    "gave_last_answer",
    "insist",
    "is_deployment_fault",
    "is_fallback_error",
    "list_keys",
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
    "states_only",
    "thinking_paths",
    "verdict",
    "with_fields",
    "with_list_headers",
]

# Load modules that need the dialects on first use: a plan needs none of them.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
