"""What next: prepare, send, read, wait, give up? Decisions without a socket or a clock."""

from ..lazy import lazily
from .prepare import insist, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .contract import Answer, AsyncAnswer, AsyncTransport, Timeouts, Transport
    from .inspect import Decoded, decode
    from .judgement import verdict
    from .request import Exchange, compose, cured, destination
    from .retry import Retry
    from .signing import Signing
    from .steps import Emit, Flow, Read, Send, Sleep, Step, flow

_HOMES = {
    "Answer": "contract",
    "AsyncAnswer": "contract",
    "AsyncTransport": "contract",
    "Decoded": "inspect",
    "Emit": "steps",
    "Exchange": "request",
    "Flow": "steps",
    "Read": "steps",
    "Retry": "retry",
    "Send": "steps",
    "Signing": "signing",
    "Sleep": "steps",
    "Step": "steps",
    "Timeouts": "contract",
    "Transport": "contract",
    "compose": "request",
    "cured": "request",
    "decode": "inspect",
    "destination": "request",
    "flow": "steps",
    "verdict": "judgement",
}

__all__ = [
    "Answer",
    "AsyncAnswer",
    "AsyncTransport",
    "Decoded",
    "Emit",
    "Exchange",
    "Flow",
    "Read",
    "Retry",
    "Send",
    "Signing",
    "Sleep",
    "Step",
    "Timeouts",
    "Transport",
    "compose",
    "cured",
    "decode",
    "destination",
    "flow",
    "insist",
    "plan",
    "verdict",
]

# Load what needs the dialects on first use: a plan needs none of them.
__getattr__ = lazily(__name__, _HOMES)
