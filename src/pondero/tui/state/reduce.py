"""``reduce``: the state after an action, and the effects it asks for. Pure."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...canon import Blob, Image, Text
from . import actions, effects
from .actions import Action
from .catalog_view import DialView
from .cells import Cell, ThinkingCell, set_open
from .commands import is_command, run, run_queued
from .effects import Transition
from .handlers import comparison, last_turn, search, tools
from .handlers.comparison import toggle_thinking
from .handlers.history import (
    PAGE,
    describe_attachment,
    on_opened,
    on_page_loaded,
    on_scrolled,
)
from .handlers.last_turn import take_back
from .handlers.model_switch import describe_level, offer, switch_model, thinking
from .handlers.search import on_found, visit
from .handlers.turn import on_ended, on_events, on_saved, start_turn
from .state import WAIT, ChatState, DraftQuestion, FailedQuestion, PickerState


def reduce(state: ChatState, action: Action, dial: DialView) -> Transition:
    """Return the state after an action, and the effects it asks for."""
    return _HANDLERS[type(action)](state, action, dial)


def initial_state(
    dial: DialView, model: str, level_text: str | None = None, *, system: str = ""
) -> ChatState:
    """Return the state of a new chat; raises UnknownModel."""
    name, said = dial.split(model)
    level_text = level_text or said
    first = ChatState(model=name, plan=dial.plan(name, level_text), system=system)
    begun = switch_model(first, name, level_text, dial)
    entry = dial.entry(name)
    who = f"{entry.provider.label} {entry.model} · thinking: {describe_level(begun.plan, entry)}"
    return begun.tell(who, "/help shows the commands · /model NAME/LEVEL switches the model")


# -- the user -----------------------------------------------------------------------------------


def _on_submitted(state: ChatState, action: actions.Submitted, dial: DialView) -> Transition:
    text = action.text.strip()
    state = state.but(hint="", leaving=False)
    if not text:
        return _ask_next(state, action.at, dial)
    if is_command(text):
        return run(state, text, dial)
    asked = DraftQuestion(text.removeprefix("/") if text.startswith("//") else text, state.attached)
    state = state.but(attached=(), taken_back=())
    if "@" in text:
        return state, (effects.ReadMentions(asked),)
    return _on_mentions_read(state, actions.MentionsRead(asked, action.at), dial)


def _on_mentions_read(state: ChatState, action: actions.MentionsRead, dial: DialView) -> Transition:
    asked = action.asked
    if action.error:
        back = state.but(attached=(*asked.parts, *state.attached))
        return back.tell(f"✗ {action.error}", tone="error"), (effects.RestoreInput(asked.words),)
    if state.busy:
        return state.but(queue=(*state.queue, asked)), ()
    if state.failed is not None and state.failed.asked.words == asked.words:
        state = state.but(held=False)  # sent again, so what waited behind it can follow
    return _ask(state, asked, action.at, dial)


def _on_attached(state: ChatState, action: actions.FilesAttached, _dial: DialView) -> Transition:
    return state.but(attached=(*state.attached, *action.parts)), ()


def _ask_next(state: ChatState, at: float, dial: DialView) -> Transition:
    if state.busy:
        return state, ()
    state = state.but(held=False)
    if (failed := state.failed) is not None:
        return _ask_again(state, failed, at, dial)
    return _send_queued(state, at, dial)


def _send_queued(state: ChatState, at: float, dial: DialView) -> Transition:
    """Run the commands at the head of the queue and send its first prompt."""
    found: effects.Effects = ()
    while state.queue:
        first, state = state.queue[0], state.but(queue=state.queue[1:])
        if not first.is_command:
            begun, asked = _ask(state, first, at, dial)
            return begun, (*found, *asked)
        state, asked, goes_on = run_queued(state, first.words, dial)
        found = (*found, *asked)
        if not goes_on:
            return _hold(state), found
    return state, found


def _hold(state: ChatState) -> ChatState:
    """Let the prompts that wait be sent only by the user, and say how."""
    if not state.queue:
        return state.but(held=False)
    count = len(state.queue)
    does = _name_sending(count) if state.failed is None else "asks again"
    hint = f"{count} waiting: Enter on an empty line {does}"
    return state.but(held=True, hint=hint)


def _name_sending(count: int) -> str:
    return "sends them" if count > 1 else "sends it"


def _ask_again(state: ChatState, failed: FailedQuestion, at: float, dial: DialView) -> Transition:
    if failed.number is None:
        parts = failed.asked.parts  # they are attached again
        return _ask(state.but(attached=state.attached[len(parts) :]), failed.asked, at, dial)
    begun, asked = _ask(state.rewind(failed.number), failed.asked, at, dial)
    return begun, (effects.Rewind(failed.number), *asked)


def _on_unqueued(state: ChatState, _action: actions.Unqueued, _dial: DialView) -> Transition:
    if not state.queue:
        return state, ()
    *queue, last = state.queue
    after = state.but(
        queue=tuple(queue),
        held=state.held and bool(queue),
        attached=(*last.parts, *state.attached),
        hint="",
    )
    return after, (effects.RestoreInput(last.words, selected=False),)


def _on_words_returned(
    state: ChatState, action: actions.WordsReturned, _dial: DialView
) -> Transition:
    asked = DraftQuestion(action.words, state.attached)
    # the queue has it now, so Enter on an empty line is not to ask it besides
    return _hold(state.but(queue=(asked, *state.queue), attached=(), failed=None)), ()


def _on_drafts_restored(
    state: ChatState, action: actions.RestoredDrafts, _dial: DialView
) -> Transition:
    after = state.but(
        queue=(*action.queue, *state.queue), attached=(*action.attached, *state.attached)
    )
    if action.queue:
        after = after.but(held=True)
        count = len(action.queue)
        what = "prompts were" if count > 1 else "prompt was"
        does = _name_sending(count)
        after = after.tell(f"{count} {what} not sent; Enter on an empty line {does}")
    return after, ((effects.RestoreInput(action.typed, selected=False),) if action.typed else ())


def _ask(state: ChatState, asked: DraftQuestion, at: float, dial: DialView) -> Transition:
    begun, ask = start_turn(state, asked, at, dial, context=state.tally.context)
    if state.last < state.count:
        return begun, (effects.Fetch(max(0, state.count - PAGE), state.count), ask)
    return begun, (ask,)


def _on_interrupted(
    state: ChatState, action: actions.TurnInterrupted, _dial: DialView
) -> Transition:
    if state.turn is not None:
        return state.but(hint="stopping…"), (effects.Stop(),)
    if not action.hard:
        return state.but(hint="", leaving=False), ()
    if state.leaving:
        return state, (effects.Quit(),)
    return _give_up(state).but(leaving=True), ()


def _give_up(state: ChatState) -> ChatState:
    """Drop the files of a question that was taken back, and say what is still attached."""
    hint, files = "Ctrl+C again, or Ctrl+D, leaves", state.taken_back
    if files and state.attached[: len(files)] == files:
        state = state.but(attached=state.attached[len(files) :])
        hint += f" · no longer attached: {_name_files(files)}"
    if state.attached:
        hint += f" · still attached: {_name_files(state.attached)}"
    return state.but(taken_back=(), hint=hint)


def _name_files(files: tuple[Text | Image | Blob, ...]) -> str:
    return " ".join(map(describe_attachment, files))


def _on_typed(state: ChatState, _action: actions.KeyTyped, _dial: DialView) -> Transition:
    return (state.but(hint="", leaving=False) if state.hint or state.leaving else state), ()


def _on_picker_opened(
    state: ChatState, _action: actions.PickerOpened, dial: DialView
) -> Transition:
    if state.busy or state.comparing:
        return state.but(hint=WAIT), ()
    return offer(state.but(hint="", leaving=False), dial), ()


def _on_picked(state: ChatState, action: actions.ItemPicked, dial: DialView) -> Transition:
    choosing, state = state.choosing, state.but(choosing=None)
    if choosing is None:
        return state, ()
    return _PICKED[choosing.what](state, action.value, dial)


def _on_thread_picked(
    state: ChatState, action: actions.ThreadPickedInPane, dial: DialView
) -> Transition:
    if not action.thread:
        return run(state, "/new", dial)
    if state.thread is not None and state.thread.id == action.thread:
        return state, ()
    return state, (effects.Open(action.thread),)


def _open_thread(state: ChatState, value: str, _dial: DialView) -> Transition:
    return state, (effects.Open(value),)


def _change_theme(state: ChatState, value: str, _dial: DialView) -> Transition:
    return state.but(theme=value), (effects.ChangeTheme(value),)


def _show_hit(state: ChatState, value: str, _dial: DialView) -> Transition:
    return state, (visit(value),)


_PICKED: dict[str, Callable[[ChatState, str, DialView], Transition]] = {
    "thinking": thinking,
    "model": lambda state, value, dial: run(state, f"/model {value}", dial),
    "thread": _open_thread,
    "theme": _change_theme,
    "hit": _show_hit,
}


def _on_dismissed(state: ChatState, _action: actions.Dismissed, _dial: DialView) -> Transition:
    return state.but(choosing=None), ()


def _on_thinking_toggled(
    state: ChatState, action: actions.ThinkingToggled, dial: DialView
) -> Transition:
    if state.comparing is not None:
        return toggle_thinking(state, lambda chat: _on_thinking_toggled(chat, action, dial)[0]), ()
    cells = [*state.page, *state.live]
    thoughts = [c for c in cells if isinstance(c, ThinkingCell) and c.readable]
    wanted = [c for c in thoughts if c.key == action.key] if action.key else thoughts[-1:]
    if not wanted:
        return state.but(hint="there is no thinking to open"), ()
    return _replace_cells(
        state, {wanted[0].key: set_open(wanted[0], is_open=not wanted[0].open)}
    ), ()


def _on_all_toggled(
    state: ChatState, _action: actions.AllThinkingToggled, _dial: DialView
) -> Transition:
    thoughts = [c for c in (*state.page, *state.live) if isinstance(c, ThinkingCell) and c.readable]
    to_open = not all(thought.open for thought in thoughts)
    changed: dict[int, Cell] = {
        thought.key: set_open(thought, is_open=to_open) for thought in thoughts
    }
    show = "open" if to_open else "auto"
    return _replace_cells(state, changed).but(show=show, hint=f"show: {show}"), ()


# -- outcomes -----------------------------------------------------------------------------------


def _on_events(state: ChatState, action: actions.EventsArrived, _dial: DialView) -> Transition:
    return on_events(state, action.events, action.at), ()


def _on_turn_ended(state: ChatState, action: actions.TurnEnded, dial: DialView) -> Transition:
    after, asked = on_ended(state, action, dial)
    if not after.queue or after.busy:
        return after, asked
    if after.held or action.stopped or action.error is not None:
        return _hold(after), asked
    sent, more = _ask_next(after, action.at, dial)
    return sent, (*asked, *more)


def _on_last_turn(state: ChatState, action: actions.LastTurnLoaded, dial: DialView) -> Transition:
    if not action.turn and not action.words:
        return state.tell("there is no question yet"), ()
    return _PURPOSES[action.purpose](state, action, dial)


_PURPOSES: dict[
    effects.Purpose,
    Callable[[ChatState, actions.LastTurnLoaded, DialView], Transition],
] = {
    "undo": last_turn.on_undo,
    "edit": last_turn.on_edited,
    "copy": last_turn.on_copied,
    "compare": comparison.on_compare,
}


def _on_edited(state: ChatState, action: actions.QuestionEdited, dial: DialView) -> Transition:
    before = action.before
    if action.words is None:
        hint = "change it and press Enter"
        return take_back(state, before, action.number, hint, selected=False)
    words = action.words.strip()
    if not words or words == before.words.strip():
        return state.but(hint="nothing was changed, and nothing asked"), ()
    changed = DraftQuestion(words, before.parts)
    begun, asked = _ask(state.rewind(action.number), changed, action.at, dial)
    return begun, (effects.Rewind(action.number), *asked)


def _on_usage_counted(state: ChatState, action: actions.UsageCount, _dial: DialView) -> Transition:
    last, cost = state.tally.last, state.tally.last_cost
    return state.but(tally=replace(action.tally, last=last, last_cost=cost)), ()


def _on_background_ended(
    state: ChatState, action: actions.BackgroundTurnEnded, _dial: DialView
) -> Transition:
    title = action.thread.title if action.thread else "the other thread"
    return state.but(hint=f"{'answered' if action.whole else 'no answer'}: {title}"), ()


def _on_handed_off(state: ChatState, action: actions.HandedOff, _dial: DialView) -> Transition:
    if not action.lines:
        return state.but(cache=action.cache), ()
    # A command that waited is followed by a prompt, whose cells are on the page already.
    asked = len(state.page)
    while state.turn and asked and state.page[asked - 1].number == state.turn.number:
        asked -= 1
    said = state.but(page=state.page[:asked]).tell(*action.lines)
    return said.but(page=(*said.page, *state.page[asked:]), cache=action.cache), ()


def _on_threads_offered(
    state: ChatState, action: actions.ThreadsOffered, _dial: DialView
) -> Transition:
    if not action.choices:
        return state.tell("there are no earlier threads like that"), ()
    return state.but(choosing=PickerState("thread", "continue a thread", action.choices)), ()


def _on_renamed(state: ChatState, action: actions.ThreadRenamed, _dial: DialView) -> Transition:
    return state.but(thread=action.thread, hint=f"renamed: {action.thread.title}"), ()


def _on_reported(state: ChatState, action: actions.LinesReported, _dial: DialView) -> Transition:
    return state.tell(*action.lines, tone=action.tone), ()


def _replace_cells(state: ChatState, changed: dict[int, Cell]) -> ChatState:
    page = tuple(changed.get(cell.key, cell) for cell in state.page)
    live = tuple(changed.get(cell.key, cell) for cell in state.live)
    return state.but(page=page, live=live)


_HANDLERS: dict[type, Callable[[ChatState, Any, DialView], Transition]] = {
    actions.Submitted: _on_submitted,
    actions.TurnInterrupted: _on_interrupted,
    actions.KeyTyped: _on_typed,
    actions.Unqueued: _on_unqueued,
    actions.WordsReturned: _on_words_returned,
    actions.RestoredDrafts: _on_drafts_restored,
    actions.PaneToggled: search.on_pane_toggled,
    actions.SearchTyped: search.on_search_typed,
    actions.ThreadsListed: search.on_listed,
    actions.ThreadPickedInPane: _on_thread_picked,
    actions.ApprovalRequested: tools.on_approval_requested,
    actions.ApprovalDecided: tools.on_decided,
    actions.ApprovalWithdrawn: tools.on_withdrawn,
    actions.ApprovalWaiting: tools.on_approval_waiting,
    actions.PickerOpened: _on_picker_opened,
    actions.ItemPicked: _on_picked,
    actions.Dismissed: _on_dismissed,
    actions.ColumnMoved: comparison.on_column_moved,
    actions.ComparisonClosing: comparison.on_closing,
    actions.ColumnsArrived: comparison.on_columns_arrived,
    actions.ColumnEnded: comparison.on_column_ended,
    actions.ComparisonClosed: comparison.on_closed,
    actions.ThinkingToggled: _on_thinking_toggled,
    actions.AllThinkingToggled: _on_all_toggled,
    actions.Scrolled: on_scrolled,
    actions.EventsArrived: _on_events,
    actions.TurnEnded: _on_turn_ended,
    actions.UsageCount: _on_usage_counted,
    actions.LateSave: on_saved,
    actions.BackgroundTurnEnded: _on_background_ended,
    actions.HandedOff: _on_handed_off,
    actions.ThreadOpened: on_opened,
    actions.PageLoaded: on_page_loaded,
    actions.ThreadsOffered: _on_threads_offered,
    actions.FilesAttached: _on_attached,
    actions.MentionsRead: _on_mentions_read,
    actions.LastTurnLoaded: _on_last_turn,
    actions.QuestionEdited: _on_edited,
    actions.SearchFinished: on_found,
    actions.ThreadRenamed: _on_renamed,
    actions.LinesReported: _on_reported,
}
