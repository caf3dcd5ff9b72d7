"""The parts of an answer as a hook shows them: their ends say the same as their deltas.

Some clients read deltas, others the end of a part, which has its whole text once more. A hook that
changes the deltas alone has changed the part for all of them. The counts stay those of the service.
"""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from ...canon import (
    Event,
    Finished,
    Part,
    PartEnd,
    PartStart,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UsageUpdate,
    parse_arguments,
)
from .results import WrongResult

_DELTAS = (TextDelta, ThinkingDelta, ToolDelta)


class ShownParts:
    """Collects the texts of the parts that have begun: as the model wrote them, and as shown."""

    def __init__(self) -> None:
        self._written: dict[int, list[str]] = {}
        self._shown: dict[int, list[str]] = {}

    def feed(self, event: Event, result: Sequence[Event] | None) -> list[Event]:
        """Return the events that are shown in place of one; None: the same. Raises WrongResult.

        The end of an answer stays its end: it is neither left out nor moved.
        """
        if isinstance(event, _DELTAS):
            self._written.setdefault(event.index, []).append(_read_text(event))
        events = (event,) if result is None else result
        ends = [number for number, each in enumerate(events, 1) if isinstance(each, Finished)]
        if ends != ([len(events)] if isinstance(event, Finished) else []):
            raise WrongResult("returned events without the end of the answer, or with another one")
        if not isinstance(event, UsageUpdate):
            events = [each for each in events if not isinstance(each, UsageUpdate)]
        return [self._show(each, event) for each in events]

    def _show(self, shown: Event, event: Event) -> Event:
        if shown is not event and isinstance(shown, Finished | UsageUpdate):
            return _with_counts(shown, event)
        if isinstance(shown, PartStart):
            self._shown[shown.index] = []
        elif isinstance(shown, _DELTAS):
            if shown.index not in self._shown:
                raise WrongResult("returned a delta of a part that has not begun")
            self._shown[shown.index].append(_read_text(shown))
        elif isinstance(shown, PartEnd):
            written = "".join(self._written.pop(shown.index, ()))
            text = "".join(self._shown.pop(shown.index, ()))
            if text != written and shown == event:
                return replace(shown, part=_with_text(shown.part, text))
        return shown


def _read_text(delta: TextDelta | ThinkingDelta | ToolDelta) -> str:
    return delta.json if isinstance(delta, ToolDelta) else delta.text


def _with_counts(shown: Finished | UsageUpdate, event: Event) -> Event:
    """Return the event in place of another, with the counts and the verdict of that one."""
    if isinstance(shown, Finished) and isinstance(event, Finished):
        return replace(shown, usage=event.usage, verdict=event.verdict)
    return event if isinstance(event, UsageUpdate) else shown


def _with_text(part: Part, text: str) -> Part:
    """Return a part with another text, and without what quotes the old one."""
    match part:
        case Text():
            return replace(part, text=text, citations=(), tokens=UNSET)
        case Thinking():
            return replace(part, text=text)
        case ToolCall(arguments=str()):  # of a tool that is called with text, which may be JSON too
            return replace(part, arguments=text)
        case ToolCall():
            return replace(part, arguments=parse_arguments(text))
        case _:
            return part
