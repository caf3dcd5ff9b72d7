"""What next: prepare, send, read, wait, give up? Decisions without a socket or a clock."""

from .prepare import plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .contract import Answer, AsyncAnswer, AsyncTransport, Timeouts, Transport
    from .inspect import Decoded, decode
    from .judgement import verdict
    from .request import Exchange, compose, cured, destination
    from .retry import Retry
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
    "Sleep",
    "Step",
    "Timeouts",
    "Transport",
    "compose",
    "cured",
    "decode",
    "destination",
    "flow",
    "plan",
    "verdict",
]


def __getattr__(name: str) -> object:
    """Load what needs the dialects on first use: a plan needs none of them."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # noqa: PLC0415 - see above

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
