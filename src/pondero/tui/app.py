"""The chat on a terminal: keys become actions, effects are done, states are drawn."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.worker import Worker

from ..canon import Event, visible
from ..errors import PonderoError, UnknownThread
from ..store import hidden
from ..transport import AsyncTap
from .page import Page
from .prompt import Completion, Prompt
from .reports import cleaned, examined, export, wire
from .session import Session, unforeseen
from .state import (
    Action,
    Choosing,
    Dial,
    Effect,
    State,
    actions,
    completions,
    effects,
    reduce,
    trouble,
)
from .views import DARK, THEMES, Bar, Picker, ThoughtView

_FRAMES_A_SECOND = 30


class ChatApp(App[None]):
    """The Textual app: ``session`` asks and records, ``tap`` holds the last exchange."""

    TITLE: str | None = "pondero"
    CSS_PATH: ClassVar[str | Path | None] = Path(__file__).with_name("chat.tcss")
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t,shift+tab", "pick", show=False, priority=True),
        Binding("ctrl+o", "unfold", show=False, priority=True),
        Binding("ctrl+g", "unfold_all", show=False, priority=True),
        Binding("escape", "interrupt", show=False),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("ctrl+home", "edge(-1)", show=False, priority=True),
        Binding("ctrl+end", "edge(1)", show=False, priority=True),
    ]

    def __init__(
        self,
        state: State,
        dial: Dial,
        session: Session,
        *,
        tap: AsyncTap | None = None,
        clock: Callable[[], float],
        first: tuple[Action, ...] = (),
        theme: str = DARK.name,
    ) -> None:
        super().__init__()
        self.state: State = state.but(paid=session.paid, unpriced=session.unpriced)
        self._dial = dial
        self._session = session
        self._tap = tap
        self._clock = clock
        self._first = first
        self._page = Page()
        self._completion = Completion()
        self._prompt = Prompt(lambda text: completions(self.state, text, self._dial))
        self._bar = Bar()
        self._events: list[Event] = []
        self._turn: Worker[None] | None = None
        self._frames: Timer | None = None
        self._picking: Choosing | None = None
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme
        self._doers: dict[type, Callable[[Any], None]] = {
            effects.Ask: self._ask,
            effects.Stop: self._stop,
            effects.Handoff: self._handoff,
            effects.Note: self._note,
            effects.Begin: self._begin,
            effects.Open: self._open,
            effects.Fork: self._fork,
            effects.Rename: self._rename,
            effects.Export: self._export,
            effects.List: self._list,
            effects.Fetch: self._fetch,
            effects.Wire: self._wire,
            effects.Examine: self._examine,
            effects.Restore: self._restore,
            effects.Dress: self._dress,
            effects.Quit: self._quit,
        }

    def compose(self) -> ComposeResult:
        """Lay out the page, the input line and the status."""
        yield self._page
        yield self._completion
        yield self._prompt
        yield self._bar

    def on_mount(self) -> None:
        """Start the frame timer, draw, and run the actions the chat begins with."""
        self._frames = self.set_interval(1 / _FRAMES_A_SECOND, self._frame, pause=True)
        self._prompt.focus()
        self._draw()
        self.run_worker(self._session.warm_up, thread=True)
        for action in self._first:
            self.dispatch(action)

    async def on_unmount(self) -> None:
        """Close the connections."""
        await self._session.aclose()

    # -- the loop: an action, a state, what it asks for -------------------------------------------

    def dispatch(self, action: Action) -> None:
        """Reduce an action, draw the new state and run its effects."""
        was = self.state
        self.state, asked = reduce(was, action, self._dial)
        if self.state is not was and self._page.is_attached:  # else the app has been closed
            self._draw()
        for effect in asked:
            self._do(effect)

    def _do(self, effect: Effect) -> None:
        try:
            self._doers[type(effect)](effect)
        except PonderoError as error:
            self._trouble(error)
        except Exception as error:  # noqa: BLE001 - whatever happens, the chat goes on
            self._trouble(PonderoError(unforeseen(error)))

    def _trouble(self, error: PonderoError) -> None:
        lines = tuple(hidden(line) for line in trouble(error))
        self.dispatch(actions.Reported(lines, "error"))

    def _draw(self) -> None:
        state = self.state
        self._page.show((*state.page, *state.live), hidden=state.show == "hidden")
        self._bar.show(state)
        self._prompt.frame(title=state.thread.title if state.thread else "", hint=state.hint)
        if state.choosing is not None and state.choosing is not self._picking:
            self._picking = state.choosing
            self.push_screen(Picker(state.choosing), self._picked)

    def _frame(self) -> None:
        """Draw the events since the last frame, and advance the counters."""
        events = tuple(self._events)
        self._events.clear()
        self.dispatch(actions.Arrived(events, self._clock()))

    def _fatal_error(self) -> None:
        """Exit with one sentence: a traceback would show the values of variables, also keys."""
        error = self._exception or sys.exception()
        self._exit_renderables.append(Text(visible(hidden(unforeseen(error)))))
        self._close_messages_no_wait()

    # -- keys -------------------------------------------------------------------------------------

    @on(Prompt.Sent)
    def _sent(self, event: Prompt.Sent) -> None:
        self._page.to_end()
        self.dispatch(actions.Submitted(event.text, self._clock()))

    @on(Prompt.Offered)
    def _offered(self, event: Prompt.Offered) -> None:
        self._completion.show(event.lines, event.at)

    @on(Prompt.Typed)
    def _typed(self) -> None:
        self.dispatch(actions.Typed())

    @on(Prompt.Interrupted)
    def _ctrl_c(self) -> None:
        if self._prompt.text and not self.state.busy:
            self._prompt.put("")
        else:
            self.dispatch(actions.Interrupted(hard=True))

    @on(Prompt.Left)
    def _left(self) -> None:
        self.exit()

    @on(ThoughtView.Clicked)
    def _clicked(self, event: ThoughtView.Clicked) -> None:
        self.dispatch(actions.Toggled(event.key))

    @on(Page.AtEdge)
    def _at_edge(self, event: Page.AtEdge) -> None:
        self.dispatch(actions.Scrolled("older" if event.older else "newer"))

    def action_interrupt(self) -> None:
        """Stop the turn under way."""
        self.dispatch(actions.Interrupted())

    def action_pick(self) -> None:
        """Open the picker of levels; when it is open, select the next one."""
        if isinstance(self.screen, Picker):
            self.screen.action_next()
        else:
            self.dispatch(actions.PickerOpened())

    def action_unfold(self) -> None:
        """Open the newest thought, or fold it."""
        self.dispatch(actions.Toggled())

    def action_unfold_all(self) -> None:
        """Open all thoughts, or fold them."""
        self.dispatch(actions.ToggledAll())

    def action_page(self, step: int) -> None:
        """Scroll by a page; at the top, load older messages."""
        if step < 0 and self._page.scroll_y <= 0:
            self.dispatch(actions.Scrolled("older"))
        else:
            self._page.turn(step)

    def action_edge(self, step: int) -> None:
        """Scroll to the top of the page, or to its end."""
        if step > 0:
            self._page.to_end()
        elif self._page.scroll_y <= 0:
            self.dispatch(actions.Scrolled("older"))
        else:
            self._page.to_top()

    def _picked(self, value: str | None) -> None:
        self._picking = None
        self.dispatch(actions.Dismissed() if value is None else actions.Picked(value))

    # -- effects: one function each ---------------------------------------------------------------

    def _ask(self, effect: effects.Ask) -> None:
        if self._frames is not None:
            self._frames.resume()
        self._turn = self.run_worker(self._have_turn(effect), exit_on_error=True)

    async def _have_turn(self, effect: effects.Ask) -> None:
        ended = await self._session.turn(effect, self._events.append)
        if self._frames is not None:
            self._frames.pause()
        self._frame()
        self.dispatch(cleaned(ended))

    def _stop(self, _effect: effects.Stop) -> None:
        if self._turn is not None:
            self._turn.cancel()

    def _handoff(self, effect: effects.Handoff) -> None:
        self.dispatch(self._session.handoff(effect))

    def _note(self, effect: effects.Note) -> None:
        self._session.keeper.note(model=effect.model, wish=effect.wish, system=effect.system)

    def _begin(self, _effect: effects.Begin) -> None:
        self._session.keeper.begin()

    def _open(self, effect: effects.Open) -> None:
        keeper = self._session.keeper
        try:
            self._opened(keeper.open(effect.id))
        except UnknownThread:
            choices = keeper.list(effect.id) if effect.or_find else ()
            if not choices:
                raise
            self.dispatch(actions.Offered(choices))

    def _fork(self, effect: effects.Fork) -> None:
        self._opened(self._session.keeper.fork(model=effect.model, wish=effect.wish))
        self.dispatch(
            actions.Reported(("✓ This is a copy; the first one stays as it was",), "good")
        )
        if effect.to:
            self.dispatch(actions.Submitted(f"/model {effect.to}"))

    def _opened(self, opened: actions.Opened) -> None:
        self._page.to_end()
        self.dispatch(opened)
        for past in opened.past:
            if past.message.role == "user":
                self._prompt.remember(past.message.text)

    def _rename(self, effect: effects.Rename) -> None:
        self.dispatch(actions.Renamed(self._session.keeper.rename(effect.title)))

    def _export(self, effect: effects.Export) -> None:
        said = export(*self._session.keeper.saved(), effect.path)
        self.dispatch(actions.Reported((said,), "good"))

    def _list(self, effect: effects.List) -> None:
        self.dispatch(actions.Offered(self._session.keeper.list(effect.words)))

    def _fetch(self, effect: effects.Fetch) -> None:
        past = self._session.keeper.page(effect.first, effect.last)
        self.dispatch(actions.Turned(past, effect.first))

    def _wire(self, _effect: effects.Wire) -> None:
        self.dispatch(actions.Reported(wire(self._tap)))

    def _examine(self, _effect: effects.Examine) -> None:
        self.dispatch(actions.Reported(examined()))

    def _restore(self, effect: effects.Restore) -> None:
        if not self._prompt.text:
            self._prompt.put(effect.words)

    def _dress(self, effect: effects.Dress) -> None:
        self.theme = effect.theme

    def _quit(self, _effect: effects.Quit) -> None:
        self.exit()
