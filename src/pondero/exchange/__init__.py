"""One request and its whole answer: plan, prepare, send, read, try again. No socket, no clock."""

from ..lazy import Loader, make_lazy_getattr
from .planner import insist, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .allowance import Allowance, allowances
    from .cache_marks import marked
    from .calibration import (
        OLDEST,
        Calibration,
        Calibrations,
        Finding,
        evidence,
        fingerprint,
        sent_now,
        settled,
    )
    from .decoded import Decoded, decode
    from .fallback import PATIENCE, hurried, is_fault, is_home, moves_on
    from .foreign_tools import TextCalls
    from .patch import patched, says_plan, thinking_paths, with_fields, with_list_headers
    from .refusals import refusal_of, refused_by, seals_of
    from .request import (
        Exchange,
        Prepared,
        Signing,
        authorisation,
        compose,
        destination,
        hide,
        prepare,
        with_headers,
    )
    from .retry import Retry
    from .steps import Emit, Flow, Read, Send, Sleep, Step, flow, reply_of, verdict
    from .transport import Answer, AsyncAnswer, AsyncTransport, Timeouts, Transport

_HOMES = {
    "Allowance": "allowance",
    "allowances": "allowance",
    "PATIENCE": "fallback",
    "hurried": "fallback",
    "is_fault": "fallback",
    "is_home": "fallback",
    "moves_on": "fallback",
    "authorisation": "request",
    "Answer": "transport",
    "AsyncAnswer": "transport",
    "AsyncTransport": "transport",
    "Calibration": "calibration",
    "Calibrations": "calibration",
    "Decoded": "decoded",
    "Emit": "steps",
    "Exchange": "request",
    "Finding": "calibration",
    "Flow": "steps",
    "OLDEST": "calibration",
    "Prepared": "request",
    "Read": "steps",
    "Retry": "retry",
    "Send": "steps",
    "Signing": "request",
    "Sleep": "steps",
    "Step": "steps",
    "TextCalls": "foreign_tools",
    "Timeouts": "transport",
    "Transport": "transport",
    "compose": "request",
    "decode": "decoded",
    "destination": "request",
    "evidence": "calibration",
    "fingerprint": "calibration",
    "flow": "steps",
    "hide": "request",
    "marked": "cache_marks",
    "patched": "patch",
    "refusal_of": "refusals",
    "prepare": "request",
    "refused_by": "refusals",
    "reply_of": "steps",
    "says_plan": "patch",
    "seals_of": "refusals",
    "sent_now": "calibration",
    "settled": "calibration",
    "thinking_paths": "patch",
    "verdict": "steps",
    "with_fields": "patch",
    "with_headers": "request",
    "with_list_headers": "patch",
}

__all__ = [
    "OLDEST",
    "PATIENCE",
    "Allowance",
    "Answer",
    "AsyncAnswer",
    "AsyncTransport",
    "Calibration",
    "Calibrations",
    "Decoded",
    "Emit",
    "Exchange",
    "Finding",
    "Flow",
    "Prepared",
    "Read",
    "Retry",
    "Send",
    "Signing",
    "Sleep",
    "Step",
    "TextCalls",
    "Timeouts",
    "Transport",
    "allowances",
    "authorisation",
    "compose",
    "decode",
    "destination",
    "evidence",
    "fingerprint",
    "flow",
    "hide",
    "hurried",
    "insist",
    "is_fault",
    "is_home",
    "marked",
    "moves_on",
    "patched",
    "plan",
    "prepare",
    "refusal_of",
    "refused_by",
    "reply_of",
    "says_plan",
    "seals_of",
    "sent_now",
    "settled",
    "thinking_paths",
    "verdict",
    "with_fields",
    "with_headers",
    "with_list_headers",
]

# Load what needs the dialects on first use: a plan needs none of them.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
