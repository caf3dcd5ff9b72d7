"""One turn of a chat: ask, run the tools it calls for, ask again. It owns no client and waits not.

Nothing of a turn is part of the chat before the turn has ended well.
"""

from collections.abc import Generator, Sequence

from msgspec import Struct

from ..canon import Message, Reply, Text, Thinking, ToolCall, ToolResult
from .tools import Toolbox

_CALLING = ("tool_calls", "stop", "length", "other")


class Ask(Struct, frozen=True):
    """Ask with these messages; the answer to it is a Reply. ``calls``: tools may be called."""

    messages: tuple[Message, ...]
    calls: bool = True


class Run(Struct, frozen=True):
    """Run these calls; the answer is their results, in their order."""

    calls: tuple[ToolCall, ...]


Steps = Generator[Ask | Run, Reply | tuple[ToolResult, ...], None]


class Turn:
    """What a turn adds to the history, as far as it has come."""

    def __init__(
        self, history: Sequence[Message], prompt: Sequence[Message], *, tools: Toolbox, limit: int
    ) -> None:
        self.added: list[Message] = list(prompt)
        self.replies: list[Reply] = []
        self.ended = False
        self._history = tuple(history)
        self._prompt = len(prompt)
        self._tools = tools
        self._limit = limit

    def steps(self) -> Steps:
        """Yield what to do next; at the limit the model is asked to answer without tools."""
        for step in range(1, self._limit + 1):
            reply = yield Ask((*self._history, *self.added), calls=step < self._limit)
            assert isinstance(reply, Reply)  # noqa: S101 - what is answered to Ask
            self.replies.append(reply)
            self.added.append(reply.message)
            if reply.finish == "paused":
                continue
            if not self._runs(reply):
                return
            results = yield Run(reply.tool_calls)
            assert isinstance(results, tuple)  # noqa: S101 - what is answered to Run
            self.added.append(Message("user", results))

    def next(self, steps: Steps, answer: Reply | tuple[ToolResult, ...] | None) -> Ask | Run | None:
        """Return the next step, given the answer to the last one; None at the end."""
        try:
            return next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            return None

    def _runs(self, reply: Reply) -> bool:
        calls = reply.tool_calls
        return bool(calls) and reply.finish in _CALLING and all(map(self._tools.runs, calls))

    def kept(self, partial: Message | None) -> tuple[Message, ...]:
        """Return what is worth keeping of a turn that was cut off; nothing if nothing was said."""
        kept = self.added
        if partial is not None and (parts := _said(partial)):
            kept = [*kept, Message("assistant", parts, partial.origin)]
        while kept and kept[-1].role == "user" and len(kept) <= self._prompt:
            kept = kept[:-1]
        if len(kept) <= self._prompt:
            return ()
        last = kept[-1]
        if last.role == "assistant" and last.tool_calls:
            kept = [*kept, Message("user", tuple(_unrun(call) for call in last.tool_calls))]
        return tuple(kept)


def _said(partial: Message) -> tuple[Text | Thinking | ToolCall, ...]:
    """Return the parts up to the last words or call: thinking that led to nothing is no answer."""
    parts = list(partial.parts)
    while parts and not (isinstance(parts[-1], ToolCall) or _is_words(parts[-1])):
        parts.pop()
    return tuple(parts)  # type: ignore[arg-type]  # what an assembler makes


def _is_words(part: object) -> bool:
    return isinstance(part, Text) and bool(part.text.strip())


def _unrun(call: ToolCall) -> ToolResult:
    words = "interrupted before it was run"
    return ToolResult(call.id, (Text(words),), error=True, name=call.name)
