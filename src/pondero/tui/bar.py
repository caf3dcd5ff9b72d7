"""The status line, drawn."""

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from .state import BETWEEN, Piece, State, status

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
        self._pieces: tuple[Piece, ...] = ()

    def show(self, state: State) -> None:
        """Draw the status of a chat, where it is another now."""
        self._state = state
        pieces = status(state, self.content_size.width or self.app.size.width - 2)
        if pieces != self._pieces:
            self._pieces = pieces
            drawn = [
                Content.styled(piece.text, _STYLES.get(piece.tone, _MUTED)) for piece in pieces
            ]
            self.update(Content.styled(BETWEEN, _MUTED).join(drawn), layout=False)

    def on_resize(self, event: Resize) -> None:
        """Draw it anew: more fits now, or less."""
        del event
        if self._state is not None:
            self.show(self._state)
