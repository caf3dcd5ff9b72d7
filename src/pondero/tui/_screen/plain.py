"""The chat line by line: for screen readers, Emacs, serial lines and terminals that cannot draw.

The reducer and its effects are those of the drawn chat; here they are printed.
"""

import asyncio
import shutil
import signal
import sys
import textwrap
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from math import ceil
from typing import ClassVar

from ...canon import escape_controls
from ...cassettes import AsyncTap
from ...errors import PonderoError
from ..reports import describe_end, describe_error
from ..session import Session, describe_unexpected
from ..state import (
    Action,
    AnswerCell,
    Cell,
    ChatState,
    Choice,
    DialView,
    ModelCell,
    NoticeCell,
    ThinkingCell,
    ToolCallCell,
    UserCell,
    WaitingCell,
    Word,
    actions,
    column_figures,
    format_seconds,
    reduce,
)
from .conversation import ConversationTab, Tabs
from .ending import EndingSignals
from .executor import Executor
from .line_reader import LineReader
from .typed_lines import CutLine, LateLine, TypedLines

_FRAME = 0.1
"""Seconds between two looks at what has arrived."""
_ROUND = 10
"""Seconds between two lines that count a wait down."""
_TYPED_EVERY = 2.0
"""Seconds between two writings of the lines that were typed ahead, and of unsaved turns."""
_COMMANDS = (actions.Submitted, actions.ThreadRenamed)
"""What a command does at once; some say so in the hint alone."""
_MODELS = 20
"""Models in a numbered list."""
_YES: dict[str, Word] = {"o": "once", "once": "once", "a": "always", "always": "always"}
_CUT = "✗ the terminal has cut this line at 4,095 bytes; /attach FILE or @FILE takes a long text"
_NO = ("", "n", "no", "none")


class Job:
    """A coroutine in the background."""

    def __init__(self, work: Coroutine[None, None, None]) -> None:
        self._task = asyncio.ensure_future(work)

    def cancel(self) -> None:
        """Cancel it."""
        self._task.cancel()

    async def wait(self) -> None:
        """Wait until it has ended."""
        with suppress(asyncio.CancelledError):
            await asyncio.shield(self._task)


class PlainChat:
    """Reads lines, prints what comes, and asks with numbered lists."""

    worker_errors: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(
        self,
        state: ChatState,
        dial: DialView,
        session: Session,
        *,
        tap: AsyncTap | None,
        clock: Callable[[], float],
        write: Callable[[str], None],
        width: Callable[[], int | None] = lambda: None,
        take_begun_line: Callable[[], str] = str,
    ) -> None:
        self._take_begun_line = take_begun_line
        state = state.but(paid=session.paid, unpriced=session.why_unpriced)
        self._tabs = Tabs(ConversationTab(state, session))
        self._dial = dial
        self._clock = clock
        self._write = write
        self._width = width
        self._executor = Executor(self, self._tabs, tap, clock)
        self._printed: dict[int, str] = {}
        self._options: tuple[Choice, ...] = ()
        self._asked: object = None
        self._lines = TypedLines()
        self._unsent: dict[ConversationTab, str] = {}  # words that the drawn chat would show
        self._set_aside: tuple[str, ...] = ()
        self._has_stopped = False
        self._leaving = asyncio.Event()
        self._free = asyncio.Event()
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def run(self, first: tuple[Action, ...], lines: TypedLines) -> int:
        """Talk until the user leaves or the input ends; return the exit code."""
        self._lines = lines
        for action in first:
            self.dispatch(action)
        self._executor.restore_drafts(self._tabs.active)
        tasks = [asyncio.ensure_future(work) for work in (self._read(), self._keep_typed())]
        while not self._code.done():
            await asyncio.wait((self._code,), timeout=_FRAME)
            for tab in self._tabs:
                for action in tab.take_arrivals(self._clock):
                    self.dispatch(action, tab)
        for task in tasks:
            task.cancel()
        return self._code.result()

    async def _read(self) -> None:
        self._prompt()
        while True:
            await self._lines.wait()
            if self._leaving.is_set() or (line := self._lines.take()) is None:
                break
            self._take_line(line)
            await self._free.wait()
            if self._leaving.is_set():
                return
            self._say_waiting()
            if not self._is_asking:
                self._lines.release()
            self._prompt()
        if not self._leaving.is_set():
            self.leave()

    def _take_line(self, line: str) -> None:
        if isinstance(line, CutLine):
            self.restore_input(str(line), selected=False)
            self._say(_CUT)
        elif not self._is_asking:
            if not line.strip():
                self._lines.resume()
            elif isinstance(line, LateLine):
                self._say(line)
            self.dispatch(actions.Submitted(str(line), self._clock()))
        elif not self._answer(line.strip()):  # typed before the question came
            self._say(f"no answer to this; it is sent afterwards: {line}")
            self._lines.hold(line)

    def _say_waiting(self) -> None:
        if count := self._has_stopped and self._lines.count_waiting():
            does = "lines wait: Enter on an empty line sends them"
            one = "line waits: Enter on an empty line sends it"
            self._say(f"{count} {does if count > 1 else one}")
        self._has_stopped = False

    async def _keep_typed(self) -> None:
        while True:
            await asyncio.sleep(_TYPED_EVERY)
            for tab in tuple(self._tabs):
                unsent = self._unsent.get(tab, "")
                saved = self._executor.keep(tab, unsent, ahead=self._find_typed(tab))
                if saved and tab is self._tabs.active:
                    self._prompt()

    def _save_drafts(self, cut: Collection[ConversationTab]) -> None:
        self._tabs.active.session.writer.save_set_aside(self._set_aside)
        for tab in self._tabs:
            unsent = self._unsent.get(tab, "")
            tab.save_drafts(unsent, cut=tab in cut, ahead=self._find_typed(tab))

    def _find_typed(self, tab: ConversationTab) -> tuple[str, ...]:
        return self._lines.prompts if tab is self._tabs.active else ()

    # -- what the executor may do -----------------------------------------------------------------

    def dispatch(self, action: Action, tab: ConversationTab | None = None) -> None:
        """Reduce an action on a tab (None: the one that is shown), print it, run its effects."""
        tab = tab or self._tabs.active
        tab.state, asked = reduce(tab.state, action, self._dial)
        turn = tab.state.turn
        if turn is not None and turn.asked.words == self._unsent.get(tab):
            del self._unsent[tab]
        self._note_free()
        if tab is self._tabs.active:
            self._print_state(tab.state)
            if isinstance(action, _COMMANDS):
                self._say(tab.state.hint)
        for effect in asked:
            try:
                self._executor.do(effect, tab)
            except PonderoError as error:
                self.dispatch(describe_error(error))
            except Exception as error:  # noqa: BLE001 - whatever happens, the chat continues
                self.dispatch(describe_error(PonderoError(describe_unexpected(error))))

    def _note_free(self) -> None:
        """Let lines be read when there is something for the user to do."""
        if self._state.active and not self._state.proposals:
            self._free.clear()
        else:
            self._free.set()

    def run_worker(
        self,
        work: Coroutine[None, None, None],
        *,
        group: str = "default",  # noqa: ARG002 - as the drawn chat has it
        exclusive: bool = False,  # noqa: ARG002
        exit_on_error: bool = True,  # noqa: ARG002
    ) -> Job:
        """Run a coroutine in the background."""
        return Job(work)

    def show_tab(self, tab: ConversationTab) -> None:
        """Continue with another thread."""
        self._tabs.activate(tab)
        self._print_state(tab.state)

    def scroll_to(self, number: int) -> None:
        """Print a message of the thread."""
        for cell in self._state.page:
            if cell.number == number:
                self._say("".join(_texts(cell)))

    def restore_input(
        self,
        words: str,
        *,
        selected: bool,  # noqa: ARG002 - no line here
        is_taken_back: bool = False,
    ) -> bool:
        """Say which words were not sent, or taken back; they stay on disk for the next chat."""
        tab = self._tabs.active
        if (before := self._unsent.get(tab, words)) != words:
            self.set_aside((before,))
        self._unsent[tab] = words
        said = "your question, to be typed again" if is_taken_back else "not sent"
        self._say(f"{said}: {words}")
        return True

    def set_aside(self, words: tuple[str, ...]) -> None:
        """Keep words on disk: only the drawn chat recalls them."""
        self._set_aside = (*self._set_aside, *words)
        self._tabs.active.session.writer.save_set_aside(self._set_aside)

    def paste_text(self) -> None:
        """Do nothing: the terminal pastes."""

    def copy_to_clipboard(self, text: str) -> None:
        """Print the text: there is no clipboard."""
        self._say(text)

    def suspend(self) -> AbstractContextManager[None]:
        """Give the terminal to another program."""
        return nullcontext()

    def change_theme(self, theme: str) -> None:
        """Do nothing: there are no colours."""

    def leave(self, code: int = 0) -> None:
        """Stop what runs, save it and a line that was begun, and leave."""
        if self._leaving.is_set():
            return
        self._leaving.set()
        self._keep_begun_line()
        self.run_worker(self._leave(code))

    def _keep_begun_line(self) -> bool:
        begun = self._take_begun_line()
        if not begun.strip():
            return False
        self._write("\n")
        self.restore_input(begun, selected=False)
        return True

    async def _leave(self, code: int) -> None:
        stopped = await self._executor.stop_all()
        self._save_drafts(stopped if code else ())
        if not self._code.done():
            self._say("" if code else describe_end(self._state))
            self._code.set_result(code)

    def interrupt(self) -> None:
        """Stop the answer, or leave when pressed twice; a line that was begun is kept first."""
        if sys.stdin.isatty() and self._keep_begun_line() and not self._state.active:
            self._prompt()
        elif self._state.comparing is not None:
            self.dispatch(actions.ComparisonClosing(keep=False))
        else:
            if self._state.busy:  # a line typed ahead was not meant for what follows a stop
                self._has_stopped = True
                self._lines.let_wait()
            self.dispatch(actions.TurnInterrupted(hard=True))
            if self._state.hint and not self._leaving.is_set():
                self._say(self._state.hint)

    # -- questions to the user --------------------------------------------------------------------

    @property
    def _state(self) -> ChatState:
        return self._tabs.active.state

    @property
    def _is_asking(self) -> bool:
        state = self._state
        compared = state.comparing is not None and not state.comparing.live
        return bool(state.proposals) or state.choosing is not None or compared

    def _answer(self, line: str) -> bool:
        """Take a line as the answer to a question; return whether it is one."""
        state = self._state
        if state.proposals:
            word: Word | None = "no" if line.lower() in _NO else _YES.get(line.lower())
            if word is not None:
                self.dispatch(actions.ApprovalDecided(state.proposals[0].id, word))
            return word is not None
        if state.choosing is not None:
            return self._answer_choice(line)
        return self._answer_comparison(
            line, len(state.comparing.columns if state.comparing else ())
        )

    def _answer_choice(self, line: str) -> bool:
        choosing = self._state.choosing
        if line.isdecimal() and 1 <= int(line) <= len(self._options):
            self.dispatch(actions.ItemPicked(self._options[int(line) - 1].value))
        elif line and choosing is not None and choosing.what == "model":
            self._offer(self._find_models(line))
        elif line.isdecimal() or line.lower() in _NO:
            self.dispatch(actions.Dismissed())
        else:
            return False
        return True

    def _answer_comparison(self, line: str, count: int) -> bool:
        keep = line.isdecimal() and 1 <= int(line) <= count
        if not (keep or line.isdecimal() or line.lower() in _NO):
            return False
        if keep and self._state.comparing is not None:
            step = int(line) - 1 - self._state.comparing.at
            self.dispatch(actions.ColumnMoved(step))
        self.dispatch(actions.ComparisonClosing(keep=keep))
        return True

    def _find_models(self, words: str) -> tuple[Choice, ...]:
        return self._tabs.active.session.find_models(words)[:_MODELS]

    def _offer(self, choices: tuple[Choice, ...]) -> None:
        self._options = choices
        for number, each in enumerate(choices, 1):
            self._say(f"{number}. {each.label}  {each.detail}".rstrip())

    def _prompt(self) -> None:
        state = self._state
        if state.proposals:
            proposal = state.proposals[0]
            who = f"{proposal.column}: " if proposal.column else ""
            self._say(f"{who}{proposal.name} wants to run, from {proposal.source}:")
            self._say(proposal.arguments)
            self._write("once, always, or no? [no] ")
        elif state.choosing is not None:
            if state.choosing is not self._asked:
                self._asked = state.choosing
                self._say(state.choosing.title)
                self._offer(state.choosing.choices or self._find_models(""))
            search = ", words to search" if state.choosing.what == "model" else ""
            self._write(f"number{search}, or Enter for none: ")
        elif state.comparing is not None:
            self._print_comparison()
            self._write("number to keep, or Enter for none: ")
        else:
            self._write("> ")

    def _print_comparison(self) -> None:
        comparing = self._state.comparing
        for number, column in enumerate(comparing.columns if comparing else (), 1):
            figures = ", ".join(column_figures(column, paid=self._state.paid))
            self._say(f"{number}. {column.name}: {figures}")
            for cell in column.chat.page:
                self._say("".join(_texts(cell)))

    # -- output -----------------------------------------------------------------------------------

    def _print_state(self, state: ChatState) -> None:
        for cell in (*state.page, *state.live):
            text = "".join(_texts(cell))
            if isinstance(cell, NoticeCell) and (width := self._width()):
                text = _wrap_words(text, width)
            before = self._printed.get(cell.key, "")
            if (isinstance(cell, UserCell) and state.busy) or _is_told(cell, before):
                pass  # the user has just typed it, or its count has changed
            elif text != before and text.startswith(before):
                self._write(escape_controls(text[len(before) :]))
            elif text != before:
                self._say(text)
            self._printed[cell.key] = text

    def _say(self, text: str) -> None:
        if text:
            self._write(f"{escape_controls(text.rstrip())}\n")


def _wrap_words(text: str, width: int) -> str:
    """Return a text whose lines end between words; a line keeps its indent."""
    lines: list[str] = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [line]
    return "".join(f"{line}\n" for line in lines)


def _is_told(cell: Cell, before: str) -> bool:
    return isinstance(cell, ThinkingCell) and not cell.open and before.count("\n") > 1


def _texts(cell: Cell) -> Iterator[str]:
    """Yield what is printed of a cell; only its end may grow while it arrives."""
    match cell:
        case UserCell():
            yield f"You: {cell.text}\n"
        case ModelCell():
            yield f"{cell.model}:\n"
        case NoticeCell():
            yield "\n".join((*cell.items, *cell.lines)) + "\n"
        case ThinkingCell():
            yield "thinking...\n"
            if not cell.live:
                yield f"{cell.line.lstrip('▸▾· ')}\n"
                yield f"{cell.text.strip()}\n" if cell.open else ""
        case AnswerCell():
            yield cell.text
            yield "" if cell.live else "\n"
            yield f"({cell.cut})\n" if cell.cut else ""
        case ToolCallCell():
            yield f"tool {cell.name}({cell.arguments})\n" if not cell.live else ""
            yield f"result: {cell.result}\n" if cell.result is not None else ""
        case WaitingCell() if cell.left:
            yield f"{cell.describe_wait(cell.wait)}, Ctrl+C stops\n"
            rounds = range(ceil(cell.wait / _ROUND) - 1, ceil(cell.left / _ROUND) - 1, -1)
            yield from (f"in {format_seconds(each * _ROUND)}\n" for each in rounds)
        case _:
            return


def run_plain_chat(
    state: ChatState,
    dial: DialView,
    session: Session,
    *,
    tap: AsyncTap | None,
    clock: Callable[[], float],
    first: tuple[Action, ...],
) -> int:
    """Talk line by line until the user leaves, and return the exit code."""

    async def talk() -> int:
        lines = TypedLines()
        loop = asyncio.get_running_loop()
        reader = LineReader(loop, lines)
        chat = PlainChat(
            state,
            dial,
            session,
            tap=tap,
            clock=clock,
            write=_write_out,
            width=_find_width,
            take_begun_line=reader.take_begun_line,
        )
        ending = EndingSignals()
        ending.set_handlers(chat.leave)
        with suppress(NotImplementedError):
            loop.add_signal_handler(signal.SIGINT, chat.interrupt)
        with reader.guard_begun_line():
            reader.start()
            try:
                return await chat.run(first, lines)
            finally:
                ending.remove_handlers()
                await session.aclose()

    return asyncio.run(talk())


def _find_width() -> int | None:
    """Return the columns of the terminal; None for a pipe, which gets lines as they are."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _write_out(text: str) -> None:
    with suppress(OSError):  # the terminal is gone
        sys.stdout.write(text)
        sys.stdout.flush()
