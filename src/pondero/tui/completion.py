"""What the input line could become, above it while it is written."""

from textual.content import Content
from textual.widgets import Static


class Completion(Static):
    """Lines to choose from; the chosen one is marked."""

    def __init__(self) -> None:
        super().__init__("", id="completion")

    def on_mount(self) -> None:
        """Take no place before there is something to show."""
        self.display = False

    def show(self, lines: tuple[str, ...], chosen: int) -> None:
        """Show these lines, one of them marked."""
        self.display = bool(lines)
        rows = [
            Content.styled(f"▸ {line}", "bold $accent") if at == chosen else Content(f"  {line}")
            for at, line in enumerate(lines)
        ]
        self.update(Content("\n").join(rows))
