"""A flow driven by a list: what is said to it at each step, and what it asked for."""

from typing import Any

import msgspec

from pondero.canon import Event, HttpRequest, Message, Origin, Request, ResponseHead, Text
from pondero.catalog import ModelEntry
from pondero.client import load_catalog
from pondero.exchange import (
    Emit,
    Exchange,
    Flow,
    ReadAll,
    ReadBytes,
    Retry,
    Send,
    Sleep,
    compose,
    flow,
    plan,
)
from pondero.thinking import Policy, RequestParameters, parse_intent

OK = ResponseHead(200, {"request-id": "req_1"})
QUESTION = (Message("user", (Text("What is 17 * 23?"),)),)


def exchange(model: str = "claude-opus-5/low", **asked: Any) -> Exchange:
    """Return one exchange with a model of the catalog, without a key."""
    entry: ModelEntry = load_catalog().entry(model)
    wish = load_catalog().split(model).level
    made = plan(
        entry, parse_intent(wish), asked=RequestParameters(max_tokens=8000), policy=Policy()
    )
    request = Request(entry.model, QUESTION, max_tokens=8000, **asked)
    return compose(entry, request, made, url=entry.provider.url, key="no-key")


def frames(*events: dict[str, Any]) -> list[bytes]:
    """Return server-sent events, a piece each."""
    return [b"data: " + msgspec.json.encode(event) + b"\n\n" for event in events]


def answer(text: str = "391", stop: str = "end_turn") -> list[bytes]:
    """Return a streamed Messages answer with these words."""
    return frames(
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )  # fmt: skip


class Drive:
    """Plays one answer after the other to a flow; each is a head and pieces, or an error."""

    def __init__(self, *answers: Any) -> None:
        self.sent: list[HttpRequest] = []
        self.slept: list[float] = []
        self.shown: list[Event] = []
        self._answers = list(answers)
        self._pieces: list[Any] = []

    def run(self, made: Exchange, retry: Retry | None = None, *, learn: Any = None) -> Any:
        """Return the reply, or raise what the flow raises."""
        steps = flow(made, retry=retry or Retry(), jitter=lambda: 1.0, learn=learn)
        try:
            step = next(steps)
            while True:
                step = self._answered(steps, step)
        except StopIteration as end:
            return end.value

    def _answered(self, steps: Flow, step: Any) -> Any:
        heard: Any = None
        match step:
            case Send(request=request):
                self.sent.append(request)
                heard = self._answers.pop(0)
                if not isinstance(heard, Exception):
                    heard, pieces = heard
                    self._pieces = list(pieces)
            case Sleep(seconds=seconds):
                self.slept.append(seconds)
            case ReadBytes() | Emit():
                if isinstance(step, Emit):
                    self.shown += step.events
                heard = self._pieces.pop(0) if self._pieces else None
            case ReadAll(most=most):
                heard = b""
                while self._pieces and isinstance(heard, bytes) and len(heard) <= most:
                    piece = self._pieces.pop(0)
                    heard = piece if isinstance(piece, Exception) else heard + piece
        return steps.throw(heard) if isinstance(heard, Exception) else steps.send(heard)


ORIGIN = Origin("anthropic", "claude-opus-5", "low")
