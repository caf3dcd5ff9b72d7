"""The cells of the page, from top to bottom. Each is a value with the text it shows."""

from math import ceil
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Tone = Literal["good", "plain", "warning", "error"]
Nature = Literal["full", "summary", "redacted", "hidden"]

_LETTERS_A_TOKEN = 4
_NATURES = {
    "full": "",
    "summary": "summary",
    "redacted": "redacted by the service",
    "hidden": "not shown by the service",
}


class UserCell(Struct, frozen=True, kw_only=True):
    """What the user wrote. ``number`` is its message in the thread, if it is in it."""

    key: int
    text: str
    number: int | None = None


class ModelCell(Struct, frozen=True, kw_only=True):
    """Another model answers than before: its name, with its provider."""

    key: int
    model: str
    number: int | None = None

    @property
    def line(self) -> str:
        """Return whose answer follows."""
        return f"◆ {self.model}"


class ThinkingCell(Struct, frozen=True, kw_only=True):
    """One stretch of thinking. ``tokens`` is None if the service did not report them.

    ``cut`` is why nothing follows it.
    """

    key: int
    text: str = ""
    level: str | None = None
    began: float = 0.0
    seconds: float | None = None
    tokens: int | None = None
    nature: Nature = "full"
    live: bool = False
    open: bool = False
    cut: str | None = None
    number: int | None = None

    @property
    def readable(self) -> bool:
        """Return whether there is something to open."""
        return bool(self.text)

    @property
    def line(self) -> str:
        """Return the thought in one line: with a counter while it is live, folded afterwards."""
        if self.live:
            return _join_words("thinking…", format_seconds(self.seconds), self._count())
        mark = "·" if not self.readable else "▾" if self.open else "▸"
        head = _join_words(f"{mark} thought", format_seconds(self.seconds), self._count())
        rest = [word for word in (self.level or "", _NATURES[self.nature], self.cut or "") if word]
        return " · ".join([head, *rest])

    def _count(self) -> str:
        if self.tokens is not None:
            return f"{self.tokens:,} tokens"
        guess = guess_tokens(self.text)
        return f"~{guess:,} tokens" if guess else ""


class AnswerCell(Struct, frozen=True, kw_only=True):
    """What the model answered; ``cut`` is why it is not whole."""

    key: int
    text: str = ""
    live: bool = False
    cut: str | None = None
    number: int | None = None


class ToolCallCell(Struct, frozen=True, kw_only=True):
    """A tool the model called, and what it gave back; None while it has not."""

    key: int
    id: str
    name: str
    arguments: str = ""
    result: str | None = None
    failed: bool = False
    live: bool = False
    number: int | None = None

    @property
    def line(self) -> str:
        """Return the call in one line."""
        return f"⚙ {self.name}({self.arguments})"


class NoticeCell(Struct, frozen=True, kw_only=True):
    """Lines of the chat itself, not part of the thread. ``plain`` text keeps its columns.

    ``items`` come before the lines, in as many columns as there is room for.
    """

    key: int
    lines: tuple[str, ...]
    items: tuple[str, ...] = ()
    tone: Tone = "plain"
    number: int | None = None


class WaitingCell(Struct, frozen=True, kw_only=True):
    """An answer of which nothing has arrived.

    ``reason`` is why the last request failed; another is sent ``wait`` seconds after ``failed``,
    in ``left`` seconds.
    """

    key: int
    model: str
    began: float = 0.0
    seconds: float = 0.0
    number: int | None = None
    reason: str = ""
    failed: float = 0.0
    wait: float = 0.0
    left: int = 0

    @property
    def line(self) -> str:
        """Return which model is awaited, and for how long; or when it is asked again."""
        if self.left:
            return f"{self.describe_wait(self.left)}, Esc stops"
        return _join_words(f"waiting for {self.model}…", format_seconds(self.seconds))

    def describe_wait(self, seconds: float) -> str:
        """Return why it is asked again, and that it is in these seconds."""
        return f"{self.reason}: asks again in {format_seconds(ceil(seconds))}"

    def count_down(self, at: float) -> "WaitingCell":
        """Return this cell with its figures at this time."""
        seconds = float(int(at - self.began))
        left = max(0, ceil(self.failed + self.wait - at))
        if (seconds, left) == (self.seconds, self.left):
            return self
        return replace(self, seconds=seconds, left=left)


Cell = UserCell | ModelCell | ThinkingCell | AnswerCell | ToolCallCell | NoticeCell | WaitingCell


def guess_tokens(text: str) -> int:
    """Return about how many tokens a text is, if no service has counted them."""
    return len(text) // _LETTERS_A_TOKEN


def set_open(cell: Cell, *, is_open: bool) -> Cell:
    """Return a cell with its thought open or folded; any other cell as it is."""
    if not isinstance(cell, ThinkingCell) or cell.open == is_open or not cell.readable:
        return cell
    return replace(cell, open=is_open)


def format_seconds(seconds: float | None) -> str:
    """Return a time in whole seconds; nothing below one."""
    if seconds is None or seconds < 1:
        return ""
    if seconds < 60:
        return f"{int(seconds)} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _join_words(head: str, *rest: str) -> str:
    said = " · ".join(word for word in rest if word)
    return f"{head} {said}" if said else head
