"""The status line, drawn."""

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from ..chat import BETWEEN, State, status

_STYLES = {
    "model": "bold $accent",
    "level": "$secondary",
    "good": "$success",
    "warning": "$warning",
}
_MUTED = "$foreground 60%"


class Bar(Static):
    """One line: as much of the status as fits."""

    def __init__(self) -> None:
        super().__init__("", id="status")
        self._state: State | None = None

    def show(self, state: State) -> None:
        """Draw the status of a chat."""
        self._state = state
        width = self.content_size.width or self.app.size.width - 2
        pieces = [
            Content.styled(piece.text, _STYLES.get(piece.tone, _MUTED))
            for piece in status(state, width)
        ]
        self.update(Content.styled(BETWEEN, _MUTED).join(pieces))

    def on_resize(self, event: Resize) -> None:
        """Draw it anew: more fits now, or less."""
        del event
        if self._state is not None:
            self.show(self._state)
