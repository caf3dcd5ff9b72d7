"""The input line, with history, and the completions above it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea

from ....canon import escape_controls
from ...file_mentions import find_dropped
from ...folded_pastes import FoldedText, is_long, widen
from ...state import COMMANDS, ChatState, queued_lines
from .visible import content

_OFFERED = 9
"""Completions that are seen at once, at most."""
_BELOW = 7
"""Lines of the screen that completions leave to the page, the input line and the status."""
_SIDES = 6
"""Columns around a completion, with its mark."""
_LEAST = 12
_ASIDE = 20
"""Prompts that are set aside at most."""


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
        most = max(1, min(_OFFERED, self.app.size.height - _BELOW))
        room = max(_LEAST, self.app.size.width - _SIDES)
        first = max(0, min(chosen - most // 2, len(lines) - most))
        rows = [
            content(f"▸ {line}", "bold $accent") if at == chosen else content(f"  {line}")
            for at, line in enumerate(_keep_ends(lines[first : first + most], room), first)
        ]
        self.update(Content("\n").join(rows))


def _keep_ends(lines: tuple[str, ...], room: int) -> list[str]:
    """Return lines without what does not fit; the end of a completion is what tells it apart."""
    return [line if len(line) <= room else f"…{line[1 - room :]}" for line in lines]


class QueuedMessages(Static):
    """What waits above the input line: words to be sent when the turn is over."""

    def __init__(self) -> None:
        super().__init__("", id="tray")
        self._lines: tuple[str, ...] = ()

    def on_mount(self) -> None:
        """Take no place before there is something to show."""
        self.display = False

    def show(self, state: ChatState) -> None:
        """Show what waits, a line each; with a count of those left out."""
        lines = queued_lines(state)
        if lines != self._lines:
            self._lines = lines
            self.display = bool(lines)
            self.update(content("\n".join(lines)))


Complete = Callable[[str], tuple[str, ...]]
Preview = Callable[[str], str]
"""Returns what a line would do, in a few words, before it is sent."""


def _say_nothing(_line: str) -> str:
    return ""


_KEYS = (
    "Enter sends · Ctrl+T level · Ctrl+O thinking · /help",
    "Enter sends · Ctrl+T level · /help",
    "Enter sends · /help",
)
_PASTE_KEYS = (
    "Enter sends · Ctrl+R shows the paste · /help",
    "Ctrl+R shows the paste",
)
_CORNERS = 8  # columns of the frame for its corners and margins
_TITLE = 60


class Prompt(TextArea):
    """Enter sends; Ctrl+J, Shift+Enter or a backslash before Enter begins a new line.

    Each key is handled before the next one is read: users type ahead.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False),
        Binding("ctrl+d", "leave_or_delete", show=False),
        Binding("ctrl+v", "paste_picture", show=False),
        Binding("ctrl+r", "unfold_pastes", show=False),
        Binding("ctrl+underscore", "undo", show=False),  # Ctrl+Z suspends the chat
    ]

    @dataclass
    class LineSent(Message):
        """These words were sent off."""

        text: str

    @dataclass
    class CompletionsOffered(Message):
        """The line could become one of these; ``at`` is the chosen one."""

        lines: tuple[str, ...]
        at: int

    class TextTyped(Message):
        """The words were changed by a key."""

    class InterruptPressed(Message):
        """Ctrl-C, and nothing was selected to be copied."""

    class LineLeft(Message):
        """Up or down took the place of the words in the line."""

    class RecallPressed(Message):
        """Up on an empty line, while words wait to be sent."""

    class PictureWanted(Message):
        """Ctrl-V: a picture on the clipboard is to be attached."""

    @dataclass
    class FilesDropped(Message):
        """Files were dropped onto the terminal."""

        paths: tuple[Path, ...]

    class ExitPressed(Message):
        """Ctrl-D on an empty line."""

    def __init__(self, complete: Complete, preview: Preview = _say_nothing) -> None:
        super().__init__(
            id="prompt",
            compact=True,
            highlight_cursor_line=False,
            placeholder="Say something, or / for commands",
        )
        self.has_queue: bool = False
        self._complete = complete
        self._preview = preview
        self._previewed = ""
        self._lines: tuple[str, ...] = ()
        self._line = 0
        self._pastes = FoldedText()  # its text is the document's, see _folded
        self._names_paste = False
        self._history: list[FoldedText] = []
        self._at = 0
        self._draft = FoldedText()
        self._edits: dict[int, FoldedText] = {}  # of recalled prompts, by their place in history
        self._aside: tuple[str, ...] = ()
        self._hint = ""
        self._framed: tuple[str, str] | None = None
        self._offered = False  # whether the text was put back and is selected since
        self._keys: dict[str, Callable[[], bool]] = {
            "enter": self._enter,
            "ctrl+j": self._break,
            "shift+enter": self._break,
            "alt+enter": self._break,
            "tab": self._take,
            "up": self._up,
            "down": self._down,
            "escape": self._close,
        }

    @property
    def full_text(self) -> str:
        """Return the text with all pastes in it."""
        return self._folded.full

    @property
    def _folded(self) -> FoldedText:
        return self._pastes.with_text(self.text)

    def remember(self, words: str) -> None:
        """Add words to the history."""
        self._remember(self._find_folded(words))

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Return the words that others took the place of, oldest first; ↑ recalls them."""
        left = [each.full for at, each in sorted(self._edits.items()) if at != self._at]
        if self._at < len(self._history):
            left.append(self._draft.full)
        return (*self._aside, *(each for each in left if each.strip()))[-_ASIDE:]

    def set_aside_line(self) -> None:
        """Let ↑ recall the words that are in the line."""
        self._set_aside(self._folded)

    def put_aside(self, words: str) -> None:
        """Let ↑ recall these words."""
        self._set_aside(self._find_folded(words))

    def drop_aside(self, words: str) -> None:
        """Forget that words were set aside: they were asked."""
        self._aside = tuple(each for each in self._aside if each.strip() != words.strip())

    def _set_aside(self, folded: FoldedText) -> None:
        if folded.text.strip():
            self.drop_aside(folded.full)
            self._aside = (*self._aside, folded.full)[-_ASIDE:]
            self._remember(folded)

    def _remember(self, folded: FoldedText) -> None:
        self._keep_edits()
        if folded.text and (not self._history or self._history[-1] != folded):
            self._history.append(folded)
        self._at = len(self._history)

    def _keep_edits(self) -> None:
        """Set aside what ↑ and ↓ left behind: edits of recalled prompts, and the draft."""
        edits = [each for at, each in sorted(self._edits.items()) if at != self._at]
        left = [*edits, self._draft] if self._at < len(self._history) else edits
        self._draft, self._edits, self._at = FoldedText(), {}, len(self._history)
        for each in left:
            self._set_aside(each)

    def put(self, words: str) -> None:
        """Replace the text, with the cursor at its end; pastes that were folded are again."""
        self._show_folded(self._find_folded(words))
        self._look()

    def _find_folded(self, words: str) -> FoldedText:
        """Return words as they were sent from here; as they are, if they were not."""
        sent = (each for each in reversed(self._history) if each.pastes and each.full == words)
        return next(sent, FoldedText(words))

    def _show_folded(self, folded: FoldedText) -> None:
        self._pastes = folded
        self.load_text(folded.text)
        self.move_cursor(self.document.end)

    def offer(self, words: str) -> None:
        """Put words back, selected: what is typed next replaces them, and ↑ recalls them."""
        self.put_aside(words)
        self.put(words)
        self.select_all()
        self._offered = bool(words)

    def frame(self, *, title: str, hint: str) -> None:
        """Set the title and hint on the frame where they changed: each assignment redraws it."""
        if (title, hint) != self._framed:
            self._framed = (title, hint)
            self._hint = hint
            widget: Widget = self  # through self, type checkers take it for an attribute of ours
            widget.border_title = content(" ".join(title.split())[:_TITLE])
            self.on_resize()

    def on_resize(self) -> None:
        """Name as many keys on the frame as it has room for, where there is no hint."""
        room = self.outer_size.width - _CORNERS
        self._names_paste = self._folded.is_folded
        named = _PASTE_KEYS if self._names_paste else _KEYS
        keys = next((keys for keys in named if len(keys) <= room), named[-1])
        widget: Widget = self  # see above
        widget.border_subtitle = content(self._fit_preview(room) or self._hint or keys)

    def _fit_preview(self, room: int) -> str:
        """Return what the line would do, without the price if there is no room for it."""
        text = f"Enter: {self._previewed}" if self._previewed else ""
        return text if len(text) <= room else text.partition(" (")[0]

    def get_line(self, line_index: int) -> Text:
        """Return a line to draw: words that were pasted, or come from a thread, made visible."""
        return Text(escape_controls(self.document.get_line(line_index)), end="", no_wrap=True)

    # -- keys: one function each, which says whether it did something ------------------------------

    async def _on_key(self, event: events.Key) -> None:
        offered, self._offered = self._offered, False
        if offered and event.key == "ctrl+c":
            self._offered = True
        if event.key in self._keys and self._keys[event.key]():
            event.stop()
            event.prevent_default()
            return
        if bound := self._bindings.key_to_bindings.get(event.key):
            # Textual would run it when the key has bubbled up to the app, after those that follow.
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)
        else:
            await super()._on_key(event)
        if event.is_printable or event.key in ("backspace", "delete"):
            self.post_message(self.TextTyped())
        self._look()

    async def _on_paste(self, event: events.Paste) -> None:
        if paths := find_dropped(event.text):
            event.stop()
            event.prevent_default()
            self.post_message(self.FilesDropped(paths))
        elif is_long(text := _with_newlines(event.text)):
            event.prevent_default()
            self._paste_folded(text)

    def action_paste(self) -> None:
        """Paste what was cut or copied here."""
        if is_long(text := _with_newlines(self.app.clipboard)):
            self._paste_folded(text)
        else:
            super().action_paste()

    def _paste_folded(self, text: str) -> None:
        token, self._pastes = self._folded.fold(text)
        if done := self._replace_via_keyboard(token, *self.selection):
            self.move_cursor(done.end_location)

    def edit(self, edit: Edit) -> EditResult:
        """Make an edit; one that would cut the token of a paste takes all of it."""
        if self._pastes.pastes:
            (top, start), (bottom, end) = sorted((edit.from_location, edit.to_location))
            if top == bottom:
                start, end = widen(self._find_tokens(top), start, end)
            else:  # a token has no line break
                start, _ = widen(self._find_tokens(top), start, len(self.document.get_line(top)))
                _, end = widen(self._find_tokens(bottom), 0, end)
            edit.from_location, edit.to_location = (top, start), (bottom, end)
        return super().edit(edit)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:  # noqa: FBT001, FBT002 - Textual's
        """Scroll to the cursor, unless an undo has left it behind the end: it is moved next."""
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    def _find_tokens(self, row: int) -> list[tuple[int, int]]:
        if row >= self.document.line_count:  # behind the last line, where one that is cut ends
            return []
        return self._pastes.with_text(self.document.get_line(row)).spans()

    def action_copy(self) -> None:
        """Copy the selection, its pastes in full."""
        super().action_copy()
        self._unfold_clipboard()

    def action_cut(self) -> None:
        """Cut the selection, or the line, its pastes in full."""
        super().action_cut()
        self._unfold_clipboard()

    def _unfold_clipboard(self) -> None:
        copied = self._pastes.with_text(self.app.clipboard)
        if copied.is_folded:
            self.app.copy_to_clipboard(copied.full)

    def action_unfold_pastes(self) -> None:
        """Show the pastes in full; undo folds them again."""
        folded = self._folded
        if folded.is_folded:
            self.replace(folded.full, (0, 0), self.document.end)
            self.move_cursor(self.document.end)

    def action_paste_picture(self) -> None:
        """Attach a picture, or paste words."""
        self.post_message(self.PictureWanted())

    def on_text_area_changed(self) -> None:
        """Complete what was pasted, too."""
        self._look()

    def _enter(self) -> bool:
        text = self.text
        if text.endswith("\\") and self.cursor_location == self.document.end:
            self.action_delete_left()
            return self._break()
        half = text.startswith("/") and " " not in text and text[1:].lower() not in COMMANDS
        if self._lines and half:
            return self._take()
        folded = self._folded
        self._remember(folded.with_text(text.strip()))
        self.put("")
        self.post_message(self.LineSent(folded.full))
        return True

    def _break(self) -> bool:
        self.insert("\n")
        self._look()
        return True

    def _take(self) -> bool:
        if self._lines:
            line = self._lines[self._line]
            takes_more = line[1:] in COMMANDS and bool(COMMANDS[line[1:]].usage)
            self.put(f"{line} " if takes_more else line)
        return True

    def _up(self) -> bool:
        if self._lines:
            return self._choose(-1)
        if self.has_queue and not self.text:
            return self.post_message(self.RecallPressed())
        return self.cursor_location[0] == 0 and self._recall(-1)

    def _down(self) -> bool:
        if self._lines:
            return self._choose(1)
        return self.cursor_location[0] == self.document.line_count - 1 and self._recall(1)

    def _close(self) -> bool:
        if not self._lines:
            return False
        self._offer(())
        return True

    # -- history and completion --------------------------------------------------------------------

    def _recall(self, step: int) -> bool:
        to = self._at + step
        if not 0 <= to <= len(self._history):
            return False
        if self._at == len(self._history):
            self._draft = self._folded
        elif self._folded.full != self._history[self._at].full:
            self._edits[self._at] = self._folded
        else:
            self._edits.pop(self._at, None)
        self._at = to
        recalled = self._draft if to == len(self._history) else self._history[to]
        self._show_folded(self._edits.get(to, recalled))
        self.post_message(self.LineLeft())
        return True

    def _choose(self, step: int) -> bool:
        self._line = (self._line + step) % len(self._lines)
        self.post_message(self.CompletionsOffered(self._lines, self._line))
        return True

    def _look(self) -> None:
        text = self.text
        at_end = self.cursor_location == self.document.end
        previewed = self._preview(text) if text.startswith("/") else ""
        if previewed != self._previewed or self._folded.is_folded != self._names_paste:
            self._previewed = previewed
            self.on_resize()
        self._offer(
            self._complete(text) if text.startswith("/") or ("@" in text and at_end) else ()
        )

    def _offer(self, lines: tuple[str, ...]) -> None:
        if lines != self._lines:
            self._lines, self._line = lines, 0
            self.post_message(self.CompletionsOffered(lines, 0))

    def action_interrupt(self) -> None:
        """Copy the selection, if there is one; else stop the turn under way."""
        if selected := self.screen.get_selected_text():
            self.app.copy_to_clipboard(selected)
        elif self.selected_text and not self._offered:
            self.action_copy()
        else:
            self.post_message(self.InterruptPressed())

    def action_leave_or_delete(self) -> None:
        """Leave if the line is empty; else delete the next letter."""
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.ExitPressed())


def _with_newlines(text: str) -> str:
    """Return a paste with the line ends that the thread has; terminals send carriage returns."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
