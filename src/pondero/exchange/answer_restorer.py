"""Restores an answer to the tools and the output that were asked for, whatever was sent."""

from ..canon import Event
from .output.calls import NO_RESTORE, CallRestorer
from .output.restore import OutputRestore, OutputRestorer
from .prepare_steps.foreign_tools import TextCalls
from .request import Exchange


class AnswerRestorer:
    """Restores the events of one answer; ``restore``: how its output differs."""

    def __init__(self, exchange: Exchange, restore: OutputRestore | None) -> None:
        self._calls = CallRestorer(exchange.calls) if exchange.calls != NO_RESTORE else None
        self._texts = TextCalls(exchange.texts) if exchange.texts else None
        self._output = OutputRestorer(restore) if restore else None

    def take(self, events: list[Event]) -> list[Event]:
        """Return the events as the request was meant; some wait for later ones."""
        if self._calls is not None and not (events := self._calls.take(events)):
            return []
        if self._texts is not None and not (events := self._texts.take(events)):
            return []
        if self._output is not None and not (events := self._output.take(events)):
            return []
        return events
