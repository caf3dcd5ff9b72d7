"""What ``ask`` prints: the answer on stdout, as text or JSON; all else on stderr."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import msgspec

from ...canon import (
    AdjustmentNote,
    Event,
    Finished,
    Reply,
    Started,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    dump_json,
)
from ...client import load_catalog
from ...store import SecretRedactor, is_new_notice, media_caption
from ...thinking import DEPTH, describe_intent, describe_result
from ..command import error_to_json, print_json
from ..output.echo import Typing, echo, has_styles, say
from ..start import USUAL_LEVEL
from .options import AskOptions
from .redaction import RedactingWriter
from .result import VERSION, AskResult
from .thread import AskStart

if TYPE_CHECKING:
    from click import ClickException

    from ...errors import PonderoError
    from ..output.live import ThinkingCounter, Typeset

_LONGEST = 300  # characters of a line about a tool
_REFUSED = ("refusal", "content_filter")


class AnswerWriter(Protocol):
    """Writes an answer: its events while they arrive, then its end or its error."""

    def shows(self, event: Event, /) -> bool:
        """Return whether an event is written as it arrives, so that it cannot be taken back."""
        ...

    def write(self, event: Event) -> None:
        """Write one event, if it has something to read."""
        ...

    def result(self, call: ToolCall, result: ToolResult) -> None:
        """Write what a tool gave."""
        ...

    def pause(self) -> None:
        """Let go of the screen, so that something else can be written."""
        ...

    def end_line(self) -> None:
        """End the last line of the answer: notices and errors begin a line of their own."""
        ...

    def end(self, answer: AskResult) -> None:
        """Write what is known at the end."""
        ...


def make_writer(start: AskStart, given: AskOptions, *, shaped: bool) -> AnswerWriter:
    """Return what an answer is written to."""
    if given.as_lines:
        return make_lines_writer(start, paid=given.paid)
    if given.as_json:
        return JsonWriter()
    return RedactingWriter(TerminalWriter(start, given, shaped=shaped))


def make_lines_writer(start: AskStart, *, paid: bool, label: str | None = None) -> AnswerWriter:
    """Return what an answer is written to as JSON lines."""
    return RedactingWriter(JsonLinesWriter(start, paid=paid, label=label))


class TerminalWriter:
    """Thinking on stderr, dim; the answer on stdout; never both on one line of a terminal."""

    def __init__(self, start: AskStart, given: AskOptions, *, shaped: bool) -> None:
        self._start = start
        self._usage = given.usage
        self._show = sys.stderr.isatty() if given.shown is None else given.shown
        self._due = bool(given.shown)  # --thinking was given, and none has arrived yet
        self._thinking = False
        self._open = False  # whether a line of the answer on a terminal has not ended yet
        self._piped = False  # whether the answer in a pipe has not got its line feed yet
        self._ended = False  # whether it has got it
        self._shaped = shaped
        self._drawn = not given.plain and _can_redraw(sys.stdout)
        self._answer: Typing | Typeset = _typeset() if self._drawn else Typing()
        self._thoughts = Typing(err=True, wrap=True, dim=True)
        # Where dim text is not to be seen, words tell thinking from the answer.
        self._labelled = sys.stderr.isatty() and not has_styles(on_screen=True)
        self._counter = _counter(start) if _can_redraw(sys.stderr) else None
        if self._counter is not None:
            self._counter.start()

    def shows(self, event: Event, /) -> bool:
        """Return whether an event is text, or thinking where it is shown."""
        if isinstance(event, ThinkingDelta):
            return self._show and bool(event.text)
        return isinstance(event, TextDelta) and not self._shaped and bool(event.text)

    def write(self, event: Event) -> None:
        """Print one event, if it has something to read."""
        if isinstance(event, ThinkingDelta) and self._show and event.text:
            self._stop_counting()
            if not self._thinking:
                self._label("thinking:")
            self._thoughts.write(event.text)
            self._thinking, self._due = True, False
        elif isinstance(event, TextDelta) and not self._shaped:
            self._stop_counting()
            if self._end_thinking():
                self._label("answer:")
            self._answer.write(event.text)
            self._open = not self._drawn and sys.stdout.isatty()
            self._piped = not sys.stdout.isatty()
        elif self._counter is not None:
            if isinstance(event, Started):
                self._counter.start()
            self._counter.feed(event)

    def result(self, call: ToolCall, result: ToolResult) -> None:
        """Print a line about a call, where thinking is shown too."""
        if self._show:
            self.pause()
            said = " ".join(tool_result_text(result).split())
            mark = "✗" if result.error else "→"
            line = f"⚙ {call.name}({dump_json(call.arguments)}) {mark} {said}"
            say(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…", dim=True)

    def pause(self) -> None:
        """Print what waits, and let go of the screen."""
        self._stop_counting()
        self._end_thinking()
        self._answer.end()
        if self._open:
            echo()
            self._open = False

    def end_line(self) -> None:
        """Print what waits, and the line feed after an answer in a pipe."""
        self.pause()
        if self._piped:
            echo()
            self._piped, self._ended = False, True

    def end(self, answer: AskResult) -> None:
        """End the last line, then print the adjustments of the plan, and why no thinking came."""
        self.end_line()
        if answer.error is not None:
            return
        if self._shaped:
            _print_value(answer)
        elif not (self._ended or sys.stdout.isatty() or _is_failure(answer.reply)):
            echo()  # of an answer without a word
        if answer.reply is not None:
            if self._due:
                say(f"no thinking to show: {_explain_no_thinking(self._start, answer.reply)}")
            for remark in remarks(answer.reply):
                say(remark)
        if self._usage:
            say(f"{answer.full_name} · {answer.figures()}", dim=True)

    def _stop_counting(self) -> None:
        if self._counter is not None:
            self._counter.stop()

    def _label(self, text: str) -> None:
        if self._labelled:
            echo(text, err=True)

    def _end_thinking(self) -> bool:
        """Print what waits of the thinking; return whether there was any."""
        ended, self._thinking = self._thinking, False
        if ended:
            self._thoughts.end()
            echo("\n", err=True)
        return ended


class JsonWriter:
    """One JSON object, when everything is known."""

    def shows(self, _: Event, /) -> bool:
        """Return that nothing is written before the end."""
        return False

    def write(self, event: Event) -> None:
        """Wait."""

    def result(self, call: ToolCall, result: ToolResult) -> None:
        """Wait."""

    def pause(self) -> None:
        """Have nothing on the screen."""

    def end_line(self) -> None:
        """Have every line ended."""

    def end(self, answer: AskResult) -> None:
        """Print the object."""
        print_json(answer.to_json())


class JsonLinesWriter:
    """Events as JSON, one a line, with a ``label`` if many; the last is Finished or the error."""

    def __init__(self, start: AskStart, *, paid: bool, label: str | None = None) -> None:
        self._start = start
        self._paid = paid
        self._label = label
        self._noted: list[Any] = []
        self._finished: Any = None

    def shows(self, _: Event, /) -> bool:
        """Return that each event is written."""
        return True

    def write(self, event: Event) -> None:
        """Print one event, without its signature."""
        raw = msgspec.to_builtins(event)
        if isinstance(part := raw.get("part"), dict):
            part.pop("seal", None)
        if isinstance(event, Started):
            raw["version"] = VERSION
        if isinstance(event, AdjustmentNote):
            self._noted.append(event.adjustment)
        self._print_finished()
        if isinstance(event, Finished):
            raw["cost"] = self._start.price(event.usage) if self._paid else None
            self._finished = raw
        else:
            self._print(raw)

    def result(self, call: ToolCall, result: ToolResult) -> None:
        """Print what a tool gave; the call itself was an event."""
        self._print_finished()
        said = {
            "id": call.id,
            "name": call.name,
            "text": tool_result_text(result),
            "error": result.error,
        }
        self._print({"type": "tool_result", **said})

    def pause(self) -> None:
        """Have nothing on the screen."""

    def end_line(self) -> None:
        """Have every line ended."""

    def end(self, answer: AskResult) -> None:
        """Print the adjustments that did not come as events, then the last Finished event."""
        for adjustment in msgspec.to_builtins(answer.reply.adjustments) if answer.reply else ():
            if adjustment not in self._noted:
                self._print(msgspec.to_builtins(AdjustmentNote(adjustment)))
        if self._finished is not None:
            self._finished |= {"seconds": round(answer.seconds, 3), "thread": answer.thread}
            if answer.shaped:
                self._finished["value"] = SecretRedactor().value(answer.value)
        self._print_finished()
        if answer.error is not None:
            self._print(_error_line(answer.error))

    def _print_finished(self) -> None:
        if self._finished is not None:
            self._print(self._finished)
            self._finished = None

    def _print(self, raw: dict[str, Any]) -> None:
        echo(dump_json(raw if self._label is None else {"of": self._label, **raw}), exact=True)


def print_early_error(error: "PonderoError | ClickException", given: AskOptions) -> None:
    """Print an error before any model was asked as JSON, if the user wants JSON."""
    if given.as_lines:
        echo(dump_json(_error_line(error)), exact=True)
    elif given.as_json:
        answer = AskResult(start=AskStart("")).to_json() | {"error": error_to_json(error)}
        print_json([answer] if given.names_several else answer)


def _error_line(error: "PonderoError | ClickException") -> dict[str, Any]:
    return {"type": "error", "error": error_to_json(error)}


def _can_redraw(stream: TextIO) -> bool:
    if not stream.isatty():
        return False
    from ..output.live import moves

    return moves(stream)


def _typeset() -> "Typeset":
    from ..output.live import Typeset

    return Typeset()


def _counter(start: AskStart) -> "ThinkingCounter":
    from ..output.live import ThinkingCounter

    return ThinkingCounter("waiting" if start.thinking in ("off", False) else "thinking")


def _print_value(answer: AskResult) -> None:
    value = SecretRedactor().value(answer.value)
    if sys.stdout.isatty():
        print_json(value)
    else:
        echo(dump_json(value), exact=True)


def _explain_no_thinking(start: AskStart, reply: Reply) -> str:
    entry = load_catalog().entry(start.model)
    facts = entry.capability
    if not facts.thinks:
        return f"{entry.id} does not think"
    if facts.shown == "never":
        return f"{entry.id} never shows its thinking"
    if start.thinking is None and facts.levels:
        usual = USUAL_LEVEL if USUAL_LEVEL in facts.levels else facts.levels[-1]
        return f"no level was asked for; try {start.model}/{usual}"
    if reply.usage.thinking:
        return f"{reply.usage.thinking:,} tokens of thinking came without their text"
    return "none came"


def _is_failure(reply: Reply | None) -> bool:
    return reply is not None and (reply.verdict == "exhausted" or reply.finish in _REFUSED)


def exit_code_for(reply: Reply, *, prefix: str = "") -> int:
    """Return the exit code of an answer, and say why it is not what was asked for."""
    if reply.verdict == "exhausted":
        say(f"{prefix}no answer: thinking took all output; try --max-tokens {reply.cap}")
        return 1
    if reply.finish == "length":
        say(f"{prefix}the answer was cut off at max_tokens")
    return 3 if reply.finish in _REFUSED else 0


def remarks(reply: Reply) -> Iterator[str]:
    """Yield the level that was sent if it differs from the request, then the reasons."""
    if any(note.what in DEPTH for note in reply.adjustments):
        yield f"asked for {describe_intent(reply.plan.asked)}; sent: {describe_result(reply.plan)}"
    for note in reply.adjustments:
        # That a model is not in the catalog is told once; --json and 'plan' say it every time.
        if note.code != "unknown_model" or is_new_notice(f"{note.code} {reply.plan.model}"):
            yield f"{note.why} ({note.code})"


def tool_result_text(result: ToolResult) -> str:
    """Return the words of a tool's result; a medium is named."""
    parts = (
        part.text if isinstance(part, Text) else f"[{media_caption(part)}]"
        for part in result.content
    )
    return "\n".join(parts)
