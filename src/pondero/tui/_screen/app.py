"""The chat on a terminal: keys become actions, states are drawn; ``executor`` runs the effects."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.containers import Horizontal
from textual.driver import Driver
from textual.events import Event, Key, Paste, Resize
from textual.timer import Timer
from textual.worker import WorkerError

from ...canon import escape_controls
from ...cassettes import AsyncTap
from ...errors import PonderoError
from ...store import redact_secrets
from .. import file_mentions
from ..reports import describe_end, describe_error
from ..session import Session, describe_unexpected
from ..state import (
    Action,
    ChatState,
    DialView,
    Effect,
    PickerState,
    Word,
    actions,
    completions,
    preview_switch,
    reduce,
)
from .conversation import ConversationTab, Tabs
from .draft_keeper import DraftKeeper
from .ending import EndingSignals, is_by_signal
from .executor import CannotSuspend, Executor
from .typed_ahead import TypedAhead
from .widgets.approval import ApprovalScreen
from .widgets.comparison_screen import ComparisonScreen
from .widgets.palette import CommandChosen, Commands
from .widgets.prompt import Completion, Prompt, QueuedMessages
from .widgets.search_picker import SearchPicker, filter_choices
from .widgets.thread_list import Search, ThreadPane
from .widgets.transcript import Transcript
from .widgets.views import DARK, THEMES, Bar, Picker, ThinkingView

_FRAMES_A_SECOND = 30
_NARROW = 64
_TYPED_EVERY = 2.0
"""Seconds between two writings of the words in the input line, and of unsaved turns."""
_ROWS_A_PAGE = 8
_MORE = "↓ more below: Page Down, Ctrl+End"


class ChatApp(App[None]):
    """The Textual app: ``session`` asks and records, ``tap`` holds the last exchange."""

    worker_errors: ClassVar[tuple[type[Exception], ...]] = (WorkerError,)
    TITLE: str | None = "pondero"
    CSS_PATH: ClassVar[str | Path | None] = Path(__file__).with_name("chat.tcss")
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t,shift+tab", "pick", show=False, priority=True),
        Binding("ctrl+l", "threads", show=False, priority=True),
        Binding("ctrl+o", "unfold", show=False, priority=True),
        Binding("ctrl+g", "unfold_all", show=False, priority=True),
        Binding("escape", "interrupt", show=False),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("ctrl+home", "edge(-1)", show=False, priority=True),
        Binding("ctrl+end", "edge(1)", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(
        self,
        state: ChatState,
        dial: DialView,
        session: Session,
        *,
        tap: AsyncTap | None = None,
        clock: Callable[[], float],
        first: tuple[Action, ...] = (),
        theme: str = DARK.name,
    ) -> None:
        super().__init__()
        state = state.but(paid=session.paid, unpriced=session.why_unpriced)
        self._tabs = Tabs(ConversationTab(state, session))
        self._dial = dial
        self._clock = clock
        self._first = first
        self.page: Transcript = Transcript()
        self._pane = ThreadPane()
        self._middle = Horizontal(self._pane, self.page, id="middle")
        self._completion = Completion()
        self._tray = QueuedMessages()
        self.prompt: Prompt = Prompt(self._complete_line, self._preview_line)
        self._bar = Bar()
        self._executor = Executor(self, self._tabs, tap, clock)
        self._drafts = DraftKeeper(
            self._tabs, self.prompt, self._executor, self._find_unfinished_paste
        )
        self._typed_ahead = TypedAhead(self.prompt, lambda: self.screen_stack)
        self._ending = EndingSignals()
        self._frames: Timer | None = None
        self._picking: PickerState | None = None
        self._comparison: ComparisonScreen | None = None
        self._approval: ApprovalScreen | None = None
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme if theme in self.available_themes else DARK.name
        names = tuple(sorted(self.available_themes))
        self.state = self.state.but(themes=names, theme=self.theme)

    def get_driver_class(self) -> type[Driver]:
        """Return the driver that takes any byte, in place of the one that does not."""
        usual = super().get_driver_class()
        if os.name == "nt":  # its driver is given characters, not bytes
            return usual
        from .driver import TolerantDriver  # noqa: PLC0415 - Windows cannot import it

        return TolerantDriver if issubclass(TolerantDriver, usual) else usual

    def _find_unfinished_paste(self) -> str:
        return getattr(self._driver, "unfinished_paste", "")

    @property
    def tab(self) -> ConversationTab:
        """Return the conversation on the screen."""
        return self._tabs.active

    @property
    def state(self) -> ChatState:
        """Return the state of that conversation."""
        return self.tab.state

    @state.setter
    def state(self, state: ChatState) -> None:
        self.tab.state = state

    def compose(self) -> ComposeResult:
        """Lay out the page, the input line and the status."""
        yield self._middle
        yield self._completion
        yield self._tray
        yield self.prompt
        yield self._bar

    def on_mount(self) -> None:
        """Start the frame timer, draw, and run the actions the chat begins with."""
        self._frames = self.set_interval(1 / _FRAMES_A_SECOND, self.frame, pause=True)
        self.screen.set_focus(self.prompt)
        self._draw()
        self.run_worker(self.tab.session.warm_up, thread=True)
        for action in self._first:
            self.dispatch(action)
        self._executor.restore_drafts(self.tab)
        self.set_interval(_TYPED_EVERY, self._drafts.keep)
        self._ending.set_handlers(self.leave)
        self.app_resume_signal.subscribe(self, self._repaint)
        self.call_after_refresh(self._begin_input)

    def _begin_input(self) -> None:
        begin: Callable[[], None] | None = getattr(self._driver, "begin_input", None)
        if begin is not None:
            begin()

    async def on_unmount(self) -> None:
        """Close the connections."""
        self._ending.remove_handlers()
        await self.tab.session.aclose()

    def _repaint(self, _app: object) -> None:
        """Draw all of the screen again: another program has used the terminal."""
        for screen in self.screen_stack:
            screen.refresh(layout=True)
            for widget in screen.walk_children():
                widget.refresh()

    # -- the end ----------------------------------------------------------------------------------

    def leave(self, code: int = 0) -> None:
        """Stop what runs, save what came and what was typed, and exit with this code."""
        self.run_worker(self._leave(code), group="leave", exclusive=True, exit_on_error=False)

    async def _leave(self, code: int) -> None:
        stopped = await self._executor.stop_all()
        self._drafts.save(stopped if code else ())
        self.exit(return_code=code, message=None if code else describe_end(self.state) or None)

    # -- the loop: an action, a state, what it asks for -------------------------------------------

    def dispatch(self, action: Action, tab: ConversationTab | None = None) -> None:
        """Reduce an action on a tab (None: the one on the screen), draw it and run its effects."""
        tab = tab or self.tab
        opened = action if isinstance(action, actions.ThreadOpened) else None
        if opened is not None:
            self.page.to_end()
        was = tab.state
        tab.state, asked = reduce(was, action, self._dial)
        self._drafts.note_asked(was, tab.state)
        is_queue_changed = tab.state.queue != was.queue
        if tab is self.tab and tab.state is not was and self.page.is_attached:
            self._draw()  # unless the app has been closed
        self._run_frames()
        for effect in asked:
            self._run_effect(effect, tab)
        if is_queue_changed:  # with the words that an effect put into the input line
            self._drafts.save_tab(tab)
        for past in opened.past if opened is not None else ():
            if past.message.role == "user":
                self.prompt.remember(past.message.text)

    def _run_effect(self, effect: Effect, tab: ConversationTab) -> None:
        try:
            self._executor.do(effect, tab)
        except PonderoError as error:
            self.dispatch(describe_error(error))
        except Exception as error:  # noqa: BLE001 - whatever happens, the chat continues
            self.dispatch(describe_error(PonderoError(describe_unexpected(error))))

    def _draw(self) -> None:
        state = self.state
        self.page.show((*state.page, *state.live), hidden=state.show == "hidden")
        self._bar.show(state)
        self._tray.show(state)
        self._draw_frame()
        self.prompt.has_queue = bool(state.queue)
        self._pane.show(state.listing)
        self._middle.set_class(state.listing is not None, "listing")
        self._draw_comparison(state)
        self._draw_approval(state)
        if state.choosing is not None and state.choosing is not self._picking:
            self._picking = state.choosing
            self.push_screen(self._make_picker(state.choosing), self._pick_item)

    def _make_picker(self, choosing: PickerState) -> Picker | SearchPicker:
        if choosing.what == "model":
            return SearchPicker(choosing.title, self.tab.session.find_models, is_slow=True)
        if choosing.what in ("hit", "thread"):  # what was found, or when it was used, must be seen
            find = partial(filter_choices, choosing.choices)
            return SearchPicker(choosing.title, find, two_lines=True)
        return Picker(choosing)

    @on(Transcript.BelowChange)
    def _draw_frame(self) -> None:
        state = self.state
        hint = state.hint or (_MORE if self.page.has_more_below else "")
        self.prompt.frame(title=state.thread.title if state.thread else "", hint=hint)

    def _draw_comparison(self, state: ChatState) -> None:
        screen = self._comparison
        if state.comparing is None:
            if screen is not None:
                self._comparison = None
                screen.dismiss()
        elif screen is None:
            self._comparison = ComparisonScreen(state.comparing, paid=state.paid)
            self.push_screen(self._comparison)
        else:
            screen.show(state.comparing)

    def _draw_approval(self, state: ChatState) -> None:
        screen = self._approval
        if screen is not None and screen.proposal not in state.proposals:
            self._approval = None
            screen.dismiss(None)
            screen = None
        if screen is None and state.proposals:
            first = state.proposals[0]
            self._approval = ApprovalScreen(first)
            self.push_screen(self._approval, partial(self._decide_approval, first.id))

    def _decide_approval(self, id: int, word: Word | None) -> None:
        if word is not None:
            self._approval = None
            self.dispatch(actions.ApprovalDecided(id, word))

    def frame(self) -> None:
        """Draw the events since the last frame, and advance the counters."""
        for tab in self._tabs:
            for action in tab.take_arrivals(self._clock):
                self.dispatch(action, tab)

    def _run_frames(self) -> None:
        if self._frames is None:
            return
        if any(tab.state.active for tab in self._tabs):
            self._frames.resume()
        else:
            self._frames.pause()

    # -- what the executor may do to the screen ---------------------------------------------------

    def show_tab(self, tab: ConversationTab) -> None:
        """Put a tab on the screen; the one that is left continues if it has something to do."""
        self._drafts.activate(tab)
        self.page.to_end()
        self._draw()
        self._executor.refresh_pane()

    def scroll_to(self, number: int) -> None:
        """Scroll the transcript to a message."""
        self.page.visit(number)

    def restore_input(
        self,
        words: str,
        *,
        selected: bool,
        is_taken_back: bool = False,  # noqa: ARG002 - the page shows that
    ) -> bool:
        """Put words into the input line; False if it has others, and only ↑ recalls them."""
        return self._drafts.restore_input(words, selected=selected)

    def set_aside(self, words: tuple[str, ...]) -> None:
        """Let ↑ recall these words."""
        self._drafts.set_aside(words)

    def paste_text(self) -> None:
        """Paste the clipboard's text into the input line."""
        self.prompt.action_paste()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Give the terminal to another program for a while; raises CannotSuspend.

        Nothing is drawn meanwhile, and the terminal comes back whatever is raised inside.
        """
        raised: BaseException | None = None
        try:
            with self.batch_update(), super().suspend():
                try:
                    yield
                except BaseException as error:  # noqa: BLE001 - Textual would not take it back
                    raised = error
        except SuspendNotSupported:
            raise CannotSuspend from None
        if raised is not None:
            raise raised

    def change_theme(self, theme: str) -> None:
        """Draw in other colours."""
        self.theme = theme

    def _handle_exception(self, error: Exception) -> None:
        # After the end has begun all is saved, and what fails is a drawing on a page that is gone.
        if not self._exit:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Exit with one sentence: a traceback would show the values of variables, also keys."""
        error = self._exception or sys.exception()
        self._exit_renderables.append(
            Text(escape_controls(redact_secrets(describe_unexpected(error))))
        )
        self._close_messages_no_wait()

    # -- keys -------------------------------------------------------------------------------------

    async def on_event(self, event: Event) -> None:
        """Give words that are typed into a window to the input line; all else as usual."""
        typed = event if isinstance(event, Key | Paste) and not event.is_forwarded else None
        if typed is None or not self._typed_ahead.take(typed):
            await super().on_event(event)

    @on(Prompt.Changed)
    def _show_typed_ahead(self) -> None:
        self._typed_ahead.show()

    @on(Prompt.LineSent)
    def _submit_line(self, event: Prompt.LineSent) -> None:
        self.page.to_end()
        self._submit(event.text)

    def _submit(self, line: str) -> None:
        self.dispatch(actions.Submitted(line, self._clock()))
        self.page.begin_at_list(self.state.page)

    @on(Prompt.CompletionsOffered)
    def _show_completions(self, event: Prompt.CompletionsOffered) -> None:
        self._completion.show(event.lines, event.at)

    @on(Prompt.TextTyped)
    def _clear_hint(self) -> None:
        self.dispatch(actions.KeyTyped())

    @on(Prompt.LineLeft)
    def _keep_left(self) -> None:
        self._drafts.save_set_aside()

    @on(Prompt.InterruptPressed)
    def _interrupt_or_clear(self) -> None:
        if self.prompt.text and not self.state.busy:
            self._drafts.set_aside_line()
            self.prompt.put("")
            self.dispatch(actions.KeyTyped())  # an earlier Ctrl+C was about other words
        self.dispatch(actions.TurnInterrupted(hard=True))

    def _complete_line(self, text: str) -> tuple[str, ...]:
        return file_mentions.completions(text) or completions(self.state, text, self._dial)

    def _preview_line(self, text: str) -> str:
        """Return what the switch in a typed line would do to the prompt cache."""
        move = preview_switch(self.state, text, self._dial)
        return "" if move is None else self.tab.session.describe_cache(move)

    @on(Prompt.FilesDropped)
    def _attach_dropped(self, event: Prompt.FilesDropped) -> None:
        self._executor.attach(event.paths, self.tab)

    @on(Prompt.PictureWanted)
    def _attach_picture(self) -> None:
        self._executor.paste(self.tab)

    @on(Prompt.RecallPressed)
    def _take_back_queued(self) -> None:
        self.dispatch(actions.Unqueued())

    @on(CommandChosen)
    def _run_command(self, event: CommandChosen) -> None:
        if event.needs_more:
            self._drafts.set_aside_line()
            self.prompt.put(f"{event.line} ")
        else:
            self._submit(event.line)

    @on(ThreadPane.SearchChanged)
    def _search_threads(self, event: ThreadPane.SearchChanged) -> None:
        self.dispatch(actions.SearchTyped(event.words))

    @on(ThreadPane.ThreadPicked)
    def _pick_thread(self, event: ThreadPane.ThreadPicked) -> None:
        self.screen.set_focus(self.prompt)
        if self._middle.has_class("narrow"):
            self.dispatch(actions.PaneToggled())
        self.dispatch(actions.ThreadPickedInPane(event.thread))

    @on(Search.PaneCloseRequested)
    def _close_pane(self) -> None:
        self.action_threads()

    @on(ComparisonScreen.ColumnMoveRequested)
    def _move_column(self, event: ComparisonScreen.ColumnMoveRequested) -> None:
        self.dispatch(actions.ColumnMoved(event.step))

    @on(ComparisonScreen.Settling)
    def _close_comparison(self, event: ComparisonScreen.Settling) -> None:
        self.dispatch(actions.ComparisonClosing(event.keep))

    @on(Prompt.ExitPressed)
    def _leave_chat(self) -> None:
        self.leave()

    @on(ThinkingView.Clicked)
    def _toggle_thinking(self, event: ThinkingView.Clicked) -> None:
        self.dispatch(actions.ThinkingToggled(event.key))

    @on(Transcript.AtEdge)
    def _load_more(self, event: Transcript.AtEdge) -> None:
        self.dispatch(actions.Scrolled("older" if event.older else "newer"))

    def action_interrupt(self) -> None:
        """Stop the turn under way."""
        self.dispatch(actions.TurnInterrupted())

    def action_pick(self) -> None:
        """Open the picker of levels; when it is open, select the next one."""
        if isinstance(self.screen, Picker | SearchPicker):
            self.screen.action_next()
        elif self._approval is None:
            self.dispatch(actions.PickerOpened())

    def action_command_palette(self) -> None:
        """Open the palette, but not above another screen: a command would bypass it."""
        if len(self.screen_stack) == 1:
            super().action_command_palette()

    def action_threads(self) -> None:
        """Open the pane of threads, or close it."""
        if len(self.screen_stack) == 1:
            self.dispatch(actions.PaneToggled())
            if self.state.listing is None:
                self.screen.set_focus(self.prompt)  # at once: people type ahead

    def on_resize(self, event: Resize) -> None:
        """Give the pane the whole width if two would be too narrow."""
        self._middle.set_class(event.size.width < _NARROW, "narrow")

    def action_suspend_process(self) -> None:
        """Write what was typed, and stop until the shell continues the chat: it may never do so."""
        self._drafts.keep()
        super().action_suspend_process()

    def action_unfold(self) -> None:
        """Open the newest thought, or fold it."""
        self.dispatch(actions.ThinkingToggled())

    def action_unfold_all(self) -> None:
        """Open all thoughts, or fold them."""
        self.dispatch(actions.AllThinkingToggled())

    def action_page(self, step: int) -> None:
        """Scroll by a page; at the top, load older messages."""
        if self._approval is not None:
            self._approval.action_turn(step)
        elif self._comparison is not None:
            self._comparison.turn(step)
        elif isinstance(self.screen, SearchPicker):
            self.screen.action_move(_ROWS_A_PAGE * step)
        elif step < 0 and self.page.scroll_y <= 0:
            self.dispatch(actions.Scrolled("older"))
        else:
            self.page.turn(step)

    def action_edge(self, step: int) -> None:
        """Scroll to the top of the page, or to its end."""
        if step > 0:
            self.page.to_end()
        elif self.page.scroll_y <= 0:
            self.dispatch(actions.Scrolled("older"))
        else:
            self.page.to_top()

    def _pick_item(self, value: str | None) -> None:
        self._picking = None
        if value is not None:
            self.page.to_end()
        self.dispatch(actions.Dismissed() if value is None else actions.ItemPicked(value))


def run_chat(
    state: ChatState,
    dial: DialView,
    session: Session,
    *,
    tap: AsyncTap | None,
    clock: Callable[[], float],
    first: tuple[Action, ...],
    theme: str,
) -> int:
    """Draw the chat until the user leaves it, and return the exit code."""
    app = ChatApp(state, dial, session, tap=tap, clock=clock, first=first, theme=theme)
    runner = asyncio.Runner()
    try:
        runner.run(app.run_async())
    finally:
        if not is_by_signal(app.return_code or 0):  # else it would wait for a tool that still runs
            runner.close()
    return app.return_code or 0
